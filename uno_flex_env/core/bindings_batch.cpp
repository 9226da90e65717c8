// Batches, playouts and soaks for Python.
#include <atomic>

#include "batch.hpp"
#include "bindings.hpp"
#include "pool.hpp"

namespace {

using uno_flex_kernel::choose_kernel;
using uno_flex_kernel::Kernel;
using uno_flex_kernel::kEveryone;
using uno_flex_kernel::Pool;

struct BatchGames {
    Rules rules;
    std::vector<State> states;
    std::vector<uno_flex_kernel::Slot> slots;
    std::vector<uint8_t> controllers, learners;
    std::vector<uno_flex_kernel::Event> events;
    uno_flex_kernel::Batch batch{};
    Pool pool;
    const Kernel& kernel;
    // Whatever the pointers in `batch` point to is kept alive here.
    std::vector<nb::object> buffers;

    BatchGames(int games, int num_players, const Rules& rules_, int dealer, bool match, int reward, int history,
               int64_t max_decisions, bool deal_again, int threads)
        : rules(rules_), pool(check_threads(threads)), kernel(choose_kernel()) {
        check_table(rules, num_players, dealer);
        require(games >= 1, "num_games must be at least 1, got " + std::to_string(games));
        require(history >= 0 && history <= uno_flex_kernel::kMaxHistory,
                "history must be from 0 to " + std::to_string(uno_flex_kernel::kMaxHistory) + ", got " +
                    std::to_string(history));
        require(max_decisions >= 0 && max_decisions <= UINT32_MAX, "max_decisions is out of range");
        states.resize(games);
        slots.resize(games);
        controllers.assign(size_t(games) * kMaxPlayers, uno_flex_kernel::kExternal);
        learners.assign(games, kEveryone);
        events.resize(size_t(games) * history);
        batch.states = states.data();
        batch.slots = slots.data();
        batch.controllers = controllers.data();
        batch.learners = learners.data();
        batch.events = events.data();
        batch.rules = &rules;
        batch.num_players = num_players;
        batch.dealer = dealer;
        batch.match = match;
        batch.reward = uint8_t(reward);
        batch.history = history;
        batch.max_decisions = uint32_t(max_decisions);
        batch.deal_again = deal_again;
        note_events();
    }
    void check_seats(const uint8_t* seats, const uint8_t* learning) const {
        for (size_t i = 0; i < states.size() * kMaxPlayers; ++i)
            require(seats[i] < kBots || seats[i] == uno_flex_kernel::kExternal, "unknown bot");
        for (size_t i = 0; i < states.size(); ++i)
            require(learning[i] < batch.num_players || learning[i] == kEveryone, "unknown seat");
    }
    void note_events() {
        batch.eventful = batch.max_decisions != 0;
        for (uint8_t c : controllers) batch.eventful |= c != uno_flex_kernel::kExternal;
    }
    static int check_threads(int threads) {
        require(threads >= 1 && threads <= uno_flex_kernel::kMaxThreads,
                "num_threads must be from 1 to " + std::to_string(uno_flex_kernel::kMaxThreads) + ", got " +
                    std::to_string(threads));
        return threads;
    }

    int games() const { return int(states.size()); }

