// Why an action is illegal: the rule that forbids it, for messages. engine.hpp alone decides legality. This file checks
// the rules one by one instead of by bit sets, and the tests compare the two.
#pragma once

#include "engine.hpp"

UNO_FLEX_BEGIN

namespace reasons {

/// Why a verb does not belong to the present phase (rules 10.7), or nullptr.
inline const char* phase(const State& s, Verb verb) {
    if (s.phase == Phase::over) return "the round is over (rules 10.7)";
    if (s.phase == Phase::challenge && verb != Verb::accept && verb != Verb::challenge)
        return "a Draw Four has to be accepted or challenged first (rules 7.4)";
    if (s.phase == Phase::uno && verb != Verb::uno && verb != Verb::silent)
        return "with one card left, the player first says UNO or stays silent (rules 8.4)";
    if (s.phase == Phase::catch_ && verb != Verb::catch_ && verb != Verb::ignore)
        return "a player who did not say UNO has to be caught or ignored first (rules 8.5)";
    switch (verb) {
        case Verb::play: return nullptr;
        case Verb::draw:
            return s.phase == Phase::drawn ? "only one card may be drawn, and it has been drawn (rules 3.1)" : nullptr;
        case Verb::keep:
            if (s.phase != Phase::drawn) return "no card has just been drawn (rules 3.3)";
            return has(s, kMustPlayDrawnCard) ? "the drawn card has to be played (rules 9.5)" : nullptr;
        case Verb::accept:
        case Verb::challenge:
            return s.phase != Phase::challenge ? "no Draw Four waits for an answer (rules 7.4)" : nullptr;
        case Verb::uno:
        case Verb::silent: return s.phase != Phase::uno ? "no player has to say UNO now (rules 8.4)" : nullptr;
        case Verb::catch_:
        case Verb::ignore: return s.phase != Phase::catch_ ? "no player can be caught now (rules 8.5)" : nullptr;
    }
    return nullptr;
}

/// Why the card can't be chosen, or nullptr.
inline const char* card(const State& s, const Action& a) {
    if (count(s.hand[s.current_player], a.face) == 0) return "the player does not hold this card (rules 3.1)";
    if (s.phase == Phase::drawn && a.face != s.drawn) return "only the drawn card can be played now (rules 3.3)";
    if (s.phase == Phase::stack && a.side.effect != Effect::next_draws)
        return "only the regular side of a Draw Two answers a Draw Two (rules 9.8)";
    return nullptr;
}

/// Why this side of the card can't be played, apart from matching, or nullptr.
inline const char* side(const State& s, const Action& a) {
    const int player = s.current_player;
    if (a.flex && !(s.green >> player & 1))
        return "a flex side needs a green Power, and the player's is red (rules 3.1)";
    if (a.offset >= s.num_players) return "there is no player that many seats clockwise (rules 10.4)";
    if (a.side.effect == Effect::bluff && has(s, kStrictDrawFour) &&
        is_guilty(minus(s.hand[player], only(a.face)), s.color))
        return "the player holds another card of the active color or another wild (rules 9.1)";
    return nullptr;
}

/// Why this side of a colored card does not match, or nullptr.
inline const char* match(const State& s, const Action& a) {
    const Face& face = kFace[a.face];
    if (is_wild(a.face) || s.color == (a.flex ? face.flex_color : face.color)) return nullptr;
    const bool same_symbol = face.symbol == kFace[s.top].symbol;
    if (a.flex && !is_number(a.face) && has(s, kFlexActionMatchesColorOnly))
        return "the flex side of an action has to match the active color (rules 9.4)";
    if (same_symbol) return nullptr;
    if (!a.flex) return "neither the color nor the symbol matches (rules 4.5)";
    return is_number(a.face) ? "neither the flex color nor the number matches (rules 4.6)"
                             : "neither the color nor the symbol of the flex side matches (rules 4.7)";
}

}  // namespace reasons

/// Why the current player can't take an action, with the number of the rule that forbids it; nullptr if it is legal.
inline const char* why_illegal(const State& s, int action) {
    const Action& a = kAction[action];
    if (const char* why = reasons::phase(s, a.verb)) return why;
    if (a.verb != Verb::play) return nullptr;
    if (const char* why = reasons::card(s, a)) return why;
    if (const char* why = reasons::side(s, a)) return why;
    return reasons::match(s, a);
}

UNO_FLEX_END
