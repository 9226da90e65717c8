// Batches and soaks for Python.
#include <atomic>

#include "batch.hpp"
#include "bindings_work.hpp"

namespace {

using uno_flex_kernel::choose_kernel;
using uno_flex_kernel::Interrupt;
using uno_flex_kernel::Kernel;
using uno_flex_kernel::Pool;

/// The right to work with something that only one thread may work with at a time. RuntimeError if another one does.
class Turn {
public:
    explicit Turn(std::atomic<bool>& taken) : taken_(taken) {
        if (taken_.exchange(true)) throw std::runtime_error("the batch is being stepped by another thread");
    }
    ~Turn() { taken_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    std::atomic<bool>& taken_;
};

/// A batch with its games. Python owns the arrays that it reads and writes. Every method takes a turn: a step runs
/// without Python's lock, and meanwhile other threads must neither write nor read the games.
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
    const int32_t* given_actions = nullptr;
    std::vector<int32_t> actions;    // a copy of the given ones: those that are checked are those that are taken
    bool dealt = false;              // every game has been dealt
    mutable std::atomic<bool> taken{false};

    OwnedBatch(int num_envs, const EpisodeOptions& options_, bool autoreset, int num_threads)
        : options(options_), pool(checked_threads(num_threads)), kernel(choose_kernel()) {
        require(num_envs >= 1, "num_envs must be at least 1, got " + std::to_string(num_envs));
        states.resize(num_envs);
        slots.resize(num_envs);
        controllers.assign(size_t(num_envs) * kMaxPlayers, kExternal);
        learning_seats.assign(num_envs, kEverySeat);
        events.resize(size_t(num_envs) * options.history);
        actions.assign(num_envs, -1);
        batch.actions = actions.data();
        batch.options = &options;
        batch.states = states.data();
        batch.slots = slots.data();
        batch.controllers = controllers.data();
        batch.learning_seats = learning_seats.data();
        batch.events = events.data();
        batch.autoreset = autoreset;
        find_who_settles();
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
    void check_connected() const {
        if (!given_actions) throw std::runtime_error("the batch has no arrays yet: call set_buffers() first");
    }
    void check_dealt() const {
        if (!dealt) throw std::runtime_error("the games are not dealt yet: call reset() first");
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
    /// Call job(begin, end, interrupt) on all games.
    template <class Job>
    void run_long(Job&& job) {
        unlocked([&](Interrupt& interrupt) {
            pool.run(num_envs(), [&](int begin, int end) { job(begin, end, interrupt); }, &interrupt);
        });
    }

    // ---- Who decides ----

    void set_seats(Array<const uint8_t, nb::shape<-1, kMaxPlayers>> controlling,
                   Array<const uint8_t, nb::shape<-1>> learning) {
        require(controlling.shape(0) == states.size() && learning.shape(0) == states.size(),
                "one row of controllers and one learning seat for each game");
        check_seats(controlling.data(), learning.data());
        const Turn turn(taken);
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
        const Turn turn(taken);
        for (int g = 0; g < num_envs(); ++g) seed_game(g, derive_seed(seed, uint64_t(g)), 0);
    }
    void seed_games(Array<const uint64_t, nb::shape<-1>> seeds, Array<const uint8_t, nb::shape<-1>> which) {
        require(seeds.shape(0) == states.size() && which.shape(0) == states.size(),
                "one seed and one flag for each game");
        const Turn turn(taken);
        for (int g = 0; g < num_envs(); ++g)
            if (which.data()[g]) seed_game(g, derive_seed(seeds.data()[g], 0), -1);
    }
    void reset() {
        const Turn turn(taken);
        check_connected();
        deal_all();
    }
    void deal_all() {
        run([this](int begin, int end) { kernel.reset(batch, begin, end, nullptr); });
        dealt = true;
    }
    void reset_games(Array<const uint8_t, nb::shape<-1>> which) {
        require(which.shape(0) == states.size(), "one flag for each game");
        const Turn turn(taken);
        check_connected();
        for (int g = 0; g < num_envs() && !dealt; ++g)
            require(which.data()[g], "the first deal is of all games, but leaves out game " + std::to_string(g));
        for (int g = 0; g < num_envs(); ++g) slots[g].episode += which.data()[g] != 0;
        run([&](int begin, int end) { kernel.reset(batch, begin, end, which.data()); });
        dealt = true;
    }
    uint64_t seed_of_episode(int game) const {
        check_game(game);
        const Turn turn(taken);
        return episode_seed(slots[game]);
    }

    // ---- Stepping ----

    void step() {
        const Turn turn(taken);
        check_dealt();
        std::memcpy(actions.data(), given_actions, actions.size() * sizeof(int32_t));
        std::atomic<int> illegal{num_envs()};
        run([&](int begin, int end) {
            const int g = kernel.find_illegal(batch, begin, end);
            for (int seen = illegal.load(); g >= 0 && g < seen && !illegal.compare_exchange_weak(seen, g);) {
            }
        });
        if (illegal < num_envs())
            refuse_value("game " + std::to_string(illegal.load()) + ": illegal action " +
                         std::to_string(actions[illegal.load()]));
        run([this](int begin, int end) { kernel.step(batch, begin, end); });
    }
    void sample(Array<int32_t, nb::shape<-1>> sampled) {
        require(sampled.shape(0) == states.size(), "one action for each game");
        const Turn turn(taken);
        check_dealt();
        run([&](int begin, int end) { kernel.sample(batch, begin, end, sampled.data()); });
    }
    void random_steps(int steps, int parts) {
        const Turn turn(taken);
        check_dealt();
        run_long([&](int begin, int end, Interrupt& interrupt) {
            kernel.random_steps(batch, begin, end, steps, parts, interrupt);
        });
    }
    void touch(int steps) {
        const Turn turn(taken);
        check_dealt();
        run_long([&](int begin, int end, Interrupt& interrupt) { kernel.touch(batch, begin, end, steps, interrupt); });
        deal_all();
    }

    // ---- Looking ----

    State state(int game) const {
        check_game(game);
        const Turn turn(taken);
        check_dealt();
        return states[game];
    }
    void refresh() {
        const Turn turn(taken);
        check_dealt();
        run([this](int begin, int end) { kernel.refresh(batch, begin, end); });
    }
    void write_hands(Array<uint8_t, nb::shape<-1, (kMaxPlayers - 1) * kCardFeatures>> rows) {
        require(rows.shape(0) == states.size(), "one row for each game");
        const Turn turn(taken);
        check_dealt();
        run([&](int begin, int end) {
            for (int g = begin; g < end; ++g)
                write_hidden_hands(states[g], viewer_of(batch, g), rows.data() + g * rows.shape(1));
        });
    }
};

// ---- Arrays ----

/// The name of a type of numbers, as numpy has it.
template <class T>
std::string dtype_name() {
    const char* kind = std::is_floating_point_v<T> ? "float" : std::is_unsigned_v<T> ? "uint" : "int";
    return kind + std::to_string(8 * sizeof(T));
}

/// Where the items of an array from Python are; ValueError unless it is what the core wants.
template <class T>
T* data_of(const nb::ndarray<>& array, size_t items, const char* name) {
    const std::string wanted = std::string(name) + " must be " + std::to_string(items) + " " + dtype_name<T>() +
                               ", C-contiguous and writable: ";
    require(array.is_valid() && array.dtype() == nb::dtype<T>(), wanted + "it has another dtype");
    require(array.size() == items, wanted + "it has " + std::to_string(array.size()));
    size_t stride = 1;
    for (size_t i = items ? array.ndim() : 0; i-- > 0; stride *= array.shape(i))
        require(array.shape(i) == 1 || size_t(array.stride(i)) == stride, wanted + "it has gaps or another order");
    return static_cast<T*>(array.data());
}

void set_buffers(OwnedBatch& b, const nb::ndarray<>& actions, const nb::ndarray<>& observations,
                 const nb::ndarray<>& action_masks, const nb::ndarray<>& histories, const nb::ndarray<>& rewards,
                 const nb::ndarray<>& terminated, const nb::ndarray<>& truncated, const nb::ndarray<>& current_player,
                 const nb::ndarray<>& final_obs) {
    const size_t n = b.states.size(), players = size_t(b.options.num_players);
    const size_t final_rows = final_obs.size() / (n * kFeatures);
    require(final_rows <= 1 || final_rows == players, "final_obs has the wrong number of rows");
    const Turn turn(b.taken);
    uno_flex_kernel::Batch batch = b.batch;
    const int32_t* given_actions = data_of<int32_t>(actions, n, "actions");
    batch.observations = data_of<uint8_t>(observations, n * kFeatures, "observations");
    batch.action_masks = data_of<int8_t>(action_masks, n * kActions, "action_masks");
    batch.histories = data_of<int16_t>(histories, b.events.size() * 3, "histories");
    batch.rewards = data_of<float>(rewards, n * players, "rewards");
    batch.terminated = data_of<uint8_t>(terminated, n, "terminated");
    batch.truncated = data_of<uint8_t>(truncated, n, "truncated");
    batch.current_player = data_of<int8_t>(current_player, n, "current_player");
    batch.final_obs = data_of<uint8_t>(final_obs, n * final_rows * kFeatures, "final_obs");
    batch.final_rows = int(final_rows);
    b.arrays.clear();
    for (const auto* array : {&actions, &observations, &action_masks, &histories, &rewards, &terminated, &truncated,
                              &current_player, &final_obs})
        b.arrays.push_back(nb::cast(*array));
    b.batch = batch;
    b.given_actions = given_actions;
}

// ---- Bytes ----

template <class T>
void append(std::string& bytes, const std::vector<T>& items) {
    bytes.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
}

nb::bytes to_bytes(const OwnedBatch& b) {
    const Turn turn(b.taken);
    b.check_dealt();
    std::string bytes;
    append(bytes, b.states);
    append(bytes, b.slots);
    append(bytes, b.controllers);
    append(bytes, b.learning_seats);
    append(bytes, b.events);
    return nb::bytes(bytes.data(), bytes.size());
}

size_t size_of_bytes(const OwnedBatch& b) {
    const auto size_of = [](const auto& items) { return items.size() * sizeof(items[0]); };
    return size_of(b.states) + size_of(b.slots) + size_of(b.controllers) + size_of(b.learning_seats) +
           size_of(b.events);
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
    require(bytes.size() == size_of_bytes(b), "these bytes are of another batch");
    const Turn turn(b.taken);
    b.check_connected();
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
    b.dealt = true;
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
    Interrupt interrupt(ask_for_signals);
    uno_flex_kernel::Soak job{&rules,    num_players, match,          seed,
                              decisions, spoil_at,    actions.data(), int64_t(actions.size()),
                              interrupt};
    const Kernel& kernel = choose_kernel();
    {
        nb::gil_scoped_release release;
        kernel.soak(job);
    }
    if (interrupt.stopped()) throw nb::python_error();
    if (!job.why) return nb::make_tuple(job.taken, job.endless, nb::none());
    std::string why = job.why;
    if (job.viewer >= 0) why = "a state drawn from what player " + std::to_string(job.viewer) + " sees: " + why;
    const std::vector<int> round(actions.begin(), actions.begin() + job.length);
    return nb::make_tuple(job.taken, job.endless, nb::make_tuple(why, job.dealer, job.deal_seed, round));
}

void bind_batch(nb::module_& m) {
    nb::class_<OwnedBatch> batch(
        m, "Batch",
        "Many games stepped together; uno_flex_env.batch.Batch owns its arrays. While one thread\n"
        "is in a method, RuntimeError in every other thread that calls one.");
    batch
        .def(nb::init<int, const EpisodeOptions&, bool, int>(), nb::kw_only(), "num_envs"_a, "options"_a, "autoreset"_a,
             "num_threads"_a = 1)
        .def(
            "set_buffers", &set_buffers, nb::kw_only(), "actions"_a, "observations"_a, "action_masks"_a, "histories"_a,
            "rewards"_a, "terminated"_a, "truncated"_a, "current_player"_a, "final_obs"_a,
            "Read actions from these C-contiguous arrays and write the rows to them. If an array has the wrong type or size,\n"
            "raise ValueError and keep the old ones.")
        .def("set_seats", &OwnedBatch::set_seats, "controllers"_a, "learning_seats"_a)
        .def("seed", &OwnedBatch::seed, "seed"_a)
        .def("seed_games", &OwnedBatch::seed_games, "seeds"_a, "which"_a,
             "Let the next reset_games deal these games what game 0 of a batch with their seed is dealt.")
        .def("reset", &OwnedBatch::reset, "Deal every game anew; write observations, masks, histories and players.")
        .def("reset_games", &OwnedBatch::reset_games, "which"_a,
             "Reset these games, each with the seed of its next episode.")
        .def("step", &OwnedBatch::step)
        .def("sample", &OwnedBatch::sample, "actions"_a.noconvert())
        .def("random_steps", &OwnedBatch::random_steps, "steps"_a, "parts"_a = int(kAll))
        .def("touch", &OwnedBatch::touch, "steps"_a);
    batch.def("state", &OwnedBatch::state, "game"_a)
        .def("episode_seed", &OwnedBatch::seed_of_episode, "game"_a)
        .def("write_hidden_hands", &OwnedBatch::write_hands, "rows"_a.noconvert())
        .def("refresh", &OwnedBatch::refresh)
        .def("to_bytes", &to_bytes, "All data that determine how the batch goes on.")
        .def("from_bytes", &from_bytes, "bytes"_a)
        .def_prop_ro("level", [](const OwnedBatch& b) { return b.kernel.name; })
        .def_ro("dealt", &OwnedBatch::dealt, "Whether the games have been dealt.")
        .def_prop_ro("num_threads", [](const OwnedBatch& b) { return b.pool.threads(); });
}

}  // namespace

void bind_batches(nb::module_& m) {
    bind_batch(m);
    m.def("act", &bot_actions, "bot"_a, "masks"_a, "noise"_a, "actions"_a.noconvert());
    m.def(
        "soak", &soak_rounds, "rules"_a, "num_players"_a, "match"_a, "seed"_a, "decisions"_a, "spoil_at"_a = 0,
        "Play random rounds, or matches, and check everything after every action. Returns the number of decisions,\n"
        "whether the last round did not end within 65,536 actions, and None or, of the fault found, what is wrong, dealer,\n"
        "seed of the deal and actions of the round.");
}
