// The hidden cards after a reshuffle, sorted by age: with_ages().
//
// After a reshuffle there are two pools. The hidden old cards are all in hands, and num_old (knowledge.hpp) says how many
// each hand has of them. The hidden fresh cards fill the rest of the hands and the draw pile. The age of a colored card is
// known, but the viewer may not know the age of some wilds: those that others have played, and those that the viewer saw
// in their hands. Each such place is an UnknownAge. A Hypothesis says how many copies are old in each of them. It settles
// which cards are in each pool and how many each hand has of them, so its arrangements can be counted. determinize()
// samples a hypothesis with a probability in proportion to that count, then shuffles and deals both pools.
//
// The example of knowledge.hpp goes on after its step 2, where seat 1 has played a WF. Seat 0 holds b2 b4 b6 y2 r1 and
// looks at the three cards of seat 1. The old pool is WF W4/ b8, the fresh one WF WF r2^ r3 r4^ r6^ r7 r8^. The only
// UnknownAge is the played WF, one copy. There are two hypotheses.
//   One is old.   The old WF was played. Seat 1 holds W4/ b8 and any of the eight fresh cards: 8 arrangements.
//   None is old.  A fresh WF was played, either of the two. Seat 1 holds WF W4/ b8: 2 arrangements.
// So the first one is sampled with probability 8/10.
//
// log_arrangements() counts them as a product for each hypothesis.
//   Which copies of a wild are where:  old! / (played old! known old! hidden old!), and the same for the fresh ones.
//   How the pools are dealt:           pool! / (places in each hand! ...  places in the draw pile!) for each pool.
// Factors that all hypotheses share are left out: here it finds the logs of 20160 and 5040.
#pragma once

#include <algorithm>
#include <cmath>

#include "engine.hpp"

UNO_FLEX_BEGIN

namespace detail {

/// The hidden cards in two pools, and how many cards of each pool every hand gets. Without a reshuffle all are fresh.
struct Hidden {
    Cards old{}, fresh{};
    int old_needed[kMaxPlayers] = {};
    int fresh_needed[kMaxPlayers] = {};
    uint16_t old_wilds[kMaxPlayers] = {};  // nibbles: old copies among the known and the played wilds, not in the pools
};

/// Copies of a wild in one place of which the viewer does not know how many are old: a player's plays of unknown age, or
/// the copies that the viewer knows in a player's hand.
struct UnknownAge {
    int player, wild, copies;
    bool played;
};

constexpr int kMaxUnknownAges = 2 * kWilds * kMaxPlayers;

/// How many copies are old in each place of unknown age.
struct Hypothesis {
    uint8_t old[kMaxUnknownAges];
};

/// What the viewer knows of ages under every hypothesis. The counts of wilds and places still include the cards of
/// unknown age; a hypothesis subtracts them.
struct Ages {
    int old_wilds[kWilds], fresh_wilds[kWilds];  // hidden wilds and those played at unknown age
    Cards old_colored, fresh_colored;            // hidden colored cards
    int old_places[kMaxPlayers] = {};            // hidden old cards of each hand
    int places[kMaxPlayers] = {};                // hidden cards of each hand
    uint16_t surely_old[kMaxPlayers] = {};  // nibbles: wilds that the viewer knows to be in this hand and to be old
    UnknownAge unknown[kMaxUnknownAges];    // the first num_unknown
    int num_unknown = 0;
};

/// Count the wilds of the others by age.
inline void count_wilds(const State& view, int viewer, Ages& ages) {
    for (int w = 0; w < kWilds; ++w) {
        int unknown_plays = 0;
        for (int p = 0; p < view.num_players; ++p) unknown_plays += nibble(view.wild_plays_of_unknown_age[p], w);
        // A play of unknown age is in the discard pile, but counts as if its copy were still in the hand.
        const int all_old = wilds(view.deck, w) - wilds(view.fresh_cards, w) - wilds(view.discard, w) + unknown_plays;
        const int own = wilds(view.hand[viewer], w) + nibble(view.wild_plays_of_unknown_age[viewer], w);
        const int own_old = nibble(view.old_wilds[viewer], w);
        ages.old_wilds[w] = all_old - own_old;
        ages.fresh_wilds[w] = wilds(view.fresh_cards, w) - (own - own_old);
    }
}

/// Count the hidden cards of player p, and list its cards of unknown age.
inline void read_hand(const State& view, int viewer, int p, Ages& ages) {
    const Cards& known = view.hand[p];
    ages.places[p] = view.size[p] - count(known);
    ages.old_places[p] = view.num_old[p] - count(shared_colored(known, ages.old_colored));
    const bool seen_since = (view.seen_since_reshuffle[p] | view.seen_but_mixed[p]) >> viewer & 1;
    for (int w = 0; w < kWilds; ++w) {
        const int played = nibble(view.wild_plays_of_unknown_age[p], w), copies = wilds(known, w);
        if (played) ages.unknown[ages.num_unknown++] = {p, w, played, true};
        if (copies && seen_since) {
            ages.unknown[ages.num_unknown++] = {p, w, copies, false};
        } else {  // seen before the reshuffle
            ages.old_places[p] -= copies;
            ages.old_wilds[w] -= copies;
            ages.surely_old[p] = uint16_t(ages.surely_old[p] + (copies << (4 * w)));
        }
    }
}

inline Ages read_ages(const State& view, int viewer) {
    Ages ages;
    const Cards& own = view.hand[viewer];
    ages.old_colored = colored_not_in(colored_not_in(minus(view.deck, view.discard), view.fresh_cards), own);
    ages.fresh_colored = colored_not_in(view.fresh_cards, own);
    count_wilds(view, viewer, ages);
    for (int p = 0; p < view.num_players; ++p)
        if (p != viewer) read_hand(view, viewer, p, ages);
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        ages.old_colored = colored_not_in(ages.old_colored, view.hand[p]);
        ages.fresh_colored = colored_not_in(ages.fresh_colored, view.hand[p]);
    }
    return ages;
}

