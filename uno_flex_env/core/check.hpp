// check(): whether a struct is a state that the rules allow. It guards bytes from outside and serves the soak tests.
#pragma once

#include "engine.hpp"

UNO_FLEX_BEGIN

namespace checks {

inline bool valid_cards(const Cards& cards) {
    for (const uint64_t word : cards.word)
        if (word & ~(kColoredBits | kWildBits)) return false;
    for (int w = 0; w < kWilds; ++w)
        if (wilds(cards, w) > kFace[kColored + w].count) return false;
    return true;
}

inline bool seat(const State& s, int p) { return p < s.num_players; }

inline const char* table_fields(const State& s) {
    if (s.flags & ~(kOrderedPile | kReshuffled | kMatch | kFlexChallenge)) return "unknown flag";
    if (s.direction != 1 && s.direction != -1) return "direction must be 1 or -1";
    if (s.phase > Phase::over) return "unknown phase";
    if (s.green == 0 || s.green & ~seated(s)) return "no Power is green, or one of an empty seat is";
    if (!seat(s, s.dealer) || !seat(s, s.turn)) return "dealer and turn must be seats";
    if (s.color >= kColors || s.prior_color >= kColors) return "color must be below 4";
    if (s.top >= kFaces || count(s.discard, s.top) == 0) return "the top is not in the discard pile";
    if (!is_wild(s.top) && kFace[s.top].color != s.color) return "the active color is not the top's";
    if (s.reserved[0] || s.reserved[1] || s.reserved_word) return "reserved bytes must be 0";
    for (int p = 0; p < kMaxPlayers; ++p)
        if (s.score[p] && (!seat(s, p) || !has(s, kMatch))) return "a score outside a match or of an empty seat";
    if (s.rounds && !has(s, kMatch)) return "rounds outside a match";
    for (int p = 0; p < s.num_players; ++p)
        if (s.score[p] >= s.target_score && !(is_over(s) && s.winner == p)) return "the match is over, but goes on";
    return nullptr;
}

/// Every card of the deck is in one hand, the draw pile or the discard pile.
inline const char* cards_conserved(const State& s) {
    if (!valid_cards(s.discard) || count(s.discard) != s.discard_size) return "discard pile and its size disagree";
    if (s.pile_size > kDeckSize) return "draw pile out of range";
    int total[kFaces] = {};
    for (int i = 0; i < kDeckSize; ++i) {
        if (s.pile[i] >= kFaces || (i >= s.pile_size && s.pile[i] != 0)) return "unknown card in the draw pile";
        if (i < s.pile_size) ++total[s.pile[i]];
    }
    for (int p = 0; p < kMaxPlayers; ++p) {
        if (!valid_cards(s.hand[p]) || count(s.hand[p]) != s.size[p]) return "hand and its size disagree";
        if (!seat(s, p) && s.size[p]) return "an empty seat has cards";
    }
    for (int f = 0; f < kFaces; ++f) {
        total[f] += count(s.discard, f);
        for (int p = 0; p < s.num_players; ++p) total[f] += count(s.hand[p], f);
        if (total[f] != count(s.deck, f)) return "the cards are not those of the deck";
    }
    return nullptr;
}

inline const char* phase_fields(const State& s) {
    const bool over = is_over(s);
    if (over ? s.current_player != kNone : !seat(s, s.current_player))
        return "current_player must be a seat, or none at the end";
    if (s.actor != kNone && !seat(s, s.actor)) return "actor must be a seat";
    if (s.empty_draws > s.num_players || (s.empty_draws == s.num_players && !over)) return "too many empty draws";
    if (over != (s.winner != kNone || s.empty_draws == s.num_players))
        return "a finished round has a winner or no cards left";
    if (s.winner != kNone && (!seat(s, s.winner) || s.size[s.winner])) return "the winner holds cards";
    int expected = 0;
    for (int p = 0; p < s.num_players; ++p) {
        const bool empty_allowed = (over && p == s.winner) || (s.phase == Phase::challenge && p == s.actor);
        if (s.size[p] == 0 && !empty_allowed) return "a hand is empty, but the round goes on";
        if (s.winner != kNone) expected += points(s.hand[p]);
    }
    if (s.points != expected) return "points are not those of the hands";
    return nullptr;
}

/// A card just drawn is unknown to the other players and no older than the last reshuffle.
inline const char* drawn_card(const State& s) {
    if ((s.phase == Phase::drawn) != (s.drawn != kNone)) return "a drawn card belongs to phase drawn";
    if (s.drawn == kNone) return nullptr;
    if (s.drawn >= kFaces || count(s.hand[s.current_player], s.drawn) == 0)
        return "the drawn card is not in the hand of the current player";
    if (!any(legal_plays(s, only(s.drawn)))) return "the drawn card can't be played";
    const int copies = count(s.hand[s.current_player], s.drawn), wild = s.drawn - kColored;
    for (int v = 0; v < s.num_players; ++v) {
        const int known =
            is_wild(s.drawn) ? nibble(s.known_wilds[v][s.current_player], wild) : count(s.known[v], s.drawn);
        if (known >= copies) return "a card just drawn is known";
    }
    const bool fresh = is_wild(s.drawn) ? nibble(s.old_wilds[s.current_player], wild) <
                                              copies + nibble(s.wild_plays_of_unknown_age[s.current_player], wild)
                                        : count(s.fresh_cards, s.drawn) > 0;
    return has(s, kReshuffled) && !fresh ? "a card just drawn is older than the last reshuffle" : nullptr;
}

/// The current player faces a decision that exists under the rules.
inline const char* decision(const State& s) {
    const Effect top = kFace[s.top].regular.effect;
    const bool stacked = has(s, kStacking) && top == Effect::next_draws;
    const bool after_uno = s.phase == Phase::uno || s.phase == Phase::catch_;
    if (s.owed && !(stacked && (s.phase == Phase::stack || after_uno))) return "a sum is owed, but nothing was stacked";
    if (s.owed > kMaxOwed || s.owed & 1) return "the sum owed is impossible";
    if (has(s, kFlexChallenge) && s.phase != Phase::challenge) return "a flex challenge outside phase challenge";
    switch (s.phase) {
        case Phase::stack:
            if (!s.owed || s.turn != s.current_player) return "phase stack without a sum owed";
            break;
        case Phase::challenge: {
            if (top != Effect::bluff || s.actor == kNone || s.actor == s.current_player) return "nothing to challenge";
            if (s.size[s.actor] == 0 && has(s, kLastCardDrawsNothing)) return "the last card draws nothing";
            const bool flex = has(s, kFlexChallenge);
            if (flex ? !has(s, kFlexDrawFourChallenge) : has(s, kStrictDrawFour))
                return "the switches rule out this challenge";
            if (!flex && s.current_player != seat_after(s, s.actor, 1)) return "only next may challenge";
            if (s.turn != seat_after(s, s.actor, flex ? 1 : 2)) return "the wrong turn follows the challenge";
            break;
        }
        case Phase::uno:
        case Phase::catch_:
            if (!has(s, kExplicitUno) || s.actor == kNone || s.size[s.actor] != 1) return "no player has to say UNO";
            if ((s.phase == Phase::uno) != (s.actor == s.current_player)) return "the wrong player decides on UNO";
            break;
        case Phase::play:
        case Phase::drawn:
            if (s.turn != s.current_player) return "it is another player's turn";
            break;
        case Phase::over: break;
    }
    return nullptr;
}

inline const char* knowledge(const State& s) {
    for (int v = 0; v < kMaxPlayers; ++v) {
        if (!valid_cards(s.known[v])) return "unknown card among the known ones";
        if (any(s.known[v]) != bool(s.knowing_seats >> v & 1)) return "knowing_seats and known cards disagree";
        if (!seat(s, v) && any(s.known[v])) return "an empty seat knows cards";
        Cards others{};
        uint16_t known_wilds = 0;
        for (int o = 0; o < kMaxPlayers; ++o) {
            for (int w = 0; w < kWilds; ++w) {
                const int n = nibble(s.known_wilds[v][o], w);
                if (n > wilds(s.hand[o], w) || (n && o == v)) return "a known wild is not there";
            }
            const bool knows = o != v && (any(shared_colored(s.known[v], s.hand[o])) || s.known_wilds[v][o]);
            if (knows != bool(s.known_to[o] >> v & 1)) return "known_to and known cards disagree";
            known_wilds = uint16_t(known_wilds + s.known_wilds[v][o]);
            if (o != v) others = plus(others, shared_colored(s.hand[o], s.hand[o]));
        }
        if (any(colored_not_in(s.known[v], others))) return "a known card is in no other hand";
        if (wild_nibbles(s.known[v]) != known_wilds) return "known wilds do not add up";
    }
    return nullptr;
}

/// The publicly known ages (knowledge.hpp) fit the hands and the draw pile.
inline const char* ages(const State& s) {
    if (!has(s, kReshuffled)) {
        uint64_t bits = s.fresh_cards.word[0] | s.fresh_cards.word[1];
        for (int p = 0; p < kMaxPlayers; ++p)
            bits |= uint64_t(s.num_old[p] | s.old_wilds[p] | s.wild_plays_of_unknown_age[p] |
                             s.seen_since_reshuffle[p] | s.seen_but_mixed[p]);
        return bits ? "cards of a reshuffle, but none has happened" : nullptr;
    }
    if (s.reshuffles == 0) return "a reshuffle that is not counted";
    if (!valid_cards(s.fresh_cards)) return "unknown card among those of the last reshuffle";
    Cards left = s.fresh_cards;
    for (int i = 0; i < s.pile_size; ++i) {
        if (count(left, s.pile[i]) == 0) return "a card of the draw pile was not in the last reshuffle";
        remove(left, s.pile[i]);
    }
    for (int p = 0; p < kMaxPlayers; ++p) {
        Cards fresh = shared_colored(left, s.hand[p]);
        const int old = count(colored_not_in(s.hand[p], fresh)) + sum_of_nibbles(s.old_wilds[p]);
        if (old != s.num_old[p]) return "the number of old cards is wrong";
        if ((s.seen_since_reshuffle[p] | s.seen_but_mixed[p]) & ~(seated(s) & ~(1 << p)) ||
            s.seen_since_reshuffle[p] & s.seen_but_mixed[p])
            return "a hand seen by an empty seat or by its owner";
        for (int w = 0; w < kWilds; ++w) {
            // Each copy in the hand, or played at unknown age, is either old or fresh.
            const int unsure = nibble(s.wild_plays_of_unknown_age[p], w);
            const int fresh_copies = wilds(s.hand[p], w) + unsure - nibble(s.old_wilds[p], w);
            if (fresh_copies < 0) return "more old wilds than wilds";
            if (wilds(left, w) < fresh_copies) return "more fresh wilds than the last reshuffle had";
            if (unsure > wilds(s.discard, w)) return "more plays of a wild than lie in the discard pile";
            for (int k = 0; k < fresh_copies; ++k) add(fresh, kColored + w);
        }
        left = minus(left, fresh);
    }
    return any(left) ? "cards of the last reshuffle are missing" : nullptr;
}

}  // namespace checks

/// Why `s` is not a valid state, or nullptr. `s` may hold any bytes.
inline const char* check(const State& s) {
    if (const char* why = refuse(Rules{s.switches, s.target_score, s.hand_size, s.deck}, s.num_players)) return why;
    if (const char* why = checks::table_fields(s)) return why;
    if (const char* why = checks::cards_conserved(s)) return why;
    if (const char* why = checks::phase_fields(s)) return why;
    if (const char* why = checks::drawn_card(s)) return why;
    if (const char* why = checks::decision(s)) return why;
    if (const char* why = checks::knowledge(s)) return why;
    if (const char* why = checks::ages(s)) return why;
    const ActionSet legal = legal_actions(s);
    if (std::memcmp(&legal, &s.legal, sizeof legal) != 0) return "the legal actions are not those of the position";
    return nullptr;
}

UNO_FLEX_END
