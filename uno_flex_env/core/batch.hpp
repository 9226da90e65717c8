// Steps many games. One pass over the state of a game applies the action, resets a finished game, and writes the action
// mask and the observation.
#pragma once

#include "bots.hpp"
#include "episode.hpp"
#include "interrupt.hpp"
#include "kernel.hpp"
#include "observation.hpp"

UNO_FLEX_BEGIN

using uno_flex_kernel::Batch;
using uno_flex_kernel::kEverySeat;
using uno_flex_kernel::kExternal;
using uno_flex_kernel::Playouts;
using uno_flex_kernel::Slot;

/// Parts of the work of a step, for measuring what each costs.
enum Work : int { kRulesOnly = 0, kMask = 1, kObservation = 2, kAll = kMask | kObservation };

inline uint64_t episode_seed(const Slot& slot) { return derive_seed(slot.seed, slot.episode); }

inline State& state_of(const Batch& b, int game) { return b.states[game]; }

inline Episode episode_of(const Batch& b, int game) {
    return {*b.options, b.states[game], b.events + size_t(game) * b.options->history, b.slots[game].decisions};
}

inline float* rewards_of(const Batch& b, int game) { return b.rewards + size_t(game) * b.options->num_players; }

/// Whether the next decision belongs to a seat that learns. Only these count towards the limit.
inline bool decides_a_learning_seat(const Batch& b, int game) {
    return b.learning_seats[game] == kEverySeat || b.learning_seats[game] == state_of(b, game).current_player;
}

inline void begin_episode(const Batch& b, int game) {
    b.slots[game].idle = 0;
    begin(episode_of(b, game), episode_seed(b.slots[game]));
}

// ---- Rows ----

/// The seat whose observation a game's row holds: the current player, or the learning seat of an idle game.
inline int viewer_of(const Batch& b, int game) {
    if (!b.slots[game].idle) return state_of(b, game).current_player;
    return b.learning_seats[game] == kEverySeat ? 0 : b.learning_seats[game];
}

template <int work>
inline void write_row(const Batch& b, int game) {
    const State& s = state_of(b, game);
    const int viewer = viewer_of(b, game), history = b.options->history;
    const bool idle = b.slots[game].idle;
    if constexpr (work & kObservation) encode(s, viewer, b.observations + size_t(game) * kFeatures);
    if constexpr (work & kMask)
        write_mask(idle ? ActionSet{} : s.legal, reinterpret_cast<uint8_t*>(b.action_masks) + size_t(game) * kActions);
    b.current_player[game] = idle ? int8_t(-1) : int8_t(s.current_player);
    if (history) write_history(episode_of(b, game), viewer, b.histories + size_t(game) * history * 3);
}

inline void write_final_obs(const Batch& b, int game) {
    uint8_t* rows = b.final_obs + size_t(game) * b.final_rows * kFeatures;
    const int learning = b.learning_seats[game];
    for (int r = 0; r < b.final_rows; ++r)
        encode(state_of(b, game), learning == kEverySeat ? r : learning, rows + size_t(r) * kFeatures);
}

inline void write_end(const Batch& b, int game, Outcome outcome) {
    b.terminated[game] = outcome == Outcome::terminated;
    b.truncated[game] = outcome == Outcome::truncated;
    if (b.final_rows) write_final_obs(b, game);
}

inline void clear_results(const Batch& b, int game) {
    b.terminated[game] = b.truncated[game] = 0;
    if (!b.slots[game].paid) return;
    b.slots[game].paid = 0;
    for (int p = 0; p < b.options->num_players; ++p) rewards_of(b, game)[p] = 0.0f;
}

// ---- Stepping ----

/// If a bot is the current player, take its action. Returns whether it is.
inline bool let_bot_decide(const Batch& b, int game) {
    const State& s = state_of(b, game);
    const uint8_t bot = b.controllers[game * kMaxPlayers + s.current_player];
    if (bot == kExternal) return false;
    take(episode_of(b, game), act(Bot(bot), s.legal, b.slots[game].bot_rng));
    return true;
}

/// After an action, pay rewards, deal, and let bots play until an external seat has to decide or the game is idle.
/// The rewards, flags and final observation belong to the first episode that ends.
inline void settle(const Batch& b, int game) {
    Slot& slot = b.slots[game];
    const Episode episode = episode_of(b, game);
    bool ended = false;
    for (int left = kLongestPlayout;; --left) {
        if (is_over(episode.state) && !ended) {
            pay(episode, rewards_of(b, game));
            slot.paid = 1;
        }
        // With one learning seat, truncation waits until that seat has to decide. Up to then all rewards belong to its
        // last action, and the final observation is of the kind that its value function is trained on. Bots that would
        // play among themselves forever are cut short as well (see kLongestPlayout).
        const bool cut = (decides_a_learning_seat(b, game) && is_at_limit(episode)) || left == 0;
        const Outcome outcome = go_on(episode, episode_seed(slot), cut);
        if (outcome == Outcome::next_round) continue;
        if (outcome == Outcome::decision) {
            if (!let_bot_decide(b, game)) return;
            continue;
        }
        if (!ended) write_end(b, game, outcome);
        ended = true;
        slot.idle = !b.autoreset;
        if (slot.idle) return;
        ++slot.episode;
        begin_episode(b, game);
        left = kLongestPlayout;
    }
}

inline void prefetch(const Batch& b, int game, int end) {
#if defined(__GNUC__)
    if (game >= end) return;
    const char* line = reinterpret_cast<const char*>(&state_of(b, game));
    for (int i = 0; i < 6; ++i) __builtin_prefetch(line + 64 * i, 1);
#else
    (void)b, (void)game, (void)end;
#endif
}

template <int work>
inline void step_game(const Batch& b, int game, int action) {
    clear_results(b, game);
    if (action >= 0) {
        b.slots[game].decisions += decides_a_learning_seat(b, game);
        take(episode_of(b, game), action);
        if (b.settles_always || is_over(state_of(b, game))) settle(b, game);
    }
    write_row<work>(b, game);
}

inline int pick_random(const Batch& b, int game) { return pick(state_of(b, game).legal, b.slots[game].bot_rng); }

/// How many rounds of steps lie between two looks at an interrupt: few batches step in less time than the look takes.
inline int steps_between_looks(int begin, int end) { return 1 + 512 / (1 + end - begin); }

template <int work>
inline void random_steps(const Batch& b, int begin, int end, int steps, uno_flex_kernel::Interrupt& interrupt) {
    const int between = steps_between_looks(begin, end);
    for (int t = 0; t < steps; ++t) {
        if (t % between == 0 && interrupt.poll()) return;
        for (int g = begin, action = pick_random(b, begin); g < end; ++g) {
            prefetch(b, g + 2, end);
            // Pick the next game's action before this step: the processor can't predict the branches of a step.
            const int next = g + 1 < end ? pick_random(b, g + 1) : 0;
            step_game<work>(b, g, action);
            action = next;
        }
    }
}

UNO_FLEX_END
