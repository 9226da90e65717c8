// The 92 faces of the deck: what differs between cards is a column here (rules 1 and 6).
#pragma once

#include <cstdint>

#include "level.hpp"

UNO_FLEX_BEGIN

constexpr int kColors = 4;          // r y g b
constexpr int kSlots = 22;          // faces of one color: classic 1-8 S R D, then Flex 1-8 S R D
constexpr int kSymbols = 11;        // 1-8, Skip, Reverse, Draw Two
constexpr int kNumbers = 8;         // the first eight symbols are numbers
constexpr int kColored = kColors * kSlots;
constexpr int kWilds = 4;           // All Flip, Target Draw Two, All Draw, Draw Four
constexpr int kFaces = kColored + kWilds;
constexpr int kDeckSize = 104;
constexpr int kNone = 255;          // no card, no player, no color

/// What playing one side of a card does besides moving the card (rules 6).
enum class Effect : uint8_t {
    none,
    next_draws,    // next draws and loses the turn; `stacking` lets it be answered
    skip,          // next loses the turn
    reverse,       // direction changes; with two players a skip, unless the rules say `pass`
    flip_all,      // every Power flips
    bluff,         // next draws and loses the turn; next may challenge it (rules 7)
    others_draw,   // everyone else draws
    skip_all,      // the same player plays again
    reverse_skip,  // direction changes, then the first player in it loses the turn
    target_draws,  // a chosen opponent draws
    target_bluff,  // a chosen opponent draws, and may challenge it under `flex_draw_four_challenge`
};

struct Side {
    Effect effect = Effect::none;
    uint8_t draws = 0;
};

struct Face {
    uint8_t color = kNone;       // kNone: a wild
    uint8_t symbol = kNone;      // 0-7 the numbers 1-8, then Skip, Reverse, Draw Two; kNone: a wild
    uint8_t count = 1;           // how often the official deck has it
    uint8_t points = 0;
    uint8_t flex_color = kNone;  // the color its flex side matches; a wild and a classic card have none
    bool has_flex = false;
    bool flip_icon = false;
    Side regular, flex;
};

namespace table {

/// Flex color of a Flex number by regular color and number group 1-3, 4-6, 7-8 (rules 1).
constexpr uint8_t kFlexColor[kColors][3] = {{3, 2, 1}, {2, 3, 0}, {1, 0, 3}, {0, 1, 2}};
/// Numbers with the flip icon, bit n-1 for number n: yellow and blue 1 3 5 7, red and green 2 4 6 8.
constexpr uint8_t kFlipIcons[kColors] = {0xAA, 0x55, 0xAA, 0x55};
constexpr uint8_t kActionPoints = 20, kWildPoints = 50;

constexpr Side kActionRegularSide[3] = {{Effect::skip, 0}, {Effect::reverse, 0}, {Effect::next_draws, 2}};
constexpr Side kActionFlexSide[3] = {{Effect::skip_all, 0}, {Effect::reverse_skip, 0}, {Effect::others_draw, 1}};
constexpr Side kWildRegularSide[kWilds] = {{Effect::flip_all, 0}, {}, {}, {Effect::bluff, 4}};
constexpr Side kWildFlexSide[kWilds] = {{}, {Effect::target_draws, 2}, {Effect::others_draw, 2}, {Effect::target_bluff, 4}};

constexpr Face make_colored(int color, int slot) {
    Face f;
    const int symbol = slot % kSymbols;
    f.color = uint8_t(color);
    f.symbol = uint8_t(symbol);
    f.has_flex = slot >= kSymbols;
    if (symbol < kNumbers) {
        f.points = uint8_t(symbol + 1);
        f.flip_icon = !f.has_flex && (kFlipIcons[color] >> symbol & 1);
        if (f.has_flex) f.flex_color = kFlexColor[color][symbol / 3];
    } else {
        f.points = kActionPoints;
        f.regular = kActionRegularSide[symbol - kNumbers];
        if (f.has_flex) {
            f.flex_color = uint8_t(color);
            f.flex = kActionFlexSide[symbol - kNumbers];
        }
    }
    return f;
}

constexpr Face make_wild(int wild) {
    Face f;
    f.count = 4;
    f.points = kWildPoints;
    f.has_flex = wild != 0;
    f.regular = kWildRegularSide[wild];
    f.flex = kWildFlexSide[wild];
    return f;
}

struct Faces {
    Face face[kFaces];
    constexpr Faces() : face() {
        for (int f = 0; f < kFaces; ++f)
            face[f] = f < kColored ? make_colored(f / kSlots, f % kSlots) : make_wild(f - kColored);
    }
    constexpr const Face& operator[](int f) const { return face[f]; }
};

}  // namespace table

