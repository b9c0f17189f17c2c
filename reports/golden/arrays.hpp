// The arrays of a call: made on the host, copied to where it is made, and fetched from there.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/fp/convert.hpp>

#include "golden/fingerprint.hpp"
#include "golden/memory.hpp"

namespace detreduce::golden {

/// Elements of a family, of one sign if that is not 0.
template <class T>
std::vector<T> numbers(accuracy::Family family, std::uint64_t n, std::uint64_t seed, int sign = 0) {
    std::vector<T> list = accuracy::generate<T>(family, n, seed);
    for (T& x : list) {
        if (sign != 0) x = fp::round_to<T>(sign * std::fabs(fp::widen(x)));
    }
    return list;
}

class Arrays {
  public:
    /// Each array begins `offset` elements after a boundary.
    Arrays(const Memory& memory, std::uint64_t offset) : memory_(memory), offset_(offset) {}

    /// A copy of them; null of none.
    template <class T>
    const T* in(const std::vector<T>& list) {
        if (list.empty()) return nullptr;
        std::vector<T> moved(offset_);
        moved.insert(moved.end(), list.begin(), list.end());
        moved.resize(moved.size() + behind);
        kept_.push_back({memory_.copied(moved.data(), moved.size() * sizeof(T)), moved.size() * sizeof(T)});
        return reinterpret_cast<const T*>(kept_.back().at.get()) + offset_;
    }
    /// One that results are written over.
    template <class T>
    T* in_and_out(const std::vector<T>& list) {
        T* const at = const_cast<T*>(in(list));
        if (at != nullptr) results_.push_back(kept_.back());
        return at;
    }

    /// Room for `count` results of `bytes` bytes, zeros; null of none.
    void* out(std::uint64_t count, std::size_t bytes) {
        if (count == 0) return nullptr;
        const std::size_t all = (offset_ + count + behind) * bytes;
        results_.push_back({memory_.copied(nullptr, all), all});
        return results_.back().at.get() + offset_ * bytes;
    }

    [[nodiscard]] std::byte* workspace(std::size_t bytes) {
        kept_.push_back({memory_.copied(nullptr, bytes), bytes});
        return kept_.back().at.get();
    }

    /// Of all results, and of what lies before and behind each, in the order in which they were
    /// asked for.
    [[nodiscard]] std::uint64_t fingerprint() const {
        std::uint64_t all = empty_fingerprint;
        for (const Array& r : results_) {
            std::vector<std::byte> bytes(r.bytes);
            memory_.fetch(bytes.data(), r.at.get(), r.bytes);
            for (const std::byte b : bytes)
                all = fingerprint_with(all, static_cast<std::uint64_t>(b), 1);
        }
        return all;
    }

  private:
    static constexpr std::size_t behind = 64; ///< elements that nothing may be written to
    struct Array {
        std::shared_ptr<std::byte> at;
        std::size_t bytes;
    };
    const Memory& memory_;
    std::uint64_t offset_;
    std::vector<Array> kept_, results_;
};

} // namespace detreduce::golden
