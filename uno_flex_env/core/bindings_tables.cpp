// Names, tables and limits that both languages need. They are typed here in C++ only; Python reads them from _core.
#include "bindings.hpp"
#include "bots.hpp"
#include "episode.hpp"
#include "observation.hpp"

namespace {

nb::object or_none(int value) { return value == kNone ? nb::object(nb::none()) : nb::object(nb::int_(value)); }

nb::list face_table() {
    nb::list faces;
    for (int f = 0; f < kFaces; ++f) {
        const Face& face = kFace[f];
        faces.append(nb::make_tuple(or_none(face.color), or_none(face.symbol), int(face.count), int(face.points),
                                    or_none(face.flex_color), face.has_flex, face.flip_icon, int(face.regular.effect),
                                    int(face.regular.draws), int(face.flex.effect), int(face.flex.draws)));
    }
    return faces;
}

nb::list action_table() {
    nb::list actions;
    for (int a = 0; a < kActions; ++a) {
        const Action& action = kAction[a];
        actions.append(nb::make_tuple(int(action.verb), or_none(action.face), or_none(action.color), int(action.offset),
                                      action.flex, int(action.side.effect), int(action.side.draws),
                                      or_none(action.next_color), action.flips_own_power));
    }
    return actions;
}

template <size_t n>
nb::tuple names_of(const char* const (&names)[n]) {
    nb::list list;
    for (const char* name : names) list.append(name);
    return nb::tuple(list);
}

/// For each bot, its groups of actions in the order of preference.
nb::tuple preference_table() {
    nb::list bots;
    for (const auto& groups : detail::kPreference) {
        nb::list group_lists;
        for (const ActionSet& group : groups) {
            std::vector<int> members;
            for (int a = 0; a < kActions; ++a)
                if (contains(group, a)) members.push_back(a);
            if (!members.empty()) group_lists.append(members);
        }
        bots.append(nb::tuple(group_lists));
    }
    return nb::tuple(bots);
}

nb::tuple switch_table() {
    const auto value = [](const std::string& text) {
        if (text == "true" || text == "false") return nb::object(nb::bool_(text == "true"));
        return nb::object(nb::str(text.c_str()));
    };
    nb::list switches;
    for (const SwitchInfo& s : kSwitchInfo) switches.append(nb::make_tuple(s.name, value(s.official), value(s.other)));
    return nb::tuple(switches);
}

void bind_names(nb::module_& m) {
    m.attr("COLORS") = kColorLetters;
    m.attr("SYMBOLS") = kSymbolLetters;
    m.attr("WILD_CODES") = names_of(kWildCodes);
    m.attr("EFFECTS") = names_of(kEffectNames);
    m.attr("VERBS") = names_of(kVerbNames);
    m.attr("PHASES") = names_of(kPhaseNames);
    m.attr("REWARDS") = names_of(kRewardNames);
    m.attr("BOTS") = names_of(kBotNames);
    m.attr("BOT_PREFERENCES") = preference_table();
    m.attr("SWITCHES") = switch_table();
}

void bind_limits(nb::module_& m) {
    m.attr("NUM_ACTIONS") = kActions;
    m.attr("NUM_FEATURES") = kFeatures;
    m.attr("DECK_SIZE") = kDeckSize;
    m.attr("WILD_COPIES") = kWildCopies;
    m.attr("MIN_PLAYERS") = kMinPlayers;
    m.attr("MAX_PLAYERS") = kMaxPlayers;
    m.attr("MAX_HAND_SIZE") = kMaxHandSize;
    m.attr("MAX_TARGET_SCORE") = kMaxTargetScore;
    m.attr("MAX_HISTORY") = kMaxHistory;
    m.attr("MAX_THREADS") = uno_flex_kernel::kMaxThreads;
    m.attr("STATE_SIZE") = sizeof(State);
    m.attr("MATCH_FLAG") = int(kMatch);
}

void bind_layouts(nb::module_& m) {
    nb::list fields, parts;
    for (const FieldInfo& f : kStateFields) fields.append(nb::make_tuple(f.name, f.offset, f.size, f.item, f.columns));
    for (const Part& p : kParts) parts.append(nb::make_tuple(p.name, p.start, p.rows, p.columns));
    m.attr("STATE_FIELDS") = nb::tuple(fields);
    m.attr("LAYOUT") = nb::tuple(parts);
    m.attr("SIZE_STEPS") = std::vector<int>(std::begin(kSizeSteps), std::end(kSizeSteps));
    m.attr("PILE_STEPS") = std::vector<int>(std::begin(kPileSteps), std::end(kPileSteps));
}

}  // namespace

void bind_tables(nb::module_& m) {
    bind_names(m);
    bind_limits(m);
    bind_layouts(m);
    m.def(
        "faces", &face_table,
        "(color, symbol, copies, points, flex color, has a flex side, flip icon, effect and draws of the regular side,\n"
        "effect and draws of the flex side) of the 92 faces. Effects are indices into EFFECTS.");
    m.def("actions", &action_table,
          "(verb, face, called color, target offset, flex side, effect, draws, active color afterwards, flips the\n"
          "player's own Power) of the 216 actions. Verbs are indices into VERBS, effects into EFFECTS.");
}
