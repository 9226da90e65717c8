"""What is shown to the person and handed to the opponents, and what is not."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from agents.policy import Actions
from agents.policy_factory import make_policy
from experiments.terminal.chair import Chair
from experiments.terminal.events import since_last_decision, steps
from experiments.terminal.menu import options
from experiments.terminal.screen import draw_news
from experiments.terminal.session import Session
from tests.support.notation import table as position
from tests.support.playing import PHASES, decision
from tests.support.typist import Typist, at, config_of, sit, write
from uno_flex_env import Game, Rules, uno_flex_v0
from uno_flex_env.policy_input import Decisions

# ---- What is shown ----


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "over"])
def test_every_phase_is_explained_and_drawn(phase, num_players):
    """With the choices that there are, within 80 columns.

    Seen to fail with an actor taken from a phase that has none."""
    for seed in range(4):
        game = decision(phase, num_players, seed)
        session, console = at(game, seat=game.state.current_player)

        session.show()

        words = {"play": "draw", "drawn": f"drawn {game.drawn}", "challenge": "Accept: you draw 4", "uno": "say uno"}
        words |= {"catch": "catch it", "stack": f"draw {game.pending_draw} and lose the turn"}
        assert words[phase] in " ".join(console.text.split())
        assert max(map(len, console.text.split("\n"))) <= 80
        assert all(seat in console.text for seat in session.chair.names)


def test_each_legal_action_is_behind_one_number(num_players):
    """And each number has its own text."""
    wilds = position("r5 | 0: r2^ b6/y y7/r WF WT/ WT/ WA/ W4/ | 1: g1", num_players)
    for game in [wilds, *(decision(phase, num_players, 1) for phase in PHASES)]:
        legal = game.legal_actions

        menu = options(legal)

        assert sorted(action for option in menu for action in option.actions) == sorted(legal)
        assert len({option.text for option in menu}) == len(menu)
        assert all(action.startswith(option.text) for option in menu for action in option.actions)


def told(game: Game, seat: int) -> list[str]:
    """What is said of each event since the seat's last decision, on one line each."""
    chair = Chair(seat, tuple("ABCDEFGH"[: game.num_players]), game.rules)
    console = Typist(lambda: None)
    console.width = 1000
    console.print(draw_news(since_last_decision(game, seat), chair))
    return [" ".join(line.split()) for line in console.text.splitlines()]


@pytest.mark.parametrize(
    ("start", "actions", "seat", "lines"),
    [
        ("r5 | 0: rD r1 | 1: b1^ | 2: g1 | draw y1/g y2 y8", "rD", 1, ["A plays red Draw Two (rD); you get y1/g y2"]),
        ("r5 | 0: rD r1 | 1: b1^ | 2: g1 | draw y1/g y2 y8", "rD", 2, ["A plays red Draw Two (rD); B gets 2 cards"]),
        (
            "r5 | 0: rD/ r1 | 1: b1^ | 2: g1 | draw y1/g y2 y8",
            "rD/!",
            2,
            [
                "A plays red Draw Two, the flex side of rD/; its Power is now - red; everyone else gets 1 card; "
                "you get y2"
            ],
        ),
        ("r5 | 0: rR r1 | 1: b1^ | 2: g1", "rR", 2, ["A plays red Reverse (rR); now counterclockwise"]),
        ("r5 | 0: WF r1 | 1: b1^ | power +-", "WF:b", 1, ["A plays Wild All Flip (WF), calls blue; all Powers flip"]),
        (
            "r5 | 0: r2^ r1 | 1: b1^ | 2: g1 | power +--",
            "r2^",
            1,
            ["A plays red 2 (r2^); all Powers are + green again"],
        ),
        ("r5 | 0: r2^ r1 | 1: b1^", "r2^", 1, ["A plays red 2 (r2^); its Power is now - red"]),
        ("r5 | 0: r1 | 1: b1^ | draw b8", "draw", 1, ["A draws"]),
        ("r5 | 0: r1 | 1: b1^ | draw b8 b7/g", "draw draw", 0, ["A draws; you get b8", "B draws"]),
        (
            "r5 | 0: W4/ r1 y3/g | 1: b1^ | 2: g1 | draw b8 b7/g b6 b5^",
            "W4/:b challenge",
            1,
            ["B challenges the Draw Four; you see r1 y3/g; A gets 4 cards"],
        ),
        (
            "r5 | 0: W4/ r1 y3/g | 1: b1^ | 2: g1 | draw b8 b7/g b6 b5^",
            "W4/:b challenge",
            2,
            ["A plays Wild Draw Four (W4/), calls blue", "B challenges the Draw Four; A gets 4 cards"],
        ),
        ("r5 | 0: g1 b2 | 1: g3 | only", "draw", 0, ["A draws; there is no card left"]),
    ],
)
def test_each_event_is_told(start, actions, seat, lines):
    """Your own cards by name, those of others by number; Powers, direction, and what a challenge has shown.

    Seen to fail with the drawn cards of others, and with the shown hand told to the third player."""
    game = position(start)
    for action in actions.split():
        game.play(action)

    assert told(game, seat) == lines


