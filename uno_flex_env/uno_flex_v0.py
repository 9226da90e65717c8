"""PettingZoo environment."""
from uno_flex_env.aec import UnoFlexEnv

env = raw_env = UnoFlexEnv
