"""What decides and what learns: policies, networks, the learner, match play. A package of the checkout."""

import os

# Before torch is imported: its threads sleep while they wait for each other. Spinning ones are hardly faster on an idle
# machine and several times slower on one that does anything else.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
