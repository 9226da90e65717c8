"""Actor-critic networks: one for all seats and for 2 to 8 players, since what it sees is egocentric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import MAX_HISTORY
from uno_flex_env.rules import MAX_PLAYERS

Kind = Literal["mlp", "residual", "history"]


@dataclass(frozen=True)
class NetworkConfig:
    """What a network is made of."""

    kind: Kind = "mlp"
    """mlp: layers of ReLUs; residual: blocks of two layers, each added to what it reads; history: an mlp that attends
    to past events, too."""
    width: int = 256
    """Of every hidden layer."""
    layers: int = 2
    """Hidden layers, or residual blocks."""
    history: int = 16
    """How many past events the kind "history" reads; the others read none."""
    privileged: bool = False
    """The critic is a network of its own that sees all hands. It serves training alone, so play stays honest."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"network.kind must be one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        for name in ("width", "layers", "history"):
            if getattr(self, name) < 1:
                raise ValueError(f"network.{name} must be at least 1, got {getattr(self, name)}")
        if self.history > MAX_HISTORY:
            raise ValueError(f"network.history must be at most {MAX_HISTORY}, got {self.history}")

    @property
    def events(self) -> int:
        """Past events that the network wants to see."""
        return self.history if self.kind == "history" else 0


class ActorCritic(nn.Module):
    """Logits of the 216 actions, and the value of the position for the viewer.

    Args of `forward`:
        observation: (B, 640), floats or bytes.
        history: (B, H, 3) whole numbers, for the kind "history".
        hidden: (B, 728), see `VecEnv.hidden_hands`, for a privileged critic; without them its values are 0.

    Returns:
        logits (B, 216), of illegal actions too, and value (B,).
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.trunk = _trunk(config, NUM_FEATURES)
        self.memory = Memory(config.width) if config.events else None
        self.policy = nn.Linear(config.width, NUM_ACTIONS)
        self.value = nn.Linear(config.width, 1)
        self.critic = _trunk(config, NUM_FEATURES + NUM_HIDDEN_FEATURES) if config.privileged else None
        # At first all legal actions are about equally likely, and every position is worth nothing.
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
            return logits, self.value(body).squeeze(1)
        if hidden is None:
            return logits, torch.zeros(len(body))
        table = torch.cat([observation, hidden.to(observation.dtype)], dim=1)
        return logits, self.value(self.critic(table)).squeeze(1)


class Memory(nn.Module):
    """Attends to past events: the position asks, each event answers (arXiv:1706.03762, one head)."""

    SIZE = 64

    def __init__(self, width: int) -> None:
        super().__init__()
        self.action = nn.Embedding(NUM_ACTIONS + 1, self.SIZE)  # the first is "no event yet"
        self.seat = nn.Embedding(MAX_PLAYERS + 1, self.SIZE)
        self.drawn = nn.Embedding(16, self.SIZE)
        self.age = nn.Embedding(MAX_HISTORY, self.SIZE)
        self.ask = nn.Linear(width, self.SIZE)
        self.join = nn.Linear(self.SIZE, width)
        for table in (self.action, self.seat, self.drawn, self.age):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, body: Tensor, history: Tensor) -> Tensor:
        seat, action, drawn = (history[:, :, i].long() + 1 for i in range(3))
        age = torch.arange(history.shape[1] - 1, -1, -1, device=history.device)
        event = self.action(action) + self.seat(seat) + self.drawn(drawn.clamp(max=15)) + self.age(age)
        event = event.to(body.dtype)
        match = torch.einsum("bhs,bs->bh", event, self.ask(body)) / self.SIZE**0.5
        answer = torch.einsum("bh,bhs->bs", match.softmax(dim=1), event)
        return torch.relu(body + self.join(answer))


class Residual(nn.Module):
    """x + two layers of x, normalized first (arXiv:2002.04745)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.zeros_(self.down.weight)  # a block begins as the identity

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.down(torch.relu(self.up(self.norm(x))))
        return x + inner


