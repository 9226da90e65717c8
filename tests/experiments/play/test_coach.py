"""Hints with an estimate, cards seen, a review of a round, a search in the rules, and another round."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from agents.checkpoint import save_network
from agents.network import ActorCritic, NetworkConfig
from experiments.terminal.coach import review
from experiments.terminal.events import steps
from tests.support.notation import table as position
from tests.support.playing import decision
from tests.support.typist import BOT, at, config_of, saved, sit, some_action
from uno_flex_env.actions import DRAW, TEXTS
from uno_flex_env.cards import cards_to_text
from uno_flex_env.rules import official_deck


def network_file(folder: Path, value: float) -> str:
    """A network that draws wherever it can, and whose critic always says `value`."""
    with torch.random.fork_rng(devices=[]):
        network = ActorCritic(NetworkConfig(width=8))
    with torch.no_grad():
        for head in (network.policy, network.value):
            head.weight.zero_()
        network.policy.bias[DRAW] = 5.0
        network.value.bias.fill_(value)
    save_network(folder / "drawer.safetensors", network, {})
    return str(folder / "drawer.safetensors")


@pytest.mark.parametrize(("players", "value", "chance"), [(2, 0.5, 75), (4, 0.0, 25), (3, -0.5, 0), (2, 3.0, 100)])
def test_a_hint_tells_the_chance_that_the_critic_sees(tmp_path, players, value, chance):
    """Fault 2-31: a win pays 1, a loss -1 / (n - 1). Seen to fail with the formula for two players at other tables."""
    hints = network_file(tmp_path, value)
    session, console = at(decision("play", players, 1), hints=hints, seat=decision("play", players, 1).current_player)

    session.obey("?")

    assert f"it gives you a chance of {chance} % to win this round." in " ".join(console.text.split())


def test_the_cards_that_are_not_seen_are_the_rest_of_the_deck():
    """Fault 2-31: hand, discard pile, known cards and cards not seen make up the deck, at any moment of a round.

    Seen to fail without the cards known from a challenge, and with the hand among the unseen cards."""
    for phase in ("play", "drawn", "challenge"):
        for seed in range(6):
            game = decision(phase, 3, seed)
            seat = game.state.current_player
            session, console = at(game, seat=seat)

            session.obey("seen")

            listed = Counter[str]()
            words = console.text.split("Not seen by you, ")
            for number, word in enumerate(tokens := words[1].split()[1:]):
                copies = tokens[number + 1] if number + 1 < len(tokens) else ""
                if not word.startswith("x"):
                    listed[word] += int(copies[1:]) if copies.startswith("x") else 1
            known = [card for other in range(3) if other != seat for card in game.known(seat, other)]
            seen = Counter([*game.hands[session.seat], *cards_to_text(game.state.discards), *known])
            assert listed + seen == Counter(game.rules.deck or official_deck())
            assert words[1].startswith(f"{listed.total()}:")


def test_a_review_names_the_decisions_that_the_policy_would_have_taken_otherwise(tmp_path):
    """Fault 2-31: of the person's seat alone, those with a choice, the clearest first.

    Seen to fail with the opponents' decisions, and with the states after each action."""
    game = position("r5 | 0: r2^ b6 y2 | 1: r1 g5 | draw y8 g7 b3^ b4")
    for action in ("r2^", "r1"):
        game.play(action)
    session, console = at(game, hints=network_file(tmp_path, 0.0))

    count, different = review(steps(game), 0, session.hints, 1, 0)
    session.review()

    assert [(one.number, TEXTS[one.played], TEXTS[one.better]) for one in different] == [(1, "r2^", "draw")]
    assert different[0].probs[1] > 0.9 > 0.1 > different[0].probs[0]
    text = " ".join(console.text.split())
    assert f"agrees with {count - 1} of your {count} decisions with a choice" in text
    assert "decision 1 you: r2^" in text


def test_a_whole_round_is_reviewed_at_its_end():
    """Fault 2-31. A policy agrees with its own decisions. Seen to fail when the seat of the opponent is reviewed."""
    _, text = sit(
        config_of(opponent=("flex_any",), hints="expert"), lambda session: TEXTS[session.answer(session.hints)]
    )

    found = " ".join(text.split()).partition("expert agrees with ")[2].split()
    assert found[0] == found[3]
    assert int(found[0]) > 2


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        ("stacking", "4.13 There is no stacking", "two_player_reverse"),
        ("guilty is", "draw_four", "two_player_reverse"),
        ("7.4", "7.4 ", "7.5 "),
    ],
)
def test_rules_searches_words(words, shown, hidden):
    """Fault 2-31: whole sections and rules by number, and rules in which words stand; of a table only their rows.

    Seen to fail when only numbers are found, and when whole tables are shown."""
    session, console = at(decision("play", 2, 1))

    assert session.obey(f"rules {words}") is False

    text = " ".join(console.text.split())
    assert shown in text
    assert hidden not in text


def test_another_round_is_offered(pipe, tmp_path):
    """Fault 2-31: with other cards and a record of its own, as often as you like; the end of the input ends it.

    Seen to fail with the same seed again, and when the first record is replaced."""
    played, _ = sit(config_of(seed=2), some_action)
    actions = [TEXTS[event.action] for event in steps(played.game) if event.seat == 0]

    said = pipe("\n".join([*actions, "y", "draw", "quit"]), "--seed", 2, *BOT)

    assert said.status == 0
    assert "Another round (y or n)?" in said.out
    first, second = (saved(tmp_path / f"runs/play/game-{number}.jsonl")[0] for number in (1, 2))
    assert first.is_over
    assert first.to_record()["deck"] != second.to_record()["deck"]
    said = pipe("\n".join([*actions, "n"]), "--seed", 2, *BOT)
    assert (said.status, said.out.count("Another round")) == (0, 1)
