"""Measure how far a policy can be exploited."""

from __future__ import annotations

from experiments.training.exploiters import BestResponseConfig, best_response

HELP = """\
Measure how far a policy can be exploited: train new learners against it, with the frozen policy in all other seats, and
report what the best of them gains. The gain is a lower bound of the policy's exploitability.

  python -m experiments best_response runs/quick --seeds 3
  python -m experiments best_response runs/two_players:greedy --train.decisions 100_000_000 --train.network.width 512
  python -m experiments best_response runs/four_players --train.game.players 4 --train.init-from runs/four_players

The learner of each seed is in runs/best_response-SEED (or with -2 and so on behind it), where its charts show its win
rate against the frozen policy. The folder of the best learner also gets result.json.
"""

Config = BestResponseConfig


def main(config: BestResponseConfig) -> int:
    """Train the learners, choose the best and print its gain."""
    print(best_response(config), flush=True)
    return 0
