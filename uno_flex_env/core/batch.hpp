// Stepping many games: for each one apply, deal again, legal actions and observation in one pass over its state.
#pragma once

#include "bots.hpp"
#include "kernel.hpp"
#include "observation.hpp"

UNO_FLEX_BEGIN

using uno_flex_kernel::Batch;
using uno_flex_kernel::Event;
using uno_flex_kernel::kExternal;
using uno_flex_kernel::Playouts;
using uno_flex_kernel::Slot;

constexpr uint8_t kNoEvent = 255;

/// Parts of the work of a step, for measuring what each costs.
enum Work : int { kRulesOnly = 0, kMask = 1, kObservation = 2, kAll = kMask | kObservation };

inline State& state_of(const Batch& b, int game) { return b.states[game]; }

/// A seed for the `index`-th of a family; neighbors have nothing in common.
inline uint64_t derive_seed(uint64_t seed, uint64_t index) {
    uint64_t mixed = seed ^ (index * 0x9FB21C651E98DF25u + 0x632BE59BD9B4E019u);
    return next_random(mixed);
}
inline uint64_t episode_seed(const Slot& slot) { return derive_seed(slot.seed, slot.episode); }

inline void clear_events(const Batch& b, int game) {
    for (int h = 0; h < b.history; ++h) b.events[game * b.history + h] = Event{0, kNoEvent, 0};
}

inline void begin_episode(const Batch& b, int game) {
    State& s = state_of(b, game);
    Slot& slot = b.slots[game];
    slot.decisions = slot.lying = 0;
    deal(s, *b.rules, b.num_players, b.dealer, episode_seed(slot));
    if (b.match) s.flags |= kMatch;
    clear_events(b, game);
}

inline int cards_in_hands(const State& s) {
    int n = 0;
    for (int p = 0; p < s.num_players; ++p) n += s.size[p];
    return n;
}

/// Apply an action and note it in the history.
inline void take(const Batch& b, int game, int action) {
    State& s = state_of(b, game);
    if (b.history == 0) return apply(s, action);
    const int seat = s.current_player, before = cards_in_hands(s) - (kAction[action].verb == Verb::play);
    apply(s, action);
    Event* events = b.events + size_t(game) * b.history;
    std::memmove(events, events + 1, sizeof(Event) * (b.history - 1));
    events[b.history - 1] = Event{uint8_t(seat), uint8_t(action), uint8_t(cards_in_hands(s) - before)};
}

inline void write_history(const Batch& b, int game, int viewer) {
    const State& s = state_of(b, game);
    for (int h = 0; h < b.history; ++h) {
        const Event& e = b.events[size_t(game) * b.history + h];
        int16_t* row = b.histories + (size_t(game) * b.history + h) * 3;
        const bool none = e.action == kNoEvent;
        row[0] = int16_t(none ? -1 : offset_of(s, viewer, e.seat));
        row[1] = int16_t(none ? -1 : e.action);
        row[2] = int16_t(none ? -1 : e.drawn);
    }
}

/// The seat whose view a game's row shows: whoever decides, or the learner once the game lies over.
inline int viewer_of(const Batch& b, int game) {
    if (!b.slots[game].lying) return state_of(b, game).current_player;
    return b.learners[game] == uno_flex_kernel::kEveryone ? 0 : b.learners[game];
}

template <int work>
inline void write_row(const Batch& b, int game) {
    const State& s = state_of(b, game);
    const int viewer = viewer_of(b, game);
    const bool lying = b.slots[game].lying;
    if constexpr (work & kObservation) encode(s, viewer, b.observations + size_t(game) * kFeatures);
    if constexpr (work & kMask)
        write_mask(lying ? ActionSet{} : s.legal, reinterpret_cast<uint8_t*>(b.masks) + size_t(game) * kActions);
    b.current_players[game] = lying ? int8_t(-1) : int8_t(s.current_player);
    if (b.history) write_history(b, game, viewer);
}

