// What Python sees of the core. Bad input is refused here with ValueError; the engine itself trusts its callers.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "batch.hpp"
#include "check.hpp"
#include "information.hpp"
#include "pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace uno_flex;
using uno_flex_kernel::Kernel;
using uno_flex_kernel::kEveryone;
using uno_flex_kernel::Pool;

namespace {

template <class T, class... Dims>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Dims...>;
using Row = Array<uint8_t, nb::shape<kFeatures>>;
using MaskRow = Array<int8_t, nb::shape<kActions>>;

[[noreturn]] void refuse_value(const std::string& why) { throw nb::value_error(why.c_str()); }

void require(bool condition, const std::string& why) {
    if (!condition) refuse_value(why);
}

// ---- Instruction-set levels ----

bool cpu_runs(const char* level) {
    const std::string name = level;
    if (name == "baseline") return true;
#if defined(UNO_FLEX_X86) && defined(__GNUC__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                      __builtin_cpu_supports("fma");
    if (name == "avx2") return avx2;
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi");
#elif defined(UNO_FLEX_X86) && defined(_MSC_VER)
    int regs[4];
    __cpuid(regs, 1);
    const bool os_saves = (regs[2] >> 27 & 1) && (regs[2] >> 28 & 1);
    if (!os_saves) return false;
    const uint64_t saved = _xgetbv(0);
    __cpuidex(regs, 7, 0);
    const bool avx2 = (saved & 6) == 6 && (regs[1] >> 5 & 1) && (regs[1] >> 3 & 1) && (regs[1] >> 8 & 1);
    if (name == "avx2") return avx2;
    const int need = 1 << 16 | 1 << 17 | 1 << 30 | int(1u << 31);  // F, DQ, BW, VL
    return avx2 && (saved & 0xE6) == 0xE6 && (regs[1] & need) == need && (regs[2] >> 1 & 1);
#else
    return false;
#endif
}

std::vector<const Kernel*> kernels() {
    std::vector<const Kernel*> all;
#if defined(UNO_FLEX_X86)
    all = {&uno_flex_kernel::kernel_avx512, &uno_flex_kernel::kernel_avx2};
#endif
    all.push_back(&uno_flex_kernel::kernel_baseline);
    std::vector<const Kernel*> usable;
    for (const Kernel* k : all)
        if (cpu_runs(k->name)) usable.push_back(k);
    return usable;
}

/// The best level of this processor, or the one that UNO_FLEX_LEVEL names.
const Kernel& choose_kernel() {
    const auto usable = kernels();
    const char* forced = std::getenv("UNO_FLEX_LEVEL");
    if (!forced || !*forced) return *usable.front();
    std::string names;
    for (const Kernel* k : usable) {
        if (std::string(k->name) == forced) return *k;
        names += std::string(names.empty() ? "" : ", ") + k->name;
    }
    refuse_value("UNO_FLEX_LEVEL is '" + std::string(forced) + "'; this processor runs " + names);
}

// ---- Rules and states ----

Rules make_rules(int switches, int hand_size, int target_score, const std::optional<std::vector<int>>& counts) {
    require(switches >= 0 && switches < 1 << kSwitches, "unknown switch");
    require(hand_size >= 1 && hand_size <= kMaxDealt,
            "hand_size must be from 1 to 63, got " + std::to_string(hand_size));
    require(target_score >= 1 && target_score <= kMaxTargetScore,
            "target_score must be from 1 to 60000, got " + std::to_string(target_score));
    Rules rules;
    rules.switches = uint16_t(switches);
    rules.hand_size = uint8_t(hand_size);
    rules.target_score = uint16_t(target_score);
    if (counts) {
        require(counts->size() == size_t(kFaces), "a deck is given as 92 counts");
        rules.deck = Cards{};
        for (int f = 0; f < kFaces; ++f) {
            const int n = (*counts)[f];
            require(n >= 0 && n <= kFace[f].count,
                    "the deck has more of a card than the official one, or less than none");
            for (int k = 0; k < n; ++k) add(rules.deck, f);
        }
    }
    return rules;
}

void check_table(const Rules& rules, int players, int dealer) {
    if (const char* why = refuse(rules, players)) refuse_value(why);
    require(dealer >= 0 && dealer < players,
            "the dealer must be a seat from 0 to " + std::to_string(players - 1) + ", got " + std::to_string(dealer));
}

void check_seat(const State& s, int seat) {
    require(seat >= 0 && seat < s.players,
            "the seat must be from 0 to " + std::to_string(s.players - 1) + ", got " + std::to_string(seat));
}

Cards cards_of(const std::vector<int>& faces) {
    Cards cards{};
    for (int f : faces) {
        require(f >= 0 && f < kFaces, "a card must be from 0 to 91, got " + std::to_string(f));
        require(count(cards, f) < kFace[f].count, "more copies of a card than the deck has: " + std::to_string(f));
        add(cards, f);
    }
    return cards;
}

std::vector<int> faces_of(const Cards& cards) {
    uint8_t faces[kDeckSize];
    const int n = list(cards, faces);
    return {faces, faces + n};
}

State deal_deck(const Rules& rules, int players, int dealer, const std::vector<int>& deck, uint64_t seed) {
    check_table(rules, players, dealer);
    require(equal(cards_of(deck), rules.deck), "the deck does not hold the cards that the rules name");
    uint8_t faces[kDeckSize];
    for (size_t i = 0; i < deck.size(); ++i) faces[i] = uint8_t(deck[i]);
    State s;
    deal_ordered(s, rules, players, dealer, faces, seed);
    return s;
}

/// A position set up by hand: a turn is about to be played. Cards not named lie in the draw pile, shuffled, or, where
/// the draw pile is given (next card first), under the top.
State lay_position(const Rules& rules, const std::vector<std::vector<int>>& hands, int top, int color, int mover,
                   int direction, int green, const std::vector<int>& discards,
                   const std::optional<std::vector<int>>& pile, uint64_t seed) {
    const int players = int(hands.size());
    if (const char* why = refuse(rules, players)) refuse_value(why);
    require(mover >= 0 && mover < players, "no such seat to move: " + std::to_string(mover));
    require(direction == 1 || direction == -1, "direction must be 1 or -1, got " + std::to_string(direction));
    require(color >= 0 && color < kColors, "no such color: " + std::to_string(color));
    State s;
    clear_table(s, rules, players, (mover + players - 1) % players);
    s.rng = seed;
    s.rng = next_random(s.rng);
    std::vector<int> named = discards;
    named.push_back(top);
    s.discard = cards_of(named);
    for (int p = 0; p < players; ++p) {
        s.hand[p] = cards_of(hands[p]);
        s.size[p] = uint8_t(hands[p].size());
        named.insert(named.end(), hands[p].begin(), hands[p].end());
    }
    if (pile) named.insert(named.end(), pile->begin(), pile->end());
    const Cards all = cards_of(named);
    for (int f = 0; f < kFaces; ++f)
        require(count(all, f) <= count(rules.deck, f), "more copies of a card than the deck has: " + std::to_string(f));
    const Cards rest = minus(rules.deck, all);
    if (pile) {
        s.discard = plus(s.discard, rest);
        s.flags = kOrderedPile;
        s.pile_size = uint8_t(pile->size());
        for (size_t i = 0; i < pile->size(); ++i) s.pile[i] = uint8_t((*pile)[pile->size() - 1 - i]);
    } else {
        s.pile_size = uint8_t(list(rest, s.pile));
    }
    s.discard_size = uint8_t(count(s.discard));
    s.top = uint8_t(top);
    s.color = s.prior_color = uint8_t(color);
    s.mover = s.turn = uint8_t(mover);
    s.direction = int8_t(direction);
    s.green = uint8_t(green);
    s.legal = legal_actions(s);
    if (const char* why = check(s)) refuse_value(std::string("no valid position: ") + why);
    return s;
}

std::vector<int> shuffled_deck(const Rules& rules, uint64_t seed) {
    State s;
    clear_table(s, rules, kMinPlayers, 0);
    shuffle_deck(s, seed);
    uint8_t faces[kDeckSize];
    const int n = pile_order(s, faces);
    return {faces, faces + n};
}

State state_from_bytes(nb::bytes bytes) {
    require(bytes.size() == sizeof(State),
            "a state has " + std::to_string(sizeof(State)) + " bytes, got " + std::to_string(bytes.size()));
    State s;
    std::memcpy(static_cast<void*>(&s), bytes.c_str(), sizeof s);
    if (const char* why = check(s)) refuse_value(std::string("no valid state: ") + why);
    return s;
}

nb::bytes bytes_of(const State& s) { return nb::bytes(reinterpret_cast<const char*>(&s), sizeof s); }

void apply_checked(State& s, int action) {
    require(action >= 0 && action < kActions && contains(s.legal, action), "illegal action " + std::to_string(action));
    apply(s, action);
}

/// The draw piles of a record on their way into a game, or of a game on their way into a record.
struct Reshuffles {
    std::vector<std::array<uint8_t, kDeckSize>> piles;
    std::vector<int> sizes;
    Tape tape;

