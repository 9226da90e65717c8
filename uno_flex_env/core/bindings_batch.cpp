// Batches and soaks for Python.
#include <atomic>

#include "batch.hpp"
#include "bindings.hpp"
#include "pool.hpp"

namespace {

using uno_flex_kernel::choose_kernel;
using uno_flex_kernel::Kernel;
using uno_flex_kernel::Pool;

/// A batch with its games. Python owns the arrays that it reads and writes.
struct OwnedBatch {
    EpisodeOptions options;
    std::vector<State> states;
    std::vector<Slot> slots;
    std::vector<uint8_t> controllers, learning_seats;
    std::vector<Event> events;
    uno_flex_kernel::Batch batch{};
    Pool pool;
    const Kernel& kernel;
    std::vector<nb::object> arrays;  // kept alive, since `batch` points into them

    OwnedBatch(int num_envs, const EpisodeOptions& options_, bool autoreset, int num_threads)
        : options(options_), pool(check_threads(num_threads)), kernel(choose_kernel()) {
        require(num_envs >= 1, "num_envs must be at least 1, got " + std::to_string(num_envs));
        states.resize(num_envs);
        slots.resize(num_envs);
        controllers.assign(size_t(num_envs) * kMaxPlayers, kExternal);
        learning_seats.assign(num_envs, kEverySeat);
        events.resize(size_t(num_envs) * options.history);
        batch.options = &options;
        batch.states = states.data();
        batch.slots = slots.data();
        batch.controllers = controllers.data();
        batch.learning_seats = learning_seats.data();
        batch.events = events.data();
        batch.autoreset = autoreset;
        find_who_settles();
    }

    static int check_threads(int num_threads) {
        require(num_threads >= 1 && num_threads <= uno_flex_kernel::kMaxThreads,
                "num_threads must be from 1 to " + std::to_string(uno_flex_kernel::kMaxThreads) + ", got " +
                    std::to_string(num_threads));
        return num_threads;
    }
    void check_seats(const uint8_t* controlling, const uint8_t* learning) const {
        for (size_t i = 0; i < controllers.size(); ++i)
            require(controlling[i] < kBots || controlling[i] == kExternal, "unknown bot");
        for (size_t i = 0; i < learning_seats.size(); ++i)
            require(learning[i] < options.num_players || learning[i] == kEverySeat, "unknown seat");
    }
    void check_game(int game) const {
        require(game >= 0 && game < num_envs(), "no such game: " + std::to_string(game));
    }
    void find_who_settles() {
        batch.settles_always = options.max_decisions != 0;
        for (uint8_t c : controllers) batch.settles_always |= c != kExternal;
    }

    int num_envs() const { return int(states.size()); }

    template <class Job>
    void run(Job&& job) {
        nb::gil_scoped_release release;
        pool.run(num_envs(), job);
    }

    // ---- Who decides ----

    void set_seats(Array<const uint8_t, nb::shape<-1, kMaxPlayers>> controlling,
                   Array<const uint8_t, nb::shape<-1>> learning) {
        require(controlling.shape(0) == states.size() && learning.shape(0) == states.size(),
                "one row of controllers and one learning seat for each game");
        check_seats(controlling.data(), learning.data());
        std::memcpy(controllers.data(), controlling.data(), controllers.size());
        std::memcpy(learning_seats.data(), learning.data(), learning_seats.size());
        find_who_settles();
    }

    // ---- Dealing ----

    void seed_game(int game, uint64_t seed, int episode) {
        slots[game].seed = seed;
        slots[game].bot_rng = derive_seed(seed, ~uint64_t(0));
        slots[game].episode = uint32_t(episode);
    }
    void seed(uint64_t seed) {
        for (int g = 0; g < num_envs(); ++g) seed_game(g, derive_seed(seed, uint64_t(g)), 0);
    }
    void seed_games(Array<const uint64_t, nb::shape<-1>> seeds, Array<const uint8_t, nb::shape<-1>> which) {
        require(seeds.shape(0) == states.size() && which.shape(0) == states.size(),
                "one seed and one flag for each game");
        for (int g = 0; g < num_envs(); ++g)
            if (which.data()[g]) seed_game(g, derive_seed(seeds.data()[g], 0), -1);
    }
    void reset() {
        run([this](int begin, int end) { kernel.reset(batch, begin, end, nullptr); });
    }
    void reset_games(Array<const uint8_t, nb::shape<-1>> which) {
        require(which.shape(0) == states.size(), "one flag for each game");
        for (int g = 0; g < num_envs(); ++g) slots[g].episode += which.data()[g] != 0;
        run([&](int begin, int end) { kernel.reset(batch, begin, end, which.data()); });
    }
    uint64_t seed_of_episode(int game) const {
        check_game(game);
        return episode_seed(slots[game]);
    }

