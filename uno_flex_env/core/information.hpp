// hide(): what one player can know of a state. determinize(): a full state drawn from all that agree with that
// knowledge.
//
// In a view, all that the viewer can't know is blank. A world is a full state that agrees with a view. An arrangement
// says where every hidden card is, with the copies of a wild told apart. determinize() draws each arrangement with the
// same probability.
//
// Before the first reshuffle, all hidden cards form one pool: the deck without the discard pile, the viewer's hand, and
// the cards that the viewer knows in other hands. It is shuffled and dealt to the hands; the rest is the draw pile.
//
// After a reshuffle, there are two pools. hypotheses.hpp explains which cards are in them.
#pragma once

#include "hypotheses.hpp"

UNO_FLEX_BEGIN

/// The state as `viewer` sees it. These parts are blank:
///   - other hands, except the cards seen in a challenge
///   - the draw pile and the random generator
///   - another player's drawn card and legal actions
///   - what others know of third hands
///   - which wilds of others are old
/// Two states that the viewer can't tell apart give the same view, byte for byte.
inline State hide(const State& s, int viewer) {
    State view = s;
    view.flags = uint8_t((s.flags & ~kOrderedPile) | kView);
    view.rng = 0;
    std::memset(view.pile, 0, sizeof view.pile);
    if (s.current_player != viewer) {
        view.legal = ActionSet{};
        view.drawn = kNone;
    }
    for (int p = 0; p < s.num_players; ++p) {
        if (p != viewer) {
            view.hand[p] = plus(shared_colored(s.hand[p], s.known[viewer]), wild_cards(s.known_wilds[viewer][p]));
            // The viewer knows what p has seen of the viewer's own hand, but not what else p has seen.
            view.known[p] = plus(shared_colored(s.known[p], s.hand[viewer]), wild_cards(s.known_wilds[p][viewer]));
            for (int o = 0; o < s.num_players; ++o)
                if (o != viewer) view.known_wilds[p][o] = 0;
            view.old_wilds[p] = 0;
            // Another viewer's bit depends on which wilds that viewer has seen in this hand, so it is hidden.
            view.seen_since_reshuffle[p] &= uint8_t(1 << viewer);
            view.seen_but_mixed[p] &= uint8_t(1 << viewer);
        }
    }
    for (int p = 0; p < s.num_players; ++p)
        for (int o = 0; o < s.num_players; ++o)
            if (o != p) update_known_to(view, p, o);
    return view;
}

namespace detail {

inline Hidden without_ages(const State& view, int viewer) {
    Hidden hidden;
    hidden.fresh = minus(minus(view.deck, view.discard), view.hand[viewer]);
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        hidden.fresh = minus(hidden.fresh, view.hand[p]);
        hidden.fresh_needed[p] = view.size[p] - count(view.hand[p]);
    }
    return hidden;
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
    for (int p = 0; p < s.num_players; ++p) {
        if (p == viewer) continue;
        Cards from_old{};
        for (int k = 0; k < hidden.old_needed[p]; ++k) add(from_old, old[next_old++]);
        s.hand[p] = plus(s.hand[p], from_old);
        if (p == drawer) first = fresh[next_fresh];
        for (int k = 0; k < hidden.fresh_needed[p]; ++k) add(s.hand[p], fresh[next_fresh++]);
        if (ages) s.old_wilds[p] = uint16_t(hidden.old_wilds[p] + wild_nibbles(from_old));
    }
    s.pile_size = uint8_t(fresh_count - next_fresh);
    std::memcpy(s.pile, fresh + next_fresh, s.pile_size);
    return first;
}

/// Make `s` a state from before the first reshuffle.
inline void forget_ages(State& s) {
    s.flags &= uint8_t(~kReshuffled);
    s.fresh_cards = Cards{};
    std::memset(s.num_old, 0, sizeof s.num_old);
    std::memset(s.old_wilds, 0, sizeof s.old_wilds);
    std::memset(s.wild_plays_of_unknown_age, 0, sizeof s.wild_plays_of_unknown_age);
    std::memset(s.seen_since_reshuffle, 0, sizeof s.seen_since_reshuffle);
    std::memset(s.seen_but_mixed, 0, sizeof s.seen_but_mixed);
}

}  // namespace detail

/// Draw a full state that agrees with what `viewer` knows:
///   - its hand, the discard pile and the sizes of the hands
///   - cards seen in a challenge and still held
///   - a card just drawn can be played
///   - which cards were in hands at the last reshuffle
/// Each arrangement of the hidden cards is equally likely. Nothing is inferred from how others play. Nothing is
/// inferred from the order in which they drew and played wilds.
inline State determinize(const State& view, int viewer, uint64_t seed) {
    using namespace detail;
    uint64_t rng = seed;
    rng = next_random(rng);
    const bool drawn = view.phase == Phase::drawn && view.current_player != viewer;
    const int drawer = drawn ? view.current_player : int(kNone);
    State s;
    // A card that another player has just drawn can be played. So deal until it can.
    do {
        s = view;
        s.flags &= uint8_t(~kView);
        Hidden hidden;
        const bool ages = has(view, kReshuffled) && with_ages(view, viewer, drawer, rng, hidden);
        if (!ages) {
            hidden = without_ages(view, viewer);
            forget_ages(s);
        }
        const int first = fill(s, viewer, hidden, ages, drawer, rng);
        if (drawn) s.drawn = uint8_t(first);
    } while (drawn && !any(legal_plays(s, only(s.drawn))));
    s.rng = next_random(rng);
    s.legal = legal_actions(s);
    return s;
}

UNO_FLEX_END
