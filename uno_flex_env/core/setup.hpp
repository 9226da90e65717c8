// A position set up by hand at the start of a turn, for puzzles, tests and study.
#pragma once

#include "check.hpp"
#include "engine.hpp"

UNO_FLEX_BEGIN

/// The location of the cards. Cards of the deck that are not named go to the draw pile, shuffled. If the draw pile is
/// given, they go under the top.
struct Setup {
    Rules rules = kOfficialRules;
    int num_players = kMinPlayers;
    Cards hand[kMaxPlayers] = {};
    Cards discards = {};           // under the top
    int top = 0, color = 0;        // face on the discard pile, active color
    int current_player = 0;
    int direction = 1;             // 1 is clockwise, -1 the other way
    int green = 0;                 // Powers, bit per seat
    bool ordered = false;          // the draw pile is given
    int pile_size = 0;
    uint8_t pile[kDeckSize] = {};  // next card first
    uint64_t seed = 0;             // seed of the shuffle
};

/// Cards of the deck that the setup does not name; false if it names more copies of a card than the deck has.
inline bool unnamed_cards(const Setup& setup, Cards& rest) {
    int named[kFaces] = {};
    ++named[setup.top];
    for (int i = 0; i < setup.pile_size; ++i) ++named[setup.pile[i]];
    rest = Cards{};
    for (int f = 0; f < kFaces; ++f) {
        named[f] += count(setup.discards, f);
        for (int p = 0; p < setup.num_players; ++p) named[f] += count(setup.hand[p], f);
        const int left = count(setup.rules.deck, f) - named[f];
        if (left < 0) return false;
        for (int k = 0; k < left; ++k) add(rest, f);
    }
    return true;
}

/// Make the state that a setup describes. Returns why the position is impossible, or nullptr.
inline const char* set_up(const Setup& setup, State& s) {
    if (const char* why = refuse(setup.rules, setup.num_players)) return why;
    if (setup.current_player < 0 || setup.current_player >= setup.num_players)
        return "the current player is not one of the seats";
    if (setup.direction != 1 && setup.direction != -1) return "direction must be 1 or -1";
    if (setup.color < 0 || setup.color >= kColors) return "there is no such color";
    Cards rest;
    if (!unnamed_cards(setup, rest)) return "more copies of a card than the deck has";

    const int dealer = (setup.current_player + setup.num_players - 1) % setup.num_players;
    clear_table(s, setup.rules, setup.num_players, dealer);
    seed_shuffle(s, setup.seed);
    for (int p = 0; p < setup.num_players; ++p) {
        s.hand[p] = setup.hand[p];
        s.size[p] = uint8_t(count(s.hand[p]));
    }
    s.discard = setup.discards;
    add(s.discard, setup.top);
    if (setup.ordered) {
        s.discard = plus(s.discard, rest);
        lay_ordered_pile(s, setup.pile, setup.pile_size);
    } else {
        lay_pile(s, rest);
    }
    s.discard_size = uint8_t(count(s.discard));
    s.top = uint8_t(setup.top);
    s.color = s.prior_color = uint8_t(setup.color);
    s.current_player = s.turn = uint8_t(setup.current_player);
    s.direction = int8_t(setup.direction);
    s.green = uint8_t(setup.green);
    s.legal = legal_actions(s);
    return check(s);
}

UNO_FLEX_END
