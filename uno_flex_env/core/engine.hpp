// THE RULES: dealing, what is legal, what an action does. To be read beside RULES.md; nothing else knows them.
//
// apply() trusts that the action is legal; the faces check. Nothing here allocates, throws or knows a particular card.
#pragma once

#include "chance.hpp"
#include "knowledge.hpp"

UNO_FLEX_BEGIN

/// Shuffle the discard pile except its top into a new draw pile (rules 3). False if there is nothing to shuffle.
inline bool renew_pile(State& s, ReshuffleScript* script) {
    if (s.discard_size <= 1) return false;
    const Cards cards = minus(s.discard, only(s.top));
    s.flags &= uint8_t(~kOrderedPile);
    if (script && script->scripted) {
        if (!lay_script(s, cards, *script)) return false;
    } else {
        lay_pile(s, cards);
    }
    s.pile_size = uint8_t(s.discard_size - 1);
    s.discard = only(s.top);
    s.discard_size = 1;
    s.reshuffles = uint16_t(s.reshuffles + (s.reshuffles != 0xFFFF));
    if (script) script->noted_size = pile_order(s, script->noted);

    note_reshuffle(s, cards);
    return true;
}

/// Player draws n cards or as many as there are, renewing the pile when it is empty (rules 3). Returns how many.
inline int draw_cards(State& s, int player, int n, ReshuffleScript* script) {
    int got = 0;
    while (got < n && (s.pile_size > 0 || renew_pile(s, script))) {
        const int some = n - got < s.pile_size ? n - got : s.pile_size;
        take_from_pile(s, s.hand[player], some);
        s.size[player] = uint8_t(s.size[player] + some);
        s.empty_draws = 0;
        got += some;
    }
    return got;
}

/// Player draws one card. Returns its face, or kNone if there is none.
inline int draw_card(State& s, int player, ReshuffleScript* script) {
    if (s.pile_size == 0 && !renew_pile(s, script)) return kNone;
    ++s.size[player];
    s.empty_draws = 0;
    return take_from_pile(s, s.hand[player], 1);
}

// ---- What is legal ---------------------------------------------------------------------------------------------------

namespace tables {

constexpr int kSides = kSymbols + 1;  // top symbols, and one more for a wild, which shows none

struct Matches {
    /// Cards whose regular, and whose flex side matches [active color][top symbol]; the latter also under
    /// `flex_action_match` = "color".
    Cards regular[kColors][kSides] = {};
    Cards flex[2][kColors][kSides] = {};
    /// The top symbol that a face shows; kSymbols for a wild.
    uint8_t shown[kFaces] = {};
    /// Which of two wilds are held, from their nibbles.
    uint8_t held[0x78] = {};
    /// Plays of the wilds held (bits), as actions from kWildRegular on, and their flex sides for each number of players
    /// as actions from kAllDrawFlex on.
    uint16_t wild[1 << kWilds] = {};
    uint64_t wild_flex[1 << kWilds][kMaxPlayers + 1] = {};

    constexpr Matches() {
        for (int f = 0; f < kFaces; ++f) shown[f] = uint8_t(is_wild(f) ? kSymbols : kFace[f].symbol);
        for (int f = 0; f < kColored; ++f)
            for (int c = 0; c < kColors; ++c)
                for (int top = 0; top < kSides; ++top) {
                    const Face& face = kFace[f];
                    const bool same_symbol = face.symbol == top, number = face.symbol < kNumbers;
                    if (face.color == c || same_symbol) add(regular[c][top], f);
                    if (!face.has_flex) continue;
                    if (face.flex_color == c || same_symbol) add(flex[0][c][top], f);
                    if (face.flex_color == c || (same_symbol && number)) add(flex[1][c][top], f);
                }
        for (int n = 0; n < 0x78; ++n) held[n] = uint8_t(((n & 7) != 0) | ((n >> 4) != 0) << 1);
        for (int set = 0; set < 1 << kWilds; ++set) {
            for (int a = kWildRegular; a < kAllDrawFlex; ++a)
                if (set >> (kAction[a].face - kColored) & 1) wild[set] |= uint16_t(1 << (a - kWildRegular));
            for (int n = 0; n <= kMaxPlayers; ++n)
                for (int a = kAllDrawFlex; a < kVerbs; ++a)
                    if ((set >> (kAction[a].face - kColored) & 1) && kAction[a].offset < n)
                        wild_flex[set][n] |= uint64_t(1) << (a - kAllDrawFlex);
        }
    }
};

}  // namespace tables

