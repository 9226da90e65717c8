# %% [markdown]
# # Training an agent
#
# This notebook trains a small agent by self-play in about two minutes on one core, watches it play, measures what it
# is worth, and lets it meet a bot of your own. It needs Python, and knowing what a policy and a reward are;
# [01_rules_tour](01_rules_tour.ipynb) shows the game itself.
#
# The outputs stored here come from one run. If you run it yourself, the times will differ, but the findings should not.

# %% [markdown]
# The first cell holds the budget. Halve it, or spend ten times as much: everything below follows.

# %% tags=["parameters"]
DECISIONS = 5_000_000  # to learn from
GAMES = 4_000  # of each measurement at the end

# %% [markdown]
# A notebook runs in its own folder; the packages `agents` and `experiments` are in the folder above. `prepare` makes
# learning faster. Call it before torch is loaded.

# %%
import sys

sys.path.insert(0, "..")

from experiments.process_setup import prepare

prepare()

# %%
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image

from agents.learners.ppo import PPOConfig
from agents.learners.self_play_ppo import SelfPlayPPO
from agents.learners.task import GameConfig
from agents.match.runner import duel, play_match
from agents.network import NetworkConfig
from agents.network_policy import NetworkPolicy
from agents.policy import Actions
from agents.policy_factory import make_policy
from experiments.plot_style import BLUE, LINES, STYLE, intervals, reference
from experiments.training.train_config import TrainConfig
from experiments.training.trainer import Trainer
from experiments.training.training_run import measure
from uno_flex_env import Game
from uno_flex_env.actions import ACTIONS, FLEX_ACTIONS, TEXTS
from uno_flex_env.cards import FACES
from uno_flex_env.observation import parts
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.render import Table, picture
from uno_flex_env.seeding import decision_noise

plt.rcParams.update(STYLE)

# %% [markdown]
# ## What learns, and how
#
# A run is described by one `TrainConfig`, which holds smaller ones: the games, the network, the learner. A setting that
# you don't name keeps its default. `python -m experiments train` reads the same settings from its flags and files, so
# you can copy there what works here.

# %%
config = TrainConfig(
    seed=1,
    decisions=DECISIONS,
    game=GameConfig(players=(2,), num_envs=1024, num_steps=32),
    network=NetworkConfig(kind="mlp", width=256, layers=2),
    ppo=PPOConfig(learning_rate=3e-3, update_epochs=1),
    baselines=("flex_when_stuck", "expert"),
    evaluation_games=GAMES // 4,
)

# %% [markdown]
# In words: 1,024 games of two players go on side by side, and one network sits in every seat of all of them. After 32
# decisions in each game PPO improves it a little, and the games go on. An observation is egocentric, so the same
# weights serve every seat. The reward is 1 for the winner of a round and -1 for the loser.
#
# The two *baselines* are fixed opponents. `flex_when_stuck` plays at random, but plays a flex side only when no
# regular side fits; `expert` is a strong player by rules of thumb.

# %% [markdown]
# ## Before it has learned anything

# %%
trainer = Trainer(config, folder=Path("."), num_threads=1)  # the folder is for checkpoints; none are written here
assert isinstance(trainer.learner, SelfPlayPPO)
ppo = trainer.learner.ppo
parameters = sum(weights.numel() for weights in ppo.network.parameters())
print(f"{parameters:,} parameters, learning on {ppo.device} in {ppo.precision}")

# %% [markdown]
# `measure` plays the agent against the baselines, always on the same deals, each deal from both seats. The cards decide
# most single games, so each win rate comes with its 95 % interval. Measurements take the agent's likeliest action.
# Before it has learned anything, that is almost always the same action, and it wins almost no game.

# %%
start = measure(config, trainer.policy())
for (baseline, players), rate in start.items():
    print(f"{players} players, against {baseline:16} {rate}")

# %% [markdown]
# ## Learning
#
# `trainer.step()` collects one rollout, learns from it and returns metrics. Training is this loop; the command does the
# same and also writes checkpoints and charts. We measure ten times during the run.

# %%
decisions, strength, behavior = [0], [start], []
while not trainer.is_done:
    metrics = trainer.step()
    if trainer.decisions >= len(decisions) * DECISIONS / 10:
        decisions.append(trainer.decisions)
        strength.append(measure(config, trainer.policy()))
        behavior.append(metrics)
        wins = ", ".join(f"{100 * rate.mean:4.1f} % against {name}" for (name, _), rate in strength[-1].items())
        print(f"{trainer.decisions:>9,} decisions: wins {wins}")

