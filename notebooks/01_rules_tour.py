# %% [markdown]
# # A tour of the rules
#
# UNO Flex is UNO with a second side: most cards have a *flex side*, which you may use while your *Power card* is green,
# and using it turns the Power red. This notebook explains the game by playing it, one idea a cell.
#
# All rules, numbered, are in [RULES.md](../uno_flex_env/RULES.md). [02_training](02_training.ipynb) lets an agent
# learn the game.

# %%
import sys

sys.path.insert(0, "..")

# %%
import json
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image

from experiments.plot_style import LINES, STYLE
from uno_flex_env import Game, IllegalActionError, Match, Rules, uno_flex_v0
from uno_flex_env.cards import CODES, FACES
from uno_flex_env.observation import decode
from uno_flex_env.render import Table, ansi, picture

plt.rcParams.update(STYLE)


def show(game: Game, seat: int | None) -> Image:
    """The table as one seat sees it, or with None a spectator."""
    file = BytesIO()
    plt.imsave(file, picture(Table.from_state(game.state, game.rules), seat, size=(900, 600)))
    return Image(file.getvalue(), width=720)


# %% [markdown]
# ## Cards
#
# The deck has 104 cards: 92 different faces, of which the four wilds come four times each. Four colors, `r y g b`;
# numbers 1 to 8; and three actions, Skip, Reverse and Draw Two (`S R D`).

# %%
print(
    sum(face.copies for face in FACES),
    "cards,",
    sum(face.copies for face in FACES if face.has_flex),
    "with a flex side",
)
print(*CODES)

# %% [markdown]
# That is the notation of a card, and it needs nothing but a keyboard:
#
# | card | reads |
# |---|---|
# | `b6` | the plain blue 6 |
# | `y3^` | a yellow 3 with the flip icon, which flips your Power |
# | `y2/g` | a yellow 2 whose flex side is a green 2 |
# | `rS/` | a red Skip with a flex side, also red |
# | `WF` | Wild All Flip |
# | `WT/` `WA/` `W4/` | Target Draw Two, All Draw, Draw Four: wilds with a flex side |

# %% [markdown]
# One hand with every kind of card. `Game.from_position` sets up any table you can think of; hands are lists of cards,
# the top of the discard pile is one card.

# %%
hand = ["b6", "y3^", "y2/g", "rS/", "gD", "WF", "WT/", "WA/", "W4/"]
game = Game.from_position([hand, ["r1", "b4"]], top="g5")
show(game, seat=0)

# %% [markdown]
# The lower part of a card is its flex side. A frame marks what may be played on the green 5: the green Draw Two by its
# color, every wild at any time, and the yellow 2, because its flex side is green.

# %% [markdown]
# ## A turn
#
# A new game: seven cards each, and the dealer sits in the last seat, so player 0 begins. The seed decides the order of
# the cards for good. `>` marks who decides, `+` a green Power.

# %%
game = Game(num_players=3, seed=7)
game

# %% [markdown]
# In a turn you play one card or draw one. A card fits if it shows the active color or the symbol of the top card.
# `!` after a card means its flex side, and a wild calls a color, as in `:g`.

# %%
print(*game.legal_actions)

# %%
game.play(game.legal_actions[0])

# %% [markdown]
# A card that does not fit is an error, which names the legal actions. The game is then as before.

# %%
try:
    game.play("g7")
except IllegalActionError as error:
    print(error)

# %% [markdown]
# You may also draw when you could play. If the drawn card fits, you may play it, but no other card, or keep it.
# Here the next card of the draw pile is chosen so that it fits.

# %%
game = Game.from_position([["y8", "r1"], ["b4"]], top="r5", draw_pile=["r3", "g1"])
game.play("draw")
print("phase:", game.phase, "| drawn:", game.drawn, "| legal:", *game.legal_actions)

# %% [markdown]
# Any action can be taken back.

# %%
print("ply", game.ply, "->", game.undo().ply)

# %% [markdown]
# ## A flex
#
# Back to a set table. The top is a green 5. Player 0 holds nothing green, but the yellow 2 has a green flex side.

# %%
game = Game.from_position([["y2/g", "r1", "r7"], ["b4", "y8"], ["b6", "g1"]], top="g5")
print(*game.legal_actions)

# %% [markdown]
# The flex side decides whether the card fits. On the pile it shows its regular side again: the active color is now
# yellow, and player 0's Power is red.

# %%
game.play("y2/g!")
show(game, seat=1)

# %% [markdown]
# ## The Power
#
# With a red Power flex sides are out of reach. So the question of this game is when to spend it, and there are three
# ways to get it back. The first is a number with the flip icon: it always flips your own Power.

# %%
game = Game.from_position([["y3^", "r1"], ["b4"], ["b6"]], top="y4", power="-++")
print(game.power, "->", game.play("y3^").power)

# %% [markdown]
# The second is Wild All Flip, which flips the Power of every player.

# %%
game = Game.from_position([["WF", "r1"], ["b4"], ["b6"]], top="y4", power="-+-")
print(game.power, "->", game.play("WF:r").power)

# %% [markdown]
# The third is the reset: when all Powers are red, all turn green. So the player with the last green Power can flex and
# gets it back at once.

# %%
game = Game.from_position([["y2/g", "r1"], ["b4"], ["b6"]], top="g5", power="+--")
print(game.power, "->", game.play("y2/g!").power)

# %% [markdown]
# ## What flex sides do
#
# A flexed number is a number. The flex side of an action card is another action: Skip skips all other players, so the
# same player plays again; Reverse also skips the first player in the new direction; Draw Two makes all others draw one.

