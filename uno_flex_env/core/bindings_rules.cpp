// Rules, shuffles and scripted reshuffles for Python.
#include <array>

#include "bindings.hpp"

namespace {

Cards deck_of(const std::vector<int>& counts) {
    require(counts.size() == size_t(kFaces), "a deck is given as 92 counts");
    Cards deck{};
    for (int f = 0; f < kFaces; ++f) {
        require(counts[f] >= 0 && counts[f] <= kFace[f].count,
                "the deck has more of a card than the official one, or less than none");
        for (int k = 0; k < counts[f]; ++k) add(deck, f);
    }
    return deck;
}

void make_rules(Rules* self, int switches, int hand_size, int target_score,
                const std::optional<std::vector<int>>& deck) {
    require(switches >= 0 && switches < 1 << kSwitches, "unknown switch");
    require(hand_size >= 1 && hand_size <= kMaxDealt,
            "hand_size must be from 1 to 63, got " + std::to_string(hand_size));
    require(target_score >= 1 && target_score <= kMaxTargetScore,
            "target_score must be from 1 to 60000, got " + std::to_string(target_score));
    new (self) Rules{uint16_t(switches), uint16_t(target_score), uint8_t(hand_size),
                     deck ? deck_of(*deck) : kOfficialRules.deck};
}

std::vector<int> shuffled_deck(const Rules& rules, uint64_t seed, int round) {
    State s;
    clear_table(s, rules, kMinPlayers, 0);
    shuffle_deck(s, round_seed(seed, round));
    uint8_t faces[kDeckSize];
    const int n = pile_order(s, faces);
    return {faces, faces + n};
}

/// The draw piles that a game takes from a record, or that a record takes from a game.
struct Reshuffles {
    std::vector<std::array<uint8_t, kDeckSize>> piles;
    std::vector<int> sizes;
    ReshuffleScript script;

    Reshuffles() = default;
    explicit Reshuffles(const std::vector<std::vector<int>>& scripted) {
        script.scripted = true;
        script.count = int(scripted.size());
        for (const auto& pile : scripted) {
            cards_of(pile);
            piles.emplace_back();
            for (size_t i = 0; i < pile.size(); ++i) piles.back()[i] = uint8_t(pile[i]);
            sizes.push_back(int(pile.size()));
        }
    }
    void apply_to(State& s, int action) {
        require_legal(s, action);
        script.piles = reinterpret_cast<const uint8_t (*)[kDeckSize]>(piles.data());
        script.sizes = sizes.data();
        script.error = nullptr;
        State next = s;
        apply(next, action, &script);
        if (script.error) refuse_value(script.error);
        s = next;
    }
    std::vector<int> noted() const { return {script.noted, script.noted + script.noted_size}; }
};

}  // namespace

void bind_rules(nb::module_& m) {
    nb::class_<Rules>(m, "Rules", "The switches of the rules as numbers; use uno_flex_env.Rules.")
        .def("__init__", &make_rules, "switches"_a = 0, "hand_size"_a = 7, "target_score"_a = 500,
             "deck"_a = nb::none())
        .def(
            "refuse", [](const Rules& r, int num_players) { return or_none(refuse(r, num_players)); }, "num_players"_a,
            "Why this many players can't play by these rules, or None.");
    nb::class_<Reshuffles>(m, "Reshuffles", "Draw piles renewed in a game: read from a record, or noted for one.")
        .def(nb::init<>())
        .def(nb::init<const std::vector<std::vector<int>>&>(), "scripted"_a)
        .def("apply", &Reshuffles::apply_to, "state"_a, "action"_a)
        .def_prop_ro("used", [](const Reshuffles& r) { return r.script.used; })
        .def_prop_ro("noted", &Reshuffles::noted);
    m.def("shuffled_deck", &shuffled_deck, "rules"_a, "seed"_a, "round"_a = 0,
          "The deck in the order in which this seed deals it, in a match for the given round (the first is 0).");
}
