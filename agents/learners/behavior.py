"""How often a policy flexes, draws, keeps and challenges."""

from __future__ import annotations

import torch
from torch import Tensor

from uno_flex_env.actions import CHALLENGE, DRAW, FLEX_ACTIONS, KEEP, PLAY_ACTIONS

_FLEX, _PLAY = torch.tensor(FLEX_ACTIONS), torch.tensor(PLAY_ACTIONS)


def behavior(legal: Tensor, action: Tensor) -> dict[str, float]:
    """Rates among the decisions that have the choice. A rate without any such decision is left out.

    flex_rate: how often a flex side is played, where one is legal. draw_rate: how often a card is drawn, where one
    could be played. keep_rate: how often a drawn card is kept, where it could be played. challenge_rate: how often a
    Draw Four is challenged.

    Args:
        legal: (B, 216) bool, the legal actions.
        action: (B,) int64, the action taken.
    """
    plays = (legal & _PLAY).any(dim=1)
    chances = {
        "flex_rate": (_FLEX[action], (legal & _FLEX).any(dim=1)),
        "draw_rate": (action == DRAW, plays & legal[:, DRAW]),
        "keep_rate": (action == KEEP, plays & legal[:, KEEP]),
        "challenge_rate": (action == CHALLENGE, legal[:, CHALLENGE]),
    }
    return {name: done[where].float().mean().item() for name, (done, where) in chances.items() if where.any()}