    template <class Job>
    void run(Job&& job) {
        nb::gil_scoped_release release;
        pool.run(games(), job);
    }
    void seed_game(int game, uint64_t seed, int episode) {
        slots[game].seed = seed;
        slots[game].bot_rng = derive_seed(seed, ~uint64_t(0));
        slots[game].episode = uint32_t(episode);
    }
    void seed(uint64_t seed) {
        for (int g = 0; g < games(); ++g) seed_game(g, derive_seed(seed, uint64_t(g)), 0);
    }
    void reset() {
        run([this](int begin, int end) { kernel.reset(batch, begin, end, nullptr); });
    }
    void step() {
        std::atomic<int> illegal{games()};
        run([&](int begin, int end) {
            const int g = kernel.find_illegal(batch, begin, end);
            for (int seen = illegal.load(); g >= 0 && g < seen && !illegal.compare_exchange_weak(seen, g);) {
            }
        });
        if (illegal < games())
            refuse_value("game " + std::to_string(illegal.load()) + ": illegal action " +
                         std::to_string(batch.actions[illegal.load()]));
        run([this](int begin, int end) { kernel.step(batch, begin, end); });
    }
};

template <class T>
T* data_of(BatchGames& b, const nb::ndarray<>& array, size_t items, const char* name) {
    require(array.dtype() == nb::dtype<T>() && array.size() == items && array.is_valid(),
            std::string(name) + " has the wrong dtype or size");
    size_t stride = 1;
    for (size_t i = items ? array.ndim() : 0; i-- > 0; stride *= array.shape(i))
        require(array.shape(i) == 1 || size_t(array.stride(i)) == stride, std::string(name) + " must be C-contiguous");
    b.buffers.push_back(nb::cast(array));
    return static_cast<T*>(array.data());
}

int64_t playout(const std::vector<const State*>& states, const std::vector<int>& bots, uint64_t seed, int repeats,
                int threads, Array<int8_t, nb::ndim<2>> winners, Array<int16_t, nb::ndim<2>> points) {
    require(repeats >= 1, "repeats must be at least 1, got " + std::to_string(repeats));
    require(winners.shape(0) == states.size() && winners.shape(1) == size_t(repeats) &&
                points.shape(0) == states.size() && points.shape(1) == size_t(repeats),
            "winners and points need a row for each state and a column for each repeat");
    uint8_t seats[kMaxPlayers] = {};
    for (size_t i = 0; i < bots.size() && i < kMaxPlayers; ++i) {
        require(bots[i] >= 0 && bots[i] < kBots, "unknown bot " + std::to_string(bots[i]));
        seats[i] = uint8_t(bots[i]);
    }
    std::vector<State> copies;
    for (const State* s : states) {
        require(size_t(s->num_players) == bots.size(),
                "a bot for each seat: " + std::to_string(s->num_players) + ", got " + std::to_string(bots.size()));
        copies.push_back(*s);
    }
    std::vector<int64_t> decisions(copies.size());
    const Kernel& kernel = choose_kernel();
    const uno_flex_kernel::Playouts job{copies.data(), seats,          repeats,       seed,
                                        nullptr,       winners.data(), points.data(), decisions.data()};
    {
        nb::gil_scoped_release release;
        Pool pool(BatchGames::check_threads(threads));
        pool.run(int(copies.size()), [&](int begin, int end) { kernel.play_out(job, begin, end); });
    }
    int64_t total = 0;
    for (int64_t d : decisions) total += d;
    return total;
}

/// What a bot does at each of B decisions; everything random in row i follows from noise[i].
void bot_actions(int bot, Array<const int8_t, nb::shape<-1, kActions>> masks,
                 Array<const uint64_t, nb::shape<-1>> noise, Array<int64_t, nb::shape<-1>> actions) {
    require(bot >= 0 && bot < kBots, "unknown bot " + std::to_string(bot));
    require(noise.shape(0) == masks.shape(0) && actions.shape(0) == masks.shape(0),
            "a key and an action for each row of masks");
    for (size_t i = 0; i < masks.shape(0); ++i) {
        ActionSet legal{};
        for (int a = 0; a < kActions; ++a)
            legal.word[a / 64] |= uint64_t(masks.data()[i * kActions + a] != 0) << (a % 64);
        require(any(legal), "row " + std::to_string(i) + " of the masks has no legal action");
        uint64_t rng = noise.data()[i];
        actions.data()[i] = act(Bot(bot), legal, rng);
    }
}

/// What came of a soak: (decisions, whether the last round was given up, None or the fault).
nb::tuple soak_rounds(const Rules& rules, int num_players, bool match, uint64_t seed, int64_t decisions,
                      int64_t spoil_at) {
    check_table(rules, num_players, 0);
    require(decisions >= 1, "decisions must be at least 1, got " + std::to_string(decisions));
    std::vector<uint8_t> actions(1 << 16);
    uno_flex_kernel::Soak job{&rules,    num_players, match,          seed,
                              decisions, spoil_at,    actions.data(), int64_t(actions.size())};
    const Kernel& kernel = choose_kernel();
    {
        nb::gil_scoped_release release;
        kernel.soak(job);
    }
    if (!job.why) return nb::make_tuple(job.taken, job.endless, nb::none());
    std::string why = job.why;
    if (job.viewer >= 0) why = "a state drawn from what player " + std::to_string(job.viewer) + " sees: " + why;
    const std::vector<int> round(actions.begin(), actions.begin() + job.length);
    return nb::make_tuple(job.taken, job.endless, nb::make_tuple(why, job.dealer, job.deal_seed, round));
}

}  // namespace

