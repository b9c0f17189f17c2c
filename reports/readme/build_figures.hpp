// How large the library is and how long it takes to compile: what `./dev build-figures` wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace detreduce::readme {

/// Of one set of GPU architectures.
struct BuildFigure {
    std::string architectures; ///< "80-real;90"; empty: without CUDA
    std::string compiler, nvcc, cpu, commit, date;
    std::uint64_t bytes = 0, processor_seconds = 0;
};

/// Throws program::Failure, naming `source`, when the text is something else.
[[nodiscard]] BuildFigure build_figure(const std::string& text, const std::string& source);

/// All of them in words, the smallest first, and where they come from; `link` is how the document
/// names their folder.
[[nodiscard]] std::string build_text(std::vector<BuildFigure> list, const std::string& link);

} // namespace detreduce::readme
