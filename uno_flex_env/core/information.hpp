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
    if (s.current_player != viewer) {
        view.legal = ActionSet{};
        view.drawn = kNone;
    }
    for (int p = 0; p < s.num_players; ++p) {
        if (p != viewer) {
            view.hand[p] = plus(shared_colored(s.hand[p], s.known[viewer]), wild_cards(s.known_wilds[viewer][p]));
            // That p has seen the viewer's hand, the viewer knows; what else p has seen, not.
            view.known[p] = plus(shared_colored(s.known[p], s.hand[viewer]), wild_cards(s.known_wilds[p][viewer]));
            for (int o = 0; o < s.num_players; ++o)
                if (o != viewer) view.known_wilds[p][o] = 0;
            view.old_wilds[p] = 0;
        }
    }
    for (int p = 0; p < s.num_players; ++p)
        for (int o = 0; o < s.num_players; ++o)
            if (o != p) update_known_to(view, p, o);
    return view;
}

namespace detail {

/// The cards that the viewer can't place, in two pools: old, in hands since before the last reshuffle, and fresh, drawn
/// after it or still in the pile. Before the first reshuffle all are fresh.
struct Hidden {
    Cards old{}, fresh{};
    int old_needed[kMaxPlayers] = {};  // cards to deal to each hand from each pool
    int fresh_needed[kMaxPlayers] = {};
    uint16_t old_wilds[kMaxPlayers] =
        {};  // nibbles: old copies among what is not dealt, the known and the played wilds
};

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

/// Copies of a wild in one place of which the viewer can't tell how many are old: what a player has played since the
/// reshuffle, or what the viewer knows in a hand.
struct Dial {
    int player, wild, copies;
    bool played;
    int old;  // the number in question
};

/// What is at stake in reading the dials: the wilds of others, and the places for hidden cards.
struct Reading {
    int old_copies[kWilds], fresh_copies[kWilds];      // of others: in hands, in the pile, and played unseen
    int old_places[kMaxPlayers], places[kMaxPlayers];  // for hidden cards in each hand, before the dials are read
    int old_colored, fresh_colored;                    // hidden colored cards
};

/// log n!
inline double log_factorial(int n) { return std::lgamma(n + 1.0); }

/// Log of the number of arrangements of the hidden cards under one reading of the dials; false if there is none.
/// `drawer` holds a card just drawn, which may be any of its fresh ones.
inline bool log_arrangements(const State& view, int viewer, const Reading& r, const Dial* dials, int n, int drawer,
                             double& log_count) {
    int old_places[kMaxPlayers], old_left[kWilds], fresh_left[kWilds], played[kWilds] = {}, played_old[kWilds] = {};
    std::memcpy(old_places, r.old_places, sizeof old_places);
    std::memcpy(old_left, r.old_copies, sizeof old_left);
    std::memcpy(fresh_left, r.fresh_copies, sizeof fresh_left);
    log_count = 0;
    for (int i = 0; i < n; ++i) {
        const Dial& d = dials[i];
        old_places[d.player] -= d.old;
        old_left[d.wild] -= d.old;
        fresh_left[d.wild] -= d.copies - d.old;
        if (d.played) {
            played[d.wild] += d.copies;
            played_old[d.wild] += d.old;
        } else {
            log_count -= log_factorial(d.old) + log_factorial(d.copies - d.old);
        }
    }
    int old_pool = r.old_colored, fresh_pool = r.fresh_colored;
    for (int w = 0; w < kWilds; ++w) {
        if (old_left[w] < 0 || fresh_left[w] < 0) return false;
        log_count -= log_factorial(played_old[w]) + log_factorial(played[w] - played_old[w]);
        log_count -= log_factorial(old_left[w]) + log_factorial(fresh_left[w]);
        old_pool += old_left[w];
        fresh_pool += fresh_left[w];
    }
    log_count += log_factorial(old_pool) + log_factorial(fresh_pool);
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        const int fresh_places = r.places[p] - old_places[p];
        // Whose hand the viewer has seen since the reshuffle has drawn all that is hidden in it after that.
        if (old_places[p] > 0 && (view.seen_since_reshuffle[p] >> viewer & 1)) return false;
        if (old_places[p] < 0 || fresh_places < (p == drawer)) return false;
        log_count -= log_factorial(old_places[p]) + log_factorial(fresh_places);
        if (p == drawer) log_count += std::log(double(fresh_places));
    }
    return true;
}

