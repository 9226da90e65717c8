// Detects the instruction-set levels that this processor runs, and selects one.
#pragma once

#include <vector>

#include "kernel.hpp"

namespace uno_flex_kernel {

/// The kernels of the levels that this processor runs, the best first.
std::vector<const Kernel*> kernels();

/// The best of them, or the one that the environment variable UNO_FLEX_LEVEL names; std::invalid_argument if this
/// processor does not run it.
const Kernel& choose_kernel();

}  // namespace uno_flex_kernel
