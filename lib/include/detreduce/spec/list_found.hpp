// What ops that compare or count know of a part of a list of tensors (lib/SPEC.md, section 10), on
// host and device. Every element is a double too, and as doubles those of different dtypes have
// keys that can be compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include <detreduce/acc/finish.hpp>
#include <detreduce/config.hpp>
#include <detreduce/spec/order_key.hpp>

namespace detreduce::spec {

/// All zeros is what is known of nothing.
struct ListFound {
    std::uint64_t elements; ///< how many were looked at
    std::int64_t keys[2];   ///< the largest, of the elements as doubles; minmax: of the minimum and of the maximum
    std::uint64_t integer;  ///< the index of the first, in the list taken as one array; or the count

    /// Parts may be merged in any order: of equal keys the lower index is better.
    DETREDUCE_HD constexpr void merge(const ListFound& other, bool counts) {
        const std::uint64_t looked_at = elements + other.elements;
        if (counts) {
            integer += other.integer;
        } else if (elements == 0) {
            *this = other;
        } else if (other.elements != 0) {
            merge_keys(other);
        }
        elements = looked_at;
    }

  private:
    DETREDUCE_HD constexpr void merge_keys(const ListFound& other) {
        if (Found<std::int64_t>{other.keys[0], other.integer}.beats({keys[0], integer})) {
            keys[0] = other.keys[0];
            integer = other.integer;
        }
        keys[1] = other.keys[1] > keys[1] ? other.keys[1] : keys[1];
    }
};

/// How an op sees a list.
struct ListView {
    KeyMap<double> maps[2];
    bool counts, integer, both, zero_of_nothing;

    [[nodiscard]] static ListView of(Op op, NanPolicy nan) {
        const OpInfo& about = info(op);
        const View first = op == Op::minmax ? View::minimum : view_of(op);
        return {{KeyMap<double>::of(first, nan), KeyMap<double>::of(View::maximum, nan)},
                about.kind == Kind::count,
                about.gives_integer,
                about.results == 2,
                op == Op::nrminf};
    }
    /// The key of an element of any dtype, or of a magnitude.
    template <class T>
    [[nodiscard]] DETREDUCE_HD std::int64_t key(int which, T x) const {
        return maps[which].settled(maps[which].key(static_cast<double>(fp::widen(x))));
    }
    /// Writes one result, or both of minmax, of `bytes` bytes each.
    DETREDUCE_HD void store(const ListFound& found, void* out, DType output, std::size_t bytes) const {
        if (integer) {
            *static_cast<std::uint64_t*>(out) = found.elements == 0 && !counts ? no_index : found.integer;
            return;
        }
        for (int k = 0; k < (both ? 2 : 1); ++k) {
            const double nothing = fp::from_bits<double>(zero_of_nothing ? 0 : fp::Format<double>::canonical_nan);
            const double x = found.elements == 0 ? nothing : maps[k].element(found.keys[k]);
            acc::store_as(static_cast<char*>(out) + static_cast<std::size_t>(k) * bytes, output,
                          [&](auto t) { return fp::round_to<decltype(t)>(x); });
        }
    }
};

} // namespace detreduce::spec
