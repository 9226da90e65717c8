// The shuffle: the generator in the state, the draw pile, and the script of reshuffles that a record gives or receives.
#pragma once

#include "state.hpp"

UNO_FLEX_BEGIN

/// SplitMix64 (Steele, Lea, Flood 2014): every 64-bit value is a valid state.
inline uint64_t next_random(uint64_t& rng) {
    uint64_t z = (rng += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
/// A number below n. The bias between any two values is at most n / 2^32.
inline int random_below(uint64_t& rng, int n) { return int((next_random(rng) >> 32) * uint64_t(n) >> 32); }
/// The `index`-th seed derived from a seed. Neighbors are unrelated.
inline uint64_t derive_seed(uint64_t seed, uint64_t index) {
    uint64_t mixed = seed ^ (index * 0x9FB21C651E98DF25u + 0x632BE59BD9B4E019u);
    return next_random(mixed);
}

inline void seed_shuffle(State& s, uint64_t seed) {
    s.rng = seed;
    s.rng = next_random(s.rng);  // so that similar seeds start far apart
}

/// The order of renewed draw piles, read from a game record or noted for one (rules 11).
struct ReshuffleScript {
    bool scripted = false;
    int count = 0, used = 0;                      // scripted piles, and how many have been used up
    const uint8_t (*piles)[kDeckSize] = nullptr;  // next card first
    const int* sizes = nullptr;
    const char* error = nullptr;                  // why a scripted pile did not fit; the state is then invalid
    int noted_size = 0;                           // size of the pile renewed by the last action, next card first; or 0
    uint8_t noted[kDeckSize] = {};
};

/// Move the next `n` cards of the pile into `cards` and return the last one. The pile must have at least `n`.
inline int take_from_pile(State& s, Cards& cards, int n) {
    // Locals, because the compiler must assume that writing a byte of the pile can change any field.
    const bool ordered = has(s, kOrderedPile);
    uint64_t rng = s.rng;
    int size = s.pile_size, face = kNone;
    Cards taken = cards;
    for (int k = 0; k < n; ++k) {
        const int i = ordered ? size - 1 : random_below(rng, size);
        face = s.pile[i];
        s.pile[i] = s.pile[--size];
        s.pile[size] = 0;
        taken = plus(taken, only(face));
    }
    s.rng = rng;
    s.pile_size = uint8_t(size);
    cards = taken;
    return face;
}

/// Make these cards the draw pile. The generator picks a random card at each draw.
inline void lay_pile(State& s, const Cards& cards) { s.pile_size = uint8_t(list(cards, s.pile)); }

/// Make these cards the draw pile, to be drawn in this order, next card first.
inline void lay_ordered_pile(State& s, const uint8_t* cards, int n) {
    s.flags |= kOrderedPile;
    s.pile_size = uint8_t(n);
    for (int i = 0; i < n; ++i) s.pile[i] = cards[n - 1 - i];
}

/// Write the draw pile in the order in which it will be drawn; returns its size.
inline int pile_order(const State& s, uint8_t* faces) {
    State copy = s;
    Cards all{};
    int n = 0;
    while (copy.pile_size > 0) faces[n++] = uint8_t(take_from_pile(copy, all, 1));
    return n;
}

/// Make the next scripted pile the draw pile. Returns false if it does not hold exactly the cards to be shuffled.
inline bool lay_script(State& s, const Cards& cards, ReshuffleScript& script) {
    if (script.used == script.count) {
        script.error = "the draw pile has to be renewed, but no reshuffle is left";
        return false;
    }
    const uint8_t* pile = script.piles[script.used];
    const int n = script.sizes[script.used++];
    Cards listed{};
    if (n == count(cards))
        for (int i = 0; i < n; ++i) {
            if (count(listed, pile[i]) == count(cards, pile[i])) break;
            add(listed, pile[i]);
            s.pile[n - 1 - i] = pile[i];
        }
    if (!equal(listed, cards)) {
        script.error = "the reshuffle does not list the cards of the discard pile under its top";
        return false;
    }
    s.flags |= kOrderedPile;
    return true;
}

UNO_FLEX_END
