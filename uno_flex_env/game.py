"""The game with cards and actions as text: one round as `Game`, rounds to a target score as `Match`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env._core import State
from uno_flex_env.actions import NUM_ACTIONS, TEXTS, action_to_text, text_to_action
from uno_flex_env.batch import bot_number
from uno_flex_env.cards import CODES, COLORS, cards_to_text, text_to_card
from uno_flex_env.errors import IllegalActionError, RecordError
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import EpisodeOptions, check_whole, checked_rules
from uno_flex_env.record import Record
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed, decision_noise

PHASES: tuple[str, ...] = _core.PHASES


class Game:
    """One round that you can play, undo, inspect and record.

    >>> game = Game(num_players=3, seed=2023)
    >>> game.play("draw").undo().ply
    0

    Args:
        num_players, rules, dealer: see `uno_flex_env.options.EpisodeOptions`. `rules` may also be a dict of the
            switches that differ from the official rules. None means the official rules.
        seed: any 64-bit number. The same seed and actions give the same game. None draws a new seed.
    """

    def __init__(
        self,
        num_players: int = 2,
        rules: Rules | Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        dealer: int | None = None,
    ) -> None:
        options = EpisodeOptions(num_players, checked_rules(rules), dealer=dealer)
        rules, seed = options.rules, checked_seed(seed)
        state = State.deal(rules.core, num_players, options.first_dealer, seed)
        self._begin(state, rules, _core.shuffled_deck(rules.core, seed))

    def _begin(self, state: State, rules: Rules, deck: Sequence[int] | None) -> None:
        self.state = state
        """The core's state. `game.state.copy()`, `.to_bytes()` and `state_to_json(game.state)` save it."""
        self.rules = rules
        self._deck = None if deck is None else tuple(deck)
        self._past: list[State] = []
        self._actions: list[int] = []
        self._reshuffles: list[tuple[int, tuple[int, ...]]] = []  # the ply that renewed the draw pile, the new pile

    @classmethod
    def _from_state(cls, state: State, rules: Rules, deck: Sequence[int] | None) -> Self:
        game = cls.__new__(cls)
        game._begin(state, rules, deck)
        return game

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The game that a record describes, at its last action; `RecordError` if it can't be played."""
        parsed = Record.from_dict(record)
        state = State.deal_deck(parsed.rules.core, parsed.num_players, parsed.dealer, parsed.deck)
        game = cls._from_state(state, parsed.rules, parsed.deck)
        script = _core.Reshuffles(parsed.reshuffles)
        for ply, action in enumerate(parsed.actions):
            try:
                game._advance(action, script)
            except ValueError as error:
                raise RecordError(str(error), ply) from None
        if script.used < len(parsed.reshuffles):
            unused = len(parsed.reshuffles) - script.used
            raise RecordError(f"the game ends with {unused} of {len(parsed.reshuffles)} reshuffles unused", game.ply)
        return game

    @classmethod
    def from_position(
        cls,
        hands: Sequence[Sequence[str]],
        top: str,
        *,
        color: str | None = None,
        current_player: int = 0,
        direction: int = 1,
        power: str | None = None,
        draw_pile: Sequence[str] | None = None,
        discard_pile: Sequence[str] = (),
        rules: Rules | Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Self:
        """A position set up by hand, at the start of a turn. It has no deal, so it can't be recorded.

        Args:
            hands: the cards of each seat, in notation.
            top: the last card played; `color` is the active color if it is a wild.
            direction: 1 is clockwise, -1 the other way.
            power: "+-+" by seat, "+" for green; all green by default.
            draw_pile: the whole draw pile, next card first; all unnamed cards then lie under the top. With None, all
                unnamed cards are in the draw pile, shuffled by `seed`.
            discard_pile: cards under the top.
        """
        rules = checked_rules(rules)
        rules.check(len(hands))
        power = power or "+" * len(hands)
        if len(power) != len(hands) or set(power) - set("+-"):
            raise ValueError(f"power must be {len(hands)} signs + or -, got {power!r}")
        if type(current_player) is not int or not 0 <= current_player < len(hands):
            raise ValueError(f"current_player must be a seat from 0 to {len(hands) - 1}, got {current_player!r}")
        if color is None:
            color = top[:1]
        if color not in COLORS or len(color) != 1:
            raise ValueError(f"color must be one of r y g b (name it when the top is a wild), got {color!r}")
        state = State.position(
            rules.core,
            [[text_to_card(card) for card in hand] for hand in hands],
            text_to_card(top),
            COLORS.index(color),
            current_player,
            direction,
            sum(1 << seat for seat, sign in enumerate(power) if sign == "+"),
            [text_to_card(card) for card in discard_pile],
            None if draw_pile is None else [text_to_card(card) for card in draw_pile],
            checked_seed(seed),
        )
        return cls._from_state(state, rules, None)

    # ---- Playing ----

    @property
    def legal_actions(self) -> list[str]:
        """Notation of every legal action, in the order of the action space."""
        return [TEXTS[action] for action in self.state.legal_actions()]

    def why_illegal(self, action: str | int) -> str | None:
        """Why the current player can't take an action, with the number of the rule that forbids it. None if it is
        legal. Raises `NotationError` if there is no such action."""
        return self.state.why_illegal(_number(action))

    def play(self, action: str | int) -> Self:
        """Take an action, given in notation or as its number.

        Raises:
            NotationError: there is no such action.
            IllegalActionError: the action is not legal now. The game does not change.
        """
        self._advance(_number(action), _core.Reshuffles())
        return self

    def _advance(self, action: int, reshuffles: _core.Reshuffles) -> None:
        if not self.state.is_legal(action):
            raise IllegalActionError(self._explain(action))
        before = self.state.copy()
        reshuffles.apply(self.state, action)
        self._past.append(before)
        self._actions.append(action)
        if self.state.reshuffles > before.reshuffles:
            self._reshuffles.append((before.ply, tuple(reshuffles.noted)))

    def _explain(self, action: int) -> str:
        reason = self.state.why_illegal(action)
        if self.is_over:
            return f"{TEXTS[action]} is illegal: {reason}"
        legal = " ".join(self.legal_actions)
        return f"{TEXTS[action]} is illegal for player {self.current_player} now: {reason}; legal: {legal}"

    def undo(self) -> Self:
        """Take back the last action; ValueError if there is none."""
        if not self._past:
            raise ValueError("there is no action to take back")
        self.state = self._past.pop()
        self._actions.pop()
        if self._reshuffles and self._reshuffles[-1][0] == self.ply:
            self._reshuffles.pop()
        return self

    def copy(self) -> Self:
        """An independent game that plays on identically."""
        game = self._from_state(self.state.copy(), self.rules, self._deck)
        game._past, game._actions = list(self._past), list(self._actions)
        game._reshuffles = list(self._reshuffles)
        return game

    __copy__ = copy

    # ---- Looking ----

    def observe(self, seat: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """What a seat sees: {"observation": (640,) uint8, "action_mask": (216,) int8}, as in the environments.

        Args:
            seat: who looks; None for the current player. The mask of a seat that does not decide is all zeros.
        """
        if seat is None:
            seat = self._deciding_seat()
        check_whole("seat", seat, 0, self.num_players - 1)
        row, mask = np.zeros(NUM_FEATURES, np.uint8), np.zeros(NUM_ACTIONS, np.int8)
        self.state.encode(seat, row)
        if seat == self.state.current_player:
            self.state.write_mask(mask)
        return {"observation": row, "action_mask": mask}

    def bot_action(self, bot: str, seed: int = 0) -> str:
        """What a rule bot would play now, in notation; the game stays as it is.

        >>> game = Game(seed=1)
        >>> game.bot_action("flex_any") in game.legal_actions
        True

        Args:
            bot: one of `uno_flex_env.batch.BOTS`. A policy answers for a `Decisions` of one row, made from `observe()`.
            seed: the random choices of the bot follow from it, from the seat and from the ply.
        """
        noise = decision_noise(checked_seed(seed), 0, self._deciding_seat(), self.ply)
        action = np.zeros(1, np.int64)
        _core.act(bot_number(bot), self.observe()["action_mask"][None], noise, action)
        return TEXTS[int(action[0])]

    def _deciding_seat(self) -> int:
        if self.current_player is None:
            raise ValueError("the round is over: no player has to decide")
        return self.current_player

    @property
    def num_players(self) -> int:
        return self.state.num_players

    @property
    def dealer(self) -> int:
        return self.state.dealer

    @property
    def ply(self) -> int:
        """Actions taken so far."""
        return self.state.ply

    @property
    def actions(self) -> list[str]:
        """Notation of the actions taken so far."""
        return [TEXTS[action] for action in self._actions]

    @property
    def phase(self) -> str:
        """One of `PHASES` (rules 10)."""
        return PHASES[self.state.phase]

    @property
    def is_over(self) -> bool:
        return self.state.is_over

    @property
    def current_player(self) -> int | None:
        """The seat to act, possibly out of turn; None at the end."""
        return None if self.state.current_player < 0 else self.state.current_player

    @property
    def direction(self) -> int:
        """1 is clockwise, -1 the other way."""
        return self.state.direction

    @property
    def top(self) -> str:
        return CODES[self.state.top]

    @property
    def color(self) -> str:
        """The active color."""
        return COLORS[self.state.color]

    @property
    def hands(self) -> list[list[str]]:
        return [cards_to_text(self.state.hand(seat)) for seat in range(self.num_players)]

    @property
    def power(self) -> str:
        """A sign for each seat: + green, - red."""
        return "".join("+" if self.state.green >> seat & 1 else "-" for seat in range(self.num_players))

    @property
    def draw_pile(self) -> int:
        """Cards in the draw pile."""
        return self.state.pile_size

    @property
    def discard_pile(self) -> int:
        """Cards in the discard pile, top and ignored starters included."""
        return self.state.discard_size

    @property
    def drawn(self) -> str | None:
        """The card just drawn, in phase `drawn`."""
        return None if self.state.drawn < 0 else CODES[self.state.drawn]

    @property
    def pending_draw(self) -> int:
        """The sum owed in phase `stack`, else 0."""
        return self.state.owed if self.phase == "stack" else 0

    @property
    def winner(self) -> int | None:
        return None if self.state.winner < 0 else self.state.winner

    @property
    def points(self) -> int:
        """What the winner scores for this round."""
        return self.state.points

    def known(self, viewer: int, owner: int) -> list[str]:
        """Cards in `owner`'s hand that `viewer` knows from a challenge (rules 7)."""
        return cards_to_text(self.state.known(viewer, owner))

    def snapshot(self) -> dict[str, Any]:
        """The snapshot at this decision (rules 11)."""
        return snapshot(self.state)

    def to_record(self) -> dict[str, Any]:
        """The game so far as a record (rules 11), which `from_record` and the command `replay` read."""
        if self._deck is None:
            raise ValueError("a game set up as a position has no deal and so no record")
        piles = tuple(pile for _, pile in self._reshuffles)
        return Record(self.num_players, self.dealer, self.rules, self._deck, piles, tuple(self._actions)).to_dict()

    def __repr__(self) -> str:
        if self.is_over:
            state = "over, no winner" if self.winner is None else f"over, player {self.winner} scores {self.points}"
        else:
            owed = f" ({self.pending_draw} owed)" if self.pending_draw else ""
            drawn = f" {self.drawn}" if self.drawn else ""
            state = f"phase {self.phase}{drawn}{owed}, player {self.current_player} decides"
        turning = "clockwise" if self.direction == 1 else "counterclockwise"
        lines = [
            f"<Game ply {self.ply}: {state}, {turning}",
            f"   top {self.top} color {self.color} | draw pile {self.draw_pile}, discard pile {self.discard_pile}",
        ]
        for seat, (hand, sign) in enumerate(zip(self.hands, self.power, strict=True)):
            lines.append(f" {'>' if seat == self.current_player else ' '} {seat} {sign} {' '.join(hand)}")
        return "\n".join(lines) + ">"


class Match:
    """Rounds until a player has `rules.target_score` points (rules 8). The next round is dealt as soon as one ends.

    The arguments are those of `Game`; `dealer` deals the first round.
    """

    def __init__(
        self,
        num_players: int = 2,
        rules: Rules | Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        dealer: int | None = None,
    ) -> None:
        self._seed = checked_seed(seed)
        self.game = Game(num_players, rules, seed=self._seed, dealer=dealer)
        """The current round; at the end of the match, the last round."""
        self.game.state.begin_match()
        self.rules = self.game.rules
        self.rounds: list[Game] = []
        """The finished rounds."""

    @property
    def scores(self) -> list[int]:
        return list(self.game.state.scores)

    @property
    def dealer(self) -> int:
        return self.game.dealer

    @property
    def winner(self) -> int | None:
        """The seat that has won the match; None while it goes on."""
        return None if self.game.state.match_winner < 0 else self.game.state.match_winner

    @property
    def is_over(self) -> bool:
        return self.winner is not None

    @property
    def legal_actions(self) -> list[str]:
        return self.game.legal_actions

    def play(self, action: str | int) -> Self:
        """Take an action in the current round; see `Game.play`."""
        self.game.play(action)
        if self.game.is_over:
            self.rounds.append(self.game)
            if not self.is_over:
                self.game = self._next_round()
        return self

    def undo(self) -> Self:
        """Take back the last action, also over the end of a round; ValueError if there is none."""
        if self.rounds and (self.is_over or not self.game.ply):
            self.game = self.rounds.pop().copy()  # copies of the match share the finished rounds
        self.game.undo()
        return self

    def to_records(self) -> list[dict[str, Any]]:
        """A record of each round so far (rules 11), the present one last. They tell the deals and the actions; who had
        how many points before a round they do not."""
        rounds = self.rounds if self.is_over else [*self.rounds, self.game]
        return [game.to_record() for game in rounds]

    def copy(self) -> Self:
        """An independent match that plays on identically."""
        match = self.__class__.__new__(self.__class__)
        match._seed, match.rules = self._seed, self.rules
        match.game, match.rounds = self.game.copy(), list(self.rounds)
        return match

    __copy__ = copy

    def _next_round(self) -> Game:
        state = self.game.state.copy()
        state.next_round(self._seed)
        deck = _core.shuffled_deck(self.rules.core, self._seed, len(self.rounds))
        return Game._from_state(state, self.rules, deck)

    def __repr__(self) -> str:
        end = f"won by player {self.winner}" if self.is_over else f"round {len(self.rounds) + 1}"
        return f"<Match to {self.rules.target_score}, {end}, scores {self.scores}\n{self.game!r}>"


def _number(action: str | int) -> int:
    """The number of an action given in notation or as its number. `NotationError` if there is no such action."""
    return text_to_action(action if isinstance(action, str) else action_to_text(action))


def snapshot(state: State) -> dict[str, Any]:
    """The snapshot of a state (rules 11)."""
    return {
        "ply": state.ply,
        "phase": PHASES[state.phase],
        "to_move": None if state.current_player < 0 else state.current_player,
        "direction": state.direction,
        "top": CODES[state.top],
        "color": COLORS[state.color],
        "hands": [cards_to_text(state.hand(seat)) for seat in range(state.num_players)],
        "power": [bool(state.green >> seat & 1) for seat in range(state.num_players)],
        "draw_pile": state.pile_size,
        "discard_pile": state.discard_size,
        "drawn": None if state.drawn < 0 else CODES[state.drawn],
        "pending_draw": state.owed if PHASES[state.phase] == "stack" else 0,
        "winner": None if state.winner < 0 else state.winner,
        "points": state.points,
        "legal": sorted(TEXTS[action] for action in state.legal_actions()),
    }
