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
Play against policies in the terminal. Type `help` at the prompt to see what you can type, and `?` for a hint.

  python -m experiments play
  python -m experiments play --opponent champion --players 3
  python -m experiments play --opponent expert search:100ms --players 3 --seat 1 --match
  python -m experiments play --record runs/play/game-1.jsonl
"""

Config = PlayConfig


def main(config: PlayConfig) -> int:
    """Play. The record is always saved; the exit status is 1 if that fails."""
    policies = (*config.opponent, config.hints)
    compare_rules(policies, current(config.start()).rules, other_rules=config.other_rules)
    torch.set_num_threads(1)  # as in match play, so that a search is as strong
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")  # explained like any wrong input
    session = Session(config, Console(highlight=False, markup=False, emoji=False))
    try:
        session.run()
    except EOFError:
        session.console.print()
    except KeyboardInterrupt:
        session.console.print("\n")
        raise
    finally:
        saved = session.save()
        if not saved:
            session.console.print("This is the record:", *map(json.dumps, session.records()), sep="\n", soft_wrap=True)
    return 0 if saved else 1
