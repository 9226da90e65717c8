// The interface of the batch kernels: pointers and numbers, the same for every instruction-set level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace uno_flex {
struct EpisodeOptions;
struct Event;
struct Rules;
struct State;
}  // namespace uno_flex

namespace uno_flex_kernel {

class Interrupt;
using uno_flex::EpisodeOptions;
using uno_flex::Event;
using uno_flex::Rules;
using uno_flex::State;

constexpr uint8_t kExternal = 255;   // a controller outside the core; other values are bots
constexpr uint8_t kEverySeat = 255;  // all seats learn; other values name the only learning seat
constexpr int kMaxThreads = 1024;

/// What a batch keeps for each game besides its state.
struct Slot {
    uint64_t seed;       // fixes this game's sequence of episodes
    uint64_t bot_rng;    // for the bots and for random actions
    uint32_t episode;    // number of the current episode
    uint32_t decisions;  // decisions of learning seats in this episode
    uint32_t paid;       // 1: the row of rewards is not all zero
    uint32_t idle;       // 1: the episode has ended and the game waits for a reset
};

struct Batch {
    // The games.
    const EpisodeOptions* options;
    State* states;
    Slot* slots;
    Event* events;                  // [game][history], the newest last
    const uint8_t* controllers;     // [game][8]: kExternal or a bot's number, for each seat
    const uint8_t* learning_seats;  // [game]: a seat or kEverySeat; its decisions count, its view is the final one
    bool autoreset;                 // true: reset a game whose episode has ended; false: leave it idle
    bool settles_always;            // settle after every action, not only after a round; needed for bots and limits
    // What a step reads and writes, a row for each game.
    const int32_t* actions;  // negative: leave this game alone
    uint8_t* observations;   // [game][640], of the current player
    int8_t* action_masks;    // [game][216]
    int16_t* histories;      // [game][history][3]
    float* rewards;          // [game][num_players]
    uint8_t* terminated;
    uint8_t* truncated;
    int8_t* current_player;  // -1: the game is idle
    uint8_t* final_obs;      // [game][final_rows][640], written for games that end
    int final_rows;          // num_players: one per seat; 1: the learning seat's; 0: none
};

struct Playouts {
    const State* states;
    const uint8_t* bots;   // [8]
    int repeats;
    const uint64_t* keys;  // [state]: fixes the random numbers of its bots in all repeats
    int8_t* winners;       // [state][repeat]; -1: no winner
    int16_t* points;       // [state][repeat]
    int64_t* decisions;    // [state]: decisions taken in all repeats
    Interrupt& interrupt;
};

/// Worlds drawn from views: see determinize() in information.hpp.
struct Worlds {
    const State* views;
    const int8_t* viewers;  // [view]
    const uint64_t* keys;   // [view]
    State* states;          // [view]: output
    Interrupt& interrupt;
};

/// Look ahead from views (search.hpp).
struct Search {
    const State* views;
    const int8_t* viewers;    // [view]
    const int8_t* masks;      // [view][216]: 0 forbids an action; nullptr: all legal ones are allowed
    const uint64_t* keys;     // [view]: fixes the random numbers of its search
    const int64_t* defaults;  // [view]: the action to return unless another is better
    int64_t simulations;      // per view; 0: limited by time instead
    int64_t nanoseconds;
    uint8_t bot;              // the bot that plays to the end of the round
    bool tree;                // true: tree search; false: flat search
    double confidence;        // standard errors by which an action must exceed the default one
    double exploration;       // weight of the upper confidence bounds in the tree
    int64_t* actions;         // [view]
    int32_t* visits;          // [view][216]: simulations of each candidate
    int32_t* wins;            // [view][216]: simulations that the player won
    Interrupt& interrupt;
};

/// Random play in which everything is checked (soak.hpp).
struct Soak {
    const Rules* rules;
    int num_players;
    bool match;         // rounds add up to matches
    uint64_t seed;
    int64_t decisions;  // stop at the end of the round in which this many decisions have been taken
    int64_t spoil_at;   // corrupt the state after this many decisions, to test the checks; 0: never
    uint8_t* actions;   // [capacity]: actions of the current round
    int64_t capacity;   // a longer round is abandoned
    Interrupt& interrupt;
    // Results.
    int64_t taken = 0;
    const char* why = nullptr;  // the fault; nullptr: none was found
    int viewer = -1;            // the player whose view is wrong; -1: the state itself is wrong
    int dealer = 0;             // dealer of the current round
    uint64_t deal_seed = 0;
    int64_t length = 0;         // actions taken in the current round
    bool endless = false;       // the current round was abandoned
};

/// Each function works on the games from `begin` to `end`, so that threads can share a batch. A function with an interrupt
/// returns early when the interrupt says so, with incomplete results.
struct Kernel {
    const char* name;
    void (*reset)(const Batch&, int begin, int end, const uint8_t* which);  // which: nullptr is all
    int (*find_illegal)(const Batch&, int begin, int end);                  // -1: none
    void (*step)(const Batch&, int begin, int end);
    void (*sample)(const Batch&, int begin, int end, int32_t* actions);
    void (*refresh)(const Batch&, int begin, int end);
    void (*random_steps)(const Batch&, int begin, int end, int steps, int parts, Interrupt&);
    void (*touch)(const Batch&, int begin, int end, int steps, Interrupt&);
    void (*play_out)(const Playouts&, int begin, int end);
    void (*draw_worlds)(const Worlds&, int begin, int end);
    void (*search)(const Search&, int begin, int end);
    void (*soak)(Soak&);
};

extern const Kernel kernel_baseline;
#if defined(UNO_FLEX_X86)
extern const Kernel kernel_avx2, kernel_avx512;
#endif

}  // namespace uno_flex_kernel