inline void write_final(const Batch& b, int game) {
    uint8_t* rows = b.final_observations + size_t(game) * b.final_rows * kFeatures;
    const bool every_seat = b.learners[game] == uno_flex_kernel::kEveryone;
    for (int r = 0; r < b.final_rows; ++r)
        encode(state_of(b, game), every_seat ? r : b.learners[game], rows + size_t(r) * kFeatures);
}

/// Add what the round just ended is worth. In a match `win` waits for the match's winner.
inline void pay(const Batch& b, int game) {
    const State& s = state_of(b, game);
    float out[kMaxPlayers];
    const Reward kind = Reward(b.reward);
    returns(s, kind, b.match && kind == Reward::win ? match_winner(s) : s.winner, out);
    b.slots[game].paid = 1;
    for (int p = 0; p < s.num_players; ++p) b.rewards[size_t(game) * b.num_players + p] += out[p];
}

/// After an action: pay and deal, let the bots move, until someone from outside has to decide or the game lies over.
inline void settle(const Batch& b, int game) {
    State& s = state_of(b, game);
    Slot& slot = b.slots[game];
    const uint8_t learner = b.learners[game];
    bool reported = false;
    for (int left = kLongestPlayout;; --left) {
        const bool round_over = is_over(s);
        if (round_over && !reported) pay(b, game);
        const bool over = round_over && !(b.match && match_winner(s) == kNone);
        // With a learner a truncated episode ends where that seat would have to decide next: until then what happens
        // belongs to its last action, and the final observation is one that its value function knows.
        const bool due = learner == uno_flex_kernel::kEveryone || learner == s.current_player;
        const bool enough = b.max_decisions && slot.decisions >= b.max_decisions;
        // Bots that go on for ever among themselves (see kLongestPlayout) are cut short, too.
        const bool cut = !over && ((due && enough) || left == 0);
        if (over || cut) {
            if (!reported) {
                b.terminated[game] = over;
                b.truncated[game] = cut;
                if (b.final_rows) write_final(b, game);
            }
            reported = true;
            slot.lying = !b.deal_again;
            if (slot.lying) return;
            ++slot.episode;
            begin_episode(b, game);
            left = kLongestPlayout;
        } else if (round_over) {
            next_round(s, round_seed(episode_seed(slot), s.rounds));
            clear_events(b, game);
        } else {
            const uint8_t bot = b.controllers[game * kMaxPlayers + s.current_player];
            if (bot == kExternal) return;
            take(b, game, act(Bot(bot), s.legal, slot.bot_rng));
        }
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

inline void clear_results(const Batch& b, int game) {
    b.terminated[game] = b.truncated[game] = 0;
    if (!b.slots[game].paid) return;
    b.slots[game].paid = 0;
    for (int p = 0; p < b.num_players; ++p) b.rewards[size_t(game) * b.num_players + p] = 0.0f;
}

template <int work>
inline void step_game(const Batch& b, int game, int action) {
    clear_results(b, game);
    if (action >= 0) {
        const uint8_t learner = b.learners[game];
        b.slots[game].decisions += learner == uno_flex_kernel::kEveryone || learner == state_of(b, game).current_player;
        take(b, game, action);
        if (b.eventful || is_over(state_of(b, game))) settle(b, game);
    }
    write_row<work>(b, game);
}

inline int pick_random(const Batch& b, int game) { return pick(state_of(b, game).legal, b.slots[game].bot_rng); }

template <int work>
inline void random_steps(const Batch& b, int begin, int end, int steps) {
    for (int t = 0; t < steps; ++t)
        for (int g = begin, action = pick_random(b, begin); g < end; ++g) {
            prefetch(b, g + 2, end);
            // One game ahead: what a step does can't be foreseen, but it is known by then.
            const int next = g + 1 < end ? pick_random(b, g + 1) : 0;
            step_game<work>(b, g, action);
            action = next;
        }
}

UNO_FLEX_END
