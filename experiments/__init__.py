"""Runs and measurements: `python -m experiments` from the project's root."""
