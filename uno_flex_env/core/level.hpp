// The instruction-set level that a file is compiled for, and the few bit tricks that depend on it.
//
// kernel.cpp is compiled once per level. Everything in these headers lives in an inline namespace named after the
// level, so that code built for AVX-512 never stands in for the baseline's when the linker folds equal symbols.
#pragma once

#include <cstdint>

#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(UNO_FLEX_X86)
#include <immintrin.h>
#endif

#ifndef UNO_FLEX_LEVEL
#define UNO_FLEX_LEVEL baseline
#endif
#define UNO_FLEX_BEGIN \
    namespace uno_flex {  \
    inline namespace UNO_FLEX_LEVEL {
#define UNO_FLEX_END \
    }                \
    }

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
#if defined(UNO_FLEX_X86) && (defined(__BMI2__) || (defined(_MSC_VER) && defined(__AVX2__)))
    return lowest_bit(_pdep_u64(uint64_t(1) << k, x));
#else
    while (k-- > 0) x &= x - 1;
    return lowest_bit(x);
#endif
}

/// Write bit i of x as byte i, 0 or 1.
inline void expand_bits(uint64_t x, uint8_t* bytes) {
#if defined(__AVX512BW__)
    _mm512_storeu_si512(bytes, _mm512_maskz_mov_epi8(_cvtu64_mask64(x), _mm512_set1_epi8(1)));
#elif defined(__AVX2__)
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                            2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201u));
    const __m256i one = _mm256_set1_epi8(1);
    for (int half = 0; half < 2; ++half) {
        const __m256i word = _mm256_shuffle_epi8(_mm256_set1_epi32(int(x >> (32 * half))), spread);
        const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(word, bit), bit);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes + 32 * half), _mm256_and_si256(set, one));
    }
#else
    for (int i = 0; i < 8; ++i) {
        // Copy the byte to all eight, keep one bit in each, and move it to the bottom.
        uint64_t spread = (x >> (8 * i) & 0xFF) * 0x0101010101010101u & 0x8040201008040201u;
        spread = ((spread + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u;
        for (int b = 0; b < 8; ++b) bytes[8 * i + b] = uint8_t(spread >> (8 * b));
    }
#endif
}

UNO_FLEX_END
