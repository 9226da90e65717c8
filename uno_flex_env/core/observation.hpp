// encode(): what one player sees, as 640 features that are 0 or 1. Egocentric: seats count clockwise from the viewer.
//
// The features are first set as bits of ten words, then expanded to bytes, so that a row takes only a few wide stores.
#pragma once

#include "engine.hpp"

UNO_FLEX_BEGIN

constexpr int kFeatures = 640;
constexpr int kFeatureWords = kFeatures / 64;
constexpr int kCardFeatures = kColored + 4 * kWilds;  // a bit per colored face, four thermometer bits per wild
constexpr int kSizeFeatures = 11, kScoreFeatures = 5, kPileFeatures = 12, kOwedFeatures = 8, kKnownFeatures = 5;

/// The size of a hand and of the draw pile as thermometers: bit i is set when the size reaches entry i.
constexpr int kSizeSteps[kSizeFeatures] = {1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 24};
constexpr int kPileSteps[kPileFeatures] = {1, 2, 4, 6, 8, 12, 16, 24, 32, 44, 56, 72};

/// Name, first feature, rows and columns of each part of the observation. observation.py says what they mean.
struct Part {
    const char* name;
    int start, rows, columns;
};

namespace layout {

constexpr int kHand = 0;
constexpr int kFlexFaces = kHand + kCardFeatures;
constexpr int kDiscards = kFlexFaces + kColors * kSymbols;
constexpr int kKnown = kDiscards + kCardFeatures;
constexpr int kKnownOwners = kKnown + kCardFeatures;
constexpr int kSizes = kKnownOwners + (kMaxPlayers - 1) * kKnownFeatures;
constexpr int kPower = kSizes + kMaxPlayers * kSizeFeatures;
constexpr int kDrawnColor = kPower + kMaxPlayers;
constexpr int kDrawnKind = kDrawnColor + kColors;
constexpr int kTop = kDrawnKind + kSlots + kWilds;
constexpr int kTopFlex = kTop + kSymbols + kWilds;
constexpr int kColor = kTopFlex + 1;
constexpr int kPriorColor = kColor + kColors;
constexpr int kDirection = kPriorColor + kColors;
constexpr int kPhase = kDirection + 2;
constexpr int kActor = kPhase + 6;
constexpr int kOwed = kActor + kMaxPlayers;
constexpr int kPile = kOwed + kOwedFeatures;
constexpr int kEmptyDraws = kPile + kPileFeatures;
constexpr int kPlayers = kEmptyDraws + kMaxPlayers - 1;
constexpr int kRules = kPlayers + kMaxPlayers - 1;
constexpr int kScores = kRules + kSwitches;
static_assert(kScores + kMaxPlayers * kScoreFeatures == kFeatures);
static_assert(kDrawnKind == kDrawnColor + kColors && kTopFlex == kTop + kSymbols + kWilds, "written as one");

}  // namespace layout

inline constexpr Part kParts[] = {
    {"hand", layout::kHand, 1, kCardFeatures},
    {"flex_faces", layout::kFlexFaces, kColors, kSymbols},
    {"discards", layout::kDiscards, 1, kCardFeatures},
    {"known", layout::kKnown, 1, kCardFeatures},
    {"known_owners", layout::kKnownOwners, kMaxPlayers - 1, kKnownFeatures},
    {"hand_sizes", layout::kSizes, kMaxPlayers, kSizeFeatures},
    {"power", layout::kPower, 1, kMaxPlayers},
    {"drawn_color", layout::kDrawnColor, 1, kColors},
    {"drawn_kind", layout::kDrawnKind, 1, kSlots + kWilds},
    {"top", layout::kTop, 1, kSymbols + kWilds},
    {"top_has_flex", layout::kTopFlex, 1, 1},
    {"color", layout::kColor, 1, kColors},
    {"prior_color", layout::kPriorColor, 1, kColors},
    {"direction", layout::kDirection, 1, 2},
    {"phase", layout::kPhase, 1, 6},
    {"actor", layout::kActor, 1, kMaxPlayers},
    {"owed", layout::kOwed, 1, kOwedFeatures},
    {"draw_pile", layout::kPile, 1, kPileFeatures},
    {"empty_draws", layout::kEmptyDraws, 1, kMaxPlayers - 1},
    {"num_players", layout::kPlayers, 1, kMaxPlayers - 1},
    {"rules", layout::kRules, 1, kSwitches},
    {"scores", layout::kScores, kMaxPlayers, kScoreFeatures},
};

