"""The program that Callgrind runs: random play on the core alone, without the package, whose numpy starts slowly under
Callgrind.

    valgrind --tool=callgrind python -I -S callgrind_target.py PATH_OF_THE_CORE GAMES PLAYERS PARTS STEPS
"""

import importlib.util
import sys
from array import array


def main(path: str, games: int, players: int, parts: int, steps: int) -> None:
    """Deal a batch of `games` games and take `steps` random steps in each; `parts` as in `Batch.random_steps`."""
    spec = importlib.util.spec_from_file_location("_core", path)
    assert spec is not None
    assert spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    options = core.EpisodeOptions(num_players=players, rules=core.Rules(), dealer=players - 1)
    batch = core.Batch(num_envs=games, options=options, autoreset=True)
    batch.set_buffers(
        actions=array("i", [-1]) * games,
        observations=bytearray(games * core.NUM_FEATURES),
        action_masks=array("b", [0]) * (games * core.NUM_ACTIONS),
        histories=array("h"),
        rewards=array("f", [0.0]) * (games * players),
        terminated=bytearray(games),
        truncated=bytearray(games),
        current_player=array("b", [0]) * games,
        final_obs=bytearray(),
    )
    batch.seed(1)
    batch.reset()
    batch.random_steps(steps, parts)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
