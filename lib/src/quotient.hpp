// A number over another, where a plan's device has them (spec/row_math.hpp).
#pragma once

#include <detreduce/spec/row_math.hpp>

#include "cuda_call.hpp"
#include "host/row_ops.hpp"

namespace detreduce {

[[nodiscard]] inline Status divide(const Device& device, const spec::Quotient& quotient, Stream stream,
                                   const cuda::CountedTargets& counted = {}) {
    if (device.backend == Backend::cuda)
        return cuda::call(&cuda::Functions::enqueue_quotient, device, quotient, counted, stream);
    host::write_quotient(quotient);
    return {};
}

} // namespace detreduce
