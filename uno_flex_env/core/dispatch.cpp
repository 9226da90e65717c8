#include "dispatch.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(UNO_FLEX_X86) && defined(_MSC_VER)
#include <intrin.h>
#elif defined(UNO_FLEX_X86)
#include <cpuid.h>
#endif

namespace {

#if defined(UNO_FLEX_X86)
// This calls cpuid directly, because zig's __builtin_cpu_supports knows no features.
struct Registers {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf) {
    Registers r;
#if defined(_MSC_VER)
    int regs[4];
    __cpuidex(regs, int(leaf), 0);
    r = {uint32_t(regs[0]), uint32_t(regs[1]), uint32_t(regs[2]), uint32_t(regs[3])};
#else
    __get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx);
#endif
    return r;
}

/// Which registers the operating system saves (XCR0).
uint64_t saved_registers() {
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t(high) << 32 | low;
#endif
}

constexpr bool all_of(uint64_t bits, uint64_t wanted) { return (bits & wanted) == wanted; }
constexpr uint64_t bit(int n) { return uint64_t(1) << n; }

bool runs_avx2() {
    const Registers basic = cpuid(1), more = cpuid(7), extended = cpuid(0x80000001);
    return all_of(basic.ecx, bit(12) | bit(23) | bit(27) | bit(28)) &&  // FMA, POPCNT, OSXSAVE, AVX
           all_of(more.ebx, bit(3) | bit(5) | bit(8)) &&                // BMI1, AVX2, BMI2
           all_of(extended.ecx, bit(5)) &&                              // LZCNT
           all_of(saved_registers(), bit(1) | bit(2));
}

bool runs_avx512() {
    const Registers more = cpuid(7);
    return runs_avx2() && all_of(more.ebx, bit(16) | bit(17) | bit(30) | bit(31)) &&  // F, DQ, BW, VL
           all_of(more.ecx, bit(1) | bit(6)) &&                                       // VBMI, VBMI2
           all_of(saved_registers(), bit(1) | bit(2) | bit(5) | bit(6) | bit(7));
}
#endif

}  // namespace

namespace uno_flex_kernel {

std::vector<const Kernel*> kernels() {
    std::vector<const Kernel*> usable;
#if defined(UNO_FLEX_X86)
    if (runs_avx512()) usable.push_back(&kernel_avx512);
    if (runs_avx2()) usable.push_back(&kernel_avx2);
#endif
    usable.push_back(&kernel_baseline);
    return usable;
}

const Kernel& choose_kernel() {
    const auto usable = kernels();
    const char* forced = std::getenv("UNO_FLEX_LEVEL");
    if (!forced || !*forced) return *usable.front();
    std::string names;
    for (const Kernel* k : usable) {
        if (std::string(k->name) == forced) return *k;
        names += std::string(names.empty() ? "" : ", ") + k->name;
    }
    throw std::invalid_argument("UNO_FLEX_LEVEL is '" + std::string(forced) + "'; this processor runs " + names);
}

}  // namespace uno_flex_kernel
