// Which cards match (rules 4), as bit sets.
//
// Whether a colored card may be played depends on three things only: its face, the active color and the top symbol.
// So the faces that match are listed once for each color and symbol. The playable cards of a hand are the hand AND such
// a list. A wild always matches. The actions of a wild depend on the wilds held and, for targets, on the number of
// players.
//
// The order of the actions (rules 10.6) is the order of the bits of a hand (Cards), so a set of cards becomes a set of
// actions by a few shifts: see lay_out().
#pragma once

#include "actions.hpp"
#include "rules.hpp"

UNO_FLEX_BEGIN

namespace tables {

constexpr int kTopSymbols = kSymbols + 1;  // one more for a wild, which shows no symbol (rules 4.4)

struct Matches {
    /// Faces whose regular side matches [active color][top symbol] (rules 4.5).
    Cards regular[kColors][kTopSymbols] = {};
    /// Faces whose flex side matches (rules 4.6, 4.7). Index 1 in front: `flex_action_match` = "color" (rules 9.4).
    Cards flex[2][kColors][kTopSymbols] = {};
    /// The symbol that a face shows on top; kSymbols for a wild.
    uint8_t top_symbol[kFaces] = {};
    /// Which of two wilds are held, from their nibbles.
    uint8_t held[0x78] = {};
    /// For each set of wilds: their regular sides as actions from kWildRegular on (rules 4.8).
    uint16_t wild[1 << kWilds] = {};
    /// For each set of wilds and number of players: their flex sides as actions from kAllDrawFlex on (rules 4.9).
    uint64_t wild_flex[1 << kWilds][kMaxPlayers + 1] = {};
    /// Wilds whose regular side is a bluff if it is played guilty (rules 7).
    int bluffs = 0;

    constexpr Matches() {
        for (int f = 0; f < kFaces; ++f) top_symbol[f] = uint8_t(is_wild(f) ? kSymbols : kFace[f].symbol);
        for (int f = 0; f < kColored; ++f)
            for (int color = 0; color < kColors; ++color)
                for (int symbol = 0; symbol < kTopSymbols; ++symbol) list_colored(f, color, symbol);
        for (int n = 0; n < 0x78; ++n) held[n] = uint8_t(((n & 7) != 0) | ((n >> 4) != 0) << 1);
        for (int set = 0; set < 1 << kWilds; ++set) list_wilds(set);
        for (int w = 0; w < kWilds; ++w) bluffs |= (kFace[kColored + w].regular.effect == Effect::bluff) << w;
    }
    constexpr void list_colored(int f, int color, int symbol) {
        const Face& face = kFace[f];
        const bool same_symbol = face.symbol == symbol, number = face.symbol < kNumbers;
        if (face.color == color || same_symbol) add(regular[color][symbol], f);
        if (!face.has_flex) return;
        if (face.flex_color == color || same_symbol) add(flex[0][color][symbol], f);
        if (face.flex_color == color || (same_symbol && number)) add(flex[1][color][symbol], f);
    }
    constexpr void list_wilds(int set) {
        for (int a = kWildRegular; a < kAllDrawFlex; ++a)
            if (set >> (kAction[a].face - kColored) & 1) wild[set] |= uint16_t(1 << (a - kWildRegular));
        for (int n = 0; n <= kMaxPlayers; ++n)
            for (int a = kAllDrawFlex; a < kVerbs; ++a)
                if ((set >> (kAction[a].face - kColored) & 1) && kAction[a].offset < n)
                    wild_flex[set][n] |= uint64_t(1) << (a - kAllDrawFlex);
    }
};

}  // namespace tables

inline constexpr tables::Matches kMatches{};

/// Which wilds a hand holds, bit w for wild w.
inline int wilds_held(const Cards& cards) {
    return kMatches.held[cards.word[0] >> kWildShift & 0x77] | kMatches.held[cards.word[1] >> kWildShift & 0x77] << 2;
}

/// Lay groups of plays side by side in the order of the actions (rules 10.5): the regular sides and the flex sides of
/// these colored cards, then the wilds' actions from kWildRegular on and those from kAllDrawFlex on.
inline ActionSet lay_out(const Cards& regular, const Cards& flex, uint64_t wild, uint64_t wild_flex) {
    static_assert(kColoredFlex == 88 && kWildRegular == 132 && kAllDrawFlex == 148 && kVerbs == 208);
    const uint64_t low = regular.word[0] & kColoredBits, high = regular.word[1] & kColoredBits;
    const uint64_t sides = flex_sides(flex);
    return {{low | high << 44, high >> 20 | sides << 24, sides >> 40 | wild << 4 | wild_flex << 20, wild_flex >> 44}};
}

UNO_FLEX_END
