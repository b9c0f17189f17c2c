// Elements as .npy files store them, and as they are reduced.
#pragma once

#include <cstdint>
#include <string>

#include "input.hpp"

namespace detreduce::program {

/// What `descr` of a header says: `<f4`, `>i8`, `|b1`.
struct StoredType {
    enum class Kind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating };
    Kind kind = Kind::floating;
    std::size_t size = 8; ///< bytes
    bool big_endian = false;

    /// As elements of memory: nothing has to be done with them.
    [[nodiscard]] bool is_plain() const { return kind == Kind::floating && !big_endian; }
    /// What they are reduced as without a wish: floats as they are (of one byte that must be said),
    /// integers as what holds them all, or, of 64 bits, f64.
    [[nodiscard]] DType natural_dtype() const;
};

/// Throws Failure, naming the source, for what is no real number.
[[nodiscard]] StoredType stored_type(const ByteSource& bytes, const std::string& descr);

/// Reads elements and converts them, without a rounding.
class ElementReader {
  public:
    ElementReader(StoredType from, DType to) : from_(from), to_(to) {}

    /// Puts the next n elements at `to`; fewer only where the source ends. `rest` bytes of an
    /// element may be left. `first` is the index of the first for messages: Failure for one that
    /// the dtype does not hold.
    [[nodiscard]] std::uint64_t read(ByteSource& bytes, void* to, std::uint64_t n, std::uint64_t first,
                                     std::size_t& rest) const;

  private:
    void convert(const ByteSource& bytes, const std::byte* from, void* to, std::uint64_t n, std::uint64_t first) const;
    StoredType from_;
    DType to_;
};

} // namespace detreduce::program
