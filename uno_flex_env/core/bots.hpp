// The rule bots: `random`, and four that differ only in when they flex.
#pragma once

#include "engine.hpp"

UNO_FLEX_BEGIN

enum class Bot : uint8_t { random, flex_any, never_flex, always_flex, flex_when_stuck };
constexpr int kBots = 5;
inline constexpr const char* kBotNames[kBots] = {"random", "flex_any", "never_flex", "always_flex", "flex_when_stuck"};

/// A uniformly random member of a set that is not empty.
inline int pick(const ActionSet& set, uint64_t& rng) {
    // Running totals over the words. The word is found without a branch, because a branch would be unpredictable.
    const int up_to_0 = popcount(set.word[0]), up_to_1 = up_to_0 + popcount(set.word[1]);
    const int up_to_2 = up_to_1 + popcount(set.word[2]), all = up_to_2 + popcount(set.word[3]);
    const int k = random_below(rng, all);
    const int w = (k >= up_to_0) + (k >= up_to_1) + (k >= up_to_2);
    const int before[4] = {0, up_to_0, up_to_1, up_to_2};
    return 64 * w + select_bit(set.word[w], k - before[w]);
}

namespace detail {

inline constexpr ActionSet kColoredRegularPlays = range(kColoredRegular, kColoredFlex);
inline constexpr ActionSet kColoredFlexPlays = range(kColoredFlex, kWildRegular);
inline constexpr ActionSet kColoredPlays = range(kColoredRegular, kWildRegular);
inline constexpr ActionSet kWildRegularPlays = range(kWildRegular, kAllDrawFlex);
inline constexpr ActionSet kWildFlexPlays = range(kAllDrawFlex, kVerbs);
inline constexpr ActionSet kWildPlays = range(kWildRegular, kVerbs);
/// What the four non-random bots do when they play no card: draw, keep, accept, say UNO, catch.
inline constexpr ActionSet kPassive = {{0, 0, 0,
                                        range(verb_action(Verb::draw), verb_action(Verb::challenge)).word[3] |
                                            range(verb_action(Verb::uno), verb_action(Verb::silent)).word[3] |
                                            range(verb_action(Verb::catch_), verb_action(Verb::ignore)).word[3]}};

/// The groups in each bot's order of preference. A bot plays from the first group that has a legal action.
inline constexpr int kMaxGroups = 5;
inline constexpr ActionSet kPreference[kBots][kMaxGroups] = {
    {range(0, kActions)},
    {kColoredPlays, kWildPlays, kPassive},
    {kColoredRegularPlays, kWildRegularPlays, kPassive, range(0, kActions)},
    {kColoredFlexPlays, kWildFlexPlays, kColoredRegularPlays, kWildRegularPlays, kPassive},
    {kColoredRegularPlays, kWildRegularPlays, kColoredFlexPlays, kWildFlexPlays, kPassive},
};

}  // namespace detail

/// The action that a bot takes. Only `random` draws by choice. The others play colored cards before wilds and choose
/// uniformly within a group. `never_flex` flexes only when it is forced to play a drawn card that way.
inline int act(Bot bot, const ActionSet& legal, uint64_t& rng) {
    for (const ActionSet& group : detail::kPreference[int(bot)]) {
        const ActionSet choice = both(legal, group);
        if (any(choice)) return pick(choice, rng);
    }
    return pick(legal, rng);
}

/// A limit for rounds that never end, which `play_drawn_card` = "forced" allows. Normal rounds are far shorter.
constexpr int kLongestPlayout = 1 << 20;

/// Play to the end of the round, or for kLongestPlayout actions. `bots` holds one Bot per seat.
UNO_FLEX_FLATTEN inline void play_out(State& s, const uint8_t* bots, uint64_t& rng) {
    for (int left = kLongestPlayout; left > 0 && !is_over(s); --left)
        apply(s, act(Bot(bots[s.current_player]), s.legal, rng));
}

UNO_FLEX_END
