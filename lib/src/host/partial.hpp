// The reduction of a flat array that comes part by part, of every op whose parts can be put
// together without a rounding: the bits are those of the whole, wherever it is cut. Not installed;
// the program reads pipes with it.
#pragma once

#include <cstdint>
#include <variant>

#include <detreduce/plan.hpp>
#include <detreduce/spec/list_found.hpp>

#include "host/multiset/exact_sums.hpp"

namespace detreduce::host {

/// Visible in a shared library, too, for the program.
class __attribute__((visibility("default"))) Partial {
  public:
    /// Can what this request asks for be reduced so? Sums, norms, means and moments by exact can,
    /// and ops that compare or count elements one by one; on the CPU.
    [[nodiscard]] static bool can(const Request& request) noexcept;

    /// Of a request for which that is so; its n does not count.
    explicit Partial(const Request& request) noexcept;

    /// Adds the next n elements of x, and of y for ops of two inputs. What the library says of a
    /// wrong launch; out_of_memory, and nothing was added.
    Status add(const void* x, const void* y, std::uint64_t n) noexcept;

    /// How many elements there were.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// The results of a plan of the same request, whose n is count(), to `out`.
    void finish(const Plan& plan, void* out) noexcept;

  private:
    Request request_;
    std::uint64_t count_ = 0;
    std::variant<ElementSums, TermSums, PowerSums, spec::ListFound> found_; ///< of the op's kind, once there was a part
};

} // namespace detreduce::host