# ---- What stays hidden ----


def look_alike(game: Game, seat: int, rng: random.Random) -> Game | None:
    """Another game that has looked the same from this seat all along, in which all other hands are different; None if
    none was found."""
    other = game
    for _ in range(300):
        record = other.to_record()
        deck = record["deck"]
        i, j = rng.sample(range(len(deck)), 2)
        deck[i], deck[j] = deck[j], deck[i]
        with suppress(ValueError):
            changed = Game.from_record(record)
            pairs = zip(steps(game), steps(changed), strict=True)
            if all(a.before.hide(seat) == b.before.hide(seat) for a, b in pairs) and (
                game.state.hide(seat) == changed.state.hide(seat)
            ):
                other = changed
    others = [k for k in range(game.num_players) if k != seat]
    return other if all(game.hands[k] != other.hands[k] for k in others) else None


@pytest.mark.parametrize("players", [2, 3, 8])
def test_hidden_cards_leave_no_trace_in_what_is_shown(pipe, players):
    """Faults 3 and 20: games that differ in nothing that the person has seen print the same, hints included.

    Seen to fail with a card of the next player shown at the table."""
    rng, found = random.Random(players), 0
    flags = ("--players", players, "--seed", 9, "--opponent", "flex_any", "--hints", "search:40")
    for seed in range(40):
        game = Game(players, seed=seed)
        while not game.is_over and (game.ply < 6 + seed or game.current_player):
            game.play(rng.choice(game.legal_actions))
        other = None if game.is_over else look_alike(game, 0, rng)
        if other is None:
            continue
        found += 1
        typed, to = "?\nhelp\nundo\nquit\n", ("--to", f"new{seed}")
        one = pipe(typed, *flags, *to, "--record", write(Path("one"), game.to_record()))
        Path(f"new{seed}").unlink(missing_ok=True)
        two = pipe(typed, *flags, *to, "--record", write(Path("one"), other.to_record()))
        assert one.status == two.status == 0
        assert one.out == two.out
        if found == 3:
            break
    assert found == 3


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "over"])
def test_opponents_are_handed_what_they_see_and_no_more(phase):
    """Faults 3 and 20: in two worlds that look the same to the current player, a policy gets the same arrays, draws the
    same worlds from its view, and a search moves alike.

    Seen to fail with the observation of another seat."""
    search = make_policy("search:64")
    for seed in range(6):
        game = decision(phase, 2 + seed, seed)
        current_player = game.state.current_player
        session, _ = at(game, seat=(current_player + 1) % game.num_players)
        mine = session.decisions(search), session.answer(search)
        game = session.played = game.copy()
        game.state = game.state.hide(current_player).determinize(7)
        other = session.decisions(search), session.answer(search)

        for name in ("observation", "action_mask", "noise", "history"):
            assert np.array_equal(getattr(mine[0], name), getattr(other[0], name))
        worlds = [seen[0].views.determinize([3]).state(0) for seen in (mine, other) if seen[0].views is not None]
        assert len(worlds) == 2
        assert worlds[0] == worlds[1]
        assert mine[1] == other[1]


class Witness:
    """Plays the first legal action and keeps what it was given."""

    name, history = "witness", 5

    def __init__(self) -> None:
        self.seen: list[Decisions] = []

    def act(self, decisions: Decisions) -> Actions:
        self.seen.append(decisions)
        first: Actions = np.argmax(decisions.action_mask, axis=1)
        return first


def test_policies_see_at_the_terminal_what_they_see_elsewhere():
    """Observation, mask and the last events as the environments write them; each decision has a key of its own.

    Seen to fail with events counted from the person's seat, and with the oldest event first cut off."""
    witness = Witness()
    config = config_of(players=3, seed=8, rules=Rules(uno_call="explicit"))

    def answer(session: Session) -> str:
        session.policies = dict.fromkeys((1, 2), witness)
        return session.game.legal_actions[0]

    session, _ = sit(config, answer, mute=True)
    env = uno_flex_v0.env(num_players=3, rules=config.rules, history=5)
    env.reset(seed=8)
    expected = []
    for seat, action in ((event.seat, event.action) for event in steps(session.game)):
        observation = env.last()[0]
        if seat:
            assert observation is not None
            expected.append(observation)
        env.step(action)

    assert len(expected) == len(witness.seen) > 10
    for seen, observed in zip(witness.seen, expected, strict=True):
        for name in ("observation", "action_mask", "history"):
            assert np.array_equal(getattr(seen, name)[0], observed[name])
        assert seen.views is None
    assert len({int(seen.noise[0]) for seen in witness.seen}) == len(witness.seen)
