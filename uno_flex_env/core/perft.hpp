// perft(): the number of positions a given number of actions ahead. Two rules engines that agree give the same counts.
#pragma once

#include "engine.hpp"
#include "interrupt.hpp"

UNO_FLEX_BEGIN

/// The deepest perft: much deeper than anybody can count, and shallow enough for the stack.
constexpr int kMaxPerftDepth = 100;

/// The number of positions after `depth` more actions; a round that ends earlier counts once. Each sequence of actions
/// counts separately. The number is incomplete after an interrupt.
inline uint64_t perft(const State& s, int depth, uno_flex_kernel::Interrupt& interrupt) {
    if (depth == 0 || is_over(s)) return 1;
    if (depth == 1) return uint64_t(count(s.legal));
    if (depth > 2 && interrupt.poll()) return 0;
    uint64_t leaves = 0;
    for (int a = 0; a < kActions; ++a)
        if (contains(s.legal, a)) {
            State next = s;
            apply(next, a);
            leaves += perft(next, depth - 1, interrupt);
        }
    return leaves;
}

UNO_FLEX_END