inline constexpr tables::Matches kMatches{};

constexpr int kDrawFour = 3;  // the wild whose regular side rules 7 restricts
static_assert(kFace[kColored + kDrawFour].regular.effect == Effect::bluff);

/// Whether the player holds, besides the Draw Four being played, a card of this color or another wild (rules 7).
/// `others` is the hand without that Draw Four.
inline bool is_guilty(const Cards& others, int color) { return faces_of_color(others, color) != 0 || any_wild(others); }

/// Which wilds a hand holds, bit w for wild w.
inline int wilds_held(const Cards& cards) {
    return kMatches.held[cards.word[0] >> kWildShift & 0x77] | kMatches.held[cards.word[1] >> kWildShift & 0x77] << 2;
}

/// Lay groups of plays side by side in the order of the action space: regular sides, flex sides, wilds.
inline ActionSet lay_out(const Cards& regular, const Cards& flex, uint64_t wild, uint64_t wild_flex) {
    static_assert(kColoredFlex == 88 && kWildRegular == 132 && kAllDrawFlex == 148 && kVerbs == 208);
    const uint64_t low = regular.word[0] & kColoredBits, high = regular.word[1] & kColoredBits;
    const uint64_t sides = flex_sides(flex);
    return {{low | high << 44, high >> 20 | sides << 24, sides >> 40 | wild << 4 | wild_flex << 20, wild_flex >> 44}};
}

/// Plays of `cards` that are legal for the current player now (rules 4). `cards` is the hand or, of it, the card just drawn.
inline ActionSet legal_plays(const State& s, const Cards& cards) {
    const int symbol = kMatches.shown[s.top];
    const uint64_t power = uint64_t(0) - (s.green >> s.current_player & 1);  // all ones if the Power is green
    const Cards& regular = kMatches.regular[s.color][symbol];
    const Cards& flex = kMatches.flex[has(s, kFlexActionMatchesColorOnly)][s.color][symbol];
    const int held = wilds_held(cards);
    int held_regular = held;
    if (has(s, kStrictDrawFour) && (held >> kDrawFour & 1)) {
        Cards others = s.hand[s.current_player];
        remove(others, kColored + kDrawFour);
        if (is_guilty(others, s.color)) held_regular &= ~(1 << kDrawFour);
    }
    return lay_out({{cards.word[0] & regular.word[0], cards.word[1] & regular.word[1]}},
                   {{cards.word[0] & flex.word[0] & power, cards.word[1] & flex.word[1] & power}},
                   kMatches.wild[held_regular], kMatches.wild_flex[held][s.num_players] & power);
}

inline void allow(ActionSet& set, Verb verb) {
    const int a = verb_action(verb);
    set.word[a >> 6] |= uint64_t(1) << (a & 63);
}

/// Regular sides of Draw Two, classic or Flex: what answers a Draw Two under `stacking` (rules 9).
inline ActionSet legal_answers(const State& s) {
    const int symbol = kFace[s.top].symbol;
    Cards same{};
    for (int f = 0; f < kColored; ++f)
        if (kFace[f].symbol == symbol && count(s.hand[s.current_player], f)) add(same, f);
    return lay_out(same, Cards{}, 0, 0);
}

/// What is legal with a drawn card that allows these plays: one of them or, unless it is forced, keeping it (rules 3).
inline ActionSet legal_once_drawn(const State& s, ActionSet plays) {
    if (!has(s, kMustPlayDrawnCard)) allow(plays, Verb::keep);
    return plays;
}

/// Every legal action in the present phase (rules 10). The only code that decides legality.
inline ActionSet legal_actions(const State& s) {
    ActionSet set{};
    switch (s.phase) {
        case Phase::play:
            set = legal_plays(s, s.hand[s.current_player]);
            allow(set, Verb::draw);
            break;
        case Phase::drawn: return legal_once_drawn(s, legal_plays(s, only(s.drawn)));
        case Phase::challenge:
            allow(set, Verb::accept);
            allow(set, Verb::challenge);
            break;
        case Phase::uno:
            allow(set, Verb::uno);
            allow(set, Verb::silent);
            break;
        case Phase::catch_:
            allow(set, Verb::catch_);
            allow(set, Verb::ignore);
            break;
        case Phase::stack:
            set = legal_answers(s);
            allow(set, Verb::draw);
            break;
        case Phase::over: break;
    }
    return set;
}

// ---- Powers (rules 5) ------------------------------------------------------------------------------------------------

