// What one player can know of a state, and a full state drawn from all that agree with it.
#pragma once

#include "engine.hpp"

UNO_FLEX_BEGIN

/// The state as `viewer` sees it; everything else is blank: other hands but for the cards seen in a challenge, the
/// draw pile's order, the generator, another player's drawn card and legal actions, and what others know of third hands.
inline State hide(const State& s, int viewer) {
    State view = s;
    view.flags = uint8_t((s.flags & ~kOrderedPile) | kView);
    view.rng = 0;
    std::memset(view.pile, 0, sizeof view.pile);
    if (s.mover != viewer) {
        view.legal = ActionSet{};
        view.drawn = kNone;
    }
    for (int p = 0; p < s.players; ++p) {
        if (p != viewer) {
            view.hand[p] = plus(shared_colored(s.hand[p], s.known[viewer]), wild_cards(s.known_wilds[viewer][p]));
            // That p has seen the viewer's hand, the viewer knows; what else p has seen, not.
            view.known[p] = plus(shared_colored(s.known[p], s.hand[viewer]), wild_cards(s.known_wilds[p][viewer]));
            for (int o = 0; o < s.players; ++o)
                if (o != viewer) view.known_wilds[p][o] = 0;
            view.old_wilds[p] = 0;
        }
    }
    for (int p = 0; p < s.players; ++p)
        for (int o = 0; o < s.players; ++o)
            if (o != p) note_watcher(view, p, o);
    view.blurred &= uint8_t(1 << viewer);
    if (view.blurred) {
        view.fresh = Cards{};
        std::memset(view.old, 0, sizeof view.old);
        std::memset(view.old_wilds, 0, sizeof view.old_wilds);
    }
    return view;
}

