// The instruction-set level that a file is compiled for, and the functions that depend on it. The portable version at
// the end of each function defines what it computes. No other header names an instruction.
//
// kernel.cpp is compiled once per level. Functions, and the tables that they build, live in an inline namespace named
// after the level, so that code built for AVX-512 never stands in for the baseline's when the linker folds equal
// symbols. Structs of plain data (Cards, ActionSet, Rules, State) live outside it. They are the same for all levels, so
// the bindings can pass them to any kernel.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(UNO_FLEX_X86)
#include <immintrin.h>
#endif

#ifndef UNO_FLEX_LEVEL
#define UNO_FLEX_LEVEL baseline
#endif
#define UNO_FLEX_BEGIN   \
    namespace uno_flex { \
    inline namespace UNO_FLEX_LEVEL {
#define UNO_FLEX_END \
    }                \
    }

/// Put this before a function to inline everything that it calls, so that its loop keeps the state in registers.
#if defined(_MSC_VER)
#define UNO_FLEX_FLATTEN [[msvc::flatten]]
#else
#define UNO_FLEX_FLATTEN [[gnu::flatten]]
#endif

static_assert(std::endian::native == std::endian::little, "bytes of words are written as they lie in memory");

#if defined(UNO_FLEX_X86) && (defined(__BMI2__) || (defined(_MSC_VER) && defined(__AVX2__)))
#define UNO_FLEX_BMI2 1
#endif
#if defined(UNO_FLEX_BMI2) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512VBMI__) && \
    defined(__AVX512VBMI2__)
#define UNO_FLEX_AVX512 1
#endif

UNO_FLEX_BEGIN

/// Whether whole tables can be compared at once, which is then faster than single look-ups.
#if defined(UNO_FLEX_AVX512)
constexpr bool kWideVectors = true;
#else
constexpr bool kWideVectors = false;
#endif

inline int popcount(uint64_t x) {
#if defined(__POPCNT__) && !defined(_MSC_VER)
    return __builtin_popcountll(x);
#elif defined(_MSC_VER) && defined(__AVX2__)
    return int(__popcnt64(x));
#else
    // Without the instruction a builtin is a library call; this is faster.
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return int((x * 0x0101010101010101u) >> 56);
#endif
}

/// Position of the k-th set bit of x, k from 0.
inline int select_bit(uint64_t x, int k) {
#if defined(UNO_FLEX_BMI2)
    return std::countr_zero(_pdep_u64(uint64_t(1) << k, x));
#else
    while (k-- > 0) x &= x - 1;
    return std::countr_zero(x);
#endif
}

/// The low bits of x at the places that `mask` names, in order.
inline uint64_t deposit_bits(uint64_t x, uint64_t mask) {
#if defined(UNO_FLEX_BMI2)
    return _pdep_u64(x, mask);
#else
    uint64_t result = 0;
    for (; mask; mask &= mask - 1, x >>= 1) result |= (mask & (0 - mask)) & (0 - (x & 1));
    return result;
#endif
}

/// Two fields of `width` bits of x, which begin at bits `low` and `high`, side by side.
template <int width, int low, int high>
inline uint64_t join_fields(uint64_t x) {
    constexpr uint64_t field = (uint64_t(1) << width) - 1;
#if defined(UNO_FLEX_BMI2)
    return _pext_u64(x, field << low | field << high);
#else
    return (x >> low & field) | (x >> high & field) << width;
#endif
}

/// The eight low bits of x as bytes, 0 or 1.
inline uint64_t expand_8_bits(uint64_t x) {
    // Copy the byte to all eight, keep one bit in each, and move it to the bottom.
    const uint64_t spread = (x & 0xFF) * 0x0101010101010101u & 0x8040201008040201u;
    return ((spread + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u;
}

#if defined(__AVX2__) && !defined(__AVX512BW__)
/// The 32 bits of x as bytes, 0 or 1.
inline __m256i expand_32_bits(uint32_t x) {
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                            2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201u));
    const __m256i word = _mm256_shuffle_epi8(_mm256_set1_epi32(int(x)), spread);
    return _mm256_min_epu8(_mm256_and_si256(word, bit), _mm256_set1_epi8(1));
}
#endif

