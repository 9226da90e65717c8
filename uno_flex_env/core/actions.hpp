// The 216 actions in their fixed order (rules 10).
#pragma once

#include "cards.hpp"

namespace uno_flex {

enum class Verb : uint8_t { play, draw, keep, accept, challenge, uno, silent, catch_, ignore };
inline constexpr const char* kVerbNames[] = {"play", "draw",   "keep",  "accept", "challenge",
                                             "uno",  "silent", "catch", "ignore"};
static_assert(std::size(kVerbNames) == size_t(Verb::ignore) + 1);

struct Action {
    Verb verb = Verb::play;
    uint8_t face = kNone;
    uint8_t color = kNone;  // the color a wild calls
    uint8_t offset = 0;     // the target, that many seats clockwise; 0: no target
    bool flex = false;
    // Copied from the face table for this side of the card, so that playing it takes no branches.
    Side side;
    uint8_t next_color = kNone;  // the active color afterwards
    bool flips_own_power = false;
};

// Where each group begins.
constexpr int kColoredRegular = 0;
constexpr int kColoredFlex = kColoredRegular + kColored;
constexpr int kWildRegular = kColoredFlex + kColors * kSymbols;
constexpr int kAllDrawFlex = kWildRegular + kWilds * kColors;
constexpr int kTargetFlex = kAllDrawFlex + kColors;           // Target Draw Two, then Draw Four
constexpr int kOffsets = 7;                                   // opponents of the largest table
constexpr int kVerbs = kTargetFlex + 2 * kColors * kOffsets;  // draw, keep, accept, ... in the order of Verb
constexpr int kActions = kVerbs + 8;
static_assert(kActions == 216);

/// A set of actions: bit a % 64 of word a / 64 stands for action a.
struct ActionSet {
    uint64_t word[4];
};

}  // namespace uno_flex

UNO_FLEX_BEGIN

constexpr int verb_action(Verb verb) { return kVerbs + int(verb) - 1; }

namespace tables {

struct Actions {
    Action action[kActions];
    constexpr Actions() : action() {
        for (int f = 0; f < kColored; ++f) action[kColoredRegular + f].face = uint8_t(f);
        for (int c = 0; c < kColors; ++c)
            for (int s = 0; s < kSymbols; ++s) {
                Action& a = action[kColoredFlex + c * kSymbols + s];
                a.face = uint8_t(c * kSlots + kSymbols + s);
                a.flex = true;
            }
        for (int i = 0; i < kWilds * kColors; ++i) {
            action[kWildRegular + i].face = uint8_t(kColored + i / kColors);
            action[kWildRegular + i].color = uint8_t(i % kColors);
        }
        for (int c = 0; c < kColors; ++c) set_flex(action[kAllDrawFlex + c], kAllDraw, c, 0);
        for (int i = 0; i < kColors * kOffsets; ++i) {
            set_flex(action[kTargetFlex + i], kTargetDrawTwo, i / kOffsets, 1 + i % kOffsets);
            set_flex(action[kTargetFlex + kColors * kOffsets + i], kDrawFour, i / kOffsets, 1 + i % kOffsets);
        }
        for (int v = 0; v < 8; ++v) action[kVerbs + v].verb = Verb(v + 1);
        for (int a = 0; a < kVerbs; ++a) {
            const Face& face = kFace[action[a].face];
            action[a].side = action[a].flex ? face.flex : face.regular;
            action[a].next_color = is_wild(action[a].face) ? action[a].color : face.color;
            action[a].flips_own_power = action[a].flex || face.flip_icon;
        }
    }
    static constexpr void set_flex(Action& a, int wild, int color, int offset) {
        a.face = uint8_t(kColored + wild);
        a.color = uint8_t(color);
        a.offset = uint8_t(offset);
        a.flex = true;
    }
    constexpr const Action& operator[](int a) const { return action[a]; }
};

}  // namespace tables

inline constexpr tables::Actions kAction{};

inline bool contains(const ActionSet& set, int action) { return set.word[action >> 6] >> (action & 63) & 1; }
inline bool any(const ActionSet& set) { return (set.word[0] | set.word[1] | set.word[2] | set.word[3]) != 0; }
inline int count(const ActionSet& set) {
    return popcount(set.word[0]) + popcount(set.word[1]) + popcount(set.word[2]) + popcount(set.word[3]);
}
inline ActionSet both(const ActionSet& a, const ActionSet& b) {
    return {{a.word[0] & b.word[0], a.word[1] & b.word[1], a.word[2] & b.word[2], a.word[3] & b.word[3]}};
}

/// The flex sides among colored cards, as bits in the order of the actions from kColoredFlex on.
inline uint64_t flex_sides(const Cards& cards) {
    constexpr int first_color = kSymbols, second_color = kSlots + kSymbols;
    return join_fields<kSymbols, first_color, second_color>(cards.word[0]) |
           join_fields<kSymbols, first_color, second_color>(cards.word[1]) << kSlots;
}

/// The actions from `begin` up to, not including, `end`.
constexpr ActionSet range(int begin, int end) {
    ActionSet set{};
    for (int a = begin; a < end; ++a) set.word[a >> 6] |= uint64_t(1) << (a & 63);
    return set;
}

UNO_FLEX_END
