// What players know of hidden cards: the cards that they saw in a challenge, and which cards were in hands at the last
// reshuffle.
//
// These fields do not affect play. Observations and views are made from them.
//
// Cards seen in a challenge (rules 7.6 to 7.12). The viewer is the player who knows, the owner holds the cards.
//   known[viewer]               The cards that the viewer has seen in other hands and that are still there. Each colored
//                               face exists once, so known[viewer] and hand[owner] share the ones that the owner holds.
//   known_wilds[viewer][owner]  How many copies of each wild among them the owner holds.
//   known_to[owner]             The viewers who know at least one card of this hand.
//   knowing_seats               The viewers who know at least one card of any other hand.
//
// Ages. All players see which discards go into the new draw pile, so they know which cards are in the hands at that
// moment. These cards are old, and those that went into the draw pile are fresh. Playing a colored card reveals its
// age. Playing a wild reveals its age only if the player can't have held a copy of the other age.
//   fresh_cards                 The cards of the last reshuffle, without those that were played and surely fresh.
//   num_old[p]                  How many cards p held at the last reshuffle, without the plays that were surely old.
//   old_wilds[p]                The wilds among those. It is the only one of these fields that is not public.
//   wild_plays_of_unknown_age[p]  The wilds that p has played since and that may have been old or fresh.
//   seen_since_reshuffle[owner] The viewers who have seen this hand since. They know that the owner drew all other
//                               cards later, so those are fresh.
//   seen_but_mixed[owner]       The viewers who have seen this hand since, but no longer know that.
// Before the first reshuffle of a round all of these are 0.
//
// An example. Seat 0 holds b2 b4 b6, seat 1 holds WF W4/ b8; r5 lies on top, and the draw pile is empty.
//
// 1. Seat 0 draws, so y2 r1 r2^ r3 r4^ r6^ r7 r8^ WF WF are shuffled. These are fresh_cards. num_old is 3 for each seat,
//    and old_wilds[1] is one WF and one W4/. Seat 0 draws y2, seat 1 draws a WF and keeps it, seat 0 draws r1.
// 2. Seat 1 plays WF. It has held the old copy since before the reshuffle or has just drawn a fresh one, and seat 0
//    can't tell. So wild_plays_of_unknown_age[1] becomes one WF, and no other field changes: fresh_cards still has two
//    WF, num_old[1] is still 3 and old_wilds[1] still has a WF. hypotheses.hpp goes on from here.
// 3. Seat 0 plays b2, which is not in fresh_cards. So it was old, and num_old[0] becomes 2. Seat 1 draws r3. Seat 0
//    plays b4: num_old[0] becomes 1.
// 4. Seat 1 plays W4/. None was shuffled, so it was old: num_old[1] becomes 2, and old_wilds[1] loses it.
// 5. Seat 0 challenges and sees WF b8 r3. Now known[0] is WF b8 r3 and known_wilds[0][1] one WF. Bit 0 is set in
//    known_to[1] and knowing_seats, and also in seen_since_reshuffle[1]. Seat 1 draws r2^ r4^ r6^ r8^ as the penalty.
//    All cards that it gets later are drawn, too. Seat 0 does not know the age of the WF that it has seen.
// 6. Seat 0 plays r1, which is in fresh_cards, so it leaves them. Seat 1 draws a WF and plays it at once. That was a
//    fresh one, so one WF leaves fresh_cards. But the known WF counts as the one played (rules 7.12): known[0] becomes
//    b8 r3. Seat 1 still holds a WF, perhaps an old one, that seat 0 no longer knows. So bit 0 moves from
//    seen_since_reshuffle[1] to seen_but_mixed[1].
#pragma once

#include "state.hpp"

UNO_FLEX_BEGIN

/// Bring `known_to` and `knowing_seats` up to date after what `viewer` knows of `owner` has changed.
inline void update_known_to(State& s, int viewer, int owner) {
    const bool knows = any(shared_colored(s.known[viewer], s.hand[owner])) || s.known_wilds[viewer][owner];
    s.known_to[owner] = uint8_t((s.known_to[owner] & ~(1 << viewer)) | knows << viewer);
    s.knowing_seats = uint8_t((s.knowing_seats & ~(1 << viewer)) | any(s.known[viewer]) << viewer);
}