# %% [markdown]
# ## The learning curve
#
# Lines are win rates, bands their 95 % intervals. The agent learns most of it quickly and the rest slowly. The gray
# line is even play.

# %%
millions = np.array(decisions) / 1e6
figure, axes = plt.subplots()
for (name, players), (color, style) in zip(start, LINES, strict=False):
    rates = [measured[name, players] for measured in strength]
    axes.plot(millions, [100 * rate.mean for rate in rates], style, color=color, label=f"against {name}")
    low, high = ([100 * getattr(rate, end) for rate in rates] for end in ("low", "high"))
    axes.fill_between(millions, low, high, color=color, alpha=0.2, linewidth=0)
reference(axes, 50)
axes.set(xlabel="million decisions", ylabel="wins, %", title="Strength of the agent, two players")
axes.legend()
plt.show()

# %% [markdown]
# ## What it learns to do
#
# Win rates show that the agent improves, its behavior shows how. Each line is a share of the decisions in which there
# was a choice: how often it plays a flex side where it could, and how often it draws, or keeps the card that it drew,
# where it could play. First it learns to draw only when it must, then, slowly, to save its Power.

# %%
figure, axes = plt.subplots()
labels = {"flex_rate": "flexes", "draw_rate": "draws by choice", "keep_rate": "keeps a playable card"}
for (name, label), (color, style) in zip(labels.items(), LINES, strict=False):
    shares = [100 * metrics.get(name, np.nan) for metrics in behavior]
    axes.plot(millions[1:], shares, style, color=color, label=label)
axes.set(xlabel="million decisions", ylabel="% of the chances", title="Behavior while learning", ylim=(0, None))
axes.legend()
plt.show()

# %% [markdown]
# ## Watching a game
#
# A policy answers a batch of decisions: observations, masks of the legal actions, and keys for random numbers. For one
# game the batch has one row.


# %%
def current_decision(game: Game) -> Decisions:
    """The decision of the current player, as a batch of one."""
    observation, mask = Positions([game.state]).observe()
    return Decisions(observation, mask, decision_noise(1, 0, game.state.current_player, game.ply))


# %% [markdown]
# The agent sits in seat 0 and meets the expert. `!` marks a flex side, and the signs are the Powers afterwards, `+` for
# green. The last column is the probability that the agent gave its action; often there was no other choice.

# %%
agent, expert = trainer.policy(), make_policy("expert")
assert isinstance(agent, NetworkPolicy)
game = Game(num_players=2, seed=11)
while not game.is_over:
    seat, decision = game.state.current_player, current_decision(game)
    action = int((agent if seat == 0 else expert).act(decision)[0])
    sure = f"{100 * agent.probabilities(decision)[0, action]:4.0f} %" if seat == 0 else ""
    game.play(action)
    print(f"{game.ply:3} {('agent', 'expert')[seat]:7} {TEXTS[action]:8} {game.power} {sure}")
print(f"player {game.winner} wins with {game.points} points")

# %% [markdown]
# ## One decision
#
# Flex now, or hold the Power back? We deal until the opening offers both: a flex side, and a regular side of some card.

# %%
PLAYS = np.array([action.face is not None for action in ACTIONS])


def can_do_both(masks: np.ndarray) -> np.ndarray:
    """For each row of a mask (B, 216), whether flex sides and regular sides are legal: (B,) bool."""
    legal = masks != 0
    return (legal & FLEX_ACTIONS).any(axis=1) & (legal & PLAYS & ~FLEX_ACTIONS).any(axis=1)


deals = (Game(num_players=2, seed=seed) for seed in range(1000))
game = next(deal for deal in deals if can_do_both(current_decision(deal).action_mask)[0])
file = BytesIO()
plt.imsave(file, picture(Table.from_state(game.state, game.rules), 0, size=(900, 600)))
Image(file.getvalue(), width=720)

# %% [markdown]
# It is one card: the yellow 7 goes on the green 7 by its number, by either side, and afterwards looks the same on the
# pile. The flex side only costs the Power. The agent's view of its choices, most probable first:

# %%
chances = agent.probabilities(current_decision(game))[0].numpy()
legal = [action for action in np.argsort(-chances) if game.state.is_legal(action)][:6]
figure, axes = plt.subplots()
bars = axes.barh([TEXTS[action] for action in legal], 100 * chances[legal], color=BLUE)
axes.bar_label(bars, fmt="%.1f", padding=3)
axes.set(xlabel="probability, %", title="What the agent would play (! is a flex side)", xlim=(0, 110))
axes.invert_yaxis()
plt.show()