    // ---- Stepping ----

    void step() {
        std::atomic<int> illegal{num_envs()};
        run([&](int begin, int end) {
            const int g = kernel.find_illegal(batch, begin, end);
            for (int seen = illegal.load(); g >= 0 && g < seen && !illegal.compare_exchange_weak(seen, g);) {
            }
        });
        if (illegal < num_envs())
            refuse_value("game " + std::to_string(illegal.load()) + ": illegal action " +
                         std::to_string(batch.actions[illegal.load()]));
        run([this](int begin, int end) { kernel.step(batch, begin, end); });
    }
    void sample(Array<int32_t, nb::shape<-1>> actions) {
        require(actions.shape(0) == states.size(), "one action for each game");
        run([&](int begin, int end) { kernel.sample(batch, begin, end, actions.data()); });
    }
    void random_steps(int steps, int parts) {
        run([&](int begin, int end) { kernel.random_steps(batch, begin, end, steps, parts); });
    }
    void touch(int steps) {
        run([&](int begin, int end) { kernel.touch(batch, begin, end, steps); });
        reset();
    }

    // ---- Looking ----

    State state(int game) const {
        check_game(game);
        return states[game];
    }
    void refresh() {
        run([this](int begin, int end) { kernel.refresh(batch, begin, end); });
    }
    void write_hands(Array<uint8_t, nb::shape<-1, (kMaxPlayers - 1) * kCardFeatures>> rows) {
        require(rows.shape(0) == states.size(), "one row for each game");
        run([&](int begin, int end) {
            for (int g = begin; g < end; ++g)
                write_hidden_hands(states[g], viewer_of(batch, g), rows.data() + g * rows.shape(1));
        });
    }
};

// ---- Arrays ----

template <class T>
T* data_of(OwnedBatch& b, const nb::ndarray<>& array, size_t items, const char* name) {
    require(array.dtype() == nb::dtype<T>() && array.size() == items && array.is_valid(),
            std::string(name) + " has the wrong dtype or size");
    size_t stride = 1;
    for (size_t i = items ? array.ndim() : 0; i-- > 0; stride *= array.shape(i))
        require(array.shape(i) == 1 || size_t(array.stride(i)) == stride, std::string(name) + " must be C-contiguous");
    b.arrays.push_back(nb::cast(array));
    return static_cast<T*>(array.data());
}

void set_buffers(OwnedBatch& b, const nb::ndarray<>& actions, const nb::ndarray<>& observations,
                 const nb::ndarray<>& action_masks, const nb::ndarray<>& histories, const nb::ndarray<>& rewards,
                 const nb::ndarray<>& terminated, const nb::ndarray<>& truncated, const nb::ndarray<>& current_player,
                 const nb::ndarray<>& final_obs) {
    const size_t n = b.states.size(), players = size_t(b.options.num_players);
    const size_t final_rows = final_obs.size() / (n * kFeatures);
    require(final_rows <= 1 || final_rows == players, "final_obs has the wrong dtype or size");
    b.arrays.clear();
    b.batch.actions = data_of<int32_t>(b, actions, n, "actions");
    b.batch.observations = data_of<uint8_t>(b, observations, n * kFeatures, "observations");
    b.batch.action_masks = data_of<int8_t>(b, action_masks, n * kActions, "action_masks");
    b.batch.histories = data_of<int16_t>(b, histories, b.events.size() * 3, "histories");
    b.batch.rewards = data_of<float>(b, rewards, n * players, "rewards");
    b.batch.terminated = data_of<uint8_t>(b, terminated, n, "terminated");
    b.batch.truncated = data_of<uint8_t>(b, truncated, n, "truncated");
    b.batch.current_player = data_of<int8_t>(b, current_player, n, "current_player");
    b.batch.final_obs = data_of<uint8_t>(b, final_obs, n * final_rows * kFeatures, "final_obs");
    b.batch.final_rows = int(final_rows);
}

// ---- Bytes ----

template <class T>
void append(std::string& bytes, const std::vector<T>& items) {
    bytes.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
}

nb::bytes to_bytes(const OwnedBatch& b) {
    std::string bytes;
    append(bytes, b.states);
    append(bytes, b.slots);
    append(bytes, b.controllers);
    append(bytes, b.learning_seats);
    append(bytes, b.events);
    return nb::bytes(bytes.data(), bytes.size());
}

/// Read as many items as `like` has, and advance `from` past them.
template <class T>
std::vector<T> read(const char*& from, const std::vector<T>& like) {
    std::vector<T> items = like;
    const size_t size = items.size() * sizeof(T);
    if (size) std::memcpy(static_cast<void*>(items.data()), from, size);
    from += size;
    return items;
}

/// Overwrite in place, since the kernel's batch points to the items.
template <class T>
void assign(std::vector<T>& items, const std::vector<T>& from) {
    std::copy(from.begin(), from.end(), items.begin());
}

void from_bytes(OwnedBatch& b, nb::bytes bytes) {
    require(bytes.size() == to_bytes(b).size(), "these bytes are of another batch");
    const char* from = bytes.c_str();
    const auto states = read(from, b.states);
    const auto slots = read(from, b.slots);
    const auto controllers = read(from, b.controllers);
    const auto learning_seats = read(from, b.learning_seats);
    const auto events = read(from, b.events);
    for (int g = 0; g < b.num_envs(); ++g) {
        const bool fits = !check(states[g]) && states[g].num_players == b.options.num_players;
        require(fits && (slots[g].idle || !is_over(states[g])), "game " + std::to_string(g) + " is no valid state");
    }
    b.check_seats(controllers.data(), learning_seats.data());
    for (const Event& event : events) require(is_event(event, b.options.num_players), "unknown event");
    assign(b.states, states);
    assign(b.slots, slots);
    assign(b.controllers, controllers);
    assign(b.learning_seats, learning_seats);
    assign(b.events, events);
    b.find_who_settles();
}

/// A bot's action at each of B decisions. noise[i] fixes the random numbers of row i.
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

/// The result of a soak: (decisions, whether the last round was abandoned, None or the fault).
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

void bind_batch(nb::module_& m) {
    nb::class_<OwnedBatch> batch(m, "Batch", "Many games stepped together; uno_flex_env.batch.Batch owns its arrays.");
    batch
        .def(nb::init<int, const EpisodeOptions&, bool, int>(), nb::kw_only(), "num_envs"_a, "options"_a, "autoreset"_a,
             "num_threads"_a = 1)
        .def("set_buffers", &set_buffers, nb::kw_only(), "actions"_a, "observations"_a, "action_masks"_a, "histories"_a,
             "rewards"_a, "terminated"_a, "truncated"_a, "current_player"_a, "final_obs"_a,
             "Read actions from these C-contiguous arrays and write the rows to them.")
        .def("set_seats", &OwnedBatch::set_seats, "controllers"_a, "learning_seats"_a)
        .def("seed", &OwnedBatch::seed, "seed"_a)
        .def("seed_games", &OwnedBatch::seed_games, "seeds"_a, "which"_a,
             "Let the next reset_games deal these games what game 0 of a batch with their seed is dealt.")
        .def("reset", &OwnedBatch::reset)
        .def("reset_games", &OwnedBatch::reset_games, "which"_a,
             "Reset these games, each with the seed of its next episode.")
        .def("step", &OwnedBatch::step)
        .def("sample", &OwnedBatch::sample, "actions"_a)
        .def("random_steps", &OwnedBatch::random_steps, "steps"_a, "parts"_a = int(kAll))
        .def("touch", &OwnedBatch::touch, "steps"_a);
    batch.def("state", &OwnedBatch::state, "game"_a)
        .def("episode_seed", &OwnedBatch::seed_of_episode, "game"_a)
        .def("write_hidden_hands", &OwnedBatch::write_hands, "rows"_a)
        .def("refresh", &OwnedBatch::refresh)
        .def("to_bytes", &to_bytes, "All data that determine how the batch goes on.")
        .def("from_bytes", &from_bytes, "bytes"_a)
        .def_prop_ro("level", [](const OwnedBatch& b) { return b.kernel.name; })
        .def_prop_ro("num_threads", [](const OwnedBatch& b) { return b.pool.threads(); });
}

}  // namespace

void bind_batches(nb::module_& m) {
    bind_batch(m);
    m.def("act", &bot_actions, "bot"_a, "masks"_a, "noise"_a, "actions"_a);
    m.def(
        "soak", &soak_rounds, "rules"_a, "num_players"_a, "match"_a, "seed"_a, "decisions"_a, "spoil_at"_a = 0,
        "Play random rounds, or matches, and check everything after every action. Returns the number of decisions,\n"
        "whether the last round did not end within 65,536 actions, and None or, of the fault found, what is wrong, dealer,\n"
        "seed of the deal and actions of the round.");
}
