// The module _core: tables that both languages need, and the other parts of the binding.
#include "bindings.hpp"

#include <cstdlib>

#include "actions.hpp"
#include "bots.hpp"
#include "observation.hpp"

using uno_flex_kernel::Kernel;

namespace {

bool cpu_runs(const char* level) {
    const std::string name = level;
    if (name == "baseline") return true;
#if defined(UNO_FLEX_X86) && defined(__GNUC__)
    __builtin_cpu_init();  // gcc does it by itself, clang does not
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
                      __builtin_cpu_supports("fma");
    if (name == "avx2") return avx2;
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi");
#elif defined(UNO_FLEX_X86) && defined(_MSC_VER)
    int regs[4];
    __cpuid(regs, 1);
    const bool os_saves = (regs[2] >> 27 & 1) && (regs[2] >> 28 & 1);
    if (!os_saves) return false;
    const uint64_t saved = _xgetbv(0);
    __cpuidex(regs, 7, 0);
    const bool avx2 = (saved & 6) == 6 && (regs[1] >> 5 & 1) && (regs[1] >> 3 & 1) && (regs[1] >> 8 & 1);
    if (name == "avx2") return avx2;
    const int need = 1 << 16 | 1 << 17 | 1 << 30 | int(1u << 31);  // F, DQ, BW, VL
    return avx2 && (saved & 0xE6) == 0xE6 && (regs[1] & need) == need && (regs[2] >> 1 & 1);
#else
    return false;
#endif
}

nb::list face_table() {
    nb::list faces;
    for (int f = 0; f < kFaces; ++f) {
        const Face& face = kFace[f];
        auto or_none = [](int v) { return v == kNone ? nb::object(nb::none()) : nb::object(nb::int_(v)); };
        faces.append(nb::make_tuple(or_none(face.color), or_none(face.symbol), int(face.count), int(face.points),
                                    or_none(face.flex_color), face.has_flex, face.flip_icon));
    }
    return faces;
}

nb::list action_table() {
    nb::list actions;
    for (int a = 0; a < kActions; ++a) {
        const Action& action = kAction[a];
        auto or_none = [](int v) { return v == kNone ? nb::object(nb::none()) : nb::object(nb::int_(v)); };
        actions.append(nb::make_tuple(int(action.verb), or_none(action.face), or_none(action.color), int(action.offset),
                                      action.flex));
    }
    return actions;
}

}  // namespace

std::vector<const Kernel*> kernels() {
    std::vector<const Kernel*> all;
#if defined(UNO_FLEX_X86)
    all = {&uno_flex_kernel::kernel_avx512, &uno_flex_kernel::kernel_avx2};
#endif
    all.push_back(&uno_flex_kernel::kernel_baseline);
    std::vector<const Kernel*> usable;
    for (const Kernel* k : all)
        if (cpu_runs(k->name)) usable.push_back(k);
    return usable;
}

/// The best level of this processor, or the one that UNO_FLEX_LEVEL names.
const Kernel& choose_kernel() {
    const auto usable = kernels();
    const char* forced = std::getenv("UNO_FLEX_LEVEL");
    if (!forced || !*forced) return *usable.front();
    std::string names;
    for (const Kernel* k : usable) {
        if (std::string(k->name) == forced) return *k;
        names += std::string(names.empty() ? "" : ", ") + k->name;
    }
    refuse_value("UNO_FLEX_LEVEL is '" + std::string(forced) + "'; this processor runs " + names);
}

NB_MODULE(_core, m) {
    // Python frees what modules hold in no particular order at exit; nanobind would report it as leaks.
    nb::set_leak_warnings(false);
    m.doc() = "The compiled core of uno_flex_env: rules, views, bots and batches.";
    bind_states(m);
    bind_batches(m);
    m.def("faces", &face_table,
          "(color, symbol, count, points, flex color, has a flex side, flip icon) of the 92 faces.");
    m.def("actions", &action_table, "(verb, face, called color, target offset, flex side) of the 216 actions.");
    m.def(
        "levels",
        [] {
            std::vector<std::string> names;
            for (const Kernel* k : kernels()) names.emplace_back(k->name);
            return names;
        },
        "Instruction-set levels that this processor runs, the best first.");
    nb::list fields, parts, bots;
    for (const FieldInfo& f : kStateFields) fields.append(nb::make_tuple(f.name, f.offset, f.size, f.item, f.columns));
    for (const Part& p : kParts) parts.append(nb::make_tuple(p.name, p.start, p.rows, p.columns));
    for (const char* name : kBotNames) bots.append(name);
    m.attr("STATE_FIELDS") = nb::tuple(fields);
    m.attr("STATE_SIZE") = sizeof(State);
    m.attr("LAYOUT") = nb::tuple(parts);
    m.attr("BOTS") = nb::tuple(bots);
    m.attr("SIZE_STEPS") = std::vector<int>(std::begin(kSizeSteps), std::end(kSizeSteps));
    m.attr("PILE_STEPS") = std::vector<int>(std::begin(kPileSteps), std::end(kPileSteps));
    m.attr("NUM_FEATURES") = kFeatures;
    m.attr("NUM_ACTIONS") = kActions;
}
