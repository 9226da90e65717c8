"""
# UNO Flex

| Import             | `from uno_flex_env import uno_flex_v0`     |
|--------------------|--------------------------------------------|
| Actions            | Discrete                                   |
| Parallel API       | No                                         |
| Manual Control     | No                                         |
| Agents             | `agents= ['player_0', ..., 'player_7']`    |
| Agents             | 2 to 8                                     |
| Action Shape       | ()                                         |
| Action Values      | Discrete(216)                              |
| Observation Shape  | (640,)                                     |
| Observation Values | 0 or 1                                     |
| State Shape        | (640 n,) for n agents                      |
| State Values       | 0 or 1                                     |

UNO with cards that have a second, flex side, which a player may use while its Power card is green. `RULES.md` in this
package has the rules, numbered. An episode is one round or, with `match=True`, a match to 500 points.

```python
from uno_flex_env import uno_flex_v0

env = uno_flex_v0.env(num_players=4)
env.reset(seed=42)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    if termination or truncation:
        action = None
    else:
        action = env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
env.close()
```

Players decide one at a time, and each sees what the previous player did. So there is no parallel environment.
`agent_selection` is the current player, who may be out of turn: the target of a Draw Four that may challenge it, or an
opponent that may catch a missing UNO. An agent may be selected several times in a row, or be skipped for a whole round
of turns.

### Arguments

```python
uno_flex_v0.env(
    num_players=2,
    rules=None,
    match=False,
    reward="win",
    history=0,
    render_mode=None,
    max_decisions=20000,
    illegal="raise",
    render_seat="current_player",
    dealer=None,
)
```

`num_players`, `rules`, `match`, `reward`, `history`, `max_decisions`, `dealer`: the options of an episode, for example
`rules={"stacking": True}`. `uno_flex_env.options.EpisodeOptions` explains them.

`render_mode`: `"ansi"` (text), `"rgb_array"` or `"human"` (a window; both need `pip install uno-flex-env[render]`).

`illegal`: the effect of an illegal action; see Legal Actions Mask.

`render_seat`: the seat whose cards are shown: `"current_player"` for the player to act, a seat, or None for no seat.

`reset(seed=...)` fixes the deals: the same seed and actions give the same episode, and `Game(num_players, rules,
seed=...)` deals the same cards. `reset()` without a seed draws the next one from the environment's generator. You can
copy the environment with `copy.deepcopy` or pickle at any moment; the copy plays on identically.

### Observation Space

A dictionary with `'observation'`, `'action_mask'` and, with `history`, `'history'`. `observe()` works for every agent
at any time, and its arrays are the caller's to keep.

`'observation'` is a row of 640 features that are 0 or 1 (uint8). It is egocentric: seat 0 is the agent itself, seat k
sits k seats clockwise. The features are the same for 2 to 8 players; `uno_flex_env.observation` has them as named
slices (`LAYOUT`) and turns a row into words (`decode`). It holds what the player may know and nothing else.

FEATURE TABLE

At the end of a round the observation shows the table as the last action left it. `phase`, `actor`, `owed`,
`prior_color` and the drawn card are zeros then.

`'history'` has a row for each of the last public events of the round (int16), the newest last: seat offset of the
actor, its action, and how many cards were drawn in it; -1 where there is no event yet. In a match it restarts with each
round.

`state()` is the input for a centralized critic: the observations of all seats, one after the other.

#### Legal Actions Mask

`'action_mask'` (int8) holds 1 for each action that is legal now. It is all zeros for every agent except the one to act.
The same mask is in `info["action_mask"]`.

An illegal action raises `IllegalActionError`, which names the action and the legal actions. The game does not change.
With `illegal="terminate"`, the environment does what PettingZoo's `TerminateIllegalWrapper` does: it ends the game with
reward -1 for the agent that moved and 0 for all others. Only the first illegal action logs a warning. A value that is
not an action raises an AssertionError (`OutOfBoundsError`), as under `AssertOutOfBoundsWrapper`. Calls in the wrong
order raise one as well, as under `OrderEnforcingWrapper`. These checks are built in, so `env` and `raw_env` are the
same. You don't need PettingZoo's wrappers; they work, but they are slow.

### Action Space

One of 216 actions, the same for any number of players and any rules; `uno_flex_env.actions` turns them into text and
back.

ACTION TABLE

### Rewards

| `reward`   | Winner                              | Loser                              | No winner   |
|------------|-------------------------------------|------------------------------------|-------------|
| `"win"`    | 1                                   | -1 / (n - 1)                       | 0           |
| `"points"` | points of all other hands / 100     | -(points of its own hand) / 100    | 0           |

In a match, `"win"` is paid once, at the end of the match. `"points"` is paid after every round. A loser gets its reward
from its final `last()`, after which its action is None.

### Options of Each Interface

The options and their defaults. A dash: the interface has no such option.

| option | PettingZoo | `make` | `make_vec` | `SB3VecEnv` | `VecEnv` | `Game`, `Match` |
|---|---|---|---|---|---|---|
| `num_envs` | - | - | `1` | required | required | - |
| `num_players` | `2` | `2` | `2` | `2` | `2` | `2` |
| `rules` | `None` | `None` | `None` | `None` | `None` | `None` |
| `seed` | - | - | - | - | `None` | `None` |
| `dealer` | `None` | - | - | - | - | `None` |
| `match` | `False` | `False` | `False` | `False` | `False` | - |
| `reward` | `"win"` | `"win"` | `"win"` | `"win"` | `"win"` | - |
| `history` | `0` | `0` | `0` | - | `0` | - |
| `max_decisions` | `20000` | `20000` | `20000` | `20000` | `None` | - |
| `opponents` | - | `"random"` | `"random"` | `"random"` | - | - |
| `seat` | - | `0` | `0` | `0` | - | - |
| `illegal` | `"raise"` | `"raise"` | - | - | - | - |
| `num_threads` | - | - | `1` | `1` | `1` | - |
| `autoreset_mode` | - | - | `"NextStep"` | - | - | - |
| `copy` | - | - | `True` | - | - | - |
| `render_mode` | `None` | `None` | - | - | - | - |
| `render_seat` | `"current_player"` | - | - | - | - | - |

`Game` and `Match` cut nothing off: their caller decides when to stop. `VecEnv` cuts nothing off by default, since a
loop has to bootstrap the value of a truncated game from `final_obs`. The Stable-Baselines3 environment has no history,
since its observation is flat. `playout` takes states, which have their rules, and gives up a round after 2**20
decisions.

### Version History

* v0: Initial version (0.1.0)
"""

from __future__ import annotations

from uno_flex_env import actions, observation
from uno_flex_env.envs.aec import UnoFlexEnv

__doc__ = (__doc__ or "").replace("FEATURE TABLE", observation.markdown_table())
__doc__ = __doc__.replace("ACTION TABLE", actions.markdown_table())

env = raw_env = UnoFlexEnv
