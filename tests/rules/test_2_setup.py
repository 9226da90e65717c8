"""Rules 2: setup."""

import pytest

from tests.support.notation import cards, deal, deck_of, sizes, table
from uno_flex_env import Game, Rules


@pytest.mark.parametrize("players", [-1, 0, 1, 9, 100])
def test_two_to_eight_play(players):
    """Rules 2.1."""
    with pytest.raises(ValueError, match=str(players)):
        Game(players)


def test_the_seats_are_0_to_n_minus_1_clockwise(num_players):
    """Rules 2.1: the turn goes from each seat to the next higher one, and from the last to seat 0."""
    game = table("g5 | draw r1 r2^ r3 r4^ b2 b4 b6 b8", players=num_players)
    order = []

    for _ in range(num_players):
        order.append(game.current_player)
        game.play("draw")

    assert order == list(range(num_players))
    assert game.current_player == 0


def test_each_player_has_a_green_power(num_players):
    """Rules 2.2: one for each seated player, none for the empty seats."""
    assert Game(num_players, seed=1).power == "+" * num_players


def test_the_dealer_shuffles():
    """Rules 2.3: each seed orders the same cards in its own way."""
    decks = [Game(4, seed=seed).to_record()["deck"] for seed in range(20)]

    assert len({tuple(deck) for deck in decks}) == 20
    assert len({tuple(sorted(deck)) for deck in decks}) == 1
    assert len({deck[0] for deck in decks}) > 5


def test_seven_cards_each(num_players):
    """Rules 2.3."""
    game = Game(num_players, seed=3)

    assert sizes(game) == [7] * num_players
    assert game.draw_pile + game.discard_pile == 104 - 7 * num_players


def test_hand_size_cards_each(num_players):
    """Rules 2.3."""
    assert sizes(Game(num_players, Rules(hand_size=5), seed=3)) == [5] * num_players


def test_the_cards_are_dealt_one_at_a_time_from_the_dealers_left():
    """Rules 2.3."""
    game = deal("r1 r2^ r3 r4^ r5 r6^ g5", 3, dealer=0, hand_size=2)

    assert game.hands == [["r3", "r6^"], ["r1", "r4^"], ["r2^", "r5"]]
    assert game.top == "g5"


def test_the_first_card_goes_to_the_left_of_any_dealer(num_players):
    """Rules 2.3."""
    for dealer in range(num_players):
        game = deal("r1 r2^ r3 r4^ r5 r6^ r7 r8^ g1 g2^ g3 g4^ g5", num_players, dealer=dealer, hand_size=1)

        assert game.hands[(dealer + 1) % num_players] == ["r1"]
        assert game.hands[dealer] == [cards("r1 r2^ r3 r4^ r5 r6^ r7 r8^")[num_players - 1]]


@pytest.mark.parametrize("starter", ["g5", "g6^", "g6/r", "b1/r"])
def test_the_next_card_starts_the_discard_pile(starter):
    """Rules 2.4."""
    game = deal(f"r1 r2^ {starter}", 2, hand_size=1)

    assert (game.top, game.discard_pile, game.draw_pile) == (starter, 1, 101)


@pytest.mark.parametrize(
    "ignored", [c + s for c in "rygb" for s in ("S", "R", "D", "S/", "R/", "D/")] + ["WF", "WT/", "WA/", "W4/"]
)
def test_a_starter_that_is_no_number_is_ignored(ignored):
    """Rules 2.4: it stays in the discard pile and does nothing; the next card is turned on top of it."""
    game = deal(f"r1 r2^ r3 {ignored} y4", 3, hand_size=1)

    assert (game.top, game.color, game.discard_pile, game.draw_pile) == ("y4", "y", 2, 99)
    assert (game.current_player, game.direction, game.power, game.phase) == (0, 1, "+++", "play")
    assert sizes(game) == [1, 1, 1]


def test_starters_are_turned_until_a_number_shows():
    """Rules 2.4."""
    game = deal("r1 r2^ rR WF W4/ gD/ bS b5^ y4", 2, hand_size=1)

    assert (game.top, game.color, game.discard_pile) == ("b5^", "b", 6)


def test_an_ignored_starter_comes_back_with_the_reshuffle():
    """Rules 2.4: it lies in the discard pile."""
    small = deck_of("r1 b2 WF y4")
    game = deal("r1 b2 WF y4", 2, hand_size=1, deck=small, reshuffles=["WF"], actions="draw")

    assert game.drawn == "WF"


def test_a_starter_is_on_its_regular_side():
    """Rules 2.5."""
    game = deal("y1^ g1 y2/g", 2, hand_size=1)

    assert game.color == "y"
    assert game.legal_actions == ["y1^", "draw"]


def test_a_flip_icon_on_the_starter_does_nothing(num_players):
    """Rules 2.5."""
    hands = cards("r1 r2^ r3 r4^ r5 r6^ r7 r8^")[:num_players]
    game = deal(" ".join([*hands, "g2^"]), num_players, hand_size=1)

    assert (game.top, game.power) == ("g2^", "+" * num_players)


def test_the_direction_is_clockwise_at_the_start(num_players):
    """Rules 2.6."""
    assert Game(num_players, seed=5).direction == 1


def test_the_player_to_the_left_of_the_dealer_plays_first(num_players):
    """Rules 2.7."""
    for dealer in range(num_players):
        game = Game(num_players, seed=2, dealer=dealer)

        assert game.current_player == (dealer + 1) % num_players
