"""Studies of the game: simulations, statistics, figures and a report each."""
