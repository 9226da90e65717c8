// perft(): how many positions lie so many actions ahead, the standard check of a rules engine against another one.
#pragma once

#include "engine.hpp"

UNO_FLEX_BEGIN

/// Positions after `depth` more actions, or at an earlier end. Each sequence of actions counts.
inline uint64_t perft(const State& s, int depth) {
    if (depth == 0 || is_over(s)) return 1;
    if (depth == 1) return uint64_t(count(s.legal));
    uint64_t leaves = 0;
    for (int a = 0; a < kActions; ++a)
        if (contains(s.legal, a)) {
            State next = s;
            apply(next, a);
            leaves += perft(next, depth - 1);
        }
    return leaves;
}

UNO_FLEX_END
