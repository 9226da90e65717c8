"""Learners: algorithms that learn a policy by playing games. `agents.learners.learner` is their protocol."""
