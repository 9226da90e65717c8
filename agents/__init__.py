"""Policies, networks, the learner and match play. A package of the checkout: the wheel does not contain it."""
