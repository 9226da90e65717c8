// THE RULES: what is legal and what an action does, in the order of RULES.md. No other file of the core knows them.
//
// The game. 2 to 8 players try to get rid of their cards. In a turn, a player plays one card or draws one. A card can be
// played if it matches the active color or the symbol on top; a wild can always be played. Many cards have a second
// side, the flex side, with another color or effect. Playing it needs a green Power and turns that Power red.
// When no Power is green any more, all turn green. The first player without cards wins the round and scores the points
// of all other hands.
//
// The phases. A state always waits for one decision of one player, `current_player`. `phase` says what is asked:
//
//   phase      who decides                             verbs, and the function that carries them out
//   play       the player whose turn it is             play -> play_card(), draw -> draw()
//   drawn      the player who drew a playable card     play -> play_card(), keep -> keep()
//   challenge  the player who faces a Draw Four        accept, challenge -> answer_draw_four()
//   uno        the player with one card left           uno -> begin_turn(), silent -> ask_to_catch()
//   catch      each opponent in turn                   catch -> catch_silent(), ignore -> ask_to_catch()
//   stack      the player who faces a Draw Two         play -> play_card(), draw -> draw_owed()
//   over       no player                               none
//
// A round begins in `play`. A turn without a play ends in end_turn(). A play moves the card, changes Powers and takes
// effect (rules 6.21). It ends in finish_play(), at once or after `challenge`. Then the round ends, or `uno` and
// `catch` follow, or begin_turn() opens the next turn in `play` or `stack`. The phases `uno` and `catch` occur only
// under `uno_call` = "explicit". The phase `stack` occurs only under `stacking` (rules 9).
//
// Usage. deal() makes a state. The field `legal` of the state is the set of legal actions. apply() takes one of them
// and updates `legal`. It does not check the action, so check actions from outside before you call it. Nothing here
// allocates memory or throws. No code here names a particular card: the table in cards.hpp says what cards do.
#pragma once

#include "chance.hpp"
#include "knowledge.hpp"
#include "matching.hpp"

UNO_FLEX_BEGIN

// Declared here because an earlier section calls a function of a later one.
inline ActionSet legal_plays(const State& s, const Cards& cards);  // rules 4
inline bool is_guilty(const Cards& others, int color);             // rules 7
inline void bluff(State& s, int player, int draws, bool takes_effect, ReshuffleScript* script);
inline void await_challenge(State& s, int challenger, bool flex);
inline void finish_play(State& s);                                                                   // rules 8
inline void end_round(State& s, int winner);
inline void draw_or_stack(State& s, int player, int n, bool takes_effect, ReshuffleScript* script);  // rules 9
inline ActionSet legal_once_drawn(const State& s, ActionSet plays);                                  // rules 10
inline ActionSet legal_actions(const State& s);

// ---- Rules 2: setup ------------------------------------------------------------------------------------------------

/// Reset to the state before the deal: every Power is green, all hands and piles are empty.
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

/// Make the deck the draw pile, in the order that the seed gives.
inline void shuffle_deck(State& s, uint64_t seed) {
    seed_shuffle(s, seed);
    lay_pile(s, s.deck);
}

/// Deal the hands, then turn cards until a number shows (rules 2.3, 2.4).
inline void deal_from_pile(State& s) {
    for (int round = 0; round < s.hand_size; ++round)
        for (int k = 1; k <= s.num_players; ++k) take_from_pile(s, s.hand[(s.dealer + k) % s.num_players], 1);
    for (int p = 0; p < s.num_players; ++p) s.size[p] = s.hand_size;
    do {
        s.top = uint8_t(take_from_pile(s, s.discard, 1));
        ++s.discard_size;
    } while (!is_number(s.top));
    s.color = s.prior_color = kFace[s.top].color;
    s.current_player = s.turn = uint8_t((s.dealer + 1) % s.num_players);
    s.legal = legal_actions(s);
}

/// Begin a round.
inline void deal(State& s, const Rules& rules, int num_players, int dealer, uint64_t seed) {
    clear_table(s, rules, num_players, dealer);
    shuffle_deck(s, seed);
    deal_from_pile(s);
}