void bind_batches(nb::module_& m) {
    nb::class_<BatchGames>(m, "Batch", "Many games stepped together; uno_flex_env.VecEnv is its face.")
        .def(nb::init<int, int, const Rules&, int, bool, int, int, int64_t, bool, int>(), nb::kw_only(), "num_envs"_a,
             "num_players"_a, "rules"_a, "dealer"_a, "match"_a, "reward"_a, "history"_a, "max_decisions"_a,
             "autoreset"_a, "num_threads"_a)
        .def(
            "set_buffers",
            [](BatchGames& b, nb::ndarray<> actions, nb::ndarray<> observations, nb::ndarray<> action_masks,
               nb::ndarray<> histories, nb::ndarray<> rewards, nb::ndarray<> terminated, nb::ndarray<> truncated,
               nb::ndarray<> current_player, nb::ndarray<> final_obs) {
                const size_t n = size_t(b.games());
                const int final_rows = int(final_obs.size() / (n * kFeatures));
                b.buffers.clear();
                b.batch.actions = data_of<int32_t>(b, actions, n, "actions");
                b.batch.observations = data_of<uint8_t>(b, observations, n * kFeatures, "observations");
                b.batch.masks = data_of<int8_t>(b, action_masks, n * kActions, "action_masks");
                b.batch.histories = data_of<int16_t>(b, histories, n * b.batch.history * 3, "histories");
                b.batch.rewards = data_of<float>(b, rewards, n * b.batch.num_players, "rewards");
                b.batch.terminated = data_of<uint8_t>(b, terminated, n, "terminated");
                b.batch.truncated = data_of<uint8_t>(b, truncated, n, "truncated");
                b.batch.current_players = data_of<int8_t>(b, current_player, n, "current_player");
                require(final_rows == 0 || final_rows == 1 || final_rows == b.batch.num_players,
                        "final_obs has the wrong dtype or size");
                b.batch.final_observations =
                    data_of<uint8_t>(b, final_obs, n * size_t(final_rows) * kFeatures, "final_obs");
                b.batch.final_rows = final_rows;
            },
            nb::kw_only(), "actions"_a, "observations"_a, "action_masks"_a, "histories"_a, "rewards"_a, "terminated"_a,
            "truncated"_a, "current_player"_a, "final_obs"_a,
            "Let the batch read its actions from, and write its rows to, these C-contiguous arrays.")
        .def(
            "set_seats",
            [](BatchGames& b, Array<const uint8_t, nb::shape<-1, kMaxPlayers>> controllers,
               Array<const uint8_t, nb::shape<-1>> learners) {
                require(controllers.shape(0) == b.states.size() && learners.shape(0) == b.states.size(),
                        "one row of controllers and one learner for each game");
                b.check_seats(controllers.data(), learners.data());
                std::memcpy(b.controllers.data(), controllers.data(), b.controllers.size());
                std::memcpy(b.learners.data(), learners.data(), b.learners.size());
                b.note_events();
            },
            "controllers"_a, "learning_seats"_a)
        .def("seed", &BatchGames::seed, "seed"_a)
        .def(
            "seed_games",
            [](BatchGames& b, Array<const uint64_t, nb::shape<-1>> seeds, Array<const uint8_t, nb::shape<-1>> which) {
                require(seeds.shape(0) == b.states.size() && which.shape(0) == b.states.size(),
                        "one seed and one flag for each game");
                for (int g = 0; g < b.games(); ++g)
                    if (which.data()[g]) b.seed_game(g, derive_seed(seeds.data()[g], 0), -1);
            },
            "seeds"_a, "which"_a,
            "Let the next reset_games deal these games what game 0 of a batch with their seed is dealt.")
        .def("reset", &BatchGames::reset)
        .def(
            "reset_games",
            [](BatchGames& b, Array<const uint8_t, nb::shape<-1>> which) {
                require(which.shape(0) == b.states.size(), "one flag for each game");
                for (int g = 0; g < b.games(); ++g) b.slots[g].episode += which.data()[g] != 0;
                b.run([&](int begin, int end) { b.kernel.reset(b.batch, begin, end, which.data()); });
            },
            "which"_a, "Deal these games anew, each with the seed of its next episode.")
        .def("step", &BatchGames::step)
        .def(
            "sample",
            [](BatchGames& b, Array<int32_t, nb::shape<-1>> actions) {
                require(actions.shape(0) == b.states.size(), "one action for each game");
                b.run([&](int begin, int end) { b.kernel.sample(b.batch, begin, end, actions.data()); });
            },
            "actions"_a)
        .def(
            "random_steps",
            [](BatchGames& b, int steps, int parts) {
                b.run([&](int begin, int end) { b.kernel.random_steps(b.batch, begin, end, steps, parts); });
            },
            "steps"_a, "parts"_a = int(kAll))
        .def(
            "touch",
            [](BatchGames& b, int steps) {
                b.run([&](int begin, int end) { b.kernel.touch(b.batch, begin, end, steps); });
                b.reset();
            },
            "steps"_a)
        .def(
            "state",
            [](const BatchGames& b, int game) {
                require(game >= 0 && game < b.games(), "no such game: " + std::to_string(game));
                return b.states[game];
            },
            "game"_a)
        .def(
            "episode_seed",
            [](const BatchGames& b, int game) {
                require(game >= 0 && game < b.games(), "no such game: " + std::to_string(game));
                return episode_seed(b.slots[game]);
            },
            "game"_a)
        .def(
            "write_hidden_hands",
            [](BatchGames& b, Array<uint8_t, nb::shape<-1, (kMaxPlayers - 1) * kCardFeatures>> rows) {
                require(rows.shape(0) == b.states.size(), "one row for each game");
                b.run([&](int begin, int end) {
                    for (int g = begin; g < end; ++g)
                        write_hidden_hands(b.states[g], viewer_of(b.batch, g), rows.data() + g * rows.shape(1));
                });
            },
            "rows"_a)
        .def("refresh",
             [](BatchGames& b) { b.run([&](int begin, int end) { b.kernel.refresh(b.batch, begin, end); }); })
        .def(
            "to_bytes",
            [](const BatchGames& b) {
                std::string bytes;
                auto append = [&](const auto& v) {
                    bytes.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(v[0]));
                };
                append(b.states);
                append(b.slots);
                append(b.controllers);
                append(b.learners);
                append(b.events);
                return nb::bytes(bytes.data(), bytes.size());
            },
            "Everything that decides how the batch goes on.")
        .def(
            "from_bytes",
            [](BatchGames& b, nb::bytes bytes) {
                const char* from = bytes.c_str();
                auto size = [](const auto& v) { return v.size() * sizeof(v[0]); };
                require(bytes.size() ==
                            size(b.states) + size(b.slots) + size(b.controllers) + size(b.learners) + size(b.events),
                        "these bytes are of another batch");
                auto read = [&](const auto& like) {
                    auto copy = like;
                    if (!copy.empty()) std::memcpy(static_cast<void*>(copy.data()), from, size(copy));
                    from += size(copy);
                    return copy;
                };
                auto states = read(b.states);
                auto slots = read(b.slots);
                auto controllers = read(b.controllers);
                auto learners = read(b.learners);
                auto events = read(b.events);
                for (int g = 0; g < b.games(); ++g) {
                    const bool fits = !check(states[g]) && states[g].num_players == b.batch.num_players;
                    require(fits && (is_over(states[g]) ? slots[g].lying : 1),
                            "game " + std::to_string(g) + " is no valid state");
                }
                b.check_seats(controllers.data(), learners.data());
                for (const auto& e : events)
                    require(e.action == kNoEvent || (e.action < kActions && e.seat < b.batch.num_players),
                            "unknown event");
                std::memcpy(static_cast<void*>(b.states.data()), states.data(), size(states));
                std::memcpy(b.slots.data(), slots.data(), size(slots));
                std::memcpy(b.controllers.data(), controllers.data(), size(controllers));
                std::memcpy(b.learners.data(), learners.data(), size(learners));
                if (!events.empty()) std::memcpy(b.events.data(), events.data(), size(events));
                b.note_events();
            },
            "bytes"_a)
        .def_prop_ro("level", [](const BatchGames& b) { return b.kernel.name; })
        .def_prop_ro("num_threads", [](const BatchGames& b) { return b.pool.threads(); });
    m.def("act", &bot_actions, "bot"_a, "masks"_a, "noise"_a, "actions"_a);
    m.def("playout", &playout, "states"_a, "bots"_a, "seed"_a, "repeats"_a, "threads"_a, "winners"_a, "points"_a);
    m.def(
        "soak", &soak_rounds, "rules"_a, "num_players"_a, "match"_a, "seed"_a, "decisions"_a, "spoil_at"_a = 0,
        "Play random rounds, or matches, and check everything after every action. Returns the number of decisions,\n"
        "whether the last round did not end within 65,536 actions, and None or, of the fault found, what is wrong, dealer,\n"
        "seed of the deal and actions of the round.");
}