namespace tables {

struct Thermometers {
    uint16_t size[kDeckSize + 1] = {}, pile[kDeckSize + 1] = {};
    constexpr Thermometers() {
        for (int n = 0; n <= kDeckSize; ++n) {
            for (int i = 0; i < kSizeFeatures; ++i) size[n] |= uint16_t((n >= kSizeSteps[i]) << i);
            for (int i = 0; i < kPileFeatures; ++i) pile[n] |= uint16_t((n >= kPileSteps[i]) << i);
        }
    }
};

/// Seat and step of each thermometer feature of the hand sizes, in two vectors. The unused places can never be reached.
struct SizeLanes {
    alignas(64) uint8_t seat[2][64] = {};
    alignas(64) uint8_t step[2][64] = {};
    constexpr SizeLanes() {
        for (int i = 0; i < 128; ++i) {
            const bool used = i < kMaxPlayers * kSizeFeatures;
            seat[i / 64][i % 64] = uint8_t(used ? i / kSizeFeatures : 0);
            step[i / 64][i % 64] = uint8_t(used ? kSizeSteps[i % kSizeFeatures] : 255);
        }
    }
};

struct FlexFaces {
    /// Flex sides, as in flex_sides(), that show a color `distance` - 3 places after their regular color.
    uint64_t at_distance[2 * kColors - 1] = {};
    constexpr FlexFaces() {
        for (int f = 0; f < kColored; ++f)
            if (kFace[f].has_flex)
                at_distance[kFace[f].flex_color - kFace[f].color + kColors - 1] |=
                    uint64_t(1) << (kFace[f].color * kSymbols + kFace[f].symbol);
    }
};

struct FaceFeatures {
    /// By face: as the card just drawn (color, kind), and as the top (symbol, has a flex side); kNone shows nothing.
    uint32_t drawn[256] = {}, top[256] = {};
    constexpr FaceFeatures() {
        for (int f = 0; f < kFaces; ++f) {
            const bool wild = is_wild(f);
            const int slot = wild ? kSlots + f - kColored : f % kSlots;
            drawn[f] = (wild ? 0u : 1u << kFace[f].color) | 1u << (kColors + slot);
            top[f] = 1u << (wild ? kSymbols + f - kColored : kFace[f].symbol) | uint32_t(kFace[f].has_flex)
                                                                                    << (kSymbols + kWilds);
        }
    }
};

}  // namespace tables

inline constexpr tables::FaceFeatures kFaceFeatures{};
inline constexpr tables::Thermometers kThermometer{};
inline constexpr tables::SizeLanes kSizeLanes{};
inline constexpr tables::FlexFaces kFlexFaces{};

/// The words of an observation while they are being set. All positions are constants, so a call is a few instructions.
struct Features {
    uint64_t word[kFeatureWords];
};

/// Set `width` bits from feature `at` on.
template <int at, int width>
inline void put(Features& f, uint64_t bits) {
    static_assert(width <= 64 && at + width <= kFeatures);
    f.word[at / 64] |= bits << (at % 64);
    if constexpr (at % 64 + width > 64) f.word[at / 64 + 1] |= bits >> (64 - at % 64);
}

template <int at>
inline void put_cards(Features& f, const Cards& cards) {
    put<at, 44>(f, cards.word[0] & kColoredBits);
    put<at + 44, 44>(f, cards.word[1] & kColoredBits);
    put<at + kColored, 16>(f, wild_bits(cards));
}

inline void put_flex_faces(Features& f, const Cards& hand) {
    const uint64_t sides = flex_sides(hand);
    uint64_t faces = 0;
    for (int d = 0; d < 2 * kColors - 1; ++d) {
        const uint64_t moving = sides & kFlexFaces.at_distance[d];
        const int places = (d - (kColors - 1)) * kSymbols;
        faces |= places < 0 ? moving >> -places : moving << places;
    }
    put<layout::kFlexFaces, kColors * kSymbols>(f, faces);
}

