"""What a player knows of the hidden cards, counted by hand: every arrangement of physical cards that can be.

It follows a game as one player sees it and knows nothing of the engine's bookkeeping. Copies of a wild are told apart;
which one lies in the discard pile belongs to the arrangement, since a copy that went through the reshuffle and one that
did not can be in different places.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import comb

from tests.support.notation import cards
from tests.support.reference import Table
from uno_flex_env import Game, State
from uno_flex_env.cards import CODES

Card = tuple[str, int, int]  # text, pool, place in the pool
Key = tuple[tuple[str, ...], ...]
"""The hands of the others as texts, and the card just drawn where somebody else has one."""


@dataclass
class Case:
    """What a player can place, and pools of which it only knows how many cards of each went to whom. The last pool is
    where cards come from now: what nobody got of it is in the draw pile."""

    game: Game
    viewer: int
    pools: list[tuple[str, dict[int, int]]]
    known: dict[int, str] = field(default_factory=dict)
    """Cards in hands that belong to no pool."""
    played: dict[int, str] = field(default_factory=dict)
    """Wilds that somebody got out of the pools and has played since."""
    seen: dict[int, str] = field(default_factory=dict)
    """Wilds out of the pools that the player knows in a hand."""
    seen_since_reshuffle: set[int] = field(default_factory=set)
    """Hands that, but for what is seen in them, have nothing of pools before the last one."""
    playable: str = ""
    """In phase `drawn` of another player: what can be played."""

    @property
    def others(self) -> list[int]:
        return [seat for seat in range(self.game.num_players) if seat != self.viewer]

    @property
    def ways(self) -> int:
        """How many ways there are to deal the pools."""
        ways = 1
        for pool, needs in self.pools:
            left = len(cards(pool))
            for count in needs.values():
                ways, left = ways * comb(left, count), left - count
        return ways


def splits(pool: list[Card], needed: list[tuple[int, int]]) -> Iterator[dict[int, list[Card]]]:
    """Every way to deal the cards of a pool."""
    if not needed:
        yield {}
        return
    (seat, count), *others = needed
    for chosen in itertools.combinations(pool, count):
        rest = [card for card in pool if card not in chosen]
        for split in splits(rest, others):
            yield {seat: list(chosen), **split}


def picks(hand: list[Card], texts: str) -> list[frozenset[Card]]:
    """Every way to pick cards with these texts."""
    wanted = sorted(cards(texts))
    chosen = itertools.combinations(hand, len(wanted))
    return [frozenset(pick) for pick in chosen if sorted(text for text, *_ in pick) == wanted]


def arrangements(case: Case) -> Counter[Key]:
    """In how many arrangements each table is."""
    pools = [[(text, i, k) for k, text in enumerate(cards(pool))] for i, (pool, _) in enumerate(case.pools)]
    tables: dict[object, Key] = {}
    dealings = [list(splits(pool, [*needs.items()])) for pool, (_, needs) in zip(pools, case.pools, strict=True)]
    for parts in itertools.product(*dealings):
        dealt = [[card for part in parts for card in part.get(seat, [])] for seat in case.others]
        plays = [picks(hand, case.played.get(seat, "")) for seat, hand in zip(case.others, dealt, strict=True)]
        for played in itertools.product(*plays):
            hands = [[card for card in hand if card not in gone] for hand, gone in zip(dealt, played, strict=True)]
            looks = [picks(hand, case.seen.get(seat, "")) for seat, hand in zip(case.others, hands, strict=True)]
            for seen in itertools.product(*looks):
                note(case, tables, frozenset().union(*played), hands, list(seen))
    return Counter(tables.values())


def note(
    case: Case, tables: dict[object, Key], gone: frozenset[Card], hands: list[list[Card]], seen: list[frozenset[Card]]
) -> None:
    """Add an arrangement, once for each card that may be the one just drawn."""
    last = len(case.pools) - 1
    for seat, hand, known in zip(case.others, hands, seen, strict=True):
        if seat in case.seen_since_reshuffle and any(card[1] != last for card in hand if card not in known):
            return
    arrangement = (gone, tuple(map(frozenset, hands)), tuple(seen))
    texts = [
        tuple(sorted([*cards(case.known.get(seat, "")), *(card[0] for card in hand)]))
        for seat, hand in zip(case.others, hands, strict=True)
    ]
    if not case.playable:
        tables[arrangement] = tuple(texts)
        return
    drawer = case.others.index(case.game.state.current_player)
    for card in hands[drawer]:
        if card[1] == last and card not in seen[drawer] and card[0] in cards(case.playable):
            tables[*arrangement, card] = (*texts, (card[0],))


def shown(state: State, case: Case) -> Key:
    """Which of the tables this state is."""
    hands = [tuple(sorted(CODES[face] for face in state.hand(seat))) for seat in case.others]
    return (*hands, (CODES[state.drawn],)) if case.playable else tuple(hands)


# --- Following a game -----------------------------------------------------------------------------------------------


class TooHard(Exception):  # noqa: N818
    """The witness does not count this; see where it is raised."""


class Witness:
    """One player's notes on a game."""

    def __init__(self, viewer: int, state: State) -> None:
        self.viewer, self.players = viewer, state.num_players
        self.known: list[Counter[str]] = [Counter() for _ in range(state.num_players)]  # in each hand, from challenges
        self.surely_old: list[Counter[str]] = [
            Counter() for _ in range(state.num_players)
        ]  # wilds, a part of the known
        self.reshuffled = False

    def watch(self, before: State, action: str, after: State) -> None:
        """Note one action."""
        player, card = before.current_player, action.split(":")[0].removesuffix("!")
        card = card if card in CODES else ""
        if action == "challenge" and player == self.viewer:
            self.look(before)
        if card:
            self.note_play(before, card)
        mine = hand(before, self.viewer) - Counter([card] if player == self.viewer else [])
        if after.reshuffles > before.reshuffles:
            mine = self.reshuffle(before, player, card, mine, after)
        if self.reshuffled:
            self.fresh -= hand(after, self.viewer) - mine

    def look(self, before: State) -> None:
        owner = before.actor
        self.known[owner] = hand(before, owner)
        if self.reshuffled:
            self.seen_since_reshuffle.add(owner)

    def note_play(self, before: State, card: str) -> None:
        player, wild, just_drawn = before.current_player, card.startswith("W"), before.drawn >= 0
        counts_as_known = self.known[player][card] > 0
        self.known[player] -= Counter([card])
        if not self.reshuffled or player == self.viewer:
            return
        nothing_drawn = before.sizes[player] + len(cards(self.played[player])) == self.old_size[player]
        if counts_as_known and wild:
            self.forget(player, card, just_drawn, nothing_drawn)
        if just_drawn or (not wild and card in self.fresh):
            self.fresh -= Counter([card])
        elif not wild or nothing_drawn:
            self.old -= Counter([card])
            self.old_size[player] -= 1
        else:
            self.played[player] += f" {card}"

    def forget(self, player: int, card: str, just_drawn: bool, nothing_drawn: bool) -> None:
        """A known wild counts as the one played (rules 7)."""
        sure, known = self.surely_old[player][card], self.known[player][card] + 1
        if sure and (known > sure or not (just_drawn or nothing_drawn)):
            raise TooHard("which of the known copies counts as played")
        self.surely_old[player] -= Counter([card])
        if just_drawn:
            self.seen_since_reshuffle.discard(player)

    def reshuffle(self, before: State, player: int, card: str, mine: Counter[str], after: State) -> Counter[str]:
        """Note which cards are old now and how many each hand has; what the viewer held at that moment."""
        sizes = [size - (seat == player and card != "") for seat, size in enumerate(before.sizes)]
        drawers = [seat for seat in range(self.players) if after.sizes[seat] > sizes[seat]]
        if before.pile_size and len(drawers) != 1:
            raise TooHard("several players draw while the pile is renewed")
        rest = Counter(CODES[face] for face in before.pile_order())
        if rest:
            sizes[drawers[0]] += before.pile_size
            if drawers[0] == self.viewer:
                mine = mine + rest
        lying = Counter(CODES[face] for face in before.discards) + Counter([card] if card else [])
        self.fresh = lying - Counter([CODES[after.top]])
        held = sum((hand(before, seat) for seat in range(self.players)), rest) - Counter([card] if card else [])
        self.old = held - mine
        self.old_size, self.played, self.seen_since_reshuffle = sizes, [""] * self.players, set[int]()
        self.surely_old = [wilds(held) for held in self.known]
        self.reshuffled = True
        return mine

    def case(self, game: Game) -> Case:
        """What is known now."""
        known = {seat: self.known[seat] for seat in range(self.players) if seat != self.viewer}
        if not self.reshuffled:
            pool = sum((hand(game.state, seat) for seat in known), Counter(CODES[f] for f in game.state.pile_order()))
            pool -= sum(known.values(), Counter())
            needs = {seat: game.state.sizes[seat] - held.total() for seat, held in known.items()}
            return Case(game, self.viewer, [(text(pool), needs)], {seat: text(held) for seat, held in known.items()})
        old, fresh, old_needs, needs, fixed, seen = Counter(self.old), Counter(self.fresh), {}, {}, {}, {}
        for seat, held in known.items():
            maybe = wilds(held) - self.surely_old[seat]
            sure = held - maybe
            sure_old = Counter({card: n for card, n in sure.items() if card.startswith("W") or card in old})
            old -= sure_old
            fresh -= sure - sure_old
            old_needs[seat] = self.old_size[seat] - sure_old.total()
            gone = len(cards(self.played[seat]))
            needs[seat] = game.state.sizes[seat] - sure.total() + gone - old_needs[seat]
            fixed[seat] = text(sure)
            seen[seat] = text(maybe)
        played = {seat: self.played[seat] for seat in known}
        pools = [(text(old), old_needs), (text(fresh), needs)]
        return Case(game, self.viewer, pools, fixed, played, seen, self.seen_since_reshuffle)


def hand(state: State, seat: int) -> Counter[str]:
    """The cards of a seat."""
    return Counter(CODES[face] for face in state.hand(seat))


def wilds(held: Counter[str]) -> Counter[str]:
    """The wilds among these cards."""
    return Counter({card: count for card, count in held.items() if card.startswith("W")})


def text(held: Counter[str]) -> str:
    """These cards as one text."""
    return " ".join(held.elements())


def follow(game: Game, viewer: int) -> Case:
    """What this player knows of the game; `TooHard` if that is beyond the witness."""
    states, back = [game.state.copy()], game.copy()
    while back.ply:
        states.append(back.undo().state.copy())
    states.reverse()
    witness = Witness(viewer, states[0])
    for action, (before, after) in zip(game.actions, pairwise(states), strict=True):
        witness.watch(before, action, after)
    case = witness.case(game)
    if game.phase == "drawn" and game.current_player != viewer:
        if game.rules.draw_four == "strict":
            raise TooHard("whether a Draw Four can be played depends on the hand")
        table = Table.from_record(game.to_record())
        case.playable = " ".join(card for card in CODES if table.plays(card))
    return case