/// Begin a round with this deck, in the order of dealing. It must hold exactly the cards of rules.deck. The seed serves
/// later reshuffles.
inline void deal_ordered(State& s, const Rules& rules, int num_players, int dealer, const uint8_t* deck,
                         uint64_t seed) {
    clear_table(s, rules, num_players, dealer);
    s.rng = seed;
    lay_ordered_pile(s, deck, count(rules.deck));
    deal_from_pile(s);
}

// ---- Rules 3: a turn -----------------------------------------------------------------------------------------------

/// Shuffle the discard pile except its top into a new draw pile (rules 3.5). False if there is nothing to shuffle.
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

/// A player draws n cards, or as many as there are. The draw pile is renewed when it runs out. Returns the number
/// drawn.
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

/// A player draws one card. Returns its face, or kNone if there is none.
inline int draw_card(State& s, int player, ReshuffleScript* script) {
    if (s.pile_size == 0 && !renew_pile(s, script)) return kNone;
    ++s.size[player];
    s.empty_draws = 0;
    return take_from_pile(s, s.hand[player], 1);
}

/// Open the turn of s.turn, in phase `stack` if a Draw Two has to be answered, otherwise in phase `play`.
inline void begin_turn(State& s) {
    s.current_player = s.turn;
    s.phase = s.owed ? Phase::stack : Phase::play;
}

/// End a turn without a play. The round ends without a winner when every player in a row tried to draw and no card was
/// left (rules 3.10).
inline void end_turn(State& s) {
    if (s.empty_draws == s.num_players) {
        end_round(s, kNone);
    } else {
        s.turn = uint8_t(seat_after(s, s.current_player, 1));
        begin_turn(s);
    }
}

/// The verb `draw`: draw one card or, under `draw_until_playable`, until a card can be played. A playable card leads to
/// the phase `drawn`. Otherwise the turn ends (rules 3.3, 3.4).
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

/// The verb `keep`: the drawn card is not played.
inline void keep(State& s) {
    s.drawn = kNone;
    end_turn(s);
}

// ---- Rules 4: matching ---------------------------------------------------------------------------------------------

/// The legal plays of the current player with `cards`: the whole hand, or only the card just drawn.
inline ActionSet legal_plays(const State& s, const Cards& cards) {
    const int symbol = kMatches.top_symbol[s.top];
    const uint64_t power = uint64_t(0) - (s.green >> s.current_player & 1);  // all ones if the Power is green
    const Cards& regular = kMatches.regular[s.color][symbol];
    const Cards& flex = kMatches.flex[has(s, kFlexActionMatchesColorOnly)][s.color][symbol];
    const int held = wilds_held(cards);
    int held_regular = held;
    if (has(s, kStrictDrawFour) && (held & kMatches.bluffs))  // rules 9.1
        for (int w = 0; w < kWilds; ++w)
            if ((held & kMatches.bluffs) >> w & 1) {
                Cards others = s.hand[s.current_player];
                remove(others, kColored + w);
                if (is_guilty(others, s.color)) held_regular &= ~(1 << w);
            }
    return lay_out({{cards.word[0] & regular.word[0], cards.word[1] & regular.word[1]}},
                   {{cards.word[0] & flex.word[0] & power, cards.word[1] & flex.word[1] & power}},
                   kMatches.wild[held_regular], kMatches.wild_flex[held][s.num_players] & power);
}

// ---- Rules 5: Power cards ------------------------------------------------------------------------------------------

/// Flip the Powers of `seats` (bits). As soon as none is green, all turn green (rules 5.4).
inline void flip_powers(State& s, int seats) {
    const int green = s.green ^ seats;
    s.green = uint8_t(green | (seated(s) & -int(green == 0)));
}

/// Change the Powers after a play: first the player's own, then those of all players. A flex side turns the player's
/// Power red (rules 5.1). That equals a flip by an icon (rules 5.2), because flexing requires a green Power.
inline void change_powers(State& s, int player, const Action& a) {
    flip_powers(s, int(a.flips_own_power) << player);
    if (a.side.effect == Effect::flip_all) flip_powers(s, seated(s));
}

// ---- Rules 6: what cards do ----------------------------------------------------------------------------------------

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

inline void everyone_else_draws(State& s, int player, int n, ReshuffleScript* script) {
    for (int k = 1; k < s.num_players; ++k) draw_cards(s, seat_after(s, player, k), n, script);
}