/// The hidden wilds of each pool under one hypothesis, and how many cards of each pool every hand holds.
struct Places {
    int old_wilds[kWilds], fresh_wilds[kWilds];
    int old[kMaxPlayers], fresh[kMaxPlayers];
};

inline Places places_under(const Ages& ages, const Hypothesis& hypothesis) {
    Places places;
    std::memcpy(places.old_wilds, ages.old_wilds, sizeof places.old_wilds);
    std::memcpy(places.fresh_wilds, ages.fresh_wilds, sizeof places.fresh_wilds);
    std::memcpy(places.old, ages.old_places, sizeof places.old);
    for (int i = 0; i < ages.num_unknown; ++i) {
        const UnknownAge& u = ages.unknown[i];
        places.old[u.player] -= hypothesis.old[i];
        places.old_wilds[u.wild] -= hypothesis.old[i];
        places.fresh_wilds[u.wild] -= u.copies - hypothesis.old[i];
    }
    for (int p = 0; p < kMaxPlayers; ++p) places.fresh[p] = ages.places[p] - places.old[p];
    return places;
}

/// Whether at least one arrangement exists. `drawer` holds a card that it has just drawn, which is fresh.
inline bool is_possible(const State& view, int viewer, int drawer, const Places& places) {
    for (int w = 0; w < kWilds; ++w)
        if (places.old_wilds[w] < 0 || places.fresh_wilds[w] < 0) return false;
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        if (places.old[p] < 0 || places.fresh[p] < (p == drawer)) return false;
        // Every card of this hand that the viewer does not know is fresh.
        if (places.old[p] > 0 && (view.seen_since_reshuffle[p] >> viewer & 1)) return false;
    }
    return true;
}

/// log n!
inline double log_factorial(int n) { return std::lgamma(n + 1.0); }

/// Log of the number of ways to choose which copies of each wild are played, known or hidden, without the factors that
/// all hypotheses share.
inline double log_choices_of_copies(const Ages& ages, const Hypothesis& hypothesis, const Places& places) {
    int played_old[kWilds] = {}, played_fresh[kWilds] = {};
    double log_count = 0;
    for (int i = 0; i < ages.num_unknown; ++i) {
        const UnknownAge& u = ages.unknown[i];
        const int old = hypothesis.old[i], fresh = u.copies - old;
        if (u.played) {
            // All played copies lie in the discard pile, so it does not matter which player played which.
            played_old[u.wild] += old;
            played_fresh[u.wild] += fresh;
        } else {
            log_count -= log_factorial(old) + log_factorial(fresh);
        }
    }
    for (int w = 0; w < kWilds; ++w) {
        log_count -= log_factorial(played_old[w]) + log_factorial(played_fresh[w]);
        log_count -= log_factorial(places.old_wilds[w]) + log_factorial(places.fresh_wilds[w]);
    }
    return log_count;
}

/// Log of the number of arrangements under a possible hypothesis, without the factors that all hypotheses share. The
/// card that `drawer` has just drawn may be any of its fresh cards.
inline double log_arrangements(const State& view, int viewer, int drawer, const Ages& ages,
                               const Hypothesis& hypothesis, const Places& places) {
    double log_count = log_choices_of_copies(ages, hypothesis, places);
    int old_pool = count(ages.old_colored), fresh_pool = count(ages.fresh_colored);
    for (int w = 0; w < kWilds; ++w) {
        old_pool += places.old_wilds[w];
        fresh_pool += places.fresh_wilds[w];
    }
    log_count += log_factorial(old_pool) + log_factorial(fresh_pool);
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        log_count -= log_factorial(places.old[p]) + log_factorial(places.fresh[p]);
        if (p == drawer) log_count += std::log(double(places.fresh[p]));
    }
    return log_count;
}