    Reshuffles() = default;
    explicit Reshuffles(const std::vector<std::vector<int>>& scripted) {
        tape.scripted = true;
        tape.count = int(scripted.size());
        for (const auto& pile : scripted) {
            cards_of(pile);
            piles.emplace_back();
            for (size_t i = 0; i < pile.size(); ++i) piles.back()[i] = uint8_t(pile[i]);
            sizes.push_back(int(pile.size()));
        }
    }
    void apply_to(State& s, int action) {
        require(action >= 0 && action < kActions && contains(s.legal, action),
                "illegal action " + std::to_string(action));
        tape.script = reinterpret_cast<const uint8_t (*)[kDeckSize]>(piles.data());
        tape.script_size = sizes.data();
        tape.error = nullptr;
        State next = s;
        apply(next, action, &tape);
        if (tape.error) refuse_value(tape.error);
        s = next;
    }
};

uint64_t perft(const State& s, int depth) {
    if (depth == 0 || is_over(s)) return 1;
    if (depth == 1) return uint64_t(count(s.legal));
    uint64_t leaves = 0;
    for (int a = 0; a < kActions; ++a)
        if (contains(s.legal, a)) {
            State next = s;
            apply(next, a);
            leaves += perft(next, depth - 1);
        }
    return leaves;
}

/// What one player sees (information.hpp).
struct View {
    State state;
    int viewer;
};

// ---- Batches ----

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

