// The Python binding of many states side by side, from which a search looks ahead.
#include <numeric>

#include "bindings_work.hpp"
#include "bots.hpp"
#include "observation.hpp"
#include "positions.hpp"

namespace {

using uno_flex_kernel::choose_kernel;
using uno_flex_kernel::Interrupt;
using uno_flex_kernel::Kernel;
using uno_flex_kernel::Pool;

template <class T>
using Row = Array<T, nb::shape<-1>>;
template <class T, int columns>
using Rows = Array<T, nb::shape<-1, columns>>;

/// ValueError unless an array has as many rows as there are positions.
template <class A>
void check_rows(const A& array, size_t rows, const char* name) {
    require(array.shape(0) == rows,
            std::string(name) + " must have " + std::to_string(rows) + " rows, got " + std::to_string(array.shape(0)));
}

size_t checked_place(int64_t place, size_t size) {
    require(place >= 0 && place < int64_t(size),
            "row " + std::to_string(place) + " is not among the " + std::to_string(size) + " there are");
    return size_t(place);
}

int checked_bot(int bot) {
    require(bot >= 0 && bot < kBots, "unknown bot " + std::to_string(bot));
    return bot;
}

/// Call job(begin, end) on all rows, shared by threads.
template <class Job>
void share(size_t rows, int num_threads, Interrupt& interrupt, Job&& job) {
    if (num_threads == 1) return job(0, int(rows));
    Pool pool(num_threads);
    pool.run(int(rows), job, &interrupt);
}

/// While it lives, the rows are read without Python's lock, and must not change.
class Reading {
public:
    explicit Reading(const Positions& p) : readers_(p.readers) { ++readers_; }
    ~Reading() { --readers_; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

private:
    int& readers_;
};

void require_no_reader(const Positions& p) {
    if (p.readers) throw std::runtime_error("the positions are being played out by another thread");
}

/// After every so many rows of a loop that holds Python's lock: throw what a signal handler has raised.
void look_for_signals(size_t row) {
    if (row % 4096 == 4095 && PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// New rows. Fresh memory is slow, so signals are looked for on the way.
void add_rows(Positions& p, size_t rows) {
    p.states.reserve(rows);
    for (size_t i = 0; i < rows; ++i) {
        p.states.emplace_back();
        look_for_signals(i);
    }
}

const State& state_of(nb::handle object, size_t row) {
    if (!nb::isinstance<State>(object) || !nb::inst_ready(object))
        throw nb::type_error(("row " + std::to_string(row) + ": expected a State, got " +
                              nb::cast<std::string>(object.type().attr("__name__")))
                                 .c_str());
    return nb::cast<const State&>(object);
}

Positions from_states(const nb::typed<nb::list, State>& states) {
    Positions p;
    for (size_t row = 0; row < states.size(); ++row) {
        p.states.push_back(state_of(states[row], row));
        require(p.states[row].num_players == p.states[0].num_players,
                "all positions must have one number of players, got " + std::to_string(p.states[0].num_players) +
                    " and " + std::to_string(p.states[row].num_players) + " (row " + std::to_string(row) + ")");
    }
    return p;
}

Positions deal_positions(Row<const uint64_t> seeds, const Rules& rules, int num_players, int dealer) {
    check_table(rules, num_players, dealer);
    Positions p;
    add_rows(p, seeds.shape(0));
    for (size_t i = 0; i < seeds.shape(0); ++i) {
        deal(p.states[i], rules, num_players, dealer, seeds.data()[i]);
        look_for_signals(i);
    }
    return p;
}

/// Apply an action to each; returns the first row where it is illegal, and then moves nothing, or -1.
int64_t apply_to_all(Positions& p, Row<const int64_t> actions) {
    check_rows(actions, p.states.size(), "actions");
    require_no_reader(p);
    for (size_t i = 0; i < p.states.size(); ++i) {
        const int64_t a = actions.data()[i];
        if (a != -1 && (a < 0 || a >= kActions || !contains(p.states[i].legal, int(a)))) return int64_t(i);
    }
    for (size_t i = 0; i < p.states.size(); ++i)
        if (actions.data()[i] >= 0) apply(p.states[i], int(actions.data()[i]));
    return -1;
}

void set_power(Positions& p, Row<const uint8_t> green) {
    check_rows(green, p.states.size(), "green");
    require_no_reader(p);
    for (size_t i = 0; i < p.states.size(); ++i) {
        const int bits = green.data()[i];
        require(bits != 0 && (bits & ~seated(p.states[i])) == 0,
                "row " + std::to_string(i) + ": at least one Power must be green, and only of those who play, got " +
                    std::to_string(bits));
    }
    for (size_t i = 0; i < p.states.size(); ++i) {
        State& s = p.states[i];
        s.green = green.data()[i];
        if (!is_over(s)) s.legal = legal_actions(s);
    }
}

/// Write the keys of the states of a playout that is given a seed.
void derive_keys(uint64_t seed, Row<uint64_t> keys) {
    for (size_t i = 0; i < keys.shape(0); ++i) keys.data()[i] = derive_seed(seed, uint64_t(i));
}

/// Play each row out `repeats` times; returns how many decisions were taken.
int64_t play_out_all(const Positions& p, const std::vector<int>& bots, Row<const uint64_t> keys, int repeats,
                     int num_threads, Array<int8_t, nb::ndim<2>> winners, Array<int16_t, nb::ndim<2>> points) {
    const size_t rows = p.states.size();
    check_rows(keys, rows, "keys");
    check_rows(winners, rows, "winners");
    check_rows(points, rows, "points");
    require(repeats >= 1, "repeats must be at least 1, got " + std::to_string(repeats));
    require(winners.shape(1) == size_t(repeats) && points.shape(1) == size_t(repeats),
            "winners and points need a column for each repeat");
    uint8_t seats[kMaxPlayers] = {};
    const size_t num_players = rows ? p.states[0].num_players : bots.size();
    require(bots.size() == num_players,
            "a bot for each seat: " + std::to_string(num_players) + ", got " + std::to_string(bots.size()));
    for (size_t i = 0; i < bots.size() && i < kMaxPlayers; ++i) seats[i] = uint8_t(checked_bot(bots[i]));
    checked_threads(num_threads);
    std::vector<int64_t> decisions(rows);
    const Kernel& kernel = choose_kernel();
    const Reading reading(p);
    unlocked([&](Interrupt& interrupt) {
        const uno_flex_kernel::Playouts job{p.states.data(), seats,         repeats,          keys.data(),
                                            winners.data(),  points.data(), decisions.data(), interrupt};
        share(rows, num_threads, interrupt, [&](int begin, int end) { kernel.play_out(job, begin, end); });
    });
    return std::accumulate(decisions.begin(), decisions.end(), int64_t(0));
}

Positions draw_worlds(const Views& v, Row<const uint64_t> keys, int num_threads) {
    check_rows(keys, v.states.size(), "keys");
    checked_threads(num_threads);
    Positions p;
    add_rows(p, v.states.size());
    const Kernel& kernel = choose_kernel();
    unlocked([&](Interrupt& interrupt) {
        const uno_flex_kernel::Worlds job{v.states.data(), v.viewers.data(), keys.data(), p.states.data(), interrupt};
        share(v.states.size(), num_threads, interrupt,
              [&](int begin, int end) { kernel.draw_worlds(job, begin, end); });
    });
    return p;
}

/// ValueError unless the default action is legal and the mask, where there is one, allows it.
void check_default(const State& view, size_t row, int64_t action, const int8_t* mask) {
    const std::string where = "row " + std::to_string(row) + ": ";
    bool any_allowed = mask == nullptr;
    for (int a = 0; a < kActions && !any_allowed; ++a) any_allowed = mask[a] && contains(view.legal, a);
    require(any_allowed, where + "the mask allows no legal action");
    require(action >= 0 && action < kActions && contains(view.legal, int(action)),
            where + "the default action " + std::to_string(action) + " is not legal");
    require(!mask || mask[action], where + "the mask does not allow the default action " + std::to_string(action));
}

void search(const Views& v, Row<const uint64_t> keys, Row<const int64_t> defaults,
            const std::optional<Rows<const int8_t, kActions>>& masks, int64_t simulations, int64_t nanoseconds, int bot,
            bool tree, double confidence, double exploration, int num_threads, Row<int64_t> actions,
            Rows<int32_t, kActions> visits, Rows<int32_t, kActions> wins) {
    const size_t rows = v.states.size();
    check_rows(keys, rows, "keys");
    check_rows(defaults, rows, "defaults");
    check_rows(actions, rows, "actions");
    check_rows(visits, rows, "visits");
    check_rows(wins, rows, "wins");
    require((simulations > 0) != (nanoseconds > 0), "give either a number of simulations or a time");
    require(confidence >= 0 && exploration >= 0, "confidence and exploration must be at least 0");  // NaN is not
    if (masks) check_rows(*masks, rows, "masks");
    const int8_t* allowed = masks ? masks->data() : nullptr;
    for (size_t i = 0; i < rows; ++i)
        check_default(v.states[i], i, defaults.data()[i], allowed ? allowed + i * kActions : nullptr);
    checked_threads(num_threads);
    const Kernel& kernel = choose_kernel();
    unlocked([&](Interrupt& interrupt) {
        const uno_flex_kernel::Search job{v.states.data(),
                                          v.viewers.data(),
                                          allowed,
                                          keys.data(),
                                          defaults.data(),
                                          simulations,
                                          nanoseconds,
                                          uint8_t(checked_bot(bot)),
                                          tree,
                                          confidence,
                                          exploration,
                                          actions.data(),
                                          visits.data(),
                                          wins.data(),
                                          interrupt};
        share(rows, num_threads, interrupt, [&](int begin, int end) { kernel.search(job, begin, end); });
    });
}

Positions take_positions(const Positions& p, Row<const int64_t> rows) {
    Positions taken;
    taken.states.reserve(rows.shape(0));
    for (size_t i = 0; i < rows.shape(0); ++i) {
        taken.states.push_back(p.states[checked_place(rows.data()[i], p.states.size())]);
        look_for_signals(i);
    }
    return taken;
}

State state_at(const Positions& p, int64_t row) { return p.states[checked_place(row, p.states.size())]; }

void write_bytes(const Positions& p, Rows<uint8_t, sizeof(State)> rows) {
    check_rows(rows, p.states.size(), "rows");
    if (!p.states.empty()) std::memcpy(rows.data(), p.states.data(), p.states.size() * sizeof(State));
}

void write_turns(const Positions& p, Row<int8_t> current_players, Row<int8_t> winners) {
    check_rows(current_players, p.states.size(), "current_players");
    check_rows(winners, p.states.size(), "winners");
    for (size_t i = 0; i < p.states.size(); ++i) {
        current_players.data()[i] = int8_t(or_minus_one(p.states[i].current_player));
        winners.data()[i] = int8_t(or_minus_one(p.states[i].winner));
    }
}

/// Write what each viewer sees. The mask is zero where the viewer is not the current player.
void observe_all(const Positions& p, Row<const int8_t> viewers, Rows<uint8_t, kFeatures> observations,
                 Rows<int8_t, kActions> masks) {
    check_rows(viewers, p.states.size(), "viewers");
    check_rows(observations, p.states.size(), "observations");
    check_rows(masks, p.states.size(), "masks");
    for (size_t i = 0; i < p.states.size(); ++i) {
        const State& s = p.states[i];
        const int viewer = viewers.data()[i];
        require(viewer >= 0 && viewer < s.num_players, "row " + std::to_string(i) + ": no such seat");
        encode(s, viewer, observations.data() + i * kFeatures);
        write_mask(viewer == s.current_player ? s.legal : ActionSet{},
                   reinterpret_cast<uint8_t*>(masks.data()) + i * kActions);
        look_for_signals(i);
    }
}

Views hide_all(const Positions& p) {
    Views v;
    for (const State& s : p.states) {
        require(!is_over(s), "row " + std::to_string(v.states.size()) + ": the round is over");
        v.add(s);
        look_for_signals(v.states.size());
    }
    return v;
}

Views take_views(const Views& v, Row<const int64_t> rows) {
    Views taken;
    for (size_t i = 0; i < rows.shape(0); ++i) {
        const size_t at = checked_place(rows.data()[i], v.states.size());
        taken.states.push_back(v.states[at]);
        taken.viewers.push_back(v.viewers[at]);
        look_for_signals(i);
    }
    return taken;
}

View view_at(const Views& v, int64_t row) {
    const size_t at = checked_place(row, v.states.size());
    return {v.states[at], v.viewers[at]};
}

}  // namespace

void bind_positions(nb::module_& m) {
    m.def("derive_keys", &derive_keys, "seed"_a, "keys"_a.noconvert());
    nb::class_<Positions>(m, "Positions", "States side by side; use uno_flex_env.positions.")
        .def_static("of", &from_states, "states"_a)
        .def_static("deal", &deal_positions, "seeds"_a, "rules"_a, "num_players"_a, "dealer"_a)
        .def("__len__", [](const Positions& p) { return p.states.size(); })
        .def_ro("readers", &Positions::readers, "Playouts that are in progress; meanwhile the positions can't change.")
        .def("take", &take_positions, "rows"_a)
        .def("state", &state_at, "row"_a)
        .def("write_bytes", &write_bytes, "rows"_a.noconvert())
        .def("write_turns", &write_turns, "current_players"_a.noconvert(), "winners"_a.noconvert())
        .def("observe", &observe_all, "viewers"_a, "observations"_a.noconvert(), "masks"_a.noconvert())
        .def("apply", &apply_to_all, "actions"_a)
        .def("set_power", &set_power, "green"_a)
        .def("hide", &hide_all)
        .def("play_out", &play_out_all, "bots"_a, "keys"_a, "repeats"_a, "num_threads"_a, "winners"_a.noconvert(),
             "points"_a.noconvert());

    nb::class_<Views>(m, "Views", "The views of the current players of such states; use uno_flex_env.positions.")
        .def("__len__", [](const Views& v) { return v.states.size(); })
        .def("take", &take_views, "rows"_a)
        .def("view", &view_at, "row"_a)
        .def_prop_ro("viewers", [](const Views& v) { return std::vector<int>(v.viewers.begin(), v.viewers.end()); })
        .def("draw_worlds", &draw_worlds, "keys"_a, "num_threads"_a)
        .def("search", &search, "keys"_a, "defaults"_a, "masks"_a.none(), "simulations"_a, "nanoseconds"_a, "bot"_a,
             "tree"_a, "confidence"_a, "exploration"_a, "num_threads"_a, "actions"_a.noconvert(),
             "visits"_a.noconvert(), "wins"_a.noconvert());
}