def _trunk(config: NetworkConfig, features: int) -> nn.Sequential:
    """From features (B, features) to (B, width)."""
    first, width = nn.Linear(features, config.width), config.width
    if config.kind == "residual":
        blocks: list[nn.Module] = [Residual(width) for _ in range(config.layers)]
        return nn.Sequential(first, *blocks, nn.LayerNorm(width), nn.ReLU())
    rest = [layer for _ in range(config.layers - 1) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(first, nn.ReLU(), *rest)


def _working_dtype(x: Tensor) -> torch.dtype:
    """Bytes become what the matrix products of this device compute with."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32


def masked_log_softmax(logits: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities and probabilities of the legal actions.

    Args:
        logits: (B, A), of any size.
        legal: (B, A) bool, at least one in each row.

    Returns:
        Both (B, A) float32. A probability is exactly 0 where illegal; there the log-probability is a finite number
        without meaning, so that products of the two, and gradients, are never NaN.
    """
    masked = _masked(logits, legal)
    return masked.log_softmax(dim=1), masked.softmax(dim=1)


def masked_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    """Only the probabilities of `masked_log_softmax`."""
    return _masked(logits, legal).softmax(dim=1)


def _masked(logits: Tensor, legal: Tensor) -> Tensor:
    # Not -inf, since 0 * inf is no number. Torch's softmax takes such entries in its stride; its `exp` is twenty times
    # slower for them, and a product of floats and booleans is slower still.
    # `where` takes a quarter of the time of `masked_fill`.
    return torch.where(legal, logits, -1e38).float()


def chosen(logits: Tensor, legal: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probability of one legal action of each row, and the entropy of the row in nats.

    The same as with `masked_log_softmax` and `entropy`, in half the time, since their gradient is written out:
    d log p(a) / d logits = 1[a] - p and dH / d logits = -p (log p + H).

    Args:
        logits: (B, A), of any size.
        legal: (B, A) bool.
        action: (B,) int64.

    Returns:
        Both (B,) float32.
    """
    log_prob, spread = _Chosen.apply(logits, legal, action)  # type: ignore[no-untyped-call]
    return log_prob, spread


class _Chosen(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, legal: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        log_probs, probs = masked_log_softmax(logits, legal)
        weighted = probs * log_probs
        spread = -weighted.sum(dim=1)
        ctx.save_for_backward(probs, weighted, spread, action)
        ctx.dtype = logits.dtype
        return log_probs.gather(1, action[:, None]).squeeze(1), spread

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        probs, weighted, spread, action = ctx.saved_tensors
        of_log_prob, of_spread = (slope[:, None] for slope in slopes)
        slope = probs * -(of_log_prob + of_spread * spread[:, None])
        slope.addcmul_(weighted, of_spread, value=-1).scatter_add_(1, action[:, None], of_log_prob)
        return slope.to(ctx.dtype), None, None


def entropy(log_probs: Tensor, probs: Tensor) -> Tensor:
    """Of each row, (B,), in nats."""
    return -(probs * log_probs).sum(dim=1)


def kl_divergence(log_probs: Tensor, probs: Tensor, other_log_probs: Tensor) -> Tensor:
    """From the distribution of each row to another with the same legal actions, (B,), in nats."""
    return (probs * (log_probs - other_log_probs)).sum(dim=1)


def sample(probs: Tensor, uniform: Tensor) -> Tensor:
    """An action of each row, (B,), by the inverse of its distribution function.

    Args:
        probs: (B, A), not necessarily adding up to one.
        uniform: (B,) in [0, 1).
    """
    reached = probs.cumsum(dim=1)
    uniform = uniform.to(probs.dtype).clamp(max=1.0 - 2.0**-24)  # rounding must not make a 1 of it
    action = torch.searchsorted(reached, uniform[:, None] * reached[:, -1:], right=True)
    # Where sums are not taken in order, as on a GPU, they can rise by rounding at an action of probability 0.
    possible = probs.gather(1, action) > 0
    if not possible.all():
        action = torch.where(possible, action, probs.argmax(dim=1, keepdim=True))
    return action.squeeze(1)
