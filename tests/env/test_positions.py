"""Rounds side by side: each row is the game that it would be alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.episodes import EVERY_PHASE
from tests.support.notation import table
from uno_flex_env import Game, IllegalActionError, Rules, State, playout
from uno_flex_env.batch import BOTS
from uno_flex_env.positions import Positions

TABLES = [*((num_players, Rules()) for num_players in range(2, 9)), (3, EVERY_PHASE)]


def wandering(num_players: int, rules: Rules, count: int = 12, steps: int = 15) -> tuple[Positions, list[Game]]:
    """Random play in both forms."""
    positions = Positions.deal(np.arange(count), num_players, rules)
    games = [Game(num_players, rules, seed=seed) for seed in range(count)]
    rng = np.random.default_rng(num_players)
    for _ in range(steps):
        actions = [-1 if game.is_over else int(rng.choice(game.state.legal_actions())) for game in games]
        positions.apply(actions)
        for game, action in zip(games, actions, strict=True):
            if action >= 0:
                game.play(action)
    return positions, games


@pytest.mark.parametrize(("num_players", "rules"), TABLES)
def test_each_row_is_the_game_that_it_would_be_alone(num_players, rules):
    """State, turn, observation and mask. Seen to fail with `apply` that skips row 3."""
    positions, games = wandering(num_players, rules)

    assert [positions.state(row) for row in range(12)] == [game.state for game in games]
    assert positions.current_player.tolist() == [game.state.current_player for game in games]
    assert positions.winners.tolist() == [game.state.winner for game in games]
    assert positions.is_over.tolist() == [game.is_over for game in games]
    assert positions.fields["pile_size"].tolist() == [game.draw_pile for game in games]
    going = positions[~positions.is_over]
    observations, masks = going.observe()
    for row, game in enumerate(game for game in games if not game.is_over):
        seen, mask = np.zeros(640, np.uint8), np.zeros(216, np.int8)
        game.state.encode(game.state.current_player, seen)
        game.state.write_mask(mask)
        assert np.array_equal(observations[row], seen)
        assert np.array_equal(masks[row], mask)


def test_other_seats_see_the_table_but_may_not_act():
    """Seen to fail with the mask of the current player written for every viewer."""
    positions, games = wandering(3, Rules(), steps=3)
    elsewhere = (positions.current_player + 1) % 3

    observations, masks = positions.observe(elsewhere)

    seen = np.zeros(640, np.uint8)
    games[5].state.encode(int(elsewhere[5]), seen)
    assert np.array_equal(observations[5], seen)
    assert not masks.any()


def test_an_illegal_action_moves_no_row():
    positions, _ = wandering(2, Rules(), steps=0)
    before = positions.fields.copy()
    actions = [state.legal_actions()[0] for state in map(positions.state, range(12))]
    actions[7] = next(a for a in range(216) if not positions.state(7).is_legal(a))

    with pytest.raises(IllegalActionError, match=rf"row 7: .*{actions[7]}"):
        positions.apply(actions)

    assert np.array_equal(positions.fields, before)


@pytest.mark.parametrize("which", [slice(2, 9, 3), [4, 4, 0], -1, np.arange(12) % 5 == 0])
def test_rows_are_taken_as_numpy_takes_them(which):
    """And they are copies."""
    positions, games = wandering(4, Rules())
    places = np.atleast_1d(np.arange(12)[which])

    taken = positions[which]

    assert [taken.state(row) for row in range(len(taken))] == [games[place].state for place in places]
    taken.set_power(np.full(len(taken), 1))
    assert [positions.state(row) for row in range(12)] == [game.state for game in games]


def test_repeating_puts_copies_side_by_side():
    positions, games = wandering(2, Rules())

    twice = positions.repeat(2)

    assert [twice.state(row) for row in range(4)] == [games[0].state] * 2 + [games[1].state] * 2


def test_turning_a_power_changes_what_is_legal():
    """Rules 5: a red Power allows no flex side. Seen to fail with the old legal actions kept."""
    positions = Positions([table("g5 | 0: y2/g r1 | 1: b4 | power ++").state])
    twin = table("g5 | 0: y2/g r1 | 1: b4 | power -+").state

    positions.set_power([0b10])

    assert positions.state(0) == twin


@pytest.mark.parametrize("green", [0, 0b1000])
def test_some_power_of_those_who_play_is_green(green):
    """Rules 5."""
    positions, _ = wandering(3, Rules())

    with pytest.raises(ValueError, match=f"row 0: at least one Power must be green.* got {green}"):
        positions.set_power(np.full(12, green))


def test_playouts_are_those_of_the_batch():
    """The same bots to the same end, on any number of threads; the rows stay as they are. Seen to fail with the key of
    row 0 used for all rows."""
    positions, games = wandering(3, Rules())
    keys = np.arange(40, dtype=np.uint64)
    many = positions[[1]].repeat(40)
    before = positions.fields.copy()

    winners, points = many.playout("flex_any", keys, repeats=2)

    assert winners.shape == points.shape == (40, 2)
    for again in (many.playout("flex_any", keys, repeats=2, num_threads=3), many.playout("flex_any", keys)):
        assert np.array_equal(again[0], winners[:, : again[0].shape[1]])
        assert np.array_equal(again[1], points[:, : again[1].shape[1]])
    assert np.array_equal(many[7:9].playout("flex_any", keys[7:9])[0], winners[7:9, :1])
    assert not np.array_equal(winners[:, 0], winners[:, 1])
    assert len(set(winners[:, 0].tolist())) > 1
    assert np.array_equal(positions.fields, before)
    one, _ = playout([games[1].state], "flex_any", repeats=4000, seed=1)
    other, _ = positions[[1]].repeat(4000).playout("flex_any", np.arange(4000))
    assert abs((one == 0).mean() - (other == 0).mean()) < 0.05


def test_each_seat_can_have_a_bot_of_its_own():
    positions = Positions.deal(np.arange(3000), 2)

    winners, _ = positions.playout(["random", "flex_any"], np.arange(3000))

    assert (winners == 1).mean() > 0.85


def test_views_are_those_of_the_states():
    """The current player looks; worlds are drawn as `View.determinize` draws them, on any number of threads."""
    positions, games = wandering(4, EVERY_PHASE)
    going = np.flatnonzero(~positions.is_over)
    keys = np.arange(len(going), dtype=np.uint64) + 5

    views = positions[going].hide()
    worlds = views.determinize(keys)

    assert views.viewers.tolist() == [games[row].state.current_player for row in going]
    for place, row in enumerate(going):
        state = games[row].state
        assert worlds.state(place) == state.hide(state.current_player).determinize(int(keys[place]))
    threaded = views.determinize(keys, num_threads=3)
    assert np.array_equal(threaded.fields, worlds.fields)


@pytest.mark.parametrize(
    ("bad", "name"), [(None, "NoneType"), (Game(seed=1), "Game"), (7, "int"), (State.__new__(State), "State")]
)
@pytest.mark.parametrize("made", [Positions, playout, lambda states: playout(states, repeats=3, num_threads=2)])
def test_a_list_with_something_else_than_states_is_refused(made, bad, name):
    """Fault 2-11: a None in the list was taken for a state.

    Seen to fail with a list of pointers in the binding: SIGSEGV."""
    state = Game(seed=1).state
    with pytest.raises(TypeError, match=f"row 2: expected a State, got {name}"):
        made([state, state, bad])
    with pytest.raises(TypeError, match=f"row 0: expected a State, got {name}"):
        made([bad, state])


def test_mistakes_are_refused_at_once():
    positions, _ = wandering(2, Rules())
    over = Positions([play_to_the_end().state])

    with pytest.raises(ValueError, match="need at least one state"):
        Positions([])
    with pytest.raises(ValueError, match="one number of players, got 2 and 3 "):
        Positions([Game(2, seed=1).state, Game(3, seed=1).state])
    with pytest.raises(ValueError, match="need at least one seed"):
        Positions.deal([], 2)
    with pytest.raises(ValueError, match="2 to 8"):
        Positions.deal([1], 9)
    with pytest.raises(ValueError, match="actions must have 12 rows, got 3"):
        positions.apply([1, 2, 3])
    with pytest.raises(ValueError, match="row 0: the round is over"):
        over.hide()
    with pytest.raises(ValueError, match="row 0: no such seat"):
        over.observe()
    with pytest.raises(ValueError, match=f"no such bot: 'nobody'; there are {', '.join(BOTS)}"):
        positions.playout("nobody", np.arange(12))
    with pytest.raises(ValueError, match="a bot for each seat"):
        positions.playout(["random"] * 3, np.arange(12))
    with pytest.raises(ValueError, match=r"actions must be whole numbers .* got \[0\.5"):
        positions.apply([0.5] * 12)
    with pytest.raises(ValueError, match=r"keys must be whole numbers from 0 .* got array"):
        positions.playout("random", np.full(12, -1))
    for odd in (216, -2):
        with pytest.raises(ValueError, match="actions must be from -1 to 215"):
            positions.apply([odd] * 12)
    with pytest.raises(ValueError, match="one number for each row, got an array of shape"):
        positions.apply([[1] * 12])
    with pytest.raises(ValueError, match=r"times must be a whole number from 1 .* got 1\.5"):
        positions.repeat(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keys must have 12 rows, got 2"):
        positions.playout("random", [1, 2])


def test_more_rows_than_memory_holds_are_refused():
    """Before memory is taken for them. Seen to fail with bounds of 1 << 24 copies of each row."""
    positions, _ = wandering(2, Rules(), steps=1)
    for rows in (positions, positions.hide()):
        with pytest.raises(ValueError, match="times must be a whole number from 1 to 349525, got 349526"):
            rows.repeat((1 << 22) // 12 + 1)
        with pytest.raises(ValueError, match="there may be at most 4194304 rows, got 4194305"):
            rows[np.broadcast_to(0, (1 << 22) + 1)]
    with pytest.raises(ValueError, match="there may be at most 4194304 rows, got 4194305"):
        Positions.deal(np.broadcast_to(np.uint64(0), (1 << 22) + 1), 2)
    with pytest.raises(ValueError, match="repeats must be a whole number from 1 to 22369621, got 22369622"):
        positions.playout("random", np.arange(12), repeats=(1 << 28) // 12 + 1)


def play_to_the_end() -> Game:
    game = Game(2, seed=5)
    rng = np.random.default_rng(0)
    while not game.is_over:
        game.play(int(rng.choice(game.state.legal_actions())))
    return game
