"""Plays the card with the most points, keeps flex sides for later, and draws only when stuck."""

import json
import sys


def points(action: str) -> int:
    """The points of the card that an action plays: wilds 50, action cards 20, numbers their number."""
    if action.islower() and action.isalpha():  # draw, keep, challenge and so on
        return -50
    if action[0] == "W":
        return 50
    worth = int(action[1]) if action[1].isdigit() else 20
    return worth - 25 * ("!" in action)  # ! marks the flex side


for line in sys.stdin:
    view = json.loads(line)
    best = max(view["legal"], key=points)
    print(json.dumps(best), flush=True)
