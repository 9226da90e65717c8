// Shared by the parts of the binding: checks of arguments from Python, and the declarations of the parts.
//
// The binding refuses bad input with ValueError. The engine itself trusts its callers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "check.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace uno_flex;

template <class T, class... Dims>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Dims...>;

/// What one player sees (information.hpp).
struct View {
    State state;
    int viewer;
};

[[noreturn]] inline void refuse_value(const std::string& why) { throw nb::value_error(why.c_str()); }

inline void require(bool condition, const std::string& why) {
    if (!condition) refuse_value(why);
}

/// A seat or a face for Python: -1 for none.
inline int or_minus_one(int value) { return value == kNone ? -1 : value; }

/// A reason for Python: None for nullptr.
inline std::optional<std::string> or_none(const char* reason) {
    return reason ? std::optional<std::string>(reason) : std::nullopt;
}

inline bool is_legal(const State& s, int action) {
    return action >= 0 && action < kActions && contains(s.legal, action);
}

inline void require_legal(const State& s, int action) {
    require(is_legal(s, action), "illegal action " + std::to_string(action));
}

/// A list of faces as a multiset; ValueError for an unknown face or more copies than the official deck has.
inline Cards cards_of(const std::vector<int>& faces) {
    Cards cards{};
    for (int f : faces) {
        require(f >= 0 && f < kFaces, "a card must be from 0 to 91, got " + std::to_string(f));
        require(count(cards, f) < kFace[f].count, "more copies of a card than the deck has: " + std::to_string(f));
        add(cards, f);
    }
    return cards;
}

inline void check_seat(const State& s, int seat) {
    require(seat >= 0 && seat < s.num_players,
            "the seat must be from 0 to " + std::to_string(s.num_players - 1) + ", got " + std::to_string(seat));
}

/// ValueError unless this many players can play by these rules with this dealer.
inline void check_table(const Rules& rules, int num_players, int dealer) {
    if (const char* why = refuse(rules, num_players)) refuse_value(why);
    require(dealer >= 0 && dealer < num_players, "the dealer must be a seat from 0 to " +
                                                     std::to_string(num_players - 1) + ", got " +
                                                     std::to_string(dealer));
}

void bind_tables(nb::module_& m);
void bind_rules(nb::module_& m);
void bind_states(nb::module_& m);
void bind_positions(nb::module_& m);
void bind_episodes(nb::module_& m);
void bind_batches(nb::module_& m);
