// The face of the batch kernels: pointers and numbers, the same for every instruction-set level.
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

using uno_flex::EpisodeOptions;
using uno_flex::Event;
using uno_flex::Rules;
using uno_flex::State;

constexpr uint8_t kExternal = 255;   // a seat whose decisions come from outside; else a bot's number
constexpr uint8_t kEverySeat = 255;  // all seats learn; else the one that does
constexpr int kMaxThreads = 1024;

/// What a batch keeps beside each game's state.
struct Slot {
    uint64_t seed;       // of this game's sequence of episodes
    uint64_t bot_rng;    // for the bots and for random actions
    uint32_t episode;    // which one is being played
    uint32_t decisions;  // taken in it by seats that learn
    uint32_t paid;       // 1: the row of rewards is not all zero
    uint32_t idle;       // 1: the episode has ended and the game waits to be dealt again
};

struct Batch {
    // The games.
    const EpisodeOptions* options;
    State* states;
    Slot* slots;
    Event* events;                  // [game][history], the newest last
    const uint8_t* controllers;     // [game][8]: kExternal or a bot's number, for each seat
    const uint8_t* learning_seats;  // [game]: the seat whose decisions count and whose view is final; or kEverySeat
    bool autoreset;                 // deal again when an episode ends, or leave the game idle
    bool settles_always;            // there are bots or a limit: settle after every action, not only after a round
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
    int final_rows;          // num_players: of every seat; 1: of the learning seat; 0: none
};

struct Playouts {
    const State* states;
    const uint8_t* bots;   // [8]
    int repeats;
    const uint64_t* keys;  // [state]: all random numbers of its bots follow from it, in one repeat after another
    int8_t* winners;       // [state][repeat]; -1: no winner
    int16_t* points;       // [state][repeat]
    int64_t* decisions;    // [state]: taken in all repeats
};

/// Worlds drawn from views: see determinize() in information.hpp.
struct Worlds {
    const State* views;
    const int8_t* viewers;  // [view]
    const uint64_t* keys;   // [view]
    State* states;          // [view]: where they go
};

/// Look ahead from views (search.hpp).
struct Search {
    const State* views;
    const int8_t* viewers;    // [view]
    const int8_t* masks;      // [view][216]: 0 forbids an action; nullptr: all legal ones are allowed
    const uint64_t* keys;     // [view]: all random numbers of a search follow from its key
    const int64_t* defaults;  // [view]: the action to return unless another is better
    int64_t simulations;      // for each view; 0: as many as there is time for
    int64_t nanoseconds;
    uint8_t bot;              // plays on to the end
    bool tree;                // a tree, or all candidates alike
    double confidence;        // standard errors by which an action must exceed the default one
    double exploration;       // weight of the upper confidence bounds in the tree
    int64_t* actions;         // [view]
    int32_t* visits;          // [view][216]: simulations of each candidate
    int32_t* wins;            // [view][216]: those that the player won
};

/// Random play in which everything is checked (soak.hpp).
struct Soak {
    const Rules* rules;
    int num_players;
    bool match;         // rounds add up to matches
    uint64_t seed;
    int64_t decisions;  // go on until so many are taken and the round is over
    int64_t spoil_at;   // break the state after so many, to see that it is noticed; 0: never
    uint8_t* actions;   // [capacity]: of the present round
    int64_t capacity;   // a longer round is given up
    // What came of it.
    int64_t taken = 0;
    const char* why = nullptr;  // the fault; nullptr: none was found
    int viewer = -1;            // the player whose view is at fault; -1: the state itself is
    int dealer = 0;             // of the present round
    uint64_t deal_seed = 0;
    int64_t length = 0;         // actions taken in it
    bool endless = false;       // it was given up
};

/// Each works on the games from `begin` to `end`, so that threads can share a batch.
struct Kernel {
    const char* name;
    void (*reset)(const Batch&, int begin, int end, const uint8_t* which);  // which: nullptr is all
    int (*find_illegal)(const Batch&, int begin, int end);                  // -1: none
    void (*step)(const Batch&, int begin, int end);
    void (*sample)(const Batch&, int begin, int end, int32_t* actions);
    void (*refresh)(const Batch&, int begin, int end);
    void (*random_steps)(const Batch&, int begin, int end, int steps, int parts);
    void (*touch)(const Batch&, int begin, int end, int steps);
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
