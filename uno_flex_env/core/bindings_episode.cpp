// One episode for Python, under the PettingZoo environment.
#include "bindings.hpp"
#include "episode.hpp"
#include "observation.hpp"

namespace {

void make_options(EpisodeOptions* self, int num_players, const Rules& rules, int dealer, bool match, int reward,
                  int history, int64_t max_decisions) {
    check_table(rules, num_players, dealer);
    require(reward >= 0 && size_t(reward) < std::size(kRewardNames), "unknown reward " + std::to_string(reward));
    require(history >= 0 && history <= kMaxHistory,
            "history must be from 0 to " + std::to_string(kMaxHistory) + ", got " + std::to_string(history));
    require(max_decisions >= 0 && max_decisions <= UINT32_MAX, "max_decisions is out of range");
    new (self) EpisodeOptions{rules, num_players, dealer, match, uint8_t(reward), history, uint32_t(max_decisions)};
}

/// An episode with its parts.
struct OwnedEpisode {
    EpisodeOptions options;
    uint64_t seed;
    State state;
    std::vector<Event> events;
    uint32_t decisions = 0;
    Outcome outcome = Outcome::decision;  // outcome of the last action
    float rewards[kMaxPlayers] = {};      // rewards of the last action

    OwnedEpisode(const EpisodeOptions& options_, uint64_t seed_)
        : options(options_), seed(seed_), events(size_t(options_.history)) {
        begin(parts(), seed);
    }
    Episode parts() { return {options, state, events.data(), decisions}; }

    bool apply(int action) {
        require_legal(state, action);
        const Episode episode = parts();
        take(episode, action);
        ++decisions;
        std::fill(std::begin(rewards), std::end(rewards), 0.0f);
        if (is_over(state)) pay(episode, rewards);
        outcome = go_on(episode, seed, is_at_limit(episode));
        return outcome != Outcome::decision;
    }
    void encode_to(int viewer, Array<uint8_t, nb::shape<kFeatures>> row) const {
        check_seat(state, viewer);
        encode(state, viewer, row.data());
    }
    void write_mask_to(Array<int8_t, nb::shape<kActions>> row) const {
        write_mask(state.legal, reinterpret_cast<uint8_t*>(row.data()));
    }
    void write_history_to(int viewer, Array<int16_t, nb::shape<-1, 3>> rows) {
        check_seat(state, viewer);
        require(rows.shape(0) == events.size(), "a row for each event of the history");
        write_history(parts(), viewer, rows.data());
    }
    void set_state(const State& s) {
        require(s.num_players == options.num_players, "the state has another number of players");
        state = s;
    }
};

/// The data that determine how an episode goes on, besides its options.
nb::bytes to_bytes(const OwnedEpisode& e) {
    std::string bytes;
    auto append = [&](const void* from, size_t n) { bytes.append(static_cast<const char*>(from), n); };
    append(&e.state, sizeof e.state);
    append(&e.seed, sizeof e.seed);
    append(&e.decisions, sizeof e.decisions);
    append(e.events.data(), e.events.size() * sizeof(Event));
    return nb::bytes(bytes.data(), bytes.size());
}

OwnedEpisode from_bytes(const EpisodeOptions& options, nb::bytes bytes) {
    OwnedEpisode e(options, 0);
    const char* from = bytes.c_str();
    auto read = [&](void* to, size_t n) {
        if (n) std::memcpy(to, from, n);
        from += n;
    };
    const size_t of_events = e.events.size() * sizeof(Event);
    require(bytes.size() == sizeof e.state + sizeof e.seed + sizeof e.decisions + of_events,
            "these bytes are of another episode");
    read(static_cast<void*>(&e.state), sizeof e.state);
    read(&e.seed, sizeof e.seed);
    read(&e.decisions, sizeof e.decisions);
    read(e.events.data(), of_events);
    require(!check(e.state) && e.state.num_players == options.num_players, "no valid state");
    for (const Event& event : e.events) require(is_event(event, options.num_players), "unknown event");
    return e;
}

int current_player(const OwnedEpisode& e) { return e.state.current_player == kNone ? -1 : e.state.current_player; }

std::vector<float> rewards_of(const OwnedEpisode& e) { return {e.rewards, e.rewards + e.options.num_players}; }

}  // namespace

void bind_episodes(nb::module_& m) {
    nb::class_<EpisodeOptions>(m, "EpisodeOptions", "uno_flex_env.options.EpisodeOptions as numbers.")
        .def("__init__", &make_options, nb::kw_only(), "num_players"_a, "rules"_a, "dealer"_a, "match"_a = false,
             "reward"_a = 0, "history"_a = 0, "max_decisions"_a = 0);
    nb::class_<OwnedEpisode>(m, "Episode",
                             "One episode: its state, its last events, and the rewards of its last action.")
        .def(nb::init<const EpisodeOptions&, uint64_t>(), "options"_a, "seed"_a, "Deal the first round.")
        .def(
            "apply", &OwnedEpisode::apply, "action"_a,
            "Take one action. If it is illegal, raise ValueError and change nothing. If it ends a round of a match that\n"
            "goes on, deal the next round. Returns whether it has ended a round or the episode.")
        .def_prop_ro("rewards", &rewards_of, "The reward of each seat for the last action.")
        .def_prop_ro("terminated", [](const OwnedEpisode& e) { return e.outcome == Outcome::terminated; })
        .def_prop_ro("truncated", [](const OwnedEpisode& e) { return e.outcome == Outcome::truncated; })
        .def_prop_ro("current_player", &current_player, "The seat to act; -1 at the end.")
        .def("encode", &OwnedEpisode::encode_to, "viewer"_a, "row"_a.noconvert(),
             "Write what this seat sees into 640 uint8.")
        .def("write_mask", &OwnedEpisode::write_mask_to, "row"_a.noconvert(),
             "Write the legal actions into a row of 216 int8.")
        .def("write_history", &OwnedEpisode::write_history_to, "viewer"_a, "rows"_a.noconvert(),
             "Write the last events into (history, 3) int16: offset of the seat from the viewer, action, cards drawn.")
        .def_prop_rw(
            "state", [](OwnedEpisode& e) -> State& { return e.state; }, &OwnedEpisode::set_state,
            nb::rv_policy::reference_internal, "The present round. It changes with each action.")
        .def("to_bytes", &to_bytes, "All data that determine how the episode goes on, except its options.")
        .def_static("from_bytes", &from_bytes, "options"_a, "bytes"_a);
}