/// Flip the Powers of `seats`. If none is green then, all turn green at once.
inline void flip_powers(State& s, int seats) {
    const int green = s.green ^ seats;
    s.green = uint8_t(green | (seated(s) & -int(green == 0)));
}

// ---- Turns, the end of a round (rules 8) -------------------------------------------------------------------------------

inline void end_round(State& s, int winner) {
    s.phase = Phase::over;
    s.current_player = kNone;
    s.winner = uint8_t(winner);
    s.owed = 0;
    s.points = 0;
    if (winner != kNone)
        for (int p = 0; p < s.num_players; ++p) s.points = uint16_t(s.points + points(s.hand[p]));
    if (has(s, kMatch)) {
        s.rounds = uint16_t(s.rounds + (s.rounds != 0xFFFF));
        if (winner != kNone) s.score[winner] = uint16_t(s.score[winner] + s.points);
    }
}

inline void begin_turn(State& s) {
    s.current_player = s.turn;
    s.phase = s.owed ? Phase::stack : Phase::play;
}

/// After a play and what it made others draw: the end of the round, UNO, the next turn (rules 6, 8).
inline void finish_play(State& s) {
    if (s.size[s.actor] == 0) {
        end_round(s, s.actor);
    } else if (s.size[s.actor] == 1 && has(s, kExplicitUno)) {
        s.phase = Phase::uno;
        s.current_player = s.actor;
    } else {
        begin_turn(s);
    }
}

/// A turn that ends without a play. When every player in a row has wanted a card and found none, the round ends with
/// no winner (rules 3).
inline void end_turn(State& s) {
    if (s.empty_draws == s.num_players) {
        end_round(s, kNone);
    } else {
        s.turn = uint8_t(seat_after(s, s.current_player, 1));
        begin_turn(s);
    }
}

// ---- Playing a card (rules 6) ------------------------------------------------------------------------------------------

inline void move_to_discard(State& s, int player, const Action& a) {
    s.hand[player] = minus(s.hand[player], only(a.face));
    --s.size[player];
    s.discard = plus(s.discard, only(a.face));
    ++s.discard_size;
    if (s.knowing_seats) forget_known(s, player, a.face);
    if (has(s, kReshuffled)) note_age(s, player, a.face);
    s.prior_color = s.color;
    s.top = a.face;
    s.color = a.next_color;
    s.drawn = kNone;
    s.empty_draws = 0;
}

/// The Power changes of a play, in the order of rules 5.
inline void change_powers(State& s, int player, const Action& a, Effect effect) {
    flip_powers(s, int(a.flips_own_power) << player);
    if (effect == Effect::flip_all) flip_powers(s, seated(s));
}

inline void everyone_else_draws(State& s, int player, int n, ReshuffleScript* script) {
    for (int k = 1; k < s.num_players; ++k) draw_cards(s, seat_after(s, player, k), n, script);
}

constexpr int kMaxOwed = 254;  // far more than there are cards

/// Draw Two on its regular side. Under `stacking` next may answer it, unless it was the last card.
inline void next_draws(State& s, int player, int n, bool draws, ReshuffleScript* script) {
    if (has(s, kStacking)) {
        s.owed = uint8_t(s.owed + n < kMaxOwed ? s.owed + n : kMaxOwed);
        if (s.size[player] > 0) {
            s.turn = uint8_t(seat_after(s, player, 1));
            return;
        }
        n = s.owed;
    }
    if (draws) draw_cards(s, seat_after(s, player, 1), n, script);
    s.turn = uint8_t(seat_after(s, player, 2));
}

inline void await_challenge(State& s, int challenger, bool flex) {
    s.phase = Phase::challenge;
    s.current_player = uint8_t(challenger);
    s.flags = uint8_t(flex ? s.flags | kFlexChallenge : s.flags & ~kFlexChallenge);
}

