// Random play in which everything is checked after every action.
#pragma once

#include "bots.hpp"
#include "check.hpp"
#include "information.hpp"
#include "interrupt.hpp"
#include "kernel.hpp"
#include "observation.hpp"

UNO_FLEX_BEGIN

using uno_flex_kernel::Soak;

namespace soaking {

constexpr int kViewEvery = 16;  // check a view only after every 16th action, since that is slow
/// After this many actions, players no longer draw by choice, so that the round ends. Some rounds never end: where a
/// drawn card must be played, two players without another matching card can pass two cards back and forth forever.
constexpr int kPatience = 2048;

/// Draw a world from a player's view and check it: it must be a valid state that looks the same to this player. Returns
/// the fault, or nullptr.
inline const char* view_fault(const State& s, int viewer, uint64_t seed) {
    const State drawn = determinize(hide(s, viewer), viewer, seed);
    if (const char* why = check(drawn)) return why;
    uint8_t seen[kFeatures], again[kFeatures];
    encode(s, viewer, seen);
    encode(drawn, viewer, again);
    if (std::memcmp(seen, again, kFeatures) != 0) return "the player would see something else";
    const bool decides = s.current_player == viewer;
    return decides && std::memcmp(&s.legal, &drawn.legal, sizeof s.legal) != 0 ? "the player could do something else"
                                                                               : nullptr;
}

/// Sets job.why to the fault if there is one, and job.viewer if it is in what a player sees.
inline bool is_faulty(const State& s, Soak& job, uint64_t& rng) {
    job.why = check(s);
    if (!job.why && !is_over(s) && !any(s.legal)) job.why = "no action is legal, but the round goes on";
    if (!job.why && !is_over(s) && job.taken % kViewEvery == 0) {
        const int viewer = random_below(rng, s.num_players);
        job.why = view_fault(s, viewer, next_random(rng));
        if (job.why) job.viewer = viewer;
    }
    return job.why != nullptr;
}

/// Play the round to its end. False if there was a fault, or the round was too long and was abandoned.
inline bool play_round(State& s, Soak& job, uint64_t& rng) {
    for (job.length = 0; !is_faulty(s, job, rng); ++job.length) {
        if (is_over(s)) return true;
        if (job.length % 16 == 0 && job.interrupt.poll()) return false;
        if (job.length == job.capacity) {
            job.endless = true;
            return false;
        }
        const Bot bot = job.length < kPatience ? Bot::random : Bot::flex_any;
        const int action = act(bot, s.legal, rng);
        job.actions[job.length] = uint8_t(action);
        apply(s, action);
        if (++job.taken == job.spoil_at) s.discard_size ^= 1;
    }
    return false;
}

}  // namespace soaking

/// Play rounds, or matches, until job.decisions decisions have been taken and a round is over, a fault is found, or a
/// round is abandoned.
inline void soak(Soak& job) {
    uint64_t rng = job.seed;
    State s;
    do {
        job.deal_seed = next_random(rng);
        if (job.taken > 0 && has(s, kMatch) && match_winner(s) == kNone) {
            next_round(s, job.deal_seed);
        } else {
            deal(s, *job.rules, job.num_players, random_below(rng, job.num_players), job.deal_seed);
            if (job.match) s.flags |= kMatch;
        }
        job.dealer = s.dealer;
    } while (soaking::play_round(s, job, rng) && job.taken < job.decisions);
}

UNO_FLEX_END