namespace detail {

/// The cards that the viewer can't place, in two pools: in hands since before the last reshuffle, and drawn after it
/// or still in the pile. With nothing known about ages all are in the second.
struct Hidden {
    Cards old{}, fresh{};
    int old_needed[kMaxPlayers] = {};            // cards to deal to each hand from each pool
    int fresh_needed[kMaxPlayers] = {};
    uint16_t known_old_wilds[kMaxPlayers] = {};  // nibbles: of the known cards of each hand, the wilds that are old
};

/// How many of the copies of a wild that the viewer knows in a hand are old; -1 if the viewer can't tell.
inline int old_among_known(int players, int known, int hidden_old, int hidden_fresh) {
    if (known == 0 || hidden_old == 0) return 0;
    if (hidden_fresh == 0) return known;
    return players == 2 ? (known < hidden_old ? known : hidden_old) : -1;
}

inline Hidden without_ages(const State& view, int viewer) {
    Hidden hidden;
    hidden.fresh = minus(minus(view.deck, view.discard), view.hand[viewer]);
    for (int p = 0; p < view.players; ++p) {
        if (p == viewer) continue;
        hidden.fresh = minus(hidden.fresh, view.hand[p]);
        hidden.fresh_needed[p] = view.size[p] - count(view.hand[p]);
    }
    return hidden;
}

/// Sort the hidden cards by age. False if a known wild may be of either age: then the ages are of no use here.
inline bool with_ages(const State& view, int viewer, Hidden& hidden) {
    const Cards& own = view.hand[viewer];
    const Cards own_old = wild_cards(view.old_wilds[viewer]), own_wilds = wild_cards(wild_nibbles(own));
    Cards old = minus(minus(minus(view.deck, view.discard), view.fresh), own_old);
    old = minus(old, shared_colored(old, own));
    Cards fresh = minus(minus(view.fresh, shared_colored(view.fresh, own)), minus(own_wilds, own_old));
    const Cards all_old = old, all_fresh = fresh;
    for (int p = 0; p < view.players; ++p) {
        if (p == viewer) continue;
        const Cards& known = view.hand[p];
        uint16_t known_old = 0;
        for (int w = 0; w < kWilds; ++w) {
            const int n = old_among_known(view.players, wilds(known, w), wilds(all_old, w), wilds(all_fresh, w));
            if (n < 0) return false;
            known_old = uint16_t(known_old | n << (4 * w));
        }
        const Cards known_old_cards = plus(shared_colored(known, all_old), wild_cards(known_old));
        old = minus(old, known_old_cards);
        fresh = minus(fresh, minus(known, known_old_cards));
        hidden.known_old_wilds[p] = known_old;
        hidden.old_needed[p] = view.old[p] - count(known_old_cards);
        hidden.fresh_needed[p] = view.size[p] - count(known) - hidden.old_needed[p];
    }
    hidden.old = old;
    hidden.fresh = fresh;
    return true;
}

inline void shuffle(uint8_t* faces, int n, uint64_t& rng) {
    for (int i = n - 1; i > 0; --i) {
        const int j = random_below(rng, i + 1);
        const uint8_t face = faces[i];
        faces[i] = faces[j];
        faces[j] = face;
    }
}

/// Deal the shuffled hidden cards into the blank places of `s`. Returns the first fresh card dealt to `drawer`.
inline int fill(State& s, int viewer, const Hidden& hidden, bool ages, int drawer, uint64_t& rng) {
    uint8_t old[kDeckSize], fresh[kDeckSize];
    const int old_count = list(hidden.old, old), fresh_count = list(hidden.fresh, fresh);
    shuffle(old, old_count, rng);
    shuffle(fresh, fresh_count, rng);
    int next_old = 0, next_fresh = 0, first = kNone;
    for (int p = 0; p < s.players; ++p) {
        if (p == viewer) continue;
        Cards from_old{};
        for (int k = 0; k < hidden.old_needed[p]; ++k) add(from_old, old[next_old++]);
        s.hand[p] = plus(s.hand[p], from_old);
        if (p == drawer) first = fresh[next_fresh];
        for (int k = 0; k < hidden.fresh_needed[p]; ++k) add(s.hand[p], fresh[next_fresh++]);
        if (ages) s.old_wilds[p] = uint16_t(s.old_wilds[p] + wild_nibbles(from_old));
    }
    s.pile_size = uint8_t(fresh_count - next_fresh);
    std::memcpy(s.pile, fresh + next_fresh, s.pile_size);
    return first;
}

}  // namespace detail

/// A full state, drawn uniformly from the arrangements of the hidden cards (copies of a wild told apart) that agree
/// with what `viewer` has seen: own hand, discards, hand sizes, cards seen in a challenge and still held, that a card
/// just drawn can be played, and which cards went into the last reshuffle. Nothing is inferred from how others play.
inline State determinize(const State& view, int viewer, uint64_t seed) {
    using namespace detail;
    uint64_t rng = seed;
    rng = next_random(rng);

    State blank = view;
    blank.flags &= uint8_t(~kView);
    Hidden hidden;
    const bool ages = has(view, kReshuffled) && !view.blurred && with_ages(view, viewer, hidden);
    if (ages) {
        for (int p = 0; p < view.players; ++p)
            if (p != viewer) blank.old_wilds[p] = hidden.known_old_wilds[p];
    } else {
        hidden = without_ages(view, viewer);
        blank.flags &= uint8_t(~kReshuffled);
        blank.fresh = Cards{};
        blank.blurred = 0;
        std::memset(blank.old, 0, sizeof blank.old);
        std::memset(blank.old_wilds, 0, sizeof blank.old_wilds);
    }

    // Another player's drawn card is one that can be played: draw until it is.
    const bool drawn = view.phase == Phase::drawn && view.mover != viewer;
    State s;
    do {
        s = blank;
        const int first = fill(s, viewer, hidden, ages, drawn ? view.mover : kNone, rng);
        if (drawn) s.drawn = uint8_t(first);
    } while (drawn && !any(legal_plays(s, only(s.drawn))));
    s.rng = next_random(rng);
    s.legal = legal_actions(s);
    return s;
}

UNO_FLEX_END