/// The effect of a play, in the order of rules 6: direction, draws or a Draw Four decision, end of round, UNO, next turn.
inline void play_card(State& s, const Action& a, ReshuffleScript* script) {
    const int player = s.current_player;
    const Side side = a.side;
    s.actor = uint8_t(player);
    move_to_discard(s, player, a);
    change_powers(s, player, a, side.effect);

    const bool draws = s.size[player] > 0 || !has(s, kLastCardDrawsNothing);
    s.turn = uint8_t(seat_after(s, player, 1));
    switch (side.effect) {
        case Effect::none:
        case Effect::flip_all: break;
        case Effect::next_draws: next_draws(s, player, side.draws, draws, script); break;
        case Effect::skip: s.turn = uint8_t(seat_after(s, player, 2)); break;
        case Effect::reverse: {
            s.direction = int8_t(-s.direction);
            const bool again = s.num_players == 2 && !has(s, kTwoPlayerReversePasses);
            s.turn = uint8_t(again ? player : seat_after(s, player, 1));
            break;
        }
        case Effect::bluff:
            s.turn = uint8_t(seat_after(s, player, 2));
            if (!draws) break;
            if (!has(s, kStrictDrawFour)) return await_challenge(s, seat_after(s, player, 1), false);
            draw_cards(s, seat_after(s, player, 1), side.draws, script);
            break;
        case Effect::others_draw:
            if (draws) everyone_else_draws(s, player, side.draws, script);
            break;
        case Effect::skip_all: s.turn = uint8_t(player); break;
        case Effect::reverse_skip:
            s.direction = int8_t(-s.direction);
            s.turn = uint8_t(seat_after(s, player, 2));
            break;
        case Effect::target_draws:
        case Effect::target_bluff: {
            int target = player + a.offset;
            if (target >= s.num_players) target -= s.num_players;
            if (!draws) break;
            if (side.effect == Effect::target_bluff && has(s, kFlexDrawFourChallenge))
                return await_challenge(s, target, true);
            draw_cards(s, target, side.draws, script);
            break;
        }
    }
    finish_play(s);
}

// ---- The other decisions -----------------------------------------------------------------------------------------------

constexpr int kChallengeLost = 6;  // what a failed challenge costs (rules 7)
constexpr int kCaught = 2;         // what not saying UNO costs (rules 8)

/// `accept` or `challenge` a Draw Four (rules 7; for its flex side, rules 9).
inline void answer_draw_four(State& s, bool challenged, ReshuffleScript* script) {
    const int challenger = s.current_player;
    const Face& card = kFace[s.top];
    const bool flex = has(s, kFlexChallenge);
    s.flags &= uint8_t(~kFlexChallenge);
    const int draws = flex ? card.flex.draws : card.regular.draws;
    if (!challenged) {
        draw_cards(s, challenger, draws, script);
    } else {
        reveal(s, challenger, s.actor);
        if (is_guilty(s.hand[s.actor], s.prior_color)) {
            draw_cards(s, s.actor, draws, script);
            if (!flex) s.turn = uint8_t(challenger);
        } else {
            draw_cards(s, challenger, kChallengeLost, script);
        }
    }
    finish_play(s);
}

/// Draw by choice or for want of a card (rules 3).
inline void draw(State& s, ReshuffleScript* script) {
    bool none = true;
    do {
        const int face = draw_card(s, s.current_player, script);
        if (face == kNone) break;
        none = false;
        const ActionSet plays = legal_plays(s, only(face));
        if (any(plays)) {
            s.phase = Phase::drawn;
            s.drawn = uint8_t(face);
            s.legal = legal_once_drawn(s, plays);
            return;
        }
    } while (has(s, kDrawUntilPlayable));
    if (none) ++s.empty_draws;
    end_turn(s);
    s.legal = legal_actions(s);
}

/// Draw the sum owed and lose the turn (rules 9, `stacking`).
inline void draw_owed(State& s, ReshuffleScript* script) {
    if (draw_cards(s, s.current_player, s.owed, script) == 0) ++s.empty_draws;
    s.owed = 0;
    end_turn(s);
}

/// The next opponent of the actor decides on catching, or the turn begins (rules 8).
inline void ask_to_catch(State& s, int seat) {
    if (seat == s.actor) return begin_turn(s);
    s.phase = Phase::catch_;
    s.current_player = uint8_t(seat);
}

/// Take one legal action. The result depends on the state and the action alone, or on the script where one is given.
inline void apply(State& s, int action, ReshuffleScript* script = nullptr) {
    const Action& a = kAction[action];
    if (script) script->noted_size = 0;
    ++s.ply;
    switch (a.verb) {
        case Verb::play: play_card(s, a, script); break;
        case Verb::draw:
            if (s.phase != Phase::stack) return draw(s, script);
            draw_owed(s, script);
            break;
        case Verb::keep:
            s.drawn = kNone;
            end_turn(s);
            break;
        case Verb::accept: answer_draw_four(s, false, script); break;
        case Verb::challenge: answer_draw_four(s, true, script); break;
        case Verb::uno: begin_turn(s); break;
        case Verb::silent: ask_to_catch(s, seat_after(s, s.actor, 1)); break;
        case Verb::catch_:
            draw_cards(s, s.actor, kCaught, script);
            begin_turn(s);
            break;
        case Verb::ignore: ask_to_catch(s, seat_after(s, s.current_player, 1)); break;
    }
    s.legal = legal_actions(s);
}

