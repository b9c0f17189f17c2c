// transform_reduce on the CPU.
#include <cfenv>
#include <vector>

#include <detreduce/transform_reduce.hpp>

#include "laws/contracted_terms.hpp"
#include "laws/term_function.hpp"

#define DETREDUCE_TRANSFORM_TYPES float16, bfloat16, float, double

namespace detreduce::proptests {
namespace {

struct TransformBackend {
    template <class T>
    static std::vector<int> inputs() {
        return {1, 2};
    }
    static std::vector<Launch> launches(Method) {
        std::vector<Launch> list;
        for (const std::uint32_t threads : {1u, 2u, 3u, 7u}) {
            for (const Isa isa : available_isas())
                list.push_back({.threads = threads, .isa = isa});
        }
        return list;
    }
    template <class Out, class T>
    static Status reduce(const TermFunction<TermOf<T>>& f, std::span<const T> x, std::span<const T> y, Out& out,
                         const TransformOptions& options, unsigned) {
        if (y.empty()) return transform_reduce(f, x.data(), x.size(), &out, options);
        return transform_reduce(f, x.data(), y.data(), x.size(), &out, options);
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/transform_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("transform_reduce: ranges, lambdas, and results of other formats", "[transform]") {
    const std::vector<float> x{1, 2, 3}, y{4, 5, 6};
    const float weight = 2;
    REQUIRE(transform_reduce([=](float v) { return weight * v; }, x) == 12);
    REQUIRE(transform_reduce([=](float v, float w) { return weight * (v - w); }, x, y) == -18);
    REQUIRE(transform_reduce([](float v, float w) { return v * w; }, x, y, {.finalize = Finalize::mean}) == 32.0f / 3);
    REQUIRE(transform_reduce_as<double>([](float v) { return v * 0x1p100f; }, x, {.method = Method::tree}) == 0x6p100);
    REQUIRE(transform_reduce_as<float>([](double v) { return 1 / v; }, std::vector<double>{2, 4}) == 0.75f);
    bool thrown = false;
    try {
        (void)transform_reduce([](float v, float w) { return v * w; }, x, std::vector<float>{1});
    } catch (const Error& error) {
        thrown = true;
        expect(error.status(), StatusCode::invalid_argument, "y");
    }
    REQUIRE(thrown);
    // exact is the true sum of the terms as f rounds them: here of 3 × 0.1f·0.1f, not of 3 × 0.01
    const std::vector<float> tenths(3, 0.1f);
    REQUIRE(transform_reduce_as<double>([](float v) { return v * v; }, tenths) == 3 * static_cast<double>(0.1f * 0.1f));
    static_assert(!UnaryTerm<double (*)(float), float>, "a term of another format would be rounded unseen");
    static_assert(!BinaryTerm<float (*)(float), float>);
}

namespace {

/// Has the processor what contracted_terms.cpp is compiled to?
bool can_contract() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

} // namespace

TEMPLATE_TEST_CASE("transform_reduce: a source that is compiled with contraction is refused", "[transform]", float16,
                   bfloat16, float, double) {
    if (!can_contract()) return;
    const std::vector<TestType> x(3, TestType(1.25f));
    for (const int mode : {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
        TestType out(77.0f);
        std::fesetround(mode);
        const Status status = contracted_sum(x.data(), x.size(), &out);
        std::fesetround(FE_TONEAREST);
        expect(status, StatusCode::unsupported, "f");
        REQUIRE(fp::widen(out) == 77);
        std::fesetround(mode); // and one that is not, never
        const Status allowed = transform_reduce([](TermOf<TestType> v) { return v; }, x.data(), x.size(), &out);
        std::fesetround(FE_TONEAREST);
        REQUIRE(allowed.ok());
        REQUIRE(fp::widen(out) == 3.75);
    }
}

TEST_CASE("transform_reduce: of two sources the one whose code is kept decides", "[transform]") {
    if (!can_contract()) return;
    const std::vector<float> x(3, 1 + 0x1p-12f); // whose square is rounded
    const float term = 0x1p-11f;
    for (const auto sum : {shared_sum_contracted, shared_sum_plain}) {
        float out = 3 * term;
        const Status status = sum(x.data(), x.size(), &out);
        if (!status.ok()) expect(status, StatusCode::unsupported, "f");
        REQUIRE(out == 3 * term);
    }
}

TEST_CASE("transform_reduce: the caller's rounding mode means nothing, to its function either", "[transform]") {
    const auto x = transform_elements<float>(70001, 5), y = transform_elements<float>(70001, 6);
    const TermFunction<float> f{TermKind::loss, 1.7f, 0};
    for (const Method method : transform_methods) {
        for (const std::uint32_t threads : {1u, 3u}) {
            const TransformOptions options{.method = method, .launch = {.threads = threads}};
            const float expected = transform_reduce(f, x, y, options);
            std::fesetround(FE_DOWNWARD);
            float out = 0;
            const Status status = transform_reduce(f, x.data(), y.data(), x.size(), &out, options);
            const int mode = std::fegetround();
            std::fesetround(FE_TONEAREST);
            REQUIRE(status.ok());
            REQUIRE(mode == FE_DOWNWARD);
            REQUIRE(fp::to_bits(out) == fp::to_bits(expected));
        }
    }
}

TEST_CASE("transform_reduce: what is wrong is said by name", "[transform][status]") {
    const auto f = [](float v) { return v; };
    const auto g = [](float v, float w) { return v + w; };
    alignas(8) const float x[4] = {1, 2, 3, 4};
    alignas(8) float out[2] = {77, 77};
    const float* const none = nullptr;
    const auto* const askew = reinterpret_cast<const float*>(reinterpret_cast<const char*>(x) + 1);
    const auto one = [&](const TransformOptions& options) { return transform_reduce(f, x, 4, out, options); };
    expect(one({.method = Method::serial}), StatusCode::unsupported, "method");
    expect(one({.method = Method::atomic}), StatusCode::unsupported, "method");
    expect(one({.method = static_cast<Method>(99)}), StatusCode::invalid_argument, "method");
    expect(one({.finalize = Finalize::root}), StatusCode::invalid_argument, "finalize");
    expect(one({.finalize = static_cast<Finalize>(99)}), StatusCode::invalid_argument, "finalize");
    expect(one({.launch = {.threads = 1025}}), StatusCode::invalid_argument, "launch.threads");
    expect(transform_reduce(f, none, 4, out), StatusCode::invalid_argument, "x");
    expect(transform_reduce(f, askew, 3, out), StatusCode::invalid_argument, "x");
    expect(transform_reduce(g, x, none, 4, out), StatusCode::invalid_argument, "y");
    expect(transform_reduce(g, none, x, 4, out), StatusCode::invalid_argument, "x");
    expect(transform_reduce(f, x, 4, static_cast<float*>(nullptr)), StatusCode::invalid_argument, "out");
    expect(transform_reduce(f, x, 4, reinterpret_cast<double*>(out + 1)), StatusCode::invalid_argument, "out");
    expect(transform_reduce(f, x, 4, reinterpret_cast<bfloat16*>(out), {.method = Method::tree}),
           StatusCode::invalid_argument, "output");
    expect(transform_reduce(f, x, 0, out, {.finalize = Finalize::mean}), StatusCode::invalid_argument, "n");
    expect(transform_reduce(f, x, max_n + 1, out), StatusCode::invalid_argument, "n");
    REQUIRE(out[0] == 77);
    REQUIRE(transform_reduce(f, none, 0, out).ok());
    REQUIRE(out[0] == 0);
}

} // namespace detreduce::proptests
