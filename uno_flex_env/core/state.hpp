// One game as a flat struct of 704 bytes: copied by assignment, saved as its own bytes.
#pragma once

#include <cstddef>
#include <cstring>

#include "actions.hpp"
#include "rules.hpp"

namespace uno_flex {

enum class Phase : uint8_t { play, drawn, challenge, uno, catch_, stack, over };
inline constexpr const char* kPhaseNames[] = {"play", "drawn", "challenge", "uno", "catch", "stack", "over"};
static_assert(std::size(kPhaseNames) == size_t(Phase::over) + 1);

enum Flag : uint8_t {
    kOrderedPile = 1 << 0,    // the draw pile is drawn from its end, not at random
    kReshuffled = 1 << 1,     // the draw pile has been renewed in this round
    kMatch = 1 << 2,          // rounds count towards a target score
    kFlexChallenge = 1 << 3,  // in phase challenge: the flex side of the Draw Four is what is challenged
    kView = 1 << 4,           // a view: all that one player can't know is blank (information.hpp)
};

struct alignas(64) State {
    // The first cache line: what every decision reads.
    ActionSet legal;
    uint64_t rng;               // shuffles the draw pile and nothing else
    uint8_t size[kMaxPlayers];  // cards in each hand
    Phase phase;
    uint8_t current_player;     // who decides; kNone when over
    int8_t direction;
    uint8_t num_players;
    uint8_t top;            // face
    uint8_t color;          // active color
    uint8_t green;          // Powers, bit per seat
    uint8_t drawn;          // face of the drawn card in phase drawn, else kNone
    uint8_t pile_size;
    uint8_t owed;           // sum of stacked Draw Twos that next has to answer
    uint16_t switches;
    uint8_t actor;          // the player whose play is being resolved: challenged, saying UNO or caught
    uint8_t knowing_seats;  // players who know a card of another hand, bit per seat: see knowledge.hpp
    uint8_t flags;
    uint8_t empty_draws;    // `draw`s in a row that yielded no card

    Cards hand[kMaxPlayers];

    Cards discard;  // the top and ignored starters included
    uint8_t discard_size;
    uint8_t dealer;
    uint8_t turn;                 // the seat whose turn follows once the current play is resolved
    uint8_t prior_color;          // active color before the last play, by which a challenge is judged
    uint8_t winner;               // seat; kNone without a winner
    uint8_t hand_size;
    uint8_t reserved[2];          // always 0: fills a gap, so that no byte of the struct is padding
    uint16_t points;              // what the winner scores
    uint16_t target_score;
    uint32_t ply;                 // actions taken in this round
    uint16_t score[kMaxPlayers];  // in a match: points of the rounds so far
    uint16_t rounds;              // finished rounds of the match
    uint16_t reshuffles;          // in this round
    uint32_t reserved_word;       // always 0, for the same reason

    uint8_t pile[kDeckSize];      // the first pile_size are the draw pile, the others 0
    // What players know. knowledge.hpp explains these fields with an example.
    uint8_t num_old[kMaxPlayers];  // cards held since before the last reshuffle
    Cards fresh_cards;             // cards of the last reshuffle
    Cards deck;                    // all cards of the game
    Cards known[kMaxPlayers];      // [viewer]: cards seen in other hands in a challenge that are still there
    uint16_t known_wilds[kMaxPlayers][kMaxPlayers];   // [viewer][owner]: nibble w: copies of wild w among them
    uint16_t old_wilds[kMaxPlayers];                  // nibble w: copies of wild w among the old cards
    uint16_t wild_plays_of_unknown_age[kMaxPlayers];  // nibble w: plays of wild w that may have been old or fresh
    uint8_t known_to[kMaxPlayers];                    // [owner]: viewers who know a card of the hand, bit per seat
    uint8_t seen_since_reshuffle[kMaxPlayers];        // [owner]: viewers for whom all cards they don't know are fresh
    uint8_t seen_but_mixed[kMaxPlayers];              // [owner]: viewers who have seen it since, but don't know that
};

static_assert(sizeof(State) == 704);

}  // namespace uno_flex

UNO_FLEX_BEGIN

/// Name, position and type of each field, for JSON and for display.
struct FieldInfo {
    const char* name;
    size_t offset, size;  // bytes
    int item;             // bytes of one number; negative: signed
    int columns;          // numbers in a row, for fields of two dimensions
};

