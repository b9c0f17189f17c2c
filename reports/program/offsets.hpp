// Where the segments of an array begin and end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input.hpp"

namespace detreduce::program {

/// A file of offsets: a one-dimensional .npy of int64 or uint64 where its name says so, otherwise text with one a line.
class OffsetsFile {
  public:
    /// Opens it, so that a missing file is told before the numbers are read.
    explicit OffsetsFile(const std::string& path);

    /// The offsets of segments of n numbers: one or more, none less than the one before it or greater than n. Throws Failure, naming the
    /// line or entry.
    [[nodiscard]] std::vector<std::uint64_t> load(std::uint64_t n);

  private:
    InputFile file_;
    bool npy_;
};

} // namespace detreduce::program