/// Write bit i of x as byte i, 0 or 1.
inline void expand_bits(uint64_t x, uint8_t* bytes) {
#if defined(__AVX512BW__)
    _mm512_storeu_si512(bytes, _mm512_maskz_mov_epi8(_cvtu64_mask64(x), _mm512_set1_epi8(1)));
#elif defined(__AVX2__)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes), expand_32_bits(uint32_t(x)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes + 32), expand_32_bits(uint32_t(x >> 32)));
#else
    for (int i = 0; i < 8; ++i) {
        const uint64_t eight = expand_8_bits(x >> (8 * i));
        std::memcpy(bytes + 8 * i, &eight, 8);
    }
#endif
}

/// The same for 24 bits.
inline void expand_24_bits(uint32_t x, uint8_t* bytes) {
#if defined(__AVX512BW__)
    _mm512_mask_storeu_epi8(bytes, 0xFFFFFF, _mm512_maskz_mov_epi8(_cvtu64_mask64(x), _mm512_set1_epi8(1)));
#else
    for (int i = 0; i < 3; ++i) {
        const uint64_t eight = expand_8_bits(x >> (8 * i));
        std::memcpy(bytes + 8 * i, &eight, 8);
    }
#endif
}

/// Write the entries of `table` whose bits are set, in `low` for the first 64 and in `high` for the others, side by side
/// and zeros after them up to `size` bytes; returns how many are set. The table has 128 entries and is aligned to 64 bytes.
template <int size>
inline int select_bytes(const uint8_t* table, uint64_t low, uint64_t high, uint8_t* bytes) {
    static_assert(size > 64 && size < 128);
#if defined(UNO_FLEX_AVX512)
    _mm512_storeu_si512(bytes + size - 64, _mm512_setzero_si512());
    _mm512_storeu_si512(bytes, _mm512_maskz_compress_epi8(low, _mm512_load_si512(table)));
    _mm512_mask_storeu_epi8(bytes + popcount(low), (uint64_t(1) << (size - 64)) - 1,
                            _mm512_maskz_compress_epi8(high, _mm512_load_si512(table + 64)));
#else
    std::memset(bytes, 0, size);
    for (uint64_t rest = low; rest; rest &= rest - 1) *bytes++ = table[std::countr_zero(rest)];
    for (uint64_t rest = high; rest; rest &= rest - 1) *bytes++ = table[64 + std::countr_zero(rest)];
#endif
    return popcount(low) + popcount(high);
}

/// Bit i: byte place[i] of x is at least least[i], for 64 places from 0 to 7. Both arrays are aligned to 64 bytes.
inline uint64_t bytes_at_least(uint64_t x, const uint8_t* place, const uint8_t* least) {
#if defined(UNO_FLEX_AVX512)
    const __m512i all = _mm512_set1_epi64(int64_t(x));
    const __m512i bytes = _mm512_maskz_permutexvar_epi8(~__mmask64(0), _mm512_load_si512(place), all);
    return uint64_t(_mm512_cmpge_epu8_mask(bytes, _mm512_load_si512(least)));
#else
    uint64_t result = 0;
    for (int i = 0; i < 64; ++i) result |= uint64_t((x >> (8 * place[i]) & 255) >= least[i]) << i;
    return result;
#endif
}

/// Bit i: word i of 16 has a bit in common with `even`, or with `odd` for an odd i. The words are aligned to 64 bytes.
inline uint64_t words_meeting(const void* words, uint64_t even, uint64_t odd) {
#if defined(UNO_FLEX_AVX512)
    const uint8_t* at = static_cast<const uint8_t*>(words);
    const __m512i wanted = _mm512_set_epi64(int64_t(odd), int64_t(even), int64_t(odd), int64_t(even), int64_t(odd),
                                            int64_t(even), int64_t(odd), int64_t(even));
    return uint64_t(_mm512_test_epi64_mask(_mm512_load_si512(at), wanted)) |
           uint64_t(_mm512_test_epi64_mask(_mm512_load_si512(at + 64), wanted)) << 8;
#else
    uint64_t result = 0, word;
    for (int i = 0; i < 16; ++i) {
        std::memcpy(&word, static_cast<const uint8_t*>(words) + 8 * i, 8);
        result |= uint64_t((word & (i % 2 ? odd : even)) != 0) << i;
    }
    return result;
#endif
}

/// Bit i: number i of eight is not 0.
inline uint64_t nonzero_of_8(const uint16_t* numbers) {
#if defined(UNO_FLEX_AVX512)
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers));
    return _mm_test_epi16_mask(all, all);
#else
    uint64_t result = 0;
    for (int i = 0; i < 8; ++i) result |= uint64_t(numbers[i] != 0) << i;
    return result;
#endif
}

UNO_FLEX_END
