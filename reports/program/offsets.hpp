// Where the segments of an array begin and end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "input.hpp"

namespace detreduce::program {

/// A file of whole numbers: a one-dimensional .npy where its name says so, otherwise text with one
/// a line.
class IntegerFile {
  public:
    /// Opens it, so that a missing file is told before the numbers are read.
    explicit IntegerFile(const std::string& path);
    IntegerFile(std::unique_ptr<ByteSource> bytes, bool npy);

    /// Its numbers as the offsets of segments of n numbers: one or more, none less than the one
    /// before it or greater than n. Throws Failure, naming the line or entry.
    [[nodiscard]] std::vector<std::uint64_t> load_offsets(std::uint64_t n);

    /// The offsets of segments of n numbers of which this file has the ids: n, none less than the
    /// one before it. There are `groups` segments, of which each id names one, or, where that is
    /// not given, as many as the last id needs. Throws Failure as well.
    [[nodiscard]] std::vector<std::uint64_t> load_ids(std::uint64_t n, std::optional<std::uint64_t> groups);

  private:
    std::unique_ptr<ByteSource> file_;
    bool npy_;
};

} // namespace detreduce::program
