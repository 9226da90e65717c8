// An episode: one round, or a match of rounds, with the events that everybody has seen and what it pays.
#pragma once

#include "engine.hpp"

namespace uno_flex {

/// What an episode is.
struct EpisodeOptions {
    Rules rules;
    int num_players;
    int dealer;              // of the first round
    bool match;              // rounds until a player has the target score
    uint8_t reward;          // a Reward
    int history;             // events that are kept
    uint32_t max_decisions;  // 0: no limit
};

constexpr int kMaxHistory = 1024;
constexpr uint8_t kNoEvent = 255;

/// A public event: which seat took which action, and how many cards were drawn in it.
struct Event {
    uint8_t seat, action, drawn;  // action kNoEvent: there is no event yet
};

}  // namespace uno_flex

UNO_FLEX_BEGIN

/// An episode in progress. It refers to its parts, which their owner keeps: a batch in arrays, the binding in an object.
struct Episode {
    const EpisodeOptions& options;
    State& state;
    Event* events;        // [history] of this round, the newest last
    uint32_t& decisions;  // those that count towards max_decisions
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

/// Write the events, for each its offset from the viewer's seat, its action and the cards drawn; -1 for no event.
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

/// Add what the round just ended pays to each seat. In a match `win` is paid only by the round that decides it.
inline void pay(const Episode& e, float* rewards) {
    const State& s = e.state;
    const Reward kind = Reward(e.options.reward);
    float paid[kMaxPlayers];
    returns(s, kind, e.options.match && kind == Reward::win ? match_winner(s) : s.winner, paid);
    for (int p = 0; p < s.num_players; ++p) rewards[p] += paid[p];
}

/// Deal the next round of the match that `seed` has begun.
inline void deal_next_round(State& s, uint64_t seed) { next_round(s, round_seed(seed, s.rounds)); }

/// After an action: find out how the episode goes on, and deal the next round of a match.
/// `seed` is that of the episode; `cut` truncates an episode that has not terminated.
inline Outcome go_on(const Episode& e, uint64_t seed, bool cut) {
    if (is_terminated(e)) return Outcome::terminated;
    if (cut) return Outcome::truncated;
    if (!is_over(e.state)) return Outcome::decision;
    deal_next_round(e.state, seed);
    clear_events(e);
    return Outcome::next_round;
}

UNO_FLEX_END