/// The viewer knows one copy less of a wild that the player has played.
inline void forget_known_wild(State& s, int viewer, int player, int face) {
    const int one = 1 << (4 * (face - kColored)), bit = 1 << viewer;
    s.known_wilds[viewer][player] = uint16_t(s.known_wilds[viewer][player] - one);
    s.known[viewer] = minus(s.known[viewer], only(face));
    // The card just drawn was another copy, so the hand still has the one that the viewer saw: step 6 of the example.
    if (s.drawn != kNone && (s.seen_since_reshuffle[player] & bit)) {
        s.seen_since_reshuffle[player] &= uint8_t(~bit);
        s.seen_but_mixed[player] |= uint8_t(bit);
    }
}

/// All viewers forget a card that the player has played. A known copy of a wild counts as the one played (rules 7.12).
inline void forget_known(State& s, int player, int face) {
    for (uint32_t rest = s.known_to[player]; rest; rest &= rest - 1) {
        const int viewer = std::countr_zero(rest);
        if (!is_wild(face)) {
            s.known[viewer] = without(s.known[viewer], only(face));
        } else if (nibble(s.known_wilds[viewer][player], face - kColored) > 0) {
            forget_known_wild(s, viewer, player, face);
        }
        update_known_to(s, viewer, player);
    }
}

inline int sum_of_nibbles(uint16_t nibbles) {
    return nibble(nibbles, 0) + nibble(nibbles, 1) + nibble(nibbles, 2) + nibble(nibbles, 3);
}

/// Note whether a wild that the player has just played was old, fresh, or may have been either: steps 2, 4 and 6 of the
/// example.
inline void note_age_of_wild(State& s, int player, int face) {
    const int wild = face - kColored, one = 1 << (4 * wild);
    int old_copies = 0;
    for (int p = 0; p < kMaxPlayers; ++p) old_copies += nibble(s.old_wilds[p], wild);
    // The number of fresh cards in the hand before the play. Wilds of unknown age still count as part of the hand.
    const int num_fresh = s.size[player] + 1 + sum_of_nibbles(s.wild_plays_of_unknown_age[player]) - s.num_old[player];
    const bool surely_fresh = s.drawn != kNone || s.num_old[player] == 0 || old_copies == 0;
    const bool surely_old = num_fresh == 0 || wilds(s.fresh_cards, wild) == 0;
    if (surely_fresh) {
        s.fresh_cards = minus(s.fresh_cards, only(face));
    } else if (surely_old) {
        s.old_wilds[player] = uint16_t(s.old_wilds[player] - one);
        --s.num_old[player];
    } else {
        s.wild_plays_of_unknown_age[player] = uint16_t(s.wild_plays_of_unknown_age[player] + one);
    }
}

/// Note the age of a card that the player has just played, in a round with a reshuffle.
inline void note_age(State& s, int player, int face) {
    if (is_wild(face)) return note_age_of_wild(s, player, face);
    s.num_old[player] = uint8_t(s.num_old[player] - (count(s.fresh_cards, face) == 0));
    s.fresh_cards = without(s.fresh_cards, only(face));
}

/// The viewer sees the whole hand of the owner in a challenge and knows those cards from now on (rules 7.6, 7.10).
inline void reveal(State& s, int viewer, int owner) {
    Cards& known = s.known[viewer];
    const Cards& hand = s.hand[owner];
    known = minus(known, wild_cards(s.known_wilds[viewer][owner]));
    known = plus(plus(known, colored_not_in(hand, known)), wild_cards(wild_nibbles(hand)));
    s.known_wilds[viewer][owner] = wild_nibbles(hand);
    update_known_to(s, viewer, owner);
    if (!has(s, kReshuffled)) return;
    s.seen_since_reshuffle[owner] |= uint8_t(1 << viewer);
    s.seen_but_mixed[owner] &= uint8_t(~(1 << viewer));
}

/// These cards are the new draw pile. What is in hands now is old: step 1 of the example.
inline void note_reshuffle(State& s, const Cards& cards) {
    s.flags |= kReshuffled;
    s.fresh_cards = cards;
    std::memcpy(s.num_old, s.size, sizeof s.num_old);
    for (int p = 0; p < kMaxPlayers; ++p) s.old_wilds[p] = wild_nibbles(s.hand[p]);
    std::memset(s.wild_plays_of_unknown_age, 0, sizeof s.wild_plays_of_unknown_age);
    std::memset(s.seen_since_reshuffle, 0, sizeof s.seen_since_reshuffle);
    std::memset(s.seen_but_mixed, 0, sizeof s.seen_but_mixed);
}

UNO_FLEX_END