inline constexpr table::Faces kFace{};

constexpr bool is_wild(int face) { return face >= kColored; }
constexpr bool is_number(int face) { return face < kColored && kFace[face].symbol < kNumbers; }

/// A multiset of cards in 16 bytes. Lane c holds the 22 faces of color c, the same symbol at the same bit, and at bit
/// 24 how many copies (0-4) of wild c.
struct Cards {
    uint32_t lane[kColors];
};

constexpr uint32_t kColoredBits = (1u << kSlots) - 1;
constexpr int kWildShift = 24;
constexpr uint32_t kWildBits = 7u << kWildShift;

inline uint32_t lane_unit(int face) { return is_wild(face) ? 1u << kWildShift : 1u << (face % kSlots); }
inline int lane_of(int face) { return is_wild(face) ? face - kColored : face / kSlots; }
inline void add(Cards& cards, int face) { cards.lane[lane_of(face)] += lane_unit(face); }
inline void remove(Cards& cards, int face) { cards.lane[lane_of(face)] -= lane_unit(face); }
inline int wilds(const Cards& cards, int wild) { return int(cards.lane[wild] >> kWildShift); }
inline int count(const Cards& cards, int face) {
    return is_wild(face) ? wilds(cards, face - kColored) : int(cards.lane[face / kSlots] >> (face % kSlots) & 1);
}
inline bool any_wild(const Cards& cards) {
    return ((cards.lane[0] | cards.lane[1] | cards.lane[2] | cards.lane[3]) & kWildBits) != 0;
}
inline bool any(const Cards& cards) { return (cards.lane[0] | cards.lane[1] | cards.lane[2] | cards.lane[3]) != 0; }
inline bool equal(const Cards& a, const Cards& b) {
    return ((a.lane[0] ^ b.lane[0]) | (a.lane[1] ^ b.lane[1]) | (a.lane[2] ^ b.lane[2]) | (a.lane[3] ^ b.lane[3])) == 0;
}
inline int total_wilds(const Cards& cards) {
    return wilds(cards, 0) + wilds(cards, 1) + wilds(cards, 2) + wilds(cards, 3);
}

/// Lane-wise a - b, for b a part of a.
inline Cards minus(const Cards& a, const Cards& b) {
    return {{a.lane[0] - b.lane[0], a.lane[1] - b.lane[1], a.lane[2] - b.lane[2], a.lane[3] - b.lane[3]}};
}
/// Lane-wise a + b, for disjoint a and b.
inline Cards plus(const Cards& a, const Cards& b) {
    return {{a.lane[0] + b.lane[0], a.lane[1] + b.lane[1], a.lane[2] + b.lane[2], a.lane[3] + b.lane[3]}};
}

inline int count(const Cards& cards) {
    int n = total_wilds(cards);
    for (int c = 0; c < kColors; ++c) n += popcount(cards.lane[c] & kColoredBits);
    return n;
}

/// Write the faces of `cards` in face order, copies side by side; returns how many.
inline int list(const Cards& cards, uint8_t* faces) {
    int n = 0;
    for (int c = 0; c < kColors; ++c)
        for (uint32_t rest = cards.lane[c] & kColoredBits; rest; rest &= rest - 1)
            faces[n++] = uint8_t(c * kSlots + lowest_bit(rest));
    for (int w = 0; w < kWilds; ++w)
        for (int k = wilds(cards, w); k > 0; --k) faces[n++] = uint8_t(kColored + w);
    return n;
}

namespace table {

struct Points {
    uint32_t bit[5] = {};  // the faces of one color whose points have this binary digit
    constexpr Points() {
        for (int slot = 0; slot < kSlots; ++slot)
            for (int b = 0; b < 5; ++b)
                if (kFace[slot].points >> b & 1) bit[b] |= 1u << slot;
    }
};

}  // namespace table

/// Points of a hand (rules 1).
inline int points(const Cards& cards) {
    constexpr table::Points digits{};
    int sum = table::kWildPoints * total_wilds(cards);
    for (int c = 0; c < kColors; ++c)
        for (int b = 0; b < 5; ++b) sum += popcount(cards.lane[c] & digits.bit[b]) << b;
    return sum;
}

inline Cards official_deck() {
    Cards deck{};
    for (int f = 0; f < kFaces; ++f) deck.lane[lane_of(f)] += lane_unit(f) * kFace[f].count;
    return deck;
}

UNO_FLEX_END
