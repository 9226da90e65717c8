// States and views side by side, as Python holds them: bindings_positions.cpp.
#pragma once

#include <vector>

#include "information.hpp"

UNO_FLEX_BEGIN

/// Rounds of one number of players.
struct Positions {
    std::vector<State> states;
};

/// What whoever decides can know of such rounds.
struct Views {
    std::vector<State> states;
    std::vector<int8_t> viewers;

    void add(const State& s) {
        states.push_back(hide(s, s.current_player));
        viewers.push_back(int8_t(s.current_player));
    }
};

UNO_FLEX_END
