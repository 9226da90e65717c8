// What one player can know of a state, and a full state drawn from all that agree with it.
#pragma once

#include <cmath>

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
    return view;
}

namespace detail {

/// The cards that the viewer can't place, in two pools: old, in hands since before the last reshuffle, and fresh, drawn
/// after it or still in the pile. Before the first reshuffle all are fresh.
struct Hidden {
    Cards old{}, fresh{};
    int old_needed[kMaxPlayers] = {};      // cards to deal to each hand from each pool
    int fresh_needed[kMaxPlayers] = {};
    uint16_t old_wilds[kMaxPlayers] = {};  // nibbles: old copies among the known wilds and those played unseen
};

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

// Ages. A wild played since the reshuffle may have been an old or a fresh copy, and so may one that the viewer knows in
// a hand. What the viewer knows is that the player has had at least so many copies. To draw uniformly from all deals in
// which that holds, pin so many copies for the player, each age as likely as it leaves ways to deal the rest, deal the
// rest, and accept the deal with one over the number of ways in which its copies could have been pinned.

/// Copies of a wild that one player has had, and how many of them are pinned as old.
struct Pin {
    int player, wild, copies, old;
};

constexpr int kMaxPins = kWilds * kMaxPlayers;
constexpr int kMaxReadings = 1 << 16;

struct Pins {
    Pin pin[kMaxPins];
    int count = 0;
    // What is there before anything is pinned.
    int old_copies[kWilds], fresh_copies[kWilds];      // others' in hands, in the pile, and played unseen
    int old_places[kMaxPlayers], places[kMaxPlayers];  // for hidden cards in each hand, and for unseen plays
    int old_colored, fresh_colored;                    // hidden colored cards
};

/// The cards seen in a challenge before the last reshuffle are old.
inline bool seen_before_reshuffle(const State& view, int viewer, int owner) {
    return !((view.recent[owner] | view.hazy[owner]) >> viewer & 1);
}

inline double log_factorial(int n) { return std::lgamma(n + 1.0); }

/// Set how many copies are pinned as old, by the number of a reading; false past the last one.
inline bool set_pins(Pins& pins, int reading) {
    for (int i = 0; i < pins.count; ++i) {
        pins.pin[i].old = reading % (pins.pin[i].copies + 1);
        reading /= pins.pin[i].copies + 1;
    }
    return reading == 0;
}

/// Log of the number of ways to choose the copies that are pinned, and to deal the rest; false if there is none.
/// `drawer` holds a card just drawn, which may be any of its fresh ones.
inline bool log_ways(const State& view, int viewer, const Pins& pins, int drawer, double& ways) {
    int old_left[kWilds], fresh_left[kWilds], old_places[kMaxPlayers];
    std::memcpy(old_left, pins.old_copies, sizeof old_left);
    std::memcpy(fresh_left, pins.fresh_copies, sizeof fresh_left);
    std::memcpy(old_places, pins.old_places, sizeof old_places);
    int places[kMaxPlayers];
    std::memcpy(places, pins.places, sizeof places);
    ways = 0;
    for (int i = 0; i < pins.count; ++i) {
        const Pin& pin = pins.pin[i];
        old_left[pin.wild] -= pin.old;
        fresh_left[pin.wild] -= pin.copies - pin.old;
        old_places[pin.player] -= pin.old;
        places[pin.player] -= pin.copies;
        ways -= log_factorial(pin.old) + log_factorial(pin.copies - pin.old);
    }
    int old_pool = pins.old_colored, fresh_pool = pins.fresh_colored;
    for (int w = 0; w < kWilds; ++w) {
        if (old_left[w] < 0 || fresh_left[w] < 0) return false;
        ways -= log_factorial(old_left[w]) + log_factorial(fresh_left[w]);
        old_pool += old_left[w];
        fresh_pool += fresh_left[w];
    }
    ways += log_factorial(old_pool) + log_factorial(fresh_pool);
    for (int p = 0; p < view.players; ++p) {
        if (p == viewer) continue;
        const int fresh_places = places[p] - old_places[p];
        if (old_places[p] < 0 || fresh_places < (p == drawer)) return false;
        // Whose hand the viewer has seen since the reshuffle has drawn all that is hidden in it after that.
        if (old_places[p] > 0 && (view.recent[p] >> viewer & 1)) return false;
        ways -= log_factorial(old_places[p]) + log_factorial(fresh_places);
        if (p == drawer) ways += std::log(double(fresh_places));
    }
    return true;
}

/// Set the pins to one reading, each as likely as it leaves ways. False if there are too many readings to go through,
/// or none, in a state that no game reaches.
inline bool draw_pins(const State& view, int viewer, Pins& pins, int drawer, uint64_t& rng) {
    int readings = 1;
    for (int i = 0; i < pins.count; ++i) {
        readings *= pins.pin[i].copies + 1;
        if (readings > kMaxReadings) return false;
    }
    double most = -1e300, sum = 0, ways;
    for (int r = 0; set_pins(pins, r); ++r)
        if (log_ways(view, viewer, pins, drawer, ways) && ways > most) most = ways;
    if (most == -1e300) return false;
    for (int r = 0; set_pins(pins, r); ++r)
        if (log_ways(view, viewer, pins, drawer, ways)) sum += std::exp(ways - most);
    double point = double(next_random(rng) >> 11) * 0x1p-53 * sum;
    int chosen = 0;
    for (int r = 0; set_pins(pins, r); ++r)
        if (log_ways(view, viewer, pins, drawer, ways)) {
            chosen = r;
            point -= std::exp(ways - most);
            if (point < 0) break;
        }
    set_pins(pins, chosen);
    return true;
}

/// What the viewer can tell of ages, before anything is pinned.
inline Pins find_pins(const State& view, int viewer, Hidden& hidden) {
    const Cards& own = view.hand[viewer];
    hidden.old = colored_not_in(colored_not_in(minus(view.deck, view.discard), view.fresh), own);
    hidden.fresh = colored_not_in(view.fresh, own);
    Pins pins;
    for (int w = 0; w < kWilds; ++w) {
        int unsure = 0;
        for (int p = 0; p < view.players; ++p) unsure += nibble(view.unsure[p], w);
        const int all_old = wilds(view.deck, w) - wilds(view.fresh, w) - wilds(view.discard, w) + unsure;
        const int own_old = nibble(view.old_wilds[viewer], w);
        pins.old_copies[w] = all_old - own_old;
        pins.fresh_copies[w] = wilds(view.fresh, w) - (wilds(own, w) + nibble(view.unsure[viewer], w) - own_old);
    }
    for (int p = 0; p < view.players; ++p) {
        if (p == viewer) continue;
        const Cards& known = view.hand[p];
        const bool before = seen_before_reshuffle(view, viewer, p);
        const Cards known_colored = shared_colored(known, known);
        pins.places[p] = view.size[p] - count(known_colored) + sum_of_nibbles(view.unsure[p]);
        pins.old_places[p] = view.old[p] - count(shared_colored(known, hidden.old));
        for (int w = 0; w < kWilds; ++w) {
            const int copies = wilds(known, w), surely_old = before ? copies : 0;
            const int pinned = copies - surely_old + nibble(view.unsure[p], w);
            if (pinned) pins.pin[pins.count++] = Pin{p, w, pinned, 0};
            pins.places[p] -= surely_old;
            pins.old_places[p] -= surely_old;
            pins.old_copies[w] -= surely_old;
            hidden.old_wilds[p] = uint16_t(hidden.old_wilds[p] + (surely_old << (4 * w)));
        }
    }
    for (int p = 0; p < view.players; ++p) {
        if (p == viewer) continue;
        hidden.old = colored_not_in(hidden.old, view.hand[p]);
        hidden.fresh = colored_not_in(hidden.fresh, view.hand[p]);
    }
    pins.old_colored = count(hidden.old);
    pins.fresh_colored = count(hidden.fresh);
    return pins;
}

/// Sort the hidden cards by age, with the copies pinned. False if the ages are of no use.
inline bool with_ages(const State& view, int viewer, int drawer, uint64_t& rng, Hidden& hidden) {
    Pins pins = find_pins(view, viewer, hidden);
    if (!draw_pins(view, viewer, pins, drawer, rng)) return false;
    for (int i = 0; i < pins.count; ++i) {
        const Pin& pin = pins.pin[i];
        pins.old_copies[pin.wild] -= pin.old;
        pins.fresh_copies[pin.wild] -= pin.copies - pin.old;
        pins.old_places[pin.player] -= pin.old;
        pins.places[pin.player] -= pin.copies;
        hidden.old_wilds[pin.player] = uint16_t(hidden.old_wilds[pin.player] + (pin.old << (4 * pin.wild)));
    }
    for (int p = 0; p < view.players; ++p) {
        if (p == viewer) continue;
        hidden.old_needed[p] = pins.old_places[p];
        hidden.fresh_needed[p] = pins.places[p] - pins.old_places[p];
    }
    for (int w = 0; w < kWilds; ++w) {
        for (int k = 0; k < pins.old_copies[w]; ++k) add(hidden.old, kColored + w);
        for (int k = 0; k < pins.fresh_copies[w]; ++k) add(hidden.fresh, kColored + w);
    }
    return true;
}

/// n over k.
inline int choose(int n, int k) {
    int ways = 1;
    for (int i = 1; i <= k; ++i) ways = ways * (n - k + i) / i;
    return ways;
}

/// In how many ways the copies in a full state could have been pinned.
inline int ways_to_pin(const State& view, int viewer, const State& s) {
    int ways = 1;
    for (int p = 0; p < s.players; ++p) {
        if (p == viewer) continue;
        const bool before = seen_before_reshuffle(view, viewer, p);
        for (int w = 0; w < kWilds; ++w) {
            const int played = nibble(view.unsure[p], w), known = wilds(view.hand[p], w);
            if (played + known == 0) continue;
            // A card just drawn is neither played nor known.
            const int copies = wilds(s.hand[p], w) + played - (s.drawn == kColored + w && p == s.mover);
            ways *= before ? choose(nibble(s.old_wilds[p], w), known) * choose(copies - known, played)
                           : choose(copies, known + played);
        }
    }
    return ways;
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
        if (ages) s.old_wilds[p] = uint16_t(hidden.old_wilds[p] + wild_nibbles(from_old));
    }
    s.pile_size = uint8_t(fresh_count - next_fresh);
    std::memcpy(s.pile, fresh + next_fresh, s.pile_size);
    return first;
}

}  // namespace detail