    BatchGames(int games, int players, const Rules& rules_, int dealer, bool match, int reward, int history,
               int64_t max_decisions, bool deal_again, int threads)
        : rules(rules_), pool(check_threads(threads)), kernel(choose_kernel()) {
        check_table(rules, players, dealer);
        require(games >= 1, "num_games must be at least 1, got " + std::to_string(games));
        require(history >= 0 && history <= 1024, "history must be from 0 to 1024, got " + std::to_string(history));
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
        batch.players = players;
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
            require(learning[i] < batch.players || learning[i] == kEveryone, "unknown seat");
    }
    void note_events() {
        batch.eventful = batch.max_decisions != 0;
        for (uint8_t c : controllers) batch.eventful |= c != uno_flex_kernel::kExternal;
    }
    static int check_threads(int threads) {
        require(threads >= 1 && threads <= 1024, "num_threads must be from 1 to 1024, got " + std::to_string(threads));
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

void bind_rules_and_states(nb::module_& m) {
    nb::class_<Rules>(m, "Rules", "The switches of the rules as numbers; uno_flex_env.Rules is the face for people.")
        .def(
            "__init__",
            [](Rules* self, int switches, int hand_size, int target_score, std::optional<std::vector<int>> deck) {
                new (self) Rules(make_rules(switches, hand_size, target_score, deck));
            },
            "switches"_a = 0, "hand_size"_a = 7, "target_score"_a = 500, "deck"_a = nb::none())
        .def(
            "refuse", [](const Rules& r, int players) { return refuse(r, players); }, "players"_a,
            "Why so many players can't play by these rules, or None.");

    nb::class_<Reshuffles>(m, "Reshuffles", "Draw piles renewed in a game: scripted by a record, or noted for one.")
        .def(nb::init<>())
        .def(nb::init<const std::vector<std::vector<int>>&>(), "scripted"_a)
        .def("apply", &Reshuffles::apply_to, "state"_a, "action"_a)
        .def_prop_ro("used", [](const Reshuffles& r) { return r.tape.used; })
        .def_prop_ro("noted", [](const Reshuffles& r) {
            return std::vector<int>(r.tape.noted, r.tape.noted + r.tape.noted_size);
        });

    nb::class_<View>(m, "View", "What one player sees of a state; see State.hide.")
        .def_ro("viewer", &View::viewer)
        .def(
            "determinize",
            [](const View& v, uint64_t seed) {
                require(!is_over(v.state), "the round is over: nobody decides any more");
                return determinize(v.state, v.viewer, seed);
            },
            "seed"_a,
            "A full state that agrees with the view, drawn uniformly: every arrangement of the hidden cards is equally\n"
            "likely, copies of a wild told apart. The same seed gives the same state.")
        .def(
            "to_bytes", [](const View& v) { return bytes_of(v.state); },
            "Equal for two states exactly if the player can't tell them apart.")
        .def("__eq__",
             [](const View& a, nb::handle other) {
                 if (!nb::isinstance<View>(other)) return false;
                 const View& b = nb::cast<const View&>(other);
                 return a.viewer == b.viewer && std::memcmp(&a.state, &b.state, sizeof(State)) == 0;
             },
             "other"_a.none());

    nb::class_<State> state(m, "State",
                            "One round, or the present round of a match: everything, hidden cards included.");
    state
        .def_static(
            "deal",
            [](const Rules& rules, int players, int dealer, uint64_t seed) {
                check_table(rules, players, dealer);
                State s;
                deal(s, rules, players, dealer, seed);
                return s;
            },
            "rules"_a, "players"_a, "dealer"_a, "seed"_a)
        .def_static("deal_deck", &deal_deck, "rules"_a, "players"_a, "dealer"_a, "deck"_a, "seed"_a = 0,
                    "Deal this deck in its order, first dealt first.")
        .def_static("position", &lay_position, "rules"_a, "hands"_a, "top"_a, "color"_a, "mover"_a, "direction"_a,
                    "green"_a, "discards"_a, "pile"_a.none(), "seed"_a, "A table set up by hand, before a turn.")
        .def_static("from_bytes", &state_from_bytes, "bytes"_a,
                    "Any bytes are a valid state or refused with ValueError.")
        .def("to_bytes", &bytes_of, "704 bytes: the whole state, generator included.")
        .def("copy", [](const State& s) { return s; })
        .def("__copy__", [](const State& s) { return s; })
        .def(
            "__deepcopy__", [](const State& s, nb::handle) { return s; }, "memo"_a)
        .def("__getstate__", &bytes_of)
        .def("__setstate__", [](State& s, nb::bytes bytes) { new (&s) State(state_from_bytes(bytes)); })
        .def("__eq__",
             [](const State& a, nb::handle other) {
                 return nb::isinstance<State>(other) &&
                        std::memcmp(&a, &nb::cast<const State&>(other), sizeof(State)) == 0;
             },
             "other"_a.none())
        .def("apply", &apply_checked, "action"_a,
             "Take one action. ValueError if it is illegal; the state is then as before.")
        .def(
            "is_legal",
            [](const State& s, int action) { return action >= 0 && action < kActions && contains(s.legal, action); },
            "action"_a)
        .def("legal_actions",
             [](const State& s) {
                 std::vector<int> legal;
                 for (int a = 0; a < kActions; ++a)
                     if (contains(s.legal, a)) legal.push_back(a);
                 return legal;
             })
        .def(
            "encode",
            [](const State& s, int viewer, Row row) {
                check_seat(s, viewer);
                encode(s, viewer, row.data());
            },
            "viewer"_a, "row"_a, "Write what this seat sees into a row of 640 uint8.")
        .def(
            "write_mask",
            [](const State& s, MaskRow row) { write_mask(s.legal, reinterpret_cast<uint8_t*>(row.data())); }, "row"_a,
            "Write the legal actions of whoever decides into a row of 216 int8.")
        .def(
            "hide",
            [](const State& s, int viewer) {
                check_seat(s, viewer);
                return View{hide(s, viewer), viewer};
            },
            "viewer"_a, "What this seat sees: everything else is blank.")
        .def(
            "check", [](const State& s) { return check(s); }, "Which invariant is broken, or None.")
        .def("perft", &perft, "depth"_a, "Positions after `depth` more actions, or at an earlier end.")
        .def(
            "returns",
            [](const State& s, int reward, int winner) {
                float out[kMaxPlayers];
                returns(s, Reward(reward), winner < 0 ? kNone : winner, out);
                return std::vector<float>(out, out + s.players);
            },
            "reward"_a, "winner"_a)
        .def("begin_match",
             [](State& s) {
                 require(s.ply == 0, "a match begins with a deal");
                 s.flags |= kMatch;
             })
        .def(
            "next_round",
            [](State& s, uint64_t seed) {
                require(has(s, kMatch) && is_over(s) && match_winner(s) == kNone, "no round of a match follows here");
                next_round(s, seed);
            },
            "seed"_a)
        .def_prop_ro("match_winner", [](const State& s) { return match_winner(s) == kNone ? -1 : match_winner(s); })
        .def(
            "pile_order",
            [](const State& s) {
                uint8_t faces[kDeckSize];
                const int n = pile_order(s, faces);
                return std::vector<int>(faces, faces + n);
            },
            "The draw pile, next card first.")
        .def(
            "hand",
            [](const State& s, int seat) {
                check_seat(s, seat);
                return faces_of(s.hand[seat]);
            },
            "seat"_a)
        .def(
            "known",
            [](const State& s, int viewer, int owner) {
                check_seat(s, viewer);
                check_seat(s, owner);
                return faces_of(viewer == owner ? Cards{} : hide(s, viewer).hand[owner]);
            },
            "viewer"_a, "owner"_a, "Cards that the viewer knows in the owner's hand from a challenge.")
        .def_prop_ro("discards", [](const State& s) { return faces_of(s.discard); });

#define UNO_FLEX_READ(name) state.def_prop_ro(#name, [](const State& s) { return int(s.name); })
    UNO_FLEX_READ(players);
    UNO_FLEX_READ(dealer);
    UNO_FLEX_READ(phase);
    UNO_FLEX_READ(direction);
    UNO_FLEX_READ(top);
    UNO_FLEX_READ(color);
    UNO_FLEX_READ(green);
    UNO_FLEX_READ(pile_size);
    UNO_FLEX_READ(discard_size);
    UNO_FLEX_READ(owed);
    UNO_FLEX_READ(points);
    UNO_FLEX_READ(ply);
    UNO_FLEX_READ(rounds);
    UNO_FLEX_READ(reshuffles);
    UNO_FLEX_READ(actor);
#undef UNO_FLEX_READ
    state.def_prop_ro("mover", [](const State& s) { return s.mover == kNone ? -1 : int(s.mover); })
        .def_prop_ro("winner", [](const State& s) { return s.winner == kNone ? -1 : int(s.winner); })
        .def_prop_ro("drawn", [](const State& s) { return s.drawn == kNone ? -1 : int(s.drawn); })
        .def_prop_ro("is_over", [](const State& s) { return is_over(s); })
        .def_prop_ro("sizes", [](const State& s) { return std::vector<int>(s.size, s.size + s.players); })
        .def_prop_ro("scores", [](const State& s) { return std::vector<int>(s.score, s.score + s.players); });
}

void bind_batch(nb::module_& m) {
    nb::class_<BatchGames>(m, "Batch", "Many games stepped together; uno_flex_env.VecEnv is its face.")
        .def(nb::init<int, int, const Rules&, int, bool, int, int, int64_t, bool, int>(), "games"_a, "players"_a,
             "rules"_a, "dealer"_a, "match"_a, "reward"_a, "history"_a, "max_decisions"_a, "deal_again"_a, "threads"_a)
        .def(
            "set_buffers",
            [](BatchGames& b, nb::ndarray<> actions, nb::ndarray<> observations, nb::ndarray<> masks,
               nb::ndarray<> histories, nb::ndarray<> rewards, nb::ndarray<> terminated, nb::ndarray<> truncated,
               nb::ndarray<> movers, nb::ndarray<> finals, int final_rows) {
                const size_t n = size_t(b.games());
                b.buffers.clear();
                b.batch.actions = data_of<int32_t>(b, actions, n, "actions");
                b.batch.observations = data_of<uint8_t>(b, observations, n * kFeatures, "observations");
                b.batch.masks = data_of<int8_t>(b, masks, n * kActions, "action_masks");
                b.batch.histories = data_of<int16_t>(b, histories, n * b.batch.history * 3, "histories");
                b.batch.rewards = data_of<float>(b, rewards, n * b.batch.players, "rewards");
                b.batch.terminated = data_of<uint8_t>(b, terminated, n, "terminated");
                b.batch.truncated = data_of<uint8_t>(b, truncated, n, "truncated");
                b.batch.movers = data_of<int8_t>(b, movers, n, "players");
                b.batch.final_observations =
                    data_of<uint8_t>(b, finals, n * size_t(final_rows) * kFeatures, "final_observations");
                b.batch.final_rows = final_rows;
            },
            "actions"_a, "observations"_a, "masks"_a, "histories"_a, "rewards"_a, "terminated"_a, "truncated"_a,
            "movers"_a, "finals"_a, "final_rows"_a)
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
            "controllers"_a, "learners"_a)
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
                    const bool fits = !check(states[g]) && states[g].players == b.batch.players;
                    require(fits && (is_over(states[g]) ? slots[g].lying : 1),
                            "game " + std::to_string(g) + " is no valid state");
                }
                b.check_seats(controllers.data(), learners.data());
                for (const auto& e : events)
                    require(e.action == kNoEvent || (e.action < kActions && e.seat < b.batch.players), "unknown event");
                std::memcpy(static_cast<void*>(b.states.data()), states.data(), size(states));
                std::memcpy(b.slots.data(), slots.data(), size(slots));
                std::memcpy(b.controllers.data(), controllers.data(), size(controllers));
                std::memcpy(b.learners.data(), learners.data(), size(learners));
                if (!events.empty()) std::memcpy(b.events.data(), events.data(), size(events));
                b.note_events();
            },
            "bytes"_a)
        .def_prop_ro("level", [](const BatchGames& b) { return b.kernel.name; })
        .def_prop_ro("threads", [](const BatchGames& b) { return b.pool.threads(); });
}

