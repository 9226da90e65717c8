// States and views for Python.
#include "bindings_work.hpp"
#include "episode.hpp"
#include "information.hpp"
#include "observation.hpp"
#include "perft.hpp"
#include "reasons.hpp"
#include "setup.hpp"

namespace {

using Row = Array<uint8_t, nb::shape<kFeatures>>;
using MaskRow = Array<int8_t, nb::shape<kActions>>;

std::vector<int> faces_of(const Cards& cards) {
    uint8_t faces[kDeckSize];
    const int n = list(cards, faces);
    return {faces, faces + n};
}

// ---- Making a state ----

State deal_round(const Rules& rules, int num_players, int dealer, uint64_t seed) {
    check_table(rules, num_players, dealer);
    State s;
    deal(s, rules, num_players, dealer, seed);
    return s;
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

State position(const Rules& rules, const std::vector<std::vector<int>>& hands, int top, int color, int current_player,
               int direction, int green, const std::vector<int>& discards, const std::optional<std::vector<int>>& pile,
               uint64_t seed) {
    require(hands.size() <= size_t(kMaxPlayers), "at most 8 hands, got " + std::to_string(hands.size()));
    cards_of({top});
    Setup setup;
    setup.rules = rules;
    setup.num_players = int(hands.size());
    for (size_t p = 0; p < hands.size(); ++p) setup.hand[p] = cards_of(hands[p]);
    setup.discards = cards_of(discards);
    setup.top = top;
    setup.color = color;
    setup.current_player = current_player;
    setup.direction = direction;
    setup.green = green;
    setup.ordered = pile.has_value();
    if (pile) {
        setup.pile_size = count(cards_of(*pile));
        for (int i = 0; i < setup.pile_size; ++i) setup.pile[i] = uint8_t((*pile)[i]);
    }
    setup.seed = seed;
    State s;
    if (const char* why = set_up(setup, s)) refuse_value(std::string("no valid position: ") + why);
    return s;
}

State from_bytes(nb::bytes bytes) {
    require(bytes.size() == sizeof(State),
            "a state has " + std::to_string(sizeof(State)) + " bytes, got " + std::to_string(bytes.size()));
    State s;
    std::memcpy(static_cast<void*>(&s), bytes.c_str(), sizeof s);
    if (const char* why = check(s)) refuse_value(std::string("no valid state: ") + why);
    return s;
}

State copy(const State& s) { return s; }
State deep_copy(const State& s, nb::handle) { return s; }
void set_state(State& s, nb::bytes bytes) { new (&s) State(from_bytes(bytes)); }
nb::bytes to_bytes(const State& s) { return nb::bytes(reinterpret_cast<const char*>(&s), sizeof s); }

bool equals(const State& a, nb::handle other) {
    return nb::isinstance<State>(other) && std::memcmp(&a, &nb::cast<const State&>(other), sizeof(State)) == 0;
}

void bind_making(nb::class_<State>& state) {
    state.def_static("deal", &deal_round, "rules"_a, "num_players"_a, "dealer"_a, "seed"_a)
        .def_static("deal_deck", &deal_deck, "rules"_a, "num_players"_a, "dealer"_a, "deck"_a, "seed"_a = 0,
                    "Deal this deck in its order, first dealt first.")
        .def_static("position", &position, "rules"_a, "hands"_a, "top"_a, "color"_a, "current_player"_a, "direction"_a,
                    "green"_a, "discards"_a, "pile"_a.none(), "seed"_a, "A position set up by hand, before a turn.")
        .def_static("from_bytes", &from_bytes, "bytes"_a,
                    "Read a state from its bytes; ValueError if they are not a valid state.")
        .def("to_bytes", &to_bytes, "704 bytes: the whole state, generator included.")
        .def("copy", &copy)
        .def("__copy__", &copy)
        .def("__deepcopy__", &deep_copy, "memo"_a)
        .def("__getstate__", &to_bytes)
        .def("__setstate__", &set_state)
        .def("__eq__", &equals, "other"_a.none());
}

// ---- Playing ----

void apply_checked(State& s, int action) {
    require_legal(s, action);
    apply(s, action);
}

std::optional<std::string> reason(const State& s, int action) {
    require(action >= 0 && action < kActions, "there is no action " + std::to_string(action));
    return or_none(why_illegal(s, action));
}

std::optional<std::string> broken_invariant(const State& s) { return or_none(check(s)); }

std::vector<int> list_legal(const State& s) {
    std::vector<int> legal;
    for (int a = 0; a < kActions; ++a)
        if (contains(s.legal, a)) legal.push_back(a);
    return legal;
}

void begin_match(State& s) {
    require(s.ply == 0, "a match begins with a deal");
    s.flags |= kMatch;
}

void next_round_checked(State& s, uint64_t seed) {
    require(has(s, kMatch) && is_over(s) && match_winner(s) == kNone, "no round of a match follows here");
    deal_next_round(s, seed);
}

uint64_t checked_perft(const State& s, int64_t depth) {
    require(depth >= 0 && depth <= kMaxPerftDepth,
            "depth must be from 0 to " + std::to_string(kMaxPerftDepth) + ", got " + std::to_string(depth));
    uint64_t positions = 0;
    interruptible([&](uno_flex_kernel::Interrupt& interrupt) { positions = perft(s, int(depth), interrupt); });
    return positions;
}

void bind_playing(nb::class_<State>& state) {
    state
        .def("apply", &apply_checked, "action"_a,
             "Take one action. ValueError if it is illegal; the state is then as before.")
        .def("is_legal", &is_legal, "action"_a)
        .def("why_illegal", &reason, "action"_a,
             "Why the current player can't take this action, with the number of the rule; None if it is legal.")
        .def("legal_actions", &list_legal)
        .def("begin_match", &begin_match)
        .def("next_round", &next_round_checked, "seed"_a, "Deal the next round of the match that began with this seed.")
        .def("perft", &checked_perft, "depth"_a,
             "Number of positions after `depth` (0 to 100) more actions or at an earlier end.")
        .def("check", &broken_invariant, "Which invariant is broken, or None.");
}

// ---- What players see ----

View hide_from(const State& s, int viewer) {
    check_seat(s, viewer);
    return {hide(s, viewer), viewer};
}

void encode_row(const State& s, int viewer, Row row) {
    check_seat(s, viewer);
    encode(s, viewer, row.data());
}

void write_mask_row(const State& s, MaskRow row) { write_mask(s.legal, reinterpret_cast<uint8_t*>(row.data())); }

std::vector<int> known_cards(const State& s, int viewer, int owner) {
    check_seat(s, viewer);
    check_seat(s, owner);
    return faces_of(viewer == owner ? Cards{} : hide(s, viewer).hand[owner]);
}

std::vector<int> seen_hand(const View& v, int seat) {
    check_seat(v.state, seat);
    return faces_of(v.state.hand[seat]);
}

State determinize_view(const View& v, uint64_t seed) {
    require(!is_over(v.state), "the round is over: there is no current player");
    return determinize(v.state, v.viewer, seed);
}

bool same_view(const View& a, nb::handle other) {
    if (!nb::isinstance<View>(other)) return false;
    const View& b = nb::cast<const View&>(other);
    return a.viewer == b.viewer && std::memcmp(&a.state, &b.state, sizeof(State)) == 0;
}

void bind_view(nb::module_& m) {
    nb::class_<View>(m, "View", "What one player sees of a state; see State.hide.")
        .def_ro("viewer", &View::viewer)
        .def(
            "determinize", &determinize_view, "seed"_a,
            "A full state drawn uniformly from those in which every card is where it can be: every arrangement of the\n"
            "hidden cards is equally likely, copies of a wild told apart. The same seed gives the same state.\n\n"
            "It agrees with the player's hand, the discard pile, the sizes of hands and pile, the cards seen in a\n"
            "challenge, and what reshuffles tell about the place of each card. Nothing else is inferred. A world can give\n"
            "a player a card that the play so far rules out: one that fits although the player had to draw, a card of\n"
            "the active color behind a strict Draw Four or a failed challenge of another player's, or no fitting card\n"
            "behind a kept one. How likely a player is to play so with a hand is not weighed either.")
        .def(
            "to_bytes", [](const View& v) { return to_bytes(v.state); },
            "Equal for two states exactly if the player can't tell them apart. A state's 704 bytes, blank where the player\n"
            "can't know.")
        .def("hand", &seen_hand, "seat"_a,
             "The player's own hand, or the cards of another hand that the player knows from a challenge.")
        .def_prop_ro("discards", [](const View& v) { return faces_of(v.state.discard); })
        .def_prop_ro("deck", [](const View& v) { return faces_of(v.state.deck); })
        .def(
            "legal_actions", [](const View& v) { return list_legal(v.state); },
            "The actions that the player may take now; none if another one decides.")
        .def("__eq__", &same_view, "other"_a.none());
}

void bind_seeing(nb::class_<State>& state) {
    state
        .def("encode", &encode_row, "viewer"_a, "row"_a.noconvert(),
             "Write what this seat sees into a row of 640 uint8.")
        .def("write_mask", &write_mask_row, "row"_a.noconvert(),
             "Write the legal actions of the current player into a row of 216 int8.")
        .def("hide", &hide_from, "viewer"_a, "What this seat sees: everything else is blank.")
        .def("known", &known_cards, "viewer"_a, "owner"_a,
             "Cards that the viewer knows in the owner's hand from a challenge.");
}

// ---- Reading fields ----

std::vector<int> hand_of(const State& s, int seat) {
    check_seat(s, seat);
    return faces_of(s.hand[seat]);
}

std::vector<int> draw_pile(const State& s) {
    uint8_t faces[kDeckSize];
    const int n = pile_order(s, faces);
    return {faces, faces + n};
}

void bind_cards(nb::class_<State>& state) {
    state.def("hand", &hand_of, "seat"_a)
        .def("pile_order", &draw_pile, "The draw pile, next card first.")
        .def_prop_ro("discards", [](const State& s) { return faces_of(s.discard); })
        .def_prop_ro("drawn", [](const State& s) { return or_minus_one(s.drawn); })
        .def_prop_ro("sizes", [](const State& s) { return std::vector<int>(s.size, s.size + s.num_players); });
}

void bind_fields(nb::class_<State>& state) {
#define UNO_FLEX_READ(name) state.def_prop_ro(#name, [](const State& s) { return int(s.name); })
    UNO_FLEX_READ(num_players);
    UNO_FLEX_READ(dealer);
    UNO_FLEX_READ(phase);
    UNO_FLEX_READ(direction);
    UNO_FLEX_READ(top);
    UNO_FLEX_READ(color);
    UNO_FLEX_READ(prior_color);
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
    state.def_prop_ro("current_player", [](const State& s) { return or_minus_one(s.current_player); })
        .def_prop_ro("winner", [](const State& s) { return or_minus_one(s.winner); })
        .def_prop_ro("match_winner", [](const State& s) { return or_minus_one(match_winner(s)); })
        .def_prop_ro("is_over", [](const State& s) { return is_over(s); })
        .def_prop_ro("scores", [](const State& s) { return std::vector<int>(s.score, s.score + s.num_players); });
}

}  // namespace

void bind_states(nb::module_& m) {
    bind_view(m);
    nb::class_<State> state(m, "State",
                            "One round, or the present round of a match: everything, hidden cards included.");
    bind_making(state);
    bind_playing(state);
    bind_seeing(state);
    bind_cards(state);
    bind_fields(state);
}