/// A full state, drawn uniformly from the deals of the hidden cards (copies of a wild told apart) that agree with what
/// `viewer` has seen: own hand, discards, hand sizes, cards seen in a challenge and still held, that a card just drawn
/// can be played, and which cards went into the last reshuffle, so that the others were in hands. Nothing is inferred
/// from how others play, nor from the order in which they drew and played wilds.
inline State determinize(const State& view, int viewer, uint64_t seed) {
    using namespace detail;
    uint64_t rng = seed;
    rng = next_random(rng);
    const bool drawn = view.phase == Phase::drawn && view.mover != viewer;
    const int drawer = drawn ? view.mover : int(kNone);
    State s;
    bool ages, accepted;
    do {
        s = view;
        s.flags &= uint8_t(~kView);
        Hidden hidden;
        ages = has(view, kReshuffled) && with_ages(view, viewer, drawer, rng, hidden);
        if (!ages) {
            hidden = without_ages(view, viewer);
            s.flags &= uint8_t(~kReshuffled);
            s.fresh = Cards{};
            std::memset(s.old, 0, sizeof s.old);
            std::memset(s.old_wilds, 0, sizeof s.old_wilds);
            std::memset(s.unsure, 0, sizeof s.unsure);
            std::memset(s.recent, 0, sizeof s.recent);
            std::memset(s.hazy, 0, sizeof s.hazy);
        }
        const int first = fill(s, viewer, hidden, ages, drawer, rng);
        if (drawn) s.drawn = uint8_t(first);
        accepted = (!drawn || any(legal_plays(s, only(s.drawn)))) &&
                   (!ages || random_below(rng, ways_to_pin(view, viewer, s)) == 0);
    } while (!accepted);
    s.rng = next_random(rng);
    s.legal = legal_actions(s);
    return s;
}

UNO_FLEX_END