/// Play a flex side that makes a chosen opponent draw. Under a switch, that player may first challenge (rules 9.2).
inline void target_draws(State& s, int player, const Action& a, ReshuffleScript* script) {
    int target = player + a.offset;
    if (target >= s.num_players) target -= s.num_players;
    if (a.side.effect == Effect::target_bluff && has(s, kFlexDrawFourChallenge))
        await_challenge(s, target, true);
    else
        draw_cards(s, target, a.side.draws, script);
}

/// Apply the effect of a play: direction, draws, the start of a challenge, and the next turn. By default, next follows.
inline void take_effect(State& s, int player, const Action& a, ReshuffleScript* script) {
    const int n = a.side.draws;
    const bool takes_effect = s.size[player] > 0 || !has(s, kLastCardDrawsNothing);  // rules 9.7: only what draws
    s.turn = uint8_t(seat_after(s, player, 1));
    switch (a.side.effect) {
        case Effect::none:
        case Effect::flip_all: break;
        case Effect::next_draws: draw_or_stack(s, player, n, takes_effect, script); break;
        case Effect::skip: s.turn = uint8_t(seat_after(s, player, 2)); break;
        case Effect::reverse: {
            s.direction = int8_t(-s.direction);
            const bool again = s.num_players == 2 && !has(s, kTwoPlayerReversePasses);  // rules 6.16, 9.3
            s.turn = uint8_t(again ? player : seat_after(s, player, 1));
            break;
        }
        case Effect::bluff: bluff(s, player, n, takes_effect, script); break;
        case Effect::others_draw:
            if (takes_effect) everyone_else_draws(s, player, n, script);
            break;
        case Effect::skip_all: s.turn = uint8_t(player); break;
        case Effect::reverse_skip:
            s.direction = int8_t(-s.direction);
            s.turn = uint8_t(seat_after(s, player, 2));
            break;
        case Effect::target_draws:
        case Effect::target_bluff:
            if (takes_effect) target_draws(s, player, a, script);
            break;
    }
}

/// The verb `play`, in the order of rules 6.21: discard pile, Powers, effect. Then finish_play() goes on, unless a Draw
/// Four first waits for its challenge.
inline void play_card(State& s, const Action& a, ReshuffleScript* script) {
    const int player = s.current_player;
    s.actor = uint8_t(player);
    move_to_discard(s, player, a);
    change_powers(s, player, a);
    take_effect(s, player, a, script);
    if (s.phase != Phase::challenge) finish_play(s);
}

// ---- Rules 7: Wild Draw Four ---------------------------------------------------------------------------------------

constexpr int kChallengeLost = 6;  // what a failed challenge costs (rules 7.8)

/// Whether the player holds, besides the Draw Four being played, a card of the active color or another wild (rules 7.1).
/// `others` is the hand without that Draw Four.
inline bool is_guilty(const Cards& others, int color) { return faces_of_color(others, color) != 0 || any_wild(others); }

/// Let this player decide on a Draw Four: on its regular side, or on its flex side (rules 9.2).
inline void await_challenge(State& s, int challenger, bool flex) {
    s.phase = Phase::challenge;
    s.current_player = uint8_t(challenger);
    s.flags = uint8_t(flex ? s.flags | kFlexChallenge : s.flags & ~kFlexChallenge);
}

/// The regular side of a Draw Four: next may challenge it, or draws at once under `draw_four` = "strict". Next loses
/// the turn, unless a challenge succeeds.
inline void bluff(State& s, int player, int draws, bool takes_effect, ReshuffleScript* script) {
    const int next = seat_after(s, player, 1);
    s.turn = uint8_t(seat_after(s, player, 2));
    if (!takes_effect) return;
    if (has(s, kStrictDrawFour))
        draw_cards(s, next, draws, script);
    else
        await_challenge(s, next, false);
}

/// The verbs `accept` and `challenge`.
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
            if (!flex) s.turn = uint8_t(challenger);  // rules 7.7; a flex side costs no turn anyway
        } else {
            draw_cards(s, challenger, kChallengeLost, script);
        }
    }
    finish_play(s);
}

// ---- Rules 8: UNO, the end of a round, the match -------------------------------------------------------------------

constexpr int kCaught = 2;  // what not saying UNO costs (rules 8.2)

/// Finish a play whose draws are done: end the round, ask for UNO, or begin the next turn.
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

