// The 92 faces of the deck. Each difference between cards is a column of this table (rules 1 and 6).
#pragma once

#include <cstdint>
#include <iterator>

#include "simd.hpp"

namespace uno_flex {

constexpr int kColors = 4;    // r y g b
constexpr int kSlots = 22;    // faces of one color: classic 1-8 S R D, then Flex 1-8 S R D
constexpr int kSymbols = 11;  // 1-8, Skip, Reverse, Draw Two
constexpr int kNumbers = 8;   // the first eight symbols are numbers
constexpr int kColored = kColors * kSlots;
enum Wild : int { kAllFlip, kTargetDrawTwo, kAllDraw, kDrawFour };
constexpr int kWilds = 4;
constexpr int kFaces = kColored + kWilds;
constexpr int kDeckSize = 104;
constexpr int kWildCopies = 4;  // copies of each wild
constexpr int kNone = 255;      // no card, no player, no color

/// How cards are written (rules 1): colors and symbols by letter, wilds by code.
inline constexpr const char* kColorLetters = "rygb";
inline constexpr const char* kSymbolLetters = "12345678SRD";
inline constexpr const char* kWildCodes[kWilds] = {"WF", "WT/", "WA/", "W4/"};

/// What playing one side of a card does besides moving the card (rules 6).
enum class Effect : uint8_t {
    none,
    next_draws,    // next draws and loses the turn, or answers it under `stacking`
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
inline constexpr const char* kEffectNames[] = {
    "none",        "next_draws", "skip",         "reverse",      "flip_all",     "bluff",
    "others_draw", "skip_all",   "reverse_skip", "target_draws", "target_bluff",
};
static_assert(std::size(kEffectNames) == size_t(Effect::target_bluff) + 1);

struct Side {
    Effect effect = Effect::none;
    uint8_t draws = 0;
};

struct Face {
    uint8_t color = kNone;       // kNone: a wild
    uint8_t symbol = kNone;      // 0-7 the numbers 1-8, then Skip, Reverse, Draw Two; kNone: a wild
    uint8_t count = 1;           // copies in the official deck
    uint8_t points = 0;
    uint8_t flex_color = kNone;  // the color that its flex side matches; kNone: a wild or a classic card
    bool has_flex = false;
    bool flip_icon = false;
    Side regular, flex;
};

/// A multiset of cards in 16 bytes. Word w holds the 22 faces of color 2w from bit 0 and those of color 2w+1 from bit
/// 22, in the same order of symbols. The nibbles from bit 48 count the copies (0-4) of the wilds 2w and 2w+1.
struct Cards {
    uint64_t word[2];
};

constexpr uint64_t kColoredBits = (uint64_t(1) << 2 * kSlots) - 1;
constexpr int kWildShift = 48;
constexpr uint64_t kWildBits = uint64_t(0x77) << kWildShift;

}  // namespace uno_flex

UNO_FLEX_BEGIN

namespace tables {

/// Flex color of a Flex number by regular color and number group 1-3, 4-6, 7-8 (rules 1).
constexpr uint8_t kFlexColor[kColors][3] = {{3, 2, 1}, {2, 3, 0}, {1, 0, 3}, {0, 1, 2}};
/// Numbers with the flip icon, bit n-1 for number n: yellow and blue 1 3 5 7, red and green 2 4 6 8.
constexpr uint8_t kFlipIcons[kColors] = {0xAA, 0x55, 0xAA, 0x55};
constexpr uint8_t kActionPoints = 20, kWildPoints = 50;

constexpr Side kActionRegularSide[3] = {{Effect::skip, 0}, {Effect::reverse, 0}, {Effect::next_draws, 2}};
constexpr Side kActionFlexSide[3] = {{Effect::skip_all, 0}, {Effect::reverse_skip, 0}, {Effect::others_draw, 1}};
constexpr Side kWildRegularSide[kWilds] = {{Effect::flip_all, 0}, {}, {}, {Effect::bluff, 4}};
constexpr Side kWildFlexSide[kWilds] = {{},
                                        {Effect::target_draws, 2},
                                        {Effect::others_draw, 2},
                                        {Effect::target_bluff, 4}};

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
    f.count = kWildCopies;
    f.points = kWildPoints;
    f.has_flex = wild != kAllFlip;
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

}  // namespace tables

inline constexpr tables::Faces kFace{};

constexpr bool is_wild(int face) { return face >= kColored; }
constexpr bool is_number(int face) { return face < kColored && kFace[face].symbol < kNumbers; }

namespace tables {

struct Places {
    uint64_t unit[kFaces] = {};
    uint8_t word[kFaces] = {};
    Cards only[kFaces] = {};
    constexpr Places() {
        for (int f = 0; f < kFaces; ++f) {
            const int wild = f - kColored;
            word[f] = uint8_t(wild < 0 ? f / (2 * kSlots) : wild / 2);
            unit[f] = uint64_t(1) << (wild < 0 ? f % (2 * kSlots) : kWildShift + 4 * (wild % 2));
            only[f].word[word[f]] = unit[f];
        }
    }
};

}  // namespace tables

inline constexpr tables::Places kPlace{};

constexpr void add(Cards& cards, int face) { cards.word[kPlace.word[face]] += kPlace.unit[face]; }
constexpr void remove(Cards& cards, int face) { cards.word[kPlace.word[face]] -= kPlace.unit[face]; }
/// One card. Where speed matters, use plus() and minus() of it instead of add() and remove(). A processor stalls when
/// it reads two words together just after one of them was written.
inline const Cards& only(int face) { return kPlace.only[face]; }
inline int wilds(const Cards& cards, int wild) {
    return int(cards.word[wild / 2] >> (kWildShift + 4 * (wild % 2)) & 15);
}
inline int count(const Cards& cards, int face) {
    return is_wild(face) ? wilds(cards, face - kColored) : (cards.word[kPlace.word[face]] & kPlace.unit[face]) != 0;
}
/// The 22 faces of one color as bits.
inline uint32_t faces_of_color(const Cards& cards, int color) {
    return uint32_t(cards.word[color / 2] >> (kSlots * (color % 2))) & ((1u << kSlots) - 1);
}
inline bool any(const Cards& cards) { return (cards.word[0] | cards.word[1]) != 0; }
inline bool any_wild(const Cards& cards) { return ((cards.word[0] | cards.word[1]) & kWildBits) != 0; }
inline bool equal(const Cards& a, const Cards& b) { return a.word[0] == b.word[0] && a.word[1] == b.word[1]; }

/// The wilds of a hand as a nibble of copies each, and back.
inline uint16_t wild_nibbles(const Cards& cards) {
    return uint16_t((cards.word[0] >> kWildShift & 0xFF) | (cards.word[1] >> kWildShift & 0xFF) << 8);
}
inline Cards wild_cards(uint16_t nibbles) {
    return {{uint64_t(nibbles & 0xFF) << kWildShift, uint64_t(nibbles >> 8) << kWildShift}};
}
inline int nibble(uint16_t nibbles, int wild) { return nibbles >> (4 * wild) & 15; }

/// a without b. b must be contained in a.
inline Cards minus(const Cards& a, const Cards& b) { return {{a.word[0] - b.word[0], a.word[1] - b.word[1]}}; }
/// a and b together, for disjoint a and b.
inline Cards plus(const Cards& a, const Cards& b) { return {{a.word[0] + b.word[0], a.word[1] + b.word[1]}}; }
/// a without the bits that are also in b.
inline Cards without(const Cards& a, const Cards& b) { return {{a.word[0] & ~b.word[0], a.word[1] & ~b.word[1]}}; }
/// The colored cards of a that are in b, and those that are not.
inline Cards shared_colored(const Cards& a, const Cards& b) {
    return {{a.word[0] & b.word[0] & kColoredBits, a.word[1] & b.word[1] & kColoredBits}};
}
inline Cards colored_not_in(const Cards& a, const Cards& b) {
    return {{a.word[0] & ~b.word[0] & kColoredBits, a.word[1] & ~b.word[1] & kColoredBits}};
}

inline int total_wilds(const Cards& cards) {
    return wilds(cards, 0) + wilds(cards, 1) + wilds(cards, 2) + wilds(cards, 3);
}
inline int count(const Cards& cards) {
    return popcount(cards.word[0] & kColoredBits) + popcount(cards.word[1] & kColoredBits) + total_wilds(cards);
}

namespace tables {

struct WildThermometers {
    /// Copies of two wilds as nibbles to four bits each.
    uint8_t bits[256] = {};
    constexpr WildThermometers() {
        for (int n = 0; n < 256; ++n)
            if ((n & 15) <= 4 && n >> 4 <= 4) bits[n] = uint8_t(((1 << (n & 15)) - 1) | ((1 << (n >> 4)) - 1) << 4);
    }
};

/// The cards that list() selects from: every face once, each wild four times.
struct Listed {
    alignas(64) uint8_t face[2 * 64] = {};
    constexpr Listed() {
        for (int i = 0; i < kDeckSize; ++i) face[i] = uint8_t(i < kColored ? i : kColored + (i - kColored) / 4);
    }
};

}  // namespace tables

inline constexpr tables::WildThermometers kWildThermometer{};
inline constexpr tables::Listed kListed{};

/// The wilds of a hand as thermometers: four bits per wild, of which as many are set as the hand has copies.
inline uint32_t wild_bits(const Cards& cards) {
    const int copies = wild_nibbles(cards);
    return uint32_t(kWildThermometer.bits[copies & 255] | kWildThermometer.bits[copies >> 8] << 8);
}

/// Write the faces of `cards` in face order, copies side by side, and zeros up to kDeckSize; returns how many.
inline int list(const Cards& cards, uint8_t* faces) {
    // A bit for each entry of kListed, in two words.
    const uint64_t low = cards.word[0] & kColoredBits, high = cards.word[1] & kColoredBits;
    const uint64_t first = low | high << (2 * kSlots);
    const uint64_t rest = high >> (64 - 2 * kSlots) | uint64_t(wild_bits(cards)) << (kColored - 64);
    return select_bytes<kDeckSize>(kListed.face, first, rest, faces);
}

namespace tables {

struct Points {
    uint64_t bit[5] = {};  // the faces of a word whose points have this binary digit
    constexpr Points() {
        for (int slot = 0; slot < 2 * kSlots; ++slot)
            for (int b = 0; b < 5; ++b)
                if (kFace[slot].points >> b & 1) bit[b] |= uint64_t(1) << slot;
    }
};

}  // namespace tables

/// Points of a hand (rules 1).
inline int points(const Cards& cards) {
    constexpr tables::Points digits{};
    int sum = tables::kWildPoints * total_wilds(cards);
    for (int b = 0; b < 5; ++b)
        sum += (popcount(cards.word[0] & digits.bit[b]) + popcount(cards.word[1] & digits.bit[b])) << b;
    return sum;
}

constexpr Cards official_deck() {
    Cards deck{};
    for (int f = 0; f < kFaces; ++f)
        for (int k = 0; k < kFace[f].count; ++k) add(deck, f);
    return deck;
}

UNO_FLEX_END
