#include "axis.hpp"

#include <cstring>

#include <fmt/format.h>

#include <detreduce/plan.hpp>

#include "failure.hpp"

namespace detreduce::program {
namespace {

/// a·b; Failure where that is more than there may be of results. Dimensions may have any product
/// where one is 0.
std::uint64_t times(std::uint64_t a, std::uint64_t b, const std::string& name) {
    if (b != 0 && a > max_groups / b)
        throw Failure(fmt::format("{} has too many results along this axis; allowed are 0 to 2^40", name));
    return a * b;
}

} // namespace

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Axis find_axis(const std::string& name, const Layout& layout, int axis) {
    const int dimensions = static_cast<int>(layout.shape.size());
    if (dimensions == 0) throw Failure(fmt::format("--axis: {} has no axes, as its shape is ()", name));
    if (axis < -dimensions || axis >= dimensions) {
        throw Failure(fmt::format("--axis: {} has no axis {}, as its shape is {}; allowed are {} to {}", name, axis,
                                  shape_text(layout.shape), -dimensions, dimensions - 1));
    }
    Axis found;
    found.index = axis < 0 ? axis + dimensions : axis;
    found.fortran = layout.fortran;
    for (int i = 0; i < dimensions; ++i) {
        const std::uint64_t length = layout.shape[static_cast<std::size_t>(i)];
        if (i == found.index) {
            found.n = length;
            continue;
        }
        found.remaining.push_back(length);
        const bool before = (i < found.index) != layout.fortran; // in memory
        (before ? found.outer : found.inner) = times(before ? found.outer : found.inner, length, name);
    }
    (void)times(found.outer, found.inner, name);
    return found;
}

std::vector<std::byte> in_c_order(const Axis& axis, std::vector<std::byte> results, std::size_t bytes) {
    if (!axis.fortran || axis.remaining.size() < 2) return results;
    std::vector<std::byte> ordered(results.size());
    std::vector<std::uint64_t> at(axis.remaining.size(),
                                  0); // the indices of the next result, the last of them the fastest
    for (std::uint64_t k = 0; k < axis.results(); ++k) {
        std::uint64_t from = 0;
        for (std::size_t i = at.size(); i-- > 0;)
            from = from * axis.remaining[i] + at[i];
        std::memcpy(ordered.data() + k * bytes, results.data() + from * bytes, bytes);
        for (std::size_t i = at.size(); i-- > 0;) {
            if (++at[i] < axis.remaining[i]) break;
            at[i] = 0;
        }
    }
    return ordered;
}

} // namespace detreduce::program
