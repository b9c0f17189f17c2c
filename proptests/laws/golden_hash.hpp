// The fingerprint of golden bits: FNV-1a of the bits of results, as of serialized states.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <detreduce/fp/bits.hpp>
#include <detreduce/types.hpp>

#include <support/catch.hpp>

namespace detreduce::proptests {

class GoldenHash {
  public:
    template <class T>
    void put(const std::vector<T>& values) {
        for (const T v : values) {
            for (std::size_t byte = 0; byte < sizeof v; ++byte)
                hash_ = (hash_ ^ (std::uint64_t{fp::to_bits(v)} >> 8 * byte & 0xff)) * 0x100000001b3u;
        }
    }
    [[nodiscard]] std::uint64_t value() const { return hash_; }

  private:
    std::uint64_t hash_ = 0xcbf29ce484222325u;
};

/// The fingerprints of something with a name, for elements of each format.
struct Golden {
    std::string_view name;
    std::uint64_t f16, bf16, f32, f64;
};
/// of(T{}) gives the fingerprint for elements of T.
template <class F>
void check_golden(const Golden& g, const F& of) {
    const std::uint64_t f16 = of(float16{}), bf16 = of(bfloat16{}), f32 = of(float{}), f64 = of(double{});
    INFO("{\"" << g.name << std::hex << "\", 0x" << f16 << ", 0x" << bf16 << ", 0x" << f32 << ", 0x" << f64 << "},");
    CHECK(f16 == g.f16);
    CHECK(bf16 == g.bf16);
    CHECK(f32 == g.f32);
    CHECK(f64 == g.f64);
}

} // namespace detreduce::proptests
