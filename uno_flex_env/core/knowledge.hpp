// Who knows what: cards seen in a challenge (rules 7), and which cards in hands are older than the last reshuffle.
//
// It changes nothing about what is legal or what happens; observations and views are made of it.
#pragma once

#include "state.hpp"

UNO_FLEX_BEGIN

/// Keep `watchers` and `knowers` true after what `viewer` knows of `owner` has changed.
inline void note_watcher(State& s, int viewer, int owner) {
    const bool knows = any(shared_colored(s.known[viewer], s.hand[owner])) || s.known_wilds[viewer][owner];
    s.watchers[owner] = uint8_t((s.watchers[owner] & ~(1 << viewer)) | knows << viewer);
    s.knowers = uint8_t((s.knowers & ~(1 << viewer)) | any(s.known[viewer]) << viewer);
}

/// Whoever knew that the player holds this card forgets it. Of a wild, a known copy counts as the one played (rules 7).
inline void forget_known(State& s, int player, int face) {
    for (uint32_t rest = s.watchers[player]; rest; rest &= rest - 1) {
        const int v = lowest_bit(rest);
        if (!is_wild(face)) {
            s.known[v] = without(s.known[v], only(face));
        } else if (nibble(s.known_wilds[v][player], face - kColored) > 0) {
            s.known_wilds[v][player] = uint16_t(s.known_wilds[v][player] - (1 << (4 * (face - kColored))));
            // It was another one, if just drawn: what is now unknown to v in this hand is no longer what it drew since.
            if (s.drawn != kNone && (s.recent[player] >> v & 1)) {
                s.recent[player] &= uint8_t(~(1 << v));
                s.hazy[player] |= uint8_t(1 << v);
            }
            s.known[v] = minus(s.known[v], only(face));
        }
        note_watcher(s, v, player);
    }
}

inline int sum_of_nibbles(uint16_t nibbles) {
    return nibble(nibbles, 0) + nibble(nibbles, 1) + nibble(nibbles, 2) + nibble(nibbles, 3);
}

/// Keep account of the age of the cards in hands: held since before the last reshuffle, or fresh, drawn after it. Who
/// saw the reshuffle knows it of every colored card that is played, and of a wild where only one is possible.
inline void forget_age(State& s, int player, int face) {
    if (!is_wild(face)) {
        s.old[player] = uint8_t(s.old[player] - (count(s.fresh, face) == 0));
        s.fresh = without(s.fresh, only(face));
        return;
    }
    const int wild = face - kColored, one = 1 << (4 * wild);
    int old_copies = 0;
    for (int p = 0; p < kMaxPlayers; ++p) old_copies += nibble(s.old_wilds[p], wild);
    // The hand has lost the card already; what it has drawn since the reshuffle and not surely played is fresh.
    const int fresh_cards = s.size[player] + 1 + sum_of_nibbles(s.unsure[player]) - s.old[player];
    if (s.drawn != kNone || s.old[player] == 0 || old_copies == 0) {
        s.fresh = minus(s.fresh, only(face));
    } else if (fresh_cards == 0 || wilds(s.fresh, wild) == 0) {
        s.old_wilds[player] = uint16_t(s.old_wilds[player] - one);
        --s.old[player];
    } else {
        s.unsure[player] = uint16_t(s.unsure[player] + one);
    }
}

/// The current player sees the whole hand of the actor and knows those cards from now on (rules 7).
inline void reveal(State& s, int viewer, int owner) {
    Cards& known = s.known[viewer];
    const Cards& hand = s.hand[owner];
    known = minus(known, wild_cards(s.known_wilds[viewer][owner]));
    known = plus(plus(known, colored_not_in(hand, known)), wild_cards(wild_nibbles(hand)));
    s.known_wilds[viewer][owner] = wild_nibbles(hand);
    note_watcher(s, viewer, owner);
    if (!has(s, kReshuffled)) return;
    s.recent[owner] |= uint8_t(1 << viewer);
    s.hazy[owner] &= uint8_t(~(1 << viewer));
}

/// Everybody has seen which cards went into the new draw pile, so everybody knows which ones are in hands now.
inline void note_reshuffle(State& s, const Cards& cards) {
    s.flags |= kReshuffled;
    s.fresh = cards;
    std::memcpy(s.old, s.size, sizeof s.old);
    std::memset(s.unsure, 0, sizeof s.unsure);
    std::memset(s.recent, 0, sizeof s.recent);
    std::memset(s.hazy, 0, sizeof s.hazy);
    for (int p = 0; p < kMaxPlayers; ++p) s.old_wilds[p] = wild_nibbles(s.hand[p]);
}

UNO_FLEX_END
