"""The command `play`."""

from experiments.terminal.session import HELP, Config, main

__all__ = ["HELP", "Config", "main"]
