// clip_grad_norm on the CPU.
#include <cfenv>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/host.hpp>
#include <detreduce/spec/clip.hpp>

#include "laws/clip_image.hpp"

namespace detreduce::proptests {
namespace {

struct ClipBackend {
    static constexpr Device device = cpu;
    static Launch launch(std::uint64_t word) {
        const auto isas = available_isas();
        return {.threads = 1 + static_cast<std::uint32_t>(word >> 30) % 4, .isa = isas[(word >> 34) % isas.size()]};
    }
    static void run(const ClipPlan& plan, Image& image, void* norm, const State& state) {
        const auto list = image.list_at(image.data());
        if (!state.empty()) return throw_if_error(clip_by_state(plan, state.data(), list.data(), norm));
        throwing::run(plan, list.data(), norm);
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/clip_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("clip: the caller's rounding mode means nothing", "[clip]") {
    const AnyList list{any_from(256, Style::near, 3001), any_from(257, Style::near, 3001),
                       any_from(258, Style::near, 3001), any_from(259, Style::near, 3001)};
    const ClipRequest r{.max_norm = naively_clipped(list, 1, 0).norm / 3};
    const Clipped expected = clipped(list, r);
    for (const int mode : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
        std::fesetround(mode);
        const Clipped result = clipped(list, r);
        const int after = std::fegetround();
        std::fesetround(FE_TONEAREST);
        REQUIRE(after == mode);
        REQUIRE(fp::to_bits(result.norm) == fp::to_bits(expected.norm));
        REQUIRE(result.list == expected.list);
    }
}

/// The way of the GPU, which floats suffice for, against the one that always holds.
TEMPLATE_TEST_CASE("clip: floats tell what doubles do", "[clip]", float16, bfloat16) {
    std::uint64_t told_by_floats = 0;
    for (std::uint64_t k = 0; k < 40; ++k) {
        const double size = std::ldexp(1.0, -static_cast<int>(accuracy::hash(8, k) % 120));
        const double limit = (0.5 + static_cast<double>(accuracy::hash(7, k) >> 11) * 0x1p-54) * size;
        // The first: x/2, and behind it too little for a float, which decides halves of subnormals.
        const double first = k == 0 ? 0x1.000002p-1 : limit;
        const spec::ClipFactor factor = spec::clip_factor(k == 1 ? HUGE_VAL : k == 2 ? std::nan("") : 1, first, 0);
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            const TestType x = fp::from_bits<TestType>(static_cast<std::uint16_t>(bits));
            TestType result{};
            if (!spec::clipped_by_floats(fp::widen(x), factor, result)) continue;
            ++told_by_floats;
            if (fp::to_bits(result) != fp::to_bits(spec::clipped(x, factor)))
                FAIL(hexadecimal(x) << " times " << hexadecimal(factor.rounded));
        }
    }
    REQUIRE(told_by_floats > 65536 * 10);
}

} // namespace detreduce::proptests
