"""An `ActorCritic` as the policy of sb3-contrib's MaskablePPO, and back."""

from __future__ import annotations

import copy

from gymnasium import spaces
from torch import Tensor, nn

from agents.network import ActorCritic
from uno_flex_env.errors import needs_extra

with needs_extra("the learner maskable_ppo", "train"):
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor


class Trunk(BaseFeaturesExtractor):
    """The trunk of an `ActorCritic`, (B, 640) to (B, width), as a features extractor of Stable-Baselines3."""

    def __init__(self, observation_space: spaces.Box, network: ActorCritic) -> None:
        super().__init__(observation_space, network.config.width)
        self.trunk = copy.deepcopy(network.trunk)

    def forward(self, observations: Tensor) -> Tensor:
        body: Tensor = self.trunk(observations)
        return body


def copy_weights(network: ActorCritic, policy: MaskableActorCriticPolicy) -> None:
    """Give a policy that was made with `Trunk` the weights of the network."""
    for ours, theirs in _parts(policy):
        theirs.load_state_dict(getattr(network, ours).state_dict())


def as_network(policy: MaskableActorCriticPolicy, like: ActorCritic) -> ActorCritic:
    """A copy on the CPU of the network that Stable-Baselines3 trains; `like` gives the shape and is not changed."""
    network = copy.deepcopy(like)
    for ours, theirs in _parts(policy):
        getattr(network, ours).load_state_dict(theirs.state_dict())
    return network


def _parts(policy: MaskableActorCriticPolicy) -> list[tuple[str, nn.Module]]:
    """The parts of a Stable-Baselines3 policy, by their names in an `ActorCritic`."""
    trunk = policy.features_extractor
    assert isinstance(trunk, Trunk)
    return [("trunk", trunk.trunk), ("policy", policy.action_net), ("value", policy.value_net)]
