// The instruction-set level that a file is compiled for, and the few bit tricks that depend on it.
//
// kernel.cpp is compiled once per level. Functions, and the tables that they build, live in an inline namespace named
// after the level, so that code built for AVX-512 never stands in for the baseline's when the linker folds equal
// symbols. Structs of plain data (Cards, ActionSet, Rules, State) are the same for all levels and live outside it: so
// the bindings hand them to any kernel.
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

static_assert(std::endian::native == std::endian::little, "bytes of words are written as they lie in memory");

#if defined(UNO_FLEX_X86) && (defined(__BMI2__) || (defined(_MSC_VER) && defined(__AVX2__)))
#define UNO_FLEX_BMI2 1
#endif

UNO_FLEX_BEGIN

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

inline int lowest_bit(uint64_t x) {
#if defined(_MSC_VER)
    unsigned long index;
    _BitScanForward64(&index, x);
    return int(index);
#else
    return __builtin_ctzll(x);
#endif
}

/// Position of the k-th set bit of x, k from 0.
inline int select_bit(uint64_t x, int k) {
#if defined(UNO_FLEX_BMI2)
    return lowest_bit(_pdep_u64(uint64_t(1) << k, x));
#else
    while (k-- > 0) x &= x - 1;
    return lowest_bit(x);
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

UNO_FLEX_END
