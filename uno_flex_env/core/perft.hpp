// perft(): the number of positions a given number of actions ahead. Two rules engines that agree give the same counts.
#pragma once

#include "engine.hpp"

UNO_FLEX_BEGIN

/// The number of positions after `depth` more actions; a round that ends earlier counts once. Each sequence of actions
/// counts separately.
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
