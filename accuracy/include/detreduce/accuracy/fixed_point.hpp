// Exact accumulation of non-negative multiples of a power of two: a long fixed-point number whose
// 32-bit limbs lie in 64-bit lanes, so that an add touches three lanes and carries wait (the idea
// of Kulisch's long accumulator, 1971, with carry-save limbs as in Neal's
// "small superaccumulator", 2015).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/multiprecision/cpp_int.hpp>

namespace detreduce::accuracy {

/// Σ limb_k·2^(32k) for limbs below 2^32.
[[nodiscard]] boost::multiprecision::cpp_int from_limbs(std::span<const std::uint64_t> limbs);

/// Σ mantissa·2^exponent for exponents ≥ `Lowest` and terms < 2^`Highest`, exact for up to 2^64
/// terms. One add puts less than 2^33 into a lane, so a carry pass is due after 2^31 − 1 adds;
/// add() does it by itself. `CarryEvery` is a parameter only so that tests can cross a carry pass
/// cheaply.
template <int Lowest, int Highest, std::uint32_t CarryEvery = 0x7fff'ffffu>
class FixedPoint {
    // Each add puts less than 2^33 into a lane, and a carry pass leaves less than that.
    static_assert(CarryEvery >= 1 && (std::uint64_t{CarryEvery} + 1) <= (std::uint64_t{1} << 31),
                  "adds of less than 2^33 each would overflow a 64-bit lane before it is carried");

  public:
    static constexpr int lowest_exponent = Lowest;
    static constexpr int headroom_bits = 64; // as many terms as a 64-bit count counts
    static constexpr std::size_t lanes = static_cast<std::size_t>(Highest - Lowest + headroom_bits + 31) / 32 + 1;

    void add(std::uint64_t mantissa, int exponent) noexcept {
        if (adds_ == CarryEvery) carry();
        ++adds_;
        const auto position = static_cast<unsigned>(exponent - Lowest);
        const unsigned lane = position / 32, shift = position % 32;
        const std::uint64_t low = (mantissa & limb_mask) << shift;
        const std::uint64_t high = (mantissa >> 32) << shift;
        lane_[lane] += low & limb_mask;
        lane_[lane + 1] += (low >> 32) + (high & limb_mask);
        lane_[lane + 2] += high >> 32;
    }

    /// Never more than CarryEvery.
    [[nodiscard]] std::uint32_t adds_since_carry() const noexcept { return adds_; }

    /// The sum times 2^−Lowest.
    [[nodiscard]] boost::multiprecision::cpp_int scaled() const {
        FixedPoint carried = *this;
        carried.carry();
        return from_limbs(carried.lane_);
    }

  private:
    static constexpr std::uint64_t limb_mask = 0xffff'ffffu;

    void carry() noexcept {
        std::uint64_t carried = 0;
        for (std::uint64_t& lane : lane_) {
            // lane + carried cannot wrap: see CarryEvery; the headroom keeps the last lane from
            // carrying out.
            lane += carried;
            carried = lane >> 32;
            lane &= limb_mask;
        }
        adds_ = 0;
    }

    std::array<std::uint64_t, lanes> lane_{};
    std::uint32_t adds_ = 0;
};

} // namespace detreduce::accuracy
