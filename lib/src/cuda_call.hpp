// Calls of the CUDA backend, or the status that there is none.
#pragma once

#include "cuda_backend.hpp"
#include "host/fp_environment.hpp"

namespace detreduce::cuda {

/// Calls a function of the backend: call(&Functions::enqueue, plan, …). What it rounds on the host,
/// as numbers of a request, does not depend on the caller's rounding mode.
template <class F, class... Arguments>
[[nodiscard]] Status call(F Functions::*function, Arguments&&... arguments) noexcept {
    const Functions* const there = functions();
    if (there == nullptr) return no_backend;
    const host::StandardFpEnvironment environment;
    return (there->*function)(arguments...);
}

} // namespace detreduce::cuda