nb::tuple playout(const std::vector<const State*>& states, const std::vector<int>& bots, uint64_t seed, int repeats,
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
        require(size_t(s->players) == bots.size(),
                "a bot for each seat: " + std::to_string(s->players) + ", got " + std::to_string(bots.size()));
        copies.push_back(*s);
    }
    std::vector<int64_t> decisions(copies.size());
    const Kernel& kernel = choose_kernel();
    const uno_flex_kernel::Playouts job{copies.data(),  seats,         repeats,         seed,
                                        winners.data(), points.data(), decisions.data()};
    {
        nb::gil_scoped_release release;
        Pool pool(BatchGames::check_threads(threads));
        pool.run(int(copies.size()), [&](int begin, int end) { kernel.play_out(job, begin, end); });
    }
    int64_t total = 0;
    for (int64_t d : decisions) total += d;
    return nb::make_tuple(total);
}

/// What came of a soak: (decisions, whether the last round was given up, None or the fault).
nb::tuple soak_rounds(const Rules& rules, int players, bool match, uint64_t seed, int64_t decisions, int64_t spoil_at) {
    check_table(rules, players, 0);
    require(decisions >= 1, "decisions must be at least 1, got " + std::to_string(decisions));
    std::vector<uint8_t> actions(1 << 16);
    uno_flex_kernel::Soak job{&rules,    players,  match,          seed,
                              decisions, spoil_at, actions.data(), int64_t(actions.size())};
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

nb::list face_table() {
    nb::list faces;
    for (int f = 0; f < kFaces; ++f) {
        const Face& face = kFace[f];
        auto or_none = [](int v) { return v == kNone ? nb::object(nb::none()) : nb::object(nb::int_(v)); };
        faces.append(nb::make_tuple(or_none(face.color), or_none(face.symbol), int(face.count), int(face.points),
                                    or_none(face.flex_color), face.has_flex, face.flip_icon));
    }
    return faces;
}

nb::list action_table() {
    nb::list actions;
    for (int a = 0; a < kActions; ++a) {
        const Action& action = kAction[a];
        auto or_none = [](int v) { return v == kNone ? nb::object(nb::none()) : nb::object(nb::int_(v)); };
        actions.append(nb::make_tuple(int(action.verb), or_none(action.face), or_none(action.color), int(action.offset),
                                      action.flex));
    }
    return actions;
}

}  // namespace

