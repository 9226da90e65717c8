// Many states or views side by side: what bindings_positions.cpp gives to Python.
#pragma once

#include <vector>

#include "information.hpp"

UNO_FLEX_BEGIN

/// States with the same number of players.
struct Positions {
    std::vector<State> states;
    mutable int readers = 0;  // calls that read them without Python's lock
};

/// The views of the current players of such states.
struct Views {
    std::vector<State> states;
    std::vector<int8_t> viewers;

    void add(const State& s) {
        states.push_back(hide(s, s.current_player));
        viewers.push_back(int8_t(s.current_player));
    }
};

UNO_FLEX_END