# %% [markdown]
# One deal proves nothing, but policies take batches. `Positions` deals as many games as you like; over all openings
# that offer both, this is how often the agent flexes:

# %%
opening = Positions.deal(np.arange(20_000, dtype=np.uint64), num_players=2)
observations, masks = opening.observe()
rows = can_do_both(masks)
keys = decision_noise(1, np.arange(rows.sum()), 0, 0)
chances = agent.probabilities(Decisions(observations[rows], masks[rows], keys)).numpy()
flexing = chances[:, FLEX_ACTIONS].sum(axis=1).mean()
print(f"{rows.sum():,} of {len(opening):,} openings offer both; the agent flexes in {100 * flexing:.1f} % of them")

# %% [markdown]
# ## What it is worth
#
# The measurements above did not steer the training, but we looked at them often. A final result needs new deals, which
# means another seed. `duel` plays one policy against another one in all other seats; its intervals count deals.

# %%
bots = ("random", "never_flex", "always_flex", "flex_when_stuck", "expert")
verdict = {name: duel(agent, name, games=GAMES, seed=2).rate("agent") for name in bots}
for name, rate in verdict.items():
    print(f"against {name:16} {rate}")

# %%
figure, axes = plt.subplots()
intervals(axes, range(len(bots)), list(verdict.values()), scale=100, across=True)
reference(axes, 50, "x")
axes.set_yticks(range(len(bots)), bots)
axes.set(xlabel="wins of the agent, %, with 95 % intervals", title="The trained agent, two players", xlim=(0, 100))
axes.invert_yaxis()
plt.show()

# %% [markdown]
# If an interval is right of the gray line, the agent is better. If it holds the line, there are too few games to
# tell.

# %% [markdown]
# ## A bot of your own
#
# A policy is a class with a `name`, a `history` (how many past events it wants to see; mostly 0) and `act`, which
# answers a batch of decisions with a legal action each. This one plays its most expensive regular sides first, and
# begins to flex when another player is about to win.

# %%
POINTS = np.array([-1 if action.face is None else FACES[action.face].points for action in ACTIONS])


class Watchful:
    """Plays regular sides until an opponent holds one or two cards, then flex sides."""

    name, history = "watchful", 0

    def act(self, decisions: Decisions) -> Actions:
        cards = parts(decisions.observation)["hand_sizes"][:, 1:]  # of the others; bit k: at least k + 1 cards
        alarm = ((cards[:, :, 0] == 1) & (cards[:, :, 2] == 0)).any(axis=1)
        taste = POINTS + np.where(alarm[:, None], 100, -100) * FLEX_ACTIONS
        return np.where(decisions.action_mask == 1, taste, -1000).argmax(axis=1)


# %% [markdown]
# You can use it wherever you can use a policy. The score of `draw` is -1: the bot draws when no regular side fits and
# no other player is about to win. An illegal answer would be an error that names the policy and the action.

# %%
print(duel(Watchful(), "flex_when_stuck", games=GAMES, seed=2))

# %% [markdown]
# `play_match` plays any line-up, here three different policies. Each deal is played three times, so that each policy
# sits in each seat. A fair share is a third.

# %%
print(play_match([Watchful(), "flex_when_stuck", "expert"], games=GAMES, seed=3))

# %% [markdown]
# It wins less than its fair share. Can you do better? Here are two ideas. Wilds count 50 points, so this bot first
# plays the cards that always fit. And it draws where it could flex, if nothing else fits. Change both, and it beats
# `flex_when_stuck`. Change a line and run the cells again: the deals are the same, so any difference comes from the
# bot.

# %% [markdown]
# ## Keeping it, and going on
#
# `trainer.save_policy("agent.safetensors")` writes the network, and `make_policy("agent.safetensors")` plays it again,
# here or in any command. In a terminal, at the root of the project:
#
# ```bash
# python -m experiments train --config configs/train/quick.toml   # three times this, with charts and checkpoints
# python -m experiments evaluate runs/quick:greedy expert         # what it is worth
# python -m experiments evaluate my_bots:Watchful expert          # your bot, from a file my_bots.py
# python -m experiments train --league.opponents my_bots:Watchful --league.fraction 0.5  # an agent that meets it
# ```
