"""Actor-critic networks. Observations are egocentric, so one network plays all seats, with 2 to 8 players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import MAX_HISTORY
from uno_flex_env.rules import MAX_PLAYERS

Kind = Literal["mlp", "residual", "history"]


MAX_WIDTH, MAX_LAYERS = 1 << 14, 256
"""The largest network that can be asked for; far larger ones than any that has learned this game."""


@dataclass(frozen=True)
class NetworkConfig:
    """The architecture of a network."""

    kind: Kind = "mlp"
    """mlp: layers with ReLUs; residual: blocks of two layers, each added to its input; history: an mlp that attends to
    past events."""
    width: int = 256
    """Units in each hidden layer."""
    layers: int = 2
    """Number of hidden layers, or of residual blocks."""
    history: int = 16
    """How many past events a network of the kind "history" reads; other kinds read none."""
    privileged: bool = False
    """Use a separate network as the critic, which sees all hands. Only training uses it; the policy sees no hidden
    card."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"network.kind must be one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        for name in ("width", "layers", "history"):
            if getattr(self, name) < 1:
                raise ValueError(f"network.{name} must be at least 1, got {getattr(self, name)}")
        for name, most in (("width", MAX_WIDTH), ("layers", MAX_LAYERS)):
            if getattr(self, name) > most:
                raise ValueError(f"network.{name} must be at most {most:,}, got {getattr(self, name):,}")
        if self.history > MAX_HISTORY:
            raise ValueError(f"network.history must be at most {MAX_HISTORY}, got {self.history}")

    @property
    def events(self) -> int:
        """How many past events the network reads."""
        return self.history if self.kind == "history" else 0


class ActorCritic(nn.Module):
    """Logits of the 216 actions, and the value of the position for the player who sees it.

    Args of `forward`:
        observation: (B, 640), floats or bytes.
        history: (B, H, 3) whole numbers, for the kind "history".
        hidden: (B, 728), see `VecEnv.hidden_hands`, for a privileged critic; without it the values are 0.

    Returns:
        logits (B, 216), also of illegal actions, and value (B,).

    Attributes:
        detach_value: whether gradients of the value stop at the layers that it shares with the policy.
    """

    detach_value = False

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.trunk = _trunk(config, NUM_FEATURES)
        self.memory = Memory(config.width) if config.events else None
        self.policy = nn.Linear(config.width, NUM_ACTIONS)
        self.value = nn.Linear(config.width, 1)
        self.critic = _trunk(config, NUM_FEATURES + NUM_HIDDEN_FEATURES) if config.privileged else None
        # At first all legal actions are about equally likely, and the value of every position is about 0.
        for head in (self.policy, self.value):
            nn.init.orthogonal_(head.weight, 0.01)
            nn.init.zeros_(head.bias)

    def forward(
        self, observation: Tensor, history: Tensor | None = None, hidden: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        observation = observation.to(_working_dtype(observation))
        body = self.trunk(observation)
        if self.memory is not None:
            if history is None:
                raise ValueError(f"this network reads the last {self.config.events} events: history is missing")
            body = self.memory(body, history)
        logits = self.policy(body)
        if self.critic is None:
            return logits, self.value(body.detach() if self.detach_value else body).squeeze(1)
        if hidden is None:
            return logits, torch.zeros(len(body), device=body.device)
        everything = torch.cat([observation, hidden.to(observation.dtype)], dim=1)  # (B, 640 + 728)
        return logits, self.value(self.critic(everything)).squeeze(1)


def new_network(config: NetworkConfig, seed: int) -> ActorCritic:
    """A network with random weights that follow from the seed. Global generators are neither used nor disturbed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ActorCritic(config)


class Memory(nn.Module):
    """Attention to past events, with one head (arXiv:1706.03762). The query comes from the position, keys and values
    come from the events."""

    SIZE = 64

    def __init__(self, width: int) -> None:
        super().__init__()
        self.action = nn.Embedding(NUM_ACTIONS + 1, self.SIZE)  # the first row stands for "no event"
        self.seat = nn.Embedding(MAX_PLAYERS + 1, self.SIZE)
        self.drawn = nn.Embedding(16, self.SIZE)
        self.age = nn.Embedding(MAX_HISTORY, self.SIZE)
        self.ask = nn.Linear(width, self.SIZE)
        self.join = nn.Linear(self.SIZE, width)
        for embedding in (self.action, self.seat, self.drawn, self.age):
            nn.init.normal_(embedding.weight, std=0.1)

    def forward(self, body: Tensor, history: Tensor) -> Tensor:
        seat, action, drawn = (history[:, :, i].long() + 1 for i in range(3))  # (B, H) each
        age = torch.arange(history.shape[1] - 1, -1, -1, device=history.device)  # (H,)
        event = self.action(action) + self.seat(seat) + self.drawn(drawn.clamp(max=15)) + self.age(age)
        event = event.to(body.dtype)  # (B, H, SIZE)
        match = torch.einsum("bhs,bs->bh", event, self.ask(body)) / self.SIZE**0.5  # (B, H)
        answer = torch.einsum("bh,bhs->bs", match.softmax(dim=1), event)  # (B, SIZE)
        return torch.relu(body + self.join(answer))


class Residual(nn.Module):
    """A block that adds two layers of its normalized input to the input (arXiv:2002.04745)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.zeros_(self.down.weight)  # a block begins as the identity

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.down(torch.relu(self.up(self.norm(x))))
        return x + inner


def _trunk(config: NetworkConfig, features: int) -> nn.Sequential:
    """The hidden layers, from (B, features) to (B, width)."""
    first, width = nn.Linear(features, config.width), config.width
    if config.kind == "residual":
        blocks: list[nn.Module] = [Residual(width) for _ in range(config.layers)]
        return nn.Sequential(first, *blocks, nn.LayerNorm(width), nn.ReLU())
    rest = [layer for _ in range(config.layers - 1) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(first, nn.ReLU(), *rest)


def _working_dtype(x: Tensor) -> torch.dtype:
    """The dtype of matrix products in this context, to which observations in bytes are converted."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