#define UNO_FLEX_FIELD(name, item, columns) {#name, offsetof(State, name), sizeof(State::name), item, columns}
inline constexpr FieldInfo kStateFields[] = {
    UNO_FLEX_FIELD(legal, 8, 1),          UNO_FLEX_FIELD(rng, 8, 1),
    UNO_FLEX_FIELD(size, 1, 1),           UNO_FLEX_FIELD(phase, 1, 1),
    UNO_FLEX_FIELD(current_player, 1, 1), UNO_FLEX_FIELD(direction, -1, 1),
    UNO_FLEX_FIELD(num_players, 1, 1),    UNO_FLEX_FIELD(top, 1, 1),
    UNO_FLEX_FIELD(color, 1, 1),          UNO_FLEX_FIELD(green, 1, 1),
    UNO_FLEX_FIELD(drawn, 1, 1),          UNO_FLEX_FIELD(pile_size, 1, 1),
    UNO_FLEX_FIELD(owed, 1, 1),           UNO_FLEX_FIELD(switches, 2, 1),
    UNO_FLEX_FIELD(actor, 1, 1),          UNO_FLEX_FIELD(knowing_seats, 1, 1),
    UNO_FLEX_FIELD(flags, 1, 1),          UNO_FLEX_FIELD(empty_draws, 1, 1),
    UNO_FLEX_FIELD(hand, 8, 2),           UNO_FLEX_FIELD(discard, 8, 1),
    UNO_FLEX_FIELD(discard_size, 1, 1),   UNO_FLEX_FIELD(dealer, 1, 1),
    UNO_FLEX_FIELD(turn, 1, 1),           UNO_FLEX_FIELD(prior_color, 1, 1),
    UNO_FLEX_FIELD(winner, 1, 1),         UNO_FLEX_FIELD(hand_size, 1, 1),
    UNO_FLEX_FIELD(reserved, 1, 1),       UNO_FLEX_FIELD(points, 2, 1),
    UNO_FLEX_FIELD(target_score, 2, 1),   UNO_FLEX_FIELD(ply, 4, 1),
    UNO_FLEX_FIELD(score, 2, 1),          UNO_FLEX_FIELD(rounds, 2, 1),
    UNO_FLEX_FIELD(reshuffles, 2, 1),     UNO_FLEX_FIELD(reserved_word, 4, 1),
    UNO_FLEX_FIELD(pile, 1, 1),           UNO_FLEX_FIELD(num_old, 1, 1),
    UNO_FLEX_FIELD(fresh_cards, 8, 1),    UNO_FLEX_FIELD(deck, 8, 1),
    UNO_FLEX_FIELD(known, 8, 2),          UNO_FLEX_FIELD(known_wilds, 2, kMaxPlayers),
    UNO_FLEX_FIELD(old_wilds, 2, 1),      UNO_FLEX_FIELD(wild_plays_of_unknown_age, 2, 1),
    UNO_FLEX_FIELD(known_to, 1, 1),       UNO_FLEX_FIELD(seen_since_reshuffle, 1, 1),
    UNO_FLEX_FIELD(seen_but_mixed, 1, 1),
};
#undef UNO_FLEX_FIELD

/// Whether the fields above follow one another without a gap, to the end of the struct.
constexpr bool fields_tile_the_state() {
    size_t end = 0;
    for (const FieldInfo& field : kStateFields) {
        if (field.offset != end) return false;
        end += field.size;
    }
    return end == sizeof(State);
}
static_assert(fields_tile_the_state(), "a field of State is missing in kStateFields, or there is padding");

inline bool has(const State& s, Switch rule) { return (s.switches & rule) != 0; }
inline bool has(const State& s, Flag flag) { return (s.flags & flag) != 0; }
inline bool is_over(const State& s) { return s.phase == Phase::over; }
inline int seated(const State& s) { return (1 << s.num_players) - 1; }

/// The seat `steps` (0 to num_players) further on in the current direction.
inline int seat_after(const State& s, int seat, int steps) {
    // Without branches, because the direction in which the seats wrap is unpredictable.
    int to = seat + s.direction * steps;
    to += s.num_players & -int(to < 0);
    return to - (s.num_players & -int(to >= s.num_players));
}
/// How many seats clockwise `seat` sits from `from`.
inline int offset_of(const State& s, int from, int seat) {
    const int offset = seat - from;
    return offset + (s.num_players & -int(offset < 0));
}

UNO_FLEX_END
