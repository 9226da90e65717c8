// The module _core.
#include "bindings.hpp"

NB_MODULE(_core, m) {
    // At exit, Python frees the contents of modules in no particular order. nanobind would report this as leaks.
    nb::set_leak_warnings(false);
    m.doc() = "The compiled core of uno_flex_env: rules, views, bots and batches.";
    bind_tables(m);
    bind_rules(m);
    bind_states(m);
    bind_positions(m);
    bind_episodes(m);
    bind_batches(m);
    m.def(
        "levels",
        [] {
            std::vector<std::string> names;
            for (const auto* k : uno_flex_kernel::kernels()) names.emplace_back(k->name);
            return names;
        },
        "Instruction-set levels that this processor runs, the best first.");
}
