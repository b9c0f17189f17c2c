// The state of `exact`: a partial sum that can be added to, merged, sent, stored and resumed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <detreduce/acc/exact_rounding.hpp>
#include <detreduce/status.hpp>
#include <detreduce/types.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// The Status of a call whose error stays in the state, so that it may be looked at later.
struct StateStatus : Status {
    constexpr StateStatus(const Status& status) noexcept : Status(status) {}
};

/// An exact sum of elements of any dtypes. 592 bytes, the same on host and device; all zero bytes
/// are the empty sum.
///
/// guarantee    order: the state after any sequence of adds, merges and subtracts depends on the
///              multiset of elements alone, up to normalize(), which gives each value its one form.
///              Host and device give the same bytes.
/// range        up to 2^62 elements; nothing over- or underflows. A state of more, or of a sum that
///              so many cannot make, is beyond its headroom, and remains so whatever is merged,
///              subtracted or added as an array: its value is NaN, its count INT64_MIN, and
///              deserialize() refuses its bytes
/// dtypes       a state does not know the dtypes of its elements
/// words        every word is a sum over the elements, so states may be merged by whatever adds
///              64-bit integers (MPI_SUM, ncclSum on int64): add word by word, then normalize(). Up
///              to 2^28 normalized states may be added before that, if they hold 2^62 elements
///              at most; merge() does it by itself.
/// threads      distinct states are independent; one state is for one thread, or one stream, at a
///              time
/// source       lib/SPEC.md, section 7
class ExactState {
  public:
    using Word = acc::exact::Word;
    static constexpr std::size_t word_count = acc::exact::words;

    /// Adds one element.
    template <class T>
    void add(T x) noexcept {
        make_room(1);
        acc::exact::add(words_, x);
        ++words_[acc::exact::elements];
        ++words_[acc::exact::weight];
    }

    /// Adds every element of x, on the CPU, and normalizes. invalid_argument or unsupported for a
    /// launch that the CPU does not have; out_of_memory, and nothing was added; invalid_argument
    /// for `state` if it is beyond its headroom afterwards.
    template <class T>
    Status add(std::span<const T> x, const Launch& launch = {}) noexcept {
        return add(dtype_of<T>, x.data(), x.size(), launch);
    }
    Status add(DType dtype, const void* x, std::uint64_t n, const Launch& launch = {}) noexcept;

    /// Adds what `other` holds, as if its elements had been added here. invalid_argument for
    /// `state` if it is beyond its headroom afterwards.
    StateStatus merge(const ExactState& other) noexcept { return combine(other, false); }
    /// Takes away what `other` holds: after merge(other) this restores the state. Otherwise as
    /// merge().
    StateStatus subtract(const ExactState& other) noexcept { return combine(other, true); }

    /// Passes carries on, so that equal sums have equal bytes.
    void normalize() noexcept {
        if (is_beyond()) return acc::exact::set_beyond(words_);
        acc::exact::normalize(words_);
    }

    /// The sum rounded once to T, to nearest, ties to even; ±inf (float8_e4m3: NaN) when it is
    /// beyond T.
    template <class T>
    [[nodiscard]] T round() const noexcept {
        if (is_beyond()) return fp::from_bits<T>(fp::Format<T>::canonical_nan);
        return acc::exact::round<T>(words_);
    }

    /// Is the sum NaN, for a NaN or both infinities among the elements, or as the state is beyond
    /// its headroom? Infinite, for infinities of one sign?
    [[nodiscard]] bool is_nan() const noexcept;
    [[nodiscard]] bool is_infinite() const noexcept;
    /// Elements added less elements subtracted; INT64_MIN beyond the headroom, and only there.
    [[nodiscard]] Word count() const noexcept { return is_beyond() ? INT64_MIN : words_[acc::exact::elements]; }
    [[nodiscard]] bool is_beyond() const noexcept { return acc::exact::is_beyond(words_); }

    [[nodiscard]] std::span<Word, word_count> words() noexcept { return words_; }
    [[nodiscard]] std::span<const Word, word_count> words() const noexcept { return words_; }

    /// The state as bytes that any machine can read (lib/SPEC.md, section 7.2): little-endian, with
    /// a version and a checksum.
    static constexpr std::size_t serialized_bytes = 16 + 8 * word_count + 8;
    [[nodiscard]] std::array<std::byte, serialized_bytes> serialize() const noexcept;
    /// Reads them back, and states of a flat sum that are serialized by a plan (states.hpp). A blob
    /// that is damaged, from elsewhere, of a version that is not known, or of a state beyond its
    /// headroom is an invalid_argument, and `state` is left as it was.
    static Status deserialize(std::span<const std::byte> blob, ExactState& state) noexcept;

    /// The same sum of as many elements?
    friend __attribute__((visibility("default"))) bool operator==(const ExactState& a, const ExactState& b) noexcept;

  private:
    void make_room(Word more) noexcept {
        if (words_[acc::exact::weight] + more > acc::exact::max_weight) normalize();
    }
    StateStatus combine(ExactState term, bool subtract) noexcept;

    Word words_[word_count] = {};
};

static_assert(std::is_trivially_copyable_v<ExactState> && std::is_standard_layout_v<ExactState>);
static_assert(sizeof(ExactState) == 8 * ExactState::word_count);

} // namespace detreduce
#pragma GCC visibility pop
