"""What a policy does, counted in its decisions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from uno_flex_env.actions import ACTIONS, text_to_action

_FLEX = torch.from_numpy(np.array([action.flex for action in ACTIONS]))
_PLAY = torch.from_numpy(np.array([action.face is not None for action in ACTIONS]))
_DRAW, _CHALLENGE, _KEEP = (text_to_action(text) for text in ("draw", "challenge", "keep"))


def behavior(legal: Tensor, action: Tensor) -> dict[str, float]:
    """Shares of the decisions in which there was a choice; no entry where there were none.

    flex_rate: a flex side is played, where one can be; draw_rate: a card is drawn, where one can be played; keep_rate:
    the drawn card is kept, where it can be played; challenge_rate: a Draw Four is challenged.

    Args:
        legal: (B, 216) bool.
        action: (B,) what was done.
    """
    plays = (legal & _PLAY).any(dim=1)
    chances = {
        "flex_rate": (_FLEX[action], (legal & _FLEX).any(dim=1)),
        "draw_rate": (action == _DRAW, plays & legal[:, _DRAW]),
        "keep_rate": (action == _KEEP, plays & legal[:, _KEEP]),
        "challenge_rate": (action == _CHALLENGE, legal[:, _CHALLENGE]),
    }
    return {name: done[where].float().mean().item() for name, (done, where) in chances.items() if where.any()}
