"""Match play: the one place that computes win rates."""