/// Whether two hypotheses have the same arrangements. Then they differ only in which players played the old copies.
inline bool same_arrangements(const Ages& ages, const Hypothesis& a, const Hypothesis& b) {
    int by_player[kMaxPlayers] = {}, by_wild[kWilds] = {};
    for (int i = 0; i < ages.num_unknown; ++i) {
        const UnknownAge& u = ages.unknown[i];
        const int difference = a.old[i] - b.old[i];
        if (!u.played && difference) return false;
        by_player[u.player] += difference;
        by_wild[u.wild] += difference;
    }
    for (const int difference : by_player)
        if (difference) return false;
    for (const int difference : by_wild)
        if (difference) return false;
    return true;
}

/// Write the `index`-th hypothesis, whose counts are the digits of the index. Returns false past the last one.
inline bool set_hypothesis(const Ages& ages, int index, Hypothesis& hypothesis) {
    for (int i = 0; i < ages.num_unknown; ++i) {
        const int choices = ages.unknown[i].copies + 1;
        hypothesis.old[i] = uint8_t(index % choices);
        index /= choices;
    }
    return index == 0;
}

constexpr int kMaxHypotheses = 512, kMaxTried = 1 << 16;

/// The possible hypotheses, one for each set of arrangements, and the logs of how many arrangements they have.
struct Hypotheses {
    int size = 0;
    Hypothesis hypothesis[kMaxHypotheses];
    double log_count[kMaxHypotheses];

    bool has(const Ages& ages, const Hypothesis& wanted) const {
        for (int k = 0; k < size; ++k)
            if (same_arrangements(ages, wanted, hypothesis[k])) return true;
        return false;
    }
};

/// Returns false if there are too many of them.
inline bool find_hypotheses(const State& view, int viewer, int drawer, const Ages& ages, Hypotheses& found) {
    Hypothesis hypothesis;
    for (int index = 0; set_hypothesis(ages, index, hypothesis); ++index) {
        const Places places = places_under(ages, hypothesis);
        if (!is_possible(view, viewer, drawer, places) || found.has(ages, hypothesis)) continue;
        if (found.size == kMaxHypotheses || index > kMaxTried) return false;
        found.hypothesis[found.size] = hypothesis;
        found.log_count[found.size++] = log_arrangements(view, viewer, drawer, ages, hypothesis, places);
    }
    return true;
}

/// Sample one of them with a probability in proportion to its number of arrangements.
inline const Hypothesis& sample_hypothesis(const Hypotheses& found, uint64_t& rng) {
    const double most = *std::max_element(found.log_count, found.log_count + found.size);
    double sum = 0;
    for (int k = 0; k < found.size; ++k) sum += std::exp(found.log_count[k] - most);
    double point = double(next_random(rng) >> 11) * 0x1p-53 * sum;
    int k = 0;
    while (k < found.size - 1 && (point -= std::exp(found.log_count[k] - most)) >= 0) ++k;
    return found.hypothesis[k];
}

/// The pools and places under a hypothesis.
inline Hidden hidden_under(const Ages& ages, const Hypothesis& hypothesis) {
    const Places places = places_under(ages, hypothesis);
    Hidden hidden;
    std::memcpy(hidden.old_needed, places.old, sizeof hidden.old_needed);
    std::memcpy(hidden.fresh_needed, places.fresh, sizeof hidden.fresh_needed);
    std::memcpy(hidden.old_wilds, ages.surely_old, sizeof hidden.old_wilds);
    for (int i = 0; i < ages.num_unknown; ++i) {
        const UnknownAge& u = ages.unknown[i];
        hidden.old_wilds[u.player] = uint16_t(hidden.old_wilds[u.player] + (hypothesis.old[i] << (4 * u.wild)));
    }
    hidden.old = ages.old_colored;
    hidden.fresh = ages.fresh_colored;
    for (int w = 0; w < kWilds; ++w) {
        for (int k = 0; k < places.old_wilds[w]; ++k) add(hidden.old, kColored + w);
        for (int k = 0; k < places.fresh_wilds[w]; ++k) add(hidden.fresh, kColored + w);
    }
    return hidden;
}

/// Sort the hidden cards by age under a sampled hypothesis. Returns false if there are too many hypotheses to count, or
/// none. That happens only in states that no game reaches.
inline bool with_ages(const State& view, int viewer, int drawer, uint64_t& rng, Hidden& hidden) {
    const Ages ages = read_ages(view, viewer);
    Hypotheses found;
    if (!find_hypotheses(view, viewer, drawer, ages, found) || found.size == 0) return false;
    hidden = hidden_under(ages, sample_hypothesis(found, rng));
    return true;
}

}  // namespace detail

UNO_FLEX_END