NB_MODULE(_core, m) {
    // Python frees what modules hold in no particular order at exit; nanobind would report it as leaks.
    nb::set_leak_warnings(false);
    m.doc() = "The compiled core of uno_flex_env: rules, views, bots and batches.";
    bind_rules_and_states(m);
    bind_batch(m);
    m.def("playout", &playout, "states"_a, "bots"_a, "seed"_a, "repeats"_a, "threads"_a, "winners"_a, "points"_a);
    m.def(
        "soak", &soak_rounds, "rules"_a, "players"_a, "match"_a, "seed"_a, "decisions"_a, "spoil_at"_a = 0,
        "Play random rounds, or matches, and check everything after every action. Returns the number of decisions,\n"
        "whether the last round did not end within 65,536 actions, and None or, of the fault found, what is wrong, dealer,\n"
        "seed of the deal and actions of the round.");
    m.def("faces", &face_table,
          "(color, symbol, count, points, flex color, has a flex side, flip icon) of the 92 faces.");
    m.def("actions", &action_table, "(verb, face, called color, target offset, flex side) of the 216 actions.");
    m.def("shuffled_deck", &shuffled_deck, "rules"_a, "seed"_a, "The deck in the order in which this seed deals it.");
    m.def("round_seed", &round_seed, "seed"_a, "round"_a);
    m.def(
        "levels",
        [] {
            std::vector<std::string> names;
            for (const Kernel* k : kernels()) names.emplace_back(k->name);
            return names;
        },
        "Instruction-set levels that this processor runs, the best first.");
    nb::list fields, parts, bots;
    for (const FieldInfo& f : kStateFields) fields.append(nb::make_tuple(f.name, f.offset, f.size, f.item, f.columns));
    for (const Part& p : kParts) parts.append(nb::make_tuple(p.name, p.start, p.rows, p.columns));
    for (const char* name : kBotNames) bots.append(name);
    m.attr("STATE_FIELDS") = nb::tuple(fields);
    m.attr("STATE_SIZE") = sizeof(State);
    m.attr("LAYOUT") = nb::tuple(parts);
    m.attr("BOTS") = nb::tuple(bots);
    m.attr("SIZE_STEPS") = std::vector<int>(std::begin(kSizeSteps), std::end(kSizeSteps));
    m.attr("PILE_STEPS") = std::vector<int>(std::begin(kPileSteps), std::end(kPileSteps));
    m.attr("NUM_FEATURES") = kFeatures;
    m.attr("NUM_ACTIONS") = kActions;
}
