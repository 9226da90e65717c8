// Rules, states, views and scripted reshuffles for Python.
#include <array>

#include "bindings.hpp"
#include "information.hpp"
#include "observation.hpp"

namespace {

using Row = Array<uint8_t, nb::shape<kFeatures>>;
using MaskRow = Array<int8_t, nb::shape<kActions>>;

Rules make_rules(int switches, int hand_size, int target_score, const std::optional<std::vector<int>>& counts) {
    require(switches >= 0 && switches < 1 << kSwitches, "unknown switch");
    require(hand_size >= 1 && hand_size <= kMaxDealt,
            "hand_size must be from 1 to 63, got " + std::to_string(hand_size));
    require(target_score >= 1 && target_score <= kMaxTargetScore,
            "target_score must be from 1 to 60000, got " + std::to_string(target_score));
    Rules rules = kOfficialRules;
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

void check_seat(const State& s, int seat) {
    require(seat >= 0 && seat < s.num_players,
            "the seat must be from 0 to " + std::to_string(s.num_players - 1) + ", got " + std::to_string(seat));
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

State deal_deck(const Rules& rules, int num_players, int dealer, const std::vector<int>& deck, uint64_t seed) {
    check_table(rules, num_players, dealer);
    require(equal(cards_of(deck), rules.deck), "the deck does not hold the cards that the rules name");
    uint8_t faces[kDeckSize];
    for (size_t i = 0; i < deck.size(); ++i) faces[i] = uint8_t(deck[i]);
    State s;
    deal_ordered(s, rules, num_players, dealer, faces, seed);
    return s;
}

/// A position set up by hand: a turn is about to be played. Cards not named lie in the draw pile, shuffled, or, where
/// the draw pile is given (next card first), under the top.
State lay_position(const Rules& rules, const std::vector<std::vector<int>>& hands, int top, int color,
                   int current_player, int direction, int green, const std::vector<int>& discards,
                   const std::optional<std::vector<int>>& pile, uint64_t seed) {
    const int num_players = int(hands.size());
    if (const char* why = refuse(rules, num_players)) refuse_value(why);
    require(current_player >= 0 && current_player < num_players,
            "no such seat to decide: " + std::to_string(current_player));
    require(direction == 1 || direction == -1, "direction must be 1 or -1, got " + std::to_string(direction));
    require(color >= 0 && color < kColors, "no such color: " + std::to_string(color));
    State s;
    clear_table(s, rules, num_players, (current_player + num_players - 1) % num_players);
    s.rng = seed;
    s.rng = next_random(s.rng);
    std::vector<int> named = discards;
    named.push_back(top);
    s.discard = cards_of(named);
    for (int p = 0; p < num_players; ++p) {
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
        lay_pile(s, rest);
    }
    s.discard_size = uint8_t(count(s.discard));
    s.top = uint8_t(top);
    s.color = s.prior_color = uint8_t(color);
    s.current_player = s.turn = uint8_t(current_player);
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

}  // namespace

void bind_states(nb::module_& m) {
    nb::class_<Rules>(m, "Rules", "The switches of the rules as numbers; uno_flex_env.Rules is the face for people.")
        .def(
            "__init__",
            [](Rules* self, int switches, int hand_size, int target_score, std::optional<std::vector<int>> deck) {
                new (self) Rules(make_rules(switches, hand_size, target_score, deck));
            },
            "switches"_a = 0, "hand_size"_a = 7, "target_score"_a = 500, "deck"_a = nb::none())
        .def(
            "refuse", [](const Rules& r, int num_players) { return refuse(r, num_players); }, "num_players"_a,
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
        .def(
            "__eq__",
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
            [](const Rules& rules, int num_players, int dealer, uint64_t seed) {
                check_table(rules, num_players, dealer);
                State s;
                deal(s, rules, num_players, dealer, seed);
                return s;
            },
            "rules"_a, "num_players"_a, "dealer"_a, "seed"_a)
        .def_static("deal_deck", &deal_deck, "rules"_a, "num_players"_a, "dealer"_a, "deck"_a, "seed"_a = 0,
                    "Deal this deck in its order, first dealt first.")
        .def_static("position", &lay_position, "rules"_a, "hands"_a, "top"_a, "color"_a, "current_player"_a,
                    "direction"_a, "green"_a, "discards"_a, "pile"_a.none(), "seed"_a,
                    "A table set up by hand, before a turn.")
        .def_static("from_bytes", &state_from_bytes, "bytes"_a,
                    "Any bytes are a valid state or refused with ValueError.")
        .def("to_bytes", &bytes_of, "704 bytes: the whole state, generator included.")
        .def("copy", [](const State& s) { return s; })
        .def("__copy__", [](const State& s) { return s; })
        .def(
            "__deepcopy__", [](const State& s, nb::handle) { return s; }, "memo"_a)
        .def("__getstate__", &bytes_of)
        .def("__setstate__", [](State& s, nb::bytes bytes) { new (&s) State(state_from_bytes(bytes)); })
        .def(
            "__eq__",
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
        .def(
            "perft",
            [](const State& s, int depth) {
                require(depth >= 0, "depth must not be negative, got " + std::to_string(depth));
                return perft(s, depth);
            },
            "depth"_a, "Positions after `depth` more actions, or at an earlier end.")
        .def(
            "returns",
            [](const State& s, int reward, int winner) {
                float out[kMaxPlayers];
                returns(s, Reward(reward), winner < 0 ? kNone : winner, out);
                return std::vector<float>(out, out + s.num_players);
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
    UNO_FLEX_READ(num_players);
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
    state
        .def_prop_ro("current_player",
                     [](const State& s) { return s.current_player == kNone ? -1 : int(s.current_player); })
        .def_prop_ro("winner", [](const State& s) { return s.winner == kNone ? -1 : int(s.winner); })
        .def_prop_ro("drawn", [](const State& s) { return s.drawn == kNone ? -1 : int(s.drawn); })
        .def_prop_ro("is_over", [](const State& s) { return is_over(s); })
        .def_prop_ro("sizes", [](const State& s) { return std::vector<int>(s.size, s.size + s.num_players); })
        .def_prop_ro("scores", [](const State& s) { return std::vector<int>(s.score, s.score + s.num_players); });
    m.def("shuffled_deck", &shuffled_deck, "rules"_a, "seed"_a, "The deck in the order in which this seed deals it.");
    m.def("round_seed", &round_seed, "seed"_a, "round"_a);
}