// ---- Dealing (rules 2) ---------------------------------------------------------------------------------------------------

/// Deal from the pile as it lies: hands, then the starter.
inline void deal_from_pile(State& s) {
    for (int round = 0; round < s.hand_size; ++round)
        for (int k = 1; k <= s.num_players; ++k) {
            take_from_pile(s, s.hand[(s.dealer + k) % s.num_players], 1);
        }
    for (int p = 0; p < s.num_players; ++p) s.size[p] = s.hand_size;
    do {
        s.top = uint8_t(take_from_pile(s, s.discard, 1));
        ++s.discard_size;
    } while (!is_number(s.top));
    s.color = s.prior_color = kFace[s.top].color;
    s.current_player = s.turn = uint8_t((s.dealer + 1) % s.num_players);
    s.legal = legal_actions(s);
}

/// An empty table with these rules: nothing is dealt.
inline void clear_table(State& s, const Rules& rules, int num_players, int dealer) {
    std::memset(static_cast<void*>(&s), 0, sizeof s);
    s.num_players = uint8_t(num_players);
    s.dealer = uint8_t(dealer);
    s.direction = 1;
    s.green = uint8_t(seated(s));
    s.drawn = s.winner = s.actor = kNone;
    s.switches = rules.switches;
    s.hand_size = rules.hand_size;
    s.target_score = rules.target_score;
    s.deck = rules.deck;
}

/// Lay the deck as the draw pile, to be drawn in the order that the seed gives.
inline void shuffle_deck(State& s, uint64_t seed) {
    seed_shuffle(s, seed);
    lay_pile(s, s.deck);
}

/// Begin a round.
inline void deal(State& s, const Rules& rules, int num_players, int dealer, uint64_t seed) {
    clear_table(s, rules, num_players, dealer);
    shuffle_deck(s, seed);
    deal_from_pile(s);
}

/// Begin a round with this deck, first dealt first, which holds exactly the cards of rules.deck.
inline void deal_ordered(State& s, const Rules& rules, int num_players, int dealer, const uint8_t* deck,
                         uint64_t seed) {
    clear_table(s, rules, num_players, dealer);
    s.rng = seed;
    lay_ordered_pile(s, deck, count(rules.deck));
    deal_from_pile(s);
}

// ---- What a round is worth, the match (rules 8) ------------------------------------------------------------------------

enum class Reward : uint8_t { win, points };
inline constexpr const char* kRewardNames[] = {"win", "points"};
static_assert(std::size(kRewardNames) == size_t(Reward::points) + 1);

/// What each seat gets for the round just ended; sums to 0. `win`: 1 for the winner, -1/(n-1) for the others.
/// `points`: each loser pays a hundredth of the points in its hand to the winner. No winner: 0.
inline void returns(const State& s, Reward kind, int winner, float out[kMaxPlayers]) {
    for (int p = 0; p < s.num_players; ++p) {
        if (winner == kNone)
            out[p] = 0.0f;
        else if (kind == Reward::win)
            out[p] = p == winner ? 1.0f : -1.0f / float(s.num_players - 1);
        else
            out[p] = float(p == winner ? int(s.points) : -points(s.hand[p])) / 100.0f;
    }
}

/// Who has won the match: the winner of the round just ended, if the score suffices; else kNone.
inline int match_winner(const State& s) {
    return is_over(s) && s.winner != kNone && s.score[s.winner] >= s.target_score ? s.winner : int(kNone);
}

/// The seed of a later round of a match, so that its deal does not depend on how the earlier ones were played.
inline uint64_t round_seed(uint64_t seed, int round) { return seed + uint64_t(round) * 0xD1342543DE82EF95u; }

/// Deal the next round of a match: the deal moves on, Powers are green again, scores stay.
inline void next_round(State& s, uint64_t seed) {
    const Rules rules{s.switches, s.target_score, s.hand_size, s.deck};
    uint16_t score[kMaxPlayers];
    std::memcpy(score, s.score, sizeof score);
    const uint16_t rounds = s.rounds;
    clear_table(s, rules, s.num_players, (s.dealer + 1) % s.num_players);
    std::memcpy(s.score, score, sizeof score);
    s.rounds = rounds;
    s.flags = kMatch;
    shuffle_deck(s, seed);
    deal_from_pile(s);
}

UNO_FLEX_END