/// Whether two readings leave the same cards in the same places: they differ only in who played which age.
inline bool same_arrangements(const Dial* a, const Dial* b, int n) {
    int by_player[kMaxPlayers] = {}, by_wild[kWilds] = {};
    for (int i = 0; i < n; ++i) {
        if (!a[i].played && a[i].old != b[i].old) return false;
        if (!a[i].played) continue;
        by_player[a[i].player] += a[i].old - b[i].old;
        by_wild[a[i].wild] += a[i].old - b[i].old;
    }
    for (const int difference : by_player)
        if (difference) return false;
    for (const int difference : by_wild)
        if (difference) return false;
    return true;
}

constexpr int kMaxDials = 2 * kWilds * kMaxPlayers;
constexpr int kMaxReadings = 512;

/// Set the dials to the `index`-th reading; false past the last.
inline bool read_dials(Dial* dials, int n, int index) {
    for (int i = 0; i < n; ++i) {
        dials[i].old = index % (dials[i].copies + 1);
        index /= dials[i].copies + 1;
    }
    return index == 0;
}

/// Set the dials to one reading, each as likely as it has arrangements. False if there are too many to go through (or
/// none, in a state that no game reaches).
inline bool draw_reading(const State& view, int viewer, const Reading& r, Dial* dials, int n, int drawer,
                         uint64_t& rng) {
    double logs[kMaxReadings], most = -1e300;
    int readings[kMaxReadings], found = 0;
    for (int index = 0; read_dials(dials, n, index); ++index) {
        double log_count;
        if (!log_arrangements(view, viewer, r, dials, n, drawer, log_count)) continue;
        bool again = false;
        for (int k = 0; k < found && !again; ++k) {
            Dial other[kMaxDials];
            std::memcpy(other, dials, sizeof(Dial) * size_t(n));
            read_dials(other, n, readings[k]);
            again = same_arrangements(dials, other, n);
        }
        if (again) continue;
        if (found == kMaxReadings || index > (1 << 16)) return false;
        readings[found] = index;
        logs[found++] = log_count;
        if (log_count > most) most = log_count;
    }
    if (found == 0) return false;
    double sum = 0;
    for (int k = 0; k < found; ++k) sum += std::exp(logs[k] - most);
    double point = double(next_random(rng) >> 11) * 0x1p-53 * sum;
    int k = 0;
    while (k < found - 1 && (point -= std::exp(logs[k] - most)) >= 0) ++k;
    read_dials(dials, n, readings[k]);
    return true;
}

