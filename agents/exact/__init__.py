"""Exact answers on tiny decks for two players: `agents.exact.exploit` has the entrance."""