/// Rotate per-seat bits so that the viewer's comes first.
inline uint64_t egocentric(const State& s, int viewer, uint64_t bits) {
    return (bits >> viewer | bits << (s.num_players - viewer)) & uint64_t(seated(s));
}

inline void put_sizes(Features& f, const State& s, int viewer) {
    uint64_t sizes;
    std::memcpy(&sizes, s.size, 8);
    // Little-endian: seat p is byte p. Empty seats hold 0, so rotating the seated bytes takes one shift each way. The
    // left shift is done in two halves, because a shift by 64 places is undefined.
    const int back = 4 * (s.num_players - viewer);
    const uint64_t turned = sizes >> (8 * viewer) | sizes << back << back;
    const uint64_t seats = s.num_players == kMaxPlayers ? ~uint64_t(0) : (uint64_t(1) << (8 * s.num_players)) - 1;
    const uint64_t mine_first = turned & seats;
    if constexpr (kWideVectors) {
        // One comparison of all sizes with all steps gives all bits of the thermometers.
        put<layout::kSizes, 64>(f, bytes_at_least(mine_first, kSizeLanes.seat[0], kSizeLanes.step[0]));
        put<layout::kSizes + 64, kMaxPlayers * kSizeFeatures - 64>(f, bytes_at_least(mine_first, kSizeLanes.seat[1],
                                                                                     kSizeLanes.step[1]));
        return;
    }
    uint64_t low = 0, high = 0;
    for (int k = 0; k < 4; ++k) {
        low |= uint64_t(kThermometer.size[mine_first >> (8 * k) & 255]) << (kSizeFeatures * k);
        high |= uint64_t(kThermometer.size[mine_first >> (8 * (k + 4)) & 255]) << (kSizeFeatures * k);
    }
    put<layout::kSizes, 4 * kSizeFeatures>(f, low);
    put<layout::kSizes + 4 * kSizeFeatures, 4 * kSizeFeatures>(f, high);
}

/// All rows of known_owners() at once, without a branch: which cards are known is unpredictable.
inline uint64_t known_owners_wide(const State& s, int viewer) {
    constexpr uint64_t slots = (uint64_t(1) << kSlots) - 1;
    constexpr uint64_t first = 0x0842108421;  // the first bit of each row
    const Cards& known = s.known[viewer];
    // Bit 2p + w: hand p holds a known card of the first, or the second, color of word w.
    const auto holders = [&](uint64_t color) {
        return words_meeting(s.hand, known.word[0] & color, known.word[1] & color);
    };
    const uint64_t rows = deposit_bits(holders(slots), first | first << 2) |
                          deposit_bits(holders(slots << kSlots), first << 1 | first << 3) |
                          deposit_bits(nonzero_of_8(s.known_wilds[viewer]), first << 4);
    const int above = kKnownFeatures * (s.num_players - viewer - 1);
    return (rows >> (kKnownFeatures * (viewer + 1)) | rows << above) &
           ((uint64_t(1) << (kKnownFeatures * (s.num_players - 1))) - 1);
}

/// For each other seat, a row of bits: the colors and wilds of which the viewer knows a card in that hand.
inline uint64_t known_owners(const State& s, int viewer) {
    if constexpr (kWideVectors) return known_owners_wide(s, viewer);
    uint64_t rows = 0;
    uint64_t watched;
    std::memcpy(&watched, s.known_to, 8);
    // The viewer's bit in the byte of each owner.
    for (watched = watched >> viewer & 0x0101010101010101u; watched; watched &= watched - 1) {
        const int owner = std::countr_zero(watched) / 8;
        uint64_t row = uint64_t(s.known_wilds[viewer][owner] != 0) << kColors;
        const Cards seen = shared_colored(s.known[viewer], s.hand[owner]);
        for (int c = 0; c < kColors; ++c) row |= uint64_t(faces_of_color(seen, c) != 0) << c;
        rows |= row << (kKnownFeatures * (offset_of(s, viewer, owner) - 1));
    }
    return rows;
}