/// Sort the hidden cards by age. False if there are too many ways in which the wilds may have gone.
inline bool with_ages(const State& view, int viewer, int drawer, uint64_t& rng, Hidden& hidden) {
    const Cards& own = view.hand[viewer];
    Cards old = colored_not_in(colored_not_in(minus(view.deck, view.discard), view.fresh_cards), own);
    Cards fresh = colored_not_in(view.fresh_cards, own);
    Reading r{};
    Dial dials[kMaxDials];
    int n = 0;
    for (int w = 0; w < kWilds; ++w) {
        // All that is old or fresh of a wild, also what was played unseen, less the viewer's part of it.
        int unsure = 0;
        for (int p = 0; p < view.num_players; ++p) unsure += nibble(view.wild_plays_of_unknown_age[p], w);
        const int all_old = wilds(view.deck, w) - wilds(view.fresh_cards, w) - wilds(view.discard, w) + unsure;
        const int own_old = nibble(view.old_wilds[viewer], w);
        r.old_copies[w] = all_old - own_old;
        r.fresh_copies[w] =
            wilds(view.fresh_cards, w) - (wilds(own, w) + nibble(view.wild_plays_of_unknown_age[viewer], w) - own_old);
    }
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        const Cards& known = view.hand[p];
        r.places[p] = view.size[p] - count(known);
        r.old_places[p] = view.num_old[p] - count(shared_colored(known, old));
        for (int w = 0; w < kWilds; ++w) {
            if (const int played = nibble(view.wild_plays_of_unknown_age[p], w))
                dials[n++] = Dial{p, w, played, true, 0};
            const int copies = wilds(known, w);
            if (copies && ((view.seen_since_reshuffle[p] | view.seen_but_mixed[p]) >> viewer & 1)) {
                dials[n++] = Dial{p, w, copies, false, 0};
            } else if (copies) {
                // Seen before the reshuffle, so old.
                r.old_places[p] -= copies;
                r.old_copies[w] -= copies;
                hidden.old_wilds[p] = uint16_t(hidden.old_wilds[p] + (copies << (4 * w)));
            }
        }
    }
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        old = colored_not_in(old, view.hand[p]);
        fresh = colored_not_in(fresh, view.hand[p]);
    }
    r.old_colored = count(old);
    r.fresh_colored = count(fresh);
    if (!draw_reading(view, viewer, r, dials, n, drawer, rng)) return false;
    for (int i = 0; i < n; ++i) {
        const Dial& d = dials[i];
        r.old_places[d.player] -= d.old;
        r.old_copies[d.wild] -= d.old;
        r.fresh_copies[d.wild] -= d.copies - d.old;
        hidden.old_wilds[d.player] = uint16_t(hidden.old_wilds[d.player] + (d.old << (4 * d.wild)));
    }
    for (int p = 0; p < view.num_players; ++p) {
        if (p == viewer) continue;
        hidden.old_needed[p] = r.old_places[p];
        hidden.fresh_needed[p] = r.places[p] - r.old_places[p];
    }
    for (int w = 0; w < kWilds; ++w) {
        for (int k = 0; k < r.old_copies[w]; ++k) add(old, kColored + w);
        for (int k = 0; k < r.fresh_copies[w]; ++k) add(fresh, kColored + w);
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

}  // namespace detail

/// A full state, drawn uniformly from the arrangements of the hidden cards (copies of a wild told apart) that agree
/// with what `viewer` has seen: own hand, discards, hand sizes, cards seen in a challenge and still held, that a card
/// just drawn can be played, and which cards went into the last reshuffle, so that the others were in hands. Nothing is
/// inferred from how others play, nor from the order in which they drew and played wilds.
inline State determinize(const State& view, int viewer, uint64_t seed) {
    using namespace detail;
    uint64_t rng = seed;
    rng = next_random(rng);
    const bool drawn = view.phase == Phase::drawn && view.current_player != viewer;
    const int drawer = drawn ? view.current_player : int(kNone);
    State s;
    // Another player's drawn card is one that can be played: draw everything until it is.
    do {
        s = view;
        s.flags &= uint8_t(~kView);
        Hidden hidden;
        const bool ages = has(view, kReshuffled) && with_ages(view, viewer, drawer, rng, hidden);
        if (!ages) {
            hidden = without_ages(view, viewer);
            s.flags &= uint8_t(~kReshuffled);
            s.fresh_cards = Cards{};
            std::memset(s.num_old, 0, sizeof s.num_old);
            std::memset(s.old_wilds, 0, sizeof s.old_wilds);
            std::memset(s.wild_plays_of_unknown_age, 0, sizeof s.wild_plays_of_unknown_age);
            std::memset(s.seen_since_reshuffle, 0, sizeof s.seen_since_reshuffle);
            std::memset(s.seen_but_mixed, 0, sizeof s.seen_but_mixed);
        }
        const int first = fill(s, viewer, hidden, ages, drawer, rng);
        if (drawn) s.drawn = uint8_t(first);
    } while (drawn && !any(legal_plays(s, only(s.drawn))));
    s.rng = next_random(rng);
    s.legal = legal_actions(s);
    return s;
}

UNO_FLEX_END
