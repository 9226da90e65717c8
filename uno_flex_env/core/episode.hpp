// An episode: one round, or a match of several rounds, with its public events and its rewards.
#pragma once

#include "engine.hpp"

namespace uno_flex {

/// The options that define an episode.
struct EpisodeOptions {
    Rules rules;
    int num_players;
    int dealer;              // dealer of the first round
    bool match;              // rounds until a player has the target score
    uint8_t reward;          // a Reward
    int history;             // number of events kept
    uint32_t max_decisions;  // 0: no limit
};

constexpr int kMaxHistory = 1024;
constexpr uint8_t kNoEvent = 255;

/// A public event: which seat took which action, and how many cards were drawn in it.
struct Event {
    uint8_t seat, action, drawn;  // action is kNoEvent where there is no event yet
};

}  // namespace uno_flex

UNO_FLEX_BEGIN

/// References to the parts of an episode in progress. A batch keeps them in arrays, the binding in one object.
struct Episode {
    const EpisodeOptions& options;
    State& state;
    Event* events;        // [history] of this round, the newest last
    uint32_t& decisions;  // decisions that count towards max_decisions
};

/// How an episode goes on after an action.
enum class Outcome : uint8_t { decision, next_round, terminated, truncated };

inline bool is_event(const Event& event, int num_players) {
    return event.action == kNoEvent || (event.action < kActions && event.seat < num_players);
}

inline void clear_events(const Episode& e) {
    for (int h = 0; h < e.options.history; ++h) e.events[h] = Event{0, kNoEvent, 0};
}

/// Deal the first round.
inline void begin(const Episode& e, uint64_t seed) {
    deal(e.state, e.options.rules, e.options.num_players, e.options.dealer, seed);
    if (e.options.match) e.state.flags |= kMatch;
    e.decisions = 0;
    clear_events(e);
}

inline int cards_in_hands(const State& s) {
    int n = 0;
    for (int p = 0; p < s.num_players; ++p) n += s.size[p];
    return n;
}

/// Apply a legal action and keep it as an event.
inline void take(const Episode& e, int action) {
    State& s = e.state;
    const int kept = e.options.history;
    if (kept == 0) return apply(s, action);
    const int seat = s.current_player, before = cards_in_hands(s) - (kAction[action].verb == Verb::play);
    apply(s, action);
    std::memmove(e.events, e.events + 1, sizeof(Event) * (kept - 1));
    e.events[kept - 1] = Event{uint8_t(seat), uint8_t(action), uint8_t(cards_in_hands(s) - before)};
}

/// Write one row per event: offset of the seat from the viewer, action, cards drawn. Rows without an event are -1.
inline void write_history(const Episode& e, int viewer, int16_t* rows) {
    for (int h = 0; h < e.options.history; ++h, rows += 3) {
        const Event& event = e.events[h];
        const bool none = event.action == kNoEvent;
        rows[0] = int16_t(none ? -1 : offset_of(e.state, viewer, event.seat));
        rows[1] = int16_t(none ? -1 : event.action);
        rows[2] = int16_t(none ? -1 : event.drawn);
    }
}

inline bool is_terminated(const Episode& e) {
    return is_over(e.state) && !(e.options.match && match_winner(e.state) == kNone);
}

inline bool is_at_limit(const Episode& e) { return e.options.max_decisions && e.decisions >= e.options.max_decisions; }

/// Add the rewards of the round just ended. In a match, `win` pays only at the end of the last round.
inline void pay(const Episode& e, float* rewards) {
    const State& s = e.state;
    const Reward kind = Reward(e.options.reward);
    float paid[kMaxPlayers];
    returns(s, kind, e.options.match && kind == Reward::win ? match_winner(s) : s.winner, paid);
    for (int p = 0; p < s.num_players; ++p) rewards[p] += paid[p];
}

/// Deal the next round of the match that began with `seed`.
inline void deal_next_round(State& s, uint64_t seed) { next_round(s, round_seed(seed, s.rounds)); }

/// Determine how the episode goes on after an action, and deal the next round of a match.
/// `seed` is the seed of the episode. `cut` truncates an episode that has not terminated.
inline Outcome go_on(const Episode& e, uint64_t seed, bool cut) {
    if (is_terminated(e)) return Outcome::terminated;
    if (cut) return Outcome::truncated;
    if (!is_over(e.state)) return Outcome::decision;
    deal_next_round(e.state, seed);
    clear_events(e);
    return Outcome::next_round;
}

UNO_FLEX_END
