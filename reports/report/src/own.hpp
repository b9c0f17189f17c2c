// Reductions that somebody plugged in (detreduce/accuracy/study.hpp), where they are measured in
// the place of a method.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <detreduce/accuracy/study.hpp>

#include "measure.hpp"

namespace detreduce::report {

using accuracy::OwnReduction;

/// The methods that are measured: all, or tree and exact beside reductions of one's own.
[[nodiscard]] std::vector<MethodInfo> measured_methods(const Options& options);

/// All dtypes, or those that there are reductions of one's own for.
[[nodiscard]] bool is_measured(const Options& options, DType dtype);
[[nodiscard]] std::vector<DType> measured_dtypes(const Options& options);

/// Those of that dtype that can be run here, in the order in which they were added: on the CPU host
/// functions, on a GPU launchers first.
[[nodiscard]] std::vector<const OwnReduction*> own_here(const Options& options, DType dtype);

[[nodiscard]] Device device_of(const OwnReduction& own, const Options& options);

/// "'my sum' of 16 f32 elements on a GPU": what an error begins with.
[[nodiscard]] std::string words_of(const OwnReduction& own, std::uint64_t n);

/// Runs the host function. Throws program::Failure, with words_of(), when it throws.
void run_on_host(const OwnReduction& own, const void* x, std::uint64_t n, void* result);

/// claims.bound and workspace_bytes of n elements, in the same way.
[[nodiscard]] accuracy::ErrorBound bound_of(const OwnReduction& own, std::uint64_t n);
[[nodiscard]] std::size_t workspace_of(const OwnReduction& own, std::uint64_t n);

/// Those that can be run here, with what they claim.
[[nodiscard]] std::vector<OwnRow> own_rows(const Options& options);

/// What a reader has to know: what was measured, what was left out.
[[nodiscard]] std::vector<std::string> own_notes(const Options& options);

} // namespace detreduce::report