/// After `silent` or `ignore`, let this opponent of the silent player decide on catching. After the last opponent, the
/// next turn begins (rules 8.5).
inline void ask_to_catch(State& s, int seat) {
    if (seat == s.actor) return begin_turn(s);
    s.phase = Phase::catch_;
    s.current_player = uint8_t(seat);
}

/// The verb `catch`.
inline void catch_silent(State& s, ReshuffleScript* script) {
    draw_cards(s, s.actor, kCaught, script);
    begin_turn(s);
}

/// `winner` is kNone when no player wins (rules 3.10).
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

enum class Reward : uint8_t { win, points };
inline constexpr const char* kRewardNames[] = {"win", "points"};
static_assert(std::size(kRewardNames) == size_t(Reward::points) + 1);

/// The rewards of the round just ended, one per seat; they sum to 0. `win`: 1 for the winner, -1/(n-1) for the others.
/// `points`: each loser pays a hundredth of the points in its hand to the winner. Without a winner all are 0.
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

/// The winner of the match: the winner of the round just ended, if its score reaches the target; otherwise kNone.
inline int match_winner(const State& s) {
    return is_over(s) && s.winner != kNone && s.score[s.winner] >= s.target_score ? s.winner : int(kNone);
}

/// The seed of a later round of a match. Its deal does not depend on how the earlier rounds were played.
inline uint64_t round_seed(uint64_t seed, int round) { return seed + uint64_t(round) * 0xD1342543DE82EF95u; }

/// Deal the next round of a match: the dealer moves on, all Powers turn green, scores stay (rules 8.10, 8.11).
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

// ---- Rules 9: stacking (9.8) ---------------------------------------------------------------------------------------

constexpr int kMaxOwed = 254;  // far more than there are cards

/// The regular side of a Draw Two: next draws and loses the turn. Under `stacking`, next may answer first, unless the
/// Draw Two was the last card.
inline void draw_or_stack(State& s, int player, int n, bool takes_effect, ReshuffleScript* script) {
    if (has(s, kStacking)) {
        s.owed = uint8_t(s.owed + n < kMaxOwed ? s.owed + n : kMaxOwed);
        if (s.size[player] > 0) {
            s.turn = uint8_t(seat_after(s, player, 1));
            return;
        }
        n = s.owed;
    }
    if (takes_effect) draw_cards(s, seat_after(s, player, 1), n, script);
    s.turn = uint8_t(seat_after(s, player, 2));
}

/// The legal answers to a Draw Two: the regular side of any other Draw Two, classic or Flex.
inline ActionSet legal_answers(const State& s) {
    const int symbol = kFace[s.top].symbol;
    Cards same{};
    for (int f = 0; f < kColored; ++f)
        if (kFace[f].symbol == symbol && count(s.hand[s.current_player], f)) add(same, f);
    return lay_out(same, Cards{}, 0, 0);
}

/// The verb `draw` in phase `stack`: draw the sum owed and lose the turn.
inline void draw_owed(State& s, ReshuffleScript* script) {
    if (draw_cards(s, s.current_player, s.owed, script) == 0) ++s.empty_draws;
    s.owed = 0;
    end_turn(s);
}

// ---- Rules 10: actions ---------------------------------------------------------------------------------------------

inline void allow(ActionSet& set, Verb verb) {
    const int a = verb_action(verb);
    set.word[a >> 6] |= uint64_t(1) << (a & 63);
}

/// The legal actions with a drawn card: `plays`, and `keep` unless the rules force the play.
inline ActionSet legal_once_drawn(const State& s, ActionSet plays) {
    if (!has(s, kMustPlayDrawnCard)) allow(plays, Verb::keep);
    return plays;
}

/// All legal actions in the current phase (rules 10.7). No other code decides legality.
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

/// Take one legal action. The result depends only on the state, the action and, if given, the draw piles of the script.
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
        case Verb::keep: keep(s); break;
        case Verb::accept: answer_draw_four(s, false, script); break;
        case Verb::challenge: answer_draw_four(s, true, script); break;
        case Verb::uno: begin_turn(s); break;
        case Verb::silent: ask_to_catch(s, seat_after(s, s.actor, 1)); break;
        case Verb::catch_: catch_silent(s, script); break;
        case Verb::ignore: ask_to_catch(s, seat_after(s, s.current_player, 1)); break;
    }
    s.legal = legal_actions(s);
}

UNO_FLEX_END
