// An exact sum of numbers that come block after block: on the CPU here, on a GPU in
// reduce_cuda.hpp.
#pragma once

#include <memory>

#include <detreduce/exact_state.hpp>

#include "input.hpp"
#include "value.hpp"

namespace detreduce::program {

class ExactSum : public Sink {
  public:
    [[nodiscard]] virtual ExactState state() = 0;
    /// The sum rounded to `output`.
    [[nodiscard]] virtual Value round(DType output) = 0;
};

/// On top of what `start` holds.
[[nodiscard]] std::unique_ptr<ExactSum> exact_sum_on_cpu(const ExactState& start, const Launch& launch);

} // namespace detreduce::program
