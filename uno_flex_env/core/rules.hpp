// The switches of rules 9.
#pragma once

#include "cards.hpp"

namespace uno_flex {

/// One bit each; zero is the official reading.
enum Switch : uint16_t {
    kStrictDrawFour = 1 << 0,
    kFlexDrawFourChallenge = 1 << 1,
    kTwoPlayerReversePasses = 1 << 2,
    kFlexActionMatchesColorOnly = 1 << 3,
    kMustPlayDrawnCard = 1 << 4,
    kExplicitUno = 1 << 5,
    kLastCardDrawsNothing = 1 << 6,
    kStacking = 1 << 7,
    kDrawUntilPlayable = 1 << 8,
};
constexpr int kSwitches = 9;

/// Name and the two values of each switch, in the order of the bits; "true" and "false" are Booleans.
struct SwitchInfo {
    const char *name, *official, *other;
};
inline constexpr SwitchInfo kSwitchInfo[] = {
    {"draw_four", "challenge", "strict"},      {"flex_draw_four_challenge", "false", "true"},
    {"two_player_reverse", "skip", "pass"},    {"flex_action_match", "color_or_symbol", "color"},
    {"play_drawn_card", "optional", "forced"}, {"uno_call", "automatic", "explicit"},
    {"last_card_draws", "true", "false"},      {"stacking", "false", "true"},
    {"draw_until_playable", "false", "true"},
};
static_assert(std::size(kSwitchInfo) == kSwitches);

constexpr int kMinPlayers = 2, kMaxPlayers = 8;
constexpr int kMaxDealt = 63;  // the official deck has 64 number cards, so one is always left as the starter
constexpr int kMaxHandSize = kMaxDealt / kMinPlayers;

constexpr int kMaxTargetScore = 60000;  // a score must fit 16 bits also after the last round

struct Rules {
    uint16_t switches;
    uint16_t target_score;
    uint8_t hand_size;
    Cards deck;
};

}  // namespace uno_flex

UNO_FLEX_BEGIN

inline constexpr Rules kOfficialRules = {0, 500, 7, official_deck()};

/// Why this many players can't play by these rules, or nullptr.
inline const char* refuse(const Rules& rules, int num_players) {
    if (num_players < kMinPlayers || num_players > kMaxPlayers) return "the number of players must be from 2 to 8";
    if (rules.switches >> kSwitches) return "unknown switch";
    if (rules.target_score < 1 || rules.target_score > kMaxTargetScore) return "target_score must be from 1 to 60000";
    if (rules.hand_size < 1) return "hand_size must be at least 1";
    if (num_players * rules.hand_size > kMaxDealt) return "players x hand_size must be at most 63";
    int cards = 0, numbers = 0;
    for (const uint64_t word : rules.deck.word)
        if (word & ~(kColoredBits | kWildBits)) return "the deck has cards that do not exist";
    for (int f = 0; f < kFaces; ++f) {
        const int n = count(rules.deck, f);
        if (n > kFace[f].count) return "the deck has more of a card than the official one";
        cards += n;
        if (is_number(f)) numbers += n;
    }
    if (cards - numbers + num_players * rules.hand_size >= cards)
        return "cards that are no numbers, plus players x hand_size, must be fewer than the cards of the deck";
    return nullptr;
}

UNO_FLEX_END