# %%
for card in ("rS/", "rR/", "rD/"):
    for action in (card, card + "!"):
        game = Game.from_position([[card, "b2"], ["g3"], ["g7"], ["y8"]], top="r5")
        game.play(action)
        left = [len(hand) for hand in game.hands]
        print(f"{action:5} next is player {game.current_player}, hands {left}, {game.power}")

# %% [markdown]
# The flex sides of Target Draw Two and Draw Four hit a player of your choice: `@2` is the one two seats on, clockwise.
# The target does not lose a turn. The flex side of All Draw makes everyone else draw two.

# %%
game = Game.from_position([["W4/", "b2"], ["g3"], ["g7"], ["y8"]], top="r5")
show(game.play("W4/!:b@2"), seat=None)

# %% [markdown]
# ## A Draw Four may be a bluff
#
# The regular Draw Four is meant for a hand that cannot match the color. It may be played all the same, and then the
# next player decides, out of turn: accept four cards, or challenge. Here player 0 holds a red card on red.

# %%
game = Game.from_position([["W4/", "r1", "b2"], ["g3"], ["g7"]], top="r5")
game.play("W4/:b")
print("phase:", game.phase, "| player", game.current_player, "decides:", *game.legal_actions)

# %% [markdown]
# The challenge shows the hand, and the bluffer draws. From then on player 1 knows those cards, and so does an agent in
# that seat.

# %%
game.play("challenge")
print([len(hand) for hand in game.hands], "| player 1 knows of player 0:", game.known(viewer=1, owner=0))

# %% [markdown]
# ## A whole round
#
# A round ends when a player has no card left. The winner scores the cards of the others. Here four players play a
# round; they play a card whenever they can, at random.

# %%
rng = np.random.default_rng(3)


def at_random(actions: list[str]) -> str:
    """One of these actions; draw or keep only where there is no other."""
    return str(rng.choice([action for action in actions if action not in ("draw", "keep")] or actions))


game = Game(num_players=4, seed=5)
sizes, flexes = [[len(hand) for hand in game.hands]], []
while not game.is_over:
    seat, action = game.current_player, at_random(game.legal_actions)
    game.play(action)
    sizes.append([len(hand) for hand in game.hands])
    if "!" in action:
        flexes.append((game.ply, seat))
print(f"player {game.winner} wins after {game.ply} actions and scores {game.points}")

# %% [markdown]
# Each line is a hand and each dot a flex. A step upward means that the player has drawn. Players who choose at random
# do not save their Power for the end: there is no flex in the last twenty actions.

# %%
figure, axes = plt.subplots()
for seat, (color, style) in enumerate(LINES):
    axes.step(
        range(game.ply + 1), [row[seat] for row in sizes], style, color=color, where="post", label=f"player {seat}"
    )
    plies = [ply for ply, who in flexes if who == seat]
    axes.plot(plies, [sizes[ply][seat] for ply in plies], "o", color=color)
axes.set(xlabel="actions taken", ylabel="cards", title="Hands of four random players; dots are flexes", ylim=(0, None))
axes.legend(ncols=4)
plt.show()

# %% [markdown]
# ## Records
#
# A game is written down as its deck and its actions, which is all that replaying needs: no seed, no random generator.

# %%
record = game.to_record()
print(list(record))
print(json.dumps(record)[:300], "...")

# %%
again = Game.from_record(json.loads(json.dumps(record)))
print("same game:", again.snapshot() == game.snapshot(), "| actions:", *again.actions[:8], "...")

# %% [markdown]
# A file of such lines is read by `python -m uno_flex_env replay FILE`. Since undo works on any game, so does leafing
# through one: here it is ten actions before its end, as player 2 saw it.

# %%
for _ in range(10):
    again.undo()
show(again, seat=2)

# %% [markdown]
# The same as text, for terminals; with `color=True` it comes in color.

# %%
print(ansi(Table.from_state(again.state, again.rules), 2, color=False))

# %% [markdown]
# ## What an agent sees
#
# In the PettingZoo environment the current player gets an observation of 640 zeros and ones, and a mask of the legal
# ones among 216 actions. Both have the same size for 2 to 8 players.

# %%
env = uno_flex_v0.env(num_players=4)
env.reset(seed=42)
observation = env.observe(env.agent_selection)
print(env.agent_selection, observation["observation"].shape, observation["action_mask"].sum(), "legal actions")

# %% [markdown]
# `decode` puts it into words. Of other hands it has only the sizes. Seats are counted from the player who observes.

# %%
for name, value in decode(observation["observation"]).items():
    print(f"{name:13} {value}")

# %% [markdown]
# ## Other rules, and matches
#
# Some houses play by other rules. `Rules` has a switch for each, with the official rule as the default. With `stacking`
# you may answer a Draw Two with another one.

# %%
game = Game.from_position([["rD", "r1"], ["bD", "b4"], ["g3", "g7"]], top="r5", rules=Rules(stacking=True))
game.play("rD").play("bD")
print("player", game.current_player, "owes", game.pending_draw, "| legal:", *game.legal_actions)

# %% [markdown]
# A `Match` plays rounds until a player has 500 points. The same players again:

# %%
match = Match(num_players=3, seed=1)
while not match.is_over:
    match.play(at_random(match.legal_actions))
print(f"{len(match.rounds)} rounds, scores {match.scores}: player {match.winner} wins the match")

# %% [markdown]
# That is the game. In [02_training](02_training.ipynb) an agent learns it in two minutes.
