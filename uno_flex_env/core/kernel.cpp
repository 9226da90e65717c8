// The batch loops, compiled once for each instruction-set level (UNO_FLEX_LEVEL).
#include "batch.hpp"
#include "search.hpp"
#include "soak.hpp"

namespace {

using namespace uno_flex;
using uno_flex_kernel::Interrupt;

/// Playouts, worlds and other work of a few microseconds between two looks at an interrupt.
constexpr int kBetweenLooks = 16;

void reset(const Batch& b, int begin, int end, const uint8_t* which) {
    for (int g = begin; g < end; ++g) {
        if (which && !which[g]) continue;
        clear_results(b, g);
        begin_episode(b, g);
        // If bots end a game before an external seat has decided, deal again: that game has no decision to hand out.
        settle(b, g);
        while (b.terminated[g] || b.truncated[g]) {
            clear_results(b, g);
            if (!b.slots[g].idle) break;
            ++b.slots[g].episode;
            begin_episode(b, g);
            settle(b, g);
        }
        write_row<kAll>(b, g);
    }
}

int find_illegal(const Batch& b, int begin, int end) {
    for (int g = begin; g < end; ++g) {
        const int a = b.actions[g];
        if (a >= 0 && (a >= kActions || b.slots[g].idle || !contains(state_of(b, g).legal, a))) return g;
    }
    return -1;
}

void step(const Batch& b, int begin, int end) {
    for (int g = begin; g < end; ++g) {
        prefetch(b, g + 1, end);
        step_game<kAll>(b, g, b.actions[g]);
    }
}

void sample(const Batch& b, int begin, int end, int32_t* actions) {
    for (int g = begin; g < end; ++g) {
        actions[g] = b.slots[g].idle ? -1 : pick(state_of(b, g).legal, b.slots[g].bot_rng);
    }
}

void refresh(const Batch& b, int begin, int end) {
    for (int g = begin; g < end; ++g) write_row<kAll>(b, g);
}

void random_steps_of(const Batch& b, int begin, int end, int steps, int parts, Interrupt& interrupt) {
    switch (parts) {
        case kRulesOnly: return random_steps<kRulesOnly>(b, begin, end, steps, interrupt);
        case kMask: return random_steps<kMask>(b, begin, end, steps, interrupt);
        case kObservation: return random_steps<kObservation>(b, begin, end, steps, interrupt);
        default: return random_steps<kAll>(b, begin, end, steps, interrupt);
    }
}

/// A lower bound for the time of a step: touch the same cache lines of the state and write as many bytes.
void touch(const Batch& b, int begin, int end, int steps, Interrupt& interrupt) {
    const int between = steps_between_looks(begin, end);
    for (int t = 0; t < steps; ++t) {
        if (t % between == 0 && interrupt.poll()) return;
        for (int g = begin; g < end; ++g) {
            prefetch(b, g + 1, end);
            uint64_t* line = reinterpret_cast<uint64_t*>(&state_of(b, g));
            for (int i = 0; i < 6; ++i) line[8 * i + 7] += line[8 * i];
            b.slots[g].bot_rng += line[0];
            const int byte = int(line[7] & 1);
            std::memset(b.observations + size_t(g) * kFeatures, byte, kFeatures);
            std::memset(b.action_masks + size_t(g) * kActions, byte, kActions);
            std::memset(rewards_of(b, g), 0, sizeof(float) * b.options->num_players);
            b.terminated[g] = b.truncated[g] = 0;
            b.current_player[g] = int8_t(byte);
        }
    }
}

void play_out_states(const Playouts& p, int begin, int end) {
    unsigned played = 0;
    for (int i = begin; i < end; ++i) {
        uint64_t rng = p.keys[i];
        int64_t decisions = 0;
        for (int r = 0; r < p.repeats; ++r) {
            if (played++ % kBetweenLooks == 0 && p.interrupt.poll()) return;
            State s = p.states[i];
            const uint32_t before = s.ply;
            play_out(s, p.bots, rng);
            decisions += s.ply - before;
            const size_t at = size_t(i) * p.repeats + r;
            p.winners[at] = s.winner == kNone ? int8_t(-1) : int8_t(s.winner);
            p.points[at] = int16_t(s.points);
        }
        p.decisions[i] = decisions;
    }
}

void draw_worlds(const uno_flex_kernel::Worlds& w, int begin, int end) {
    for (int i = begin; i < end; ++i) {
        if ((i - begin) % kBetweenLooks == 0 && w.interrupt.poll()) return;
        w.states[i] = determinize(w.views[i], w.viewers[i], w.keys[i]);
    }
}

}  // namespace

#define UNO_FLEX_STRING(level) #level
#define UNO_FLEX_NAME(level) UNO_FLEX_STRING(level)
#define UNO_FLEX_JOIN(level) kernel_##level
#define UNO_FLEX_KERNEL(level) UNO_FLEX_JOIN(level)

extern const uno_flex_kernel::Kernel uno_flex_kernel::UNO_FLEX_KERNEL(UNO_FLEX_LEVEL) = {
    UNO_FLEX_NAME(UNO_FLEX_LEVEL),
    reset,
    find_illegal,
    step,
    sample,
    refresh,
    random_steps_of,
    touch,
    play_out_states,
    draw_worlds,
    search_views,
    soak,
};