/// Cards known from a challenge, and in whose hand.
inline void put_known(Features& f, const State& s, int viewer) {
    put_cards<layout::kKnown>(f, s.known[viewer]);
    put<layout::kKnownOwners, (kMaxPlayers - 1) * kKnownFeatures>(f, known_owners(s, viewer));
}

/// The scores of a match, in sixths of the target.
inline void put_scores(Features& f, const State& s, int viewer) {
    uint64_t scores = 0;
    for (int k = 0; k < s.num_players; ++k) {
        const int seat = viewer + k < s.num_players ? viewer + k : viewer + k - s.num_players;
        int sixths = 6 * s.score[seat] / s.target_score;
        if (sixths > kScoreFeatures) sixths = kScoreFeatures;
        scores |= ((uint64_t(1) << sixths) - 1) << (kScoreFeatures * k);
    }
    put<layout::kScores, kMaxPlayers * kScoreFeatures>(f, scores);
}

/// The observation of `viewer` as bits.
inline Features observe(const State& s, int viewer) {
    using namespace layout;
    Features f{};
    put_cards<kHand>(f, s.hand[viewer]);
    put_flex_faces(f, s.hand[viewer]);
    put_cards<kDiscards>(f, s.discard);
    if (s.knowing_seats >> viewer & 1) put_known(f, s, viewer);
    put_sizes(f, s, viewer);
    put<kPower, kMaxPlayers>(f, egocentric(s, viewer, s.green));
    put<kDrawnColor, kColors + kSlots + kWilds>(f, kFaceFeatures.drawn[s.current_player == viewer ? s.drawn : kNone]);
    put<kTop, kSymbols + kWilds + 1>(f, kFaceFeatures.top[s.top]);
    put<kColor, kColors>(f, uint64_t(1) << s.color);
    put<kDirection, 2>(f, s.direction > 0 ? 1 : 2);
    if (!is_over(s)) put<kPhase, 6>(f, uint64_t(1) << int(s.phase));
    if (s.phase == Phase::challenge || s.phase == Phase::uno || s.phase == Phase::catch_) {
        put<kActor, kMaxPlayers>(f, uint64_t(1) << offset_of(s, viewer, s.actor));
        if (s.phase == Phase::challenge) put<kPriorColor, kColors>(f, uint64_t(1) << s.prior_color);
    }
    put<kOwed, kOwedFeatures>(f, s.owed < 16 ? (1u << s.owed / 2) - 1 : 0xFF);
    put<kPile, kPileFeatures>(f, kThermometer.pile[s.pile_size]);
    put<kEmptyDraws, kMaxPlayers - 1>(f, ((uint64_t(1) << s.empty_draws) - 1) & 0x7F);
    put<kPlayers, kMaxPlayers - 1>(f, uint64_t(1) << (s.num_players - kMinPlayers));
    put<kRules, kSwitches>(f, s.switches);
    if (has(s, kMatch)) put_scores(f, s, viewer);
    return f;
}

/// Write the observation of `viewer` as 640 bytes.
inline void encode(const State& s, int viewer, uint8_t* row) {
    const Features f = observe(s, viewer);
    for (int i = 0; i < kFeatureWords; ++i) expand_bits(f.word[i], row + 64 * i);
}

/// Write the hands of the other seats, clockwise from `viewer`, as 7 x 104 bytes. Each has the form of `hand` in the
/// observation; unused seats are empty. Only a critic in training may use these hidden cards.
inline void write_hidden_hands(const State& s, int viewer, uint8_t* row) {
    for (int k = 1; k < kMaxPlayers; ++k, row += kCardFeatures) {
        Features f{};
        if (k < s.num_players) put_cards<0>(f, s.hand[(viewer + k) % s.num_players]);
        uint8_t bytes[128];
        expand_bits(f.word[0], bytes);
        expand_bits(f.word[1], bytes + 64);
        std::memcpy(row, bytes, kCardFeatures);
    }
}

/// Write a set of actions as 216 bytes.
inline void write_mask(const ActionSet& set, uint8_t* row) {
    for (int i = 0; i < 3; ++i) expand_bits(set.word[i], row + 64 * i);
    expand_24_bits(uint32_t(set.word[3]), row + 192);
}

UNO_FLEX_END
