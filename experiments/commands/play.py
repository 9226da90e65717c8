"""Play against policies at the terminal."""

from __future__ import annotations

import json
import sys
from io import TextIOWrapper

import torch
from rich.console import Console

from experiments.terminal.play_config import PlayConfig, current
from experiments.terminal.session import Session
from experiments.trained_rules import compare_rules

HELP = """\
Play against policies in the terminal. Type `help` at the prompt to see what you can type, and `?` for a hint. After a
round you see which of your decisions the policy of --hints would have taken otherwise. You can then play another.

  python -m experiments play
  python -m experiments play --opponent champion --players 3
  python -m experiments play --opponent expert search:100ms --players 3 --seat 1 --match
  python -m experiments play --record runs/play/game-1.jsonl
"""

Config = PlayConfig


def main(config: PlayConfig) -> int:
    """Play rounds or matches until you stop. Each record is saved; the exit status is 1 if that fails."""
    policies = (*config.opponent, config.hints)
    compare_rules(policies, current(config.start()).rules, other_rules=config.other_rules)
    torch.set_num_threads(1)  # as in match play, so that a search is as strong
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")  # explained like any wrong input
    session, status = Session(config, Console(highlight=False, markup=False, emoji=False)), 0
    while True:
        try:
            session.run()
        except EOFError:
            session.console.print()
        except KeyboardInterrupt:
            session.console.print("\n")
            raise
        finally:
            if not session.save():
                status = 1
                records = map(json.dumps, session.records())
                session.console.print("This is the record:", *records, sep="\n", soft_wrap=True)
        if not session.played.is_over or not session.another():
            return status
        session = Session(session.next_config(), session.console)
