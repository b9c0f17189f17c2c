// The C header: ops in one call and exact states, with the bits of the C++ API, and errors by name.
#include <cstring>
#include <string_view>
#include <vector>

#include <detreduce/detreduce.hpp>

#include <support/numbers.hpp>

#include "laws/c_api_in_c.h"
#include "laws/c_api_support.hpp"

namespace detreduce::proptests {
namespace {

constexpr std::size_t some_lengths[] = {0, 1, 2, 129, 4097, 70001};

template <class T>
using OneInput = detreduce_status (*)(const T*, std::uint64_t, detreduce_method, T*) noexcept;
template <class T>
using TwoInputs = detreduce_status (*)(const T*, const T*, std::uint64_t, detreduce_method, T*) noexcept;
template <class T, class Out>
using Ordering = detreduce_status (*)(const T*, std::uint64_t, detreduce_nan_policy, Out*) noexcept;

template <class T, class Call>
void same_sums(Op op, const Call& call) {
    for (const MethodInfo& m : methods()) {
        for (const std::size_t n : some_lengths) {
            const auto x = numbers<T>(n, 1), y = numbers<T>(n, 2);
            const bool two = info(op).inputs == 2;
            T expected{}, out = T{77};
            const Status status =
                run(make_plan({.op = op, .method = m.method, .dtype = dtype_of<T>, .n = n, .device = cpu}),
                    {x.data(), two ? y.data() : nullptr}, &expected);
            const detreduce_status c = call(x.data(), y.data(), n, static_cast<detreduce_method>(m.method), &out);
            INFO(name(op) << ' ' << m.name << ' ' << n);
            REQUIRE(c.code == static_cast<detreduce_status_code>(status.code));
            REQUIRE(c.argument == std::string_view(status.argument));
            REQUIRE((m.method == Method::atomic || same_bits(out, status.ok() ? expected : T{77})));
        }
    }
}
template <class T>
void same(Op op, OneInput<T> call) {
    same_sums<T>(op, [call](auto x, auto, auto n, auto method, auto out) { return call(x, n, method, out); });
}
template <class T>
void same(Op op, TwoInputs<T> call) {
    same_sums<T>(op, call);
}
template <class T, class Out>
void same_order(Op op, Ordering<T, Out> call) {
    for (const NanPolicy nan : {NanPolicy::propagate, NanPolicy::ignore}) {
        for (const std::size_t n : some_lengths) {
            const auto x = numbers<T>(n, 3);
            Out expected{}, out{};
            const Status status = run(make_plan({.op = op, .dtype = dtype_of<T>, .n = n, .device = cpu, .nan = nan}),
                                      x.data(), &expected);
            const detreduce_status c = call(x.data(), n, static_cast<detreduce_nan_policy>(nan), &out);
            INFO(name(op) << ' ' << n);
            REQUIRE(c.code == static_cast<detreduce_status_code>(status.code));
            REQUIRE(std::memcmp(&out, &expected, sizeof out) == 0);
        }
    }
}

ExactState as_state(const detreduce_state& state) {
    ExactState s;
    std::memcpy(s.words().data(), &state, sizeof state);
    return s;
}

} // namespace

TEST_CASE("C: one-line ops have the bits and the errors of C++", "[c]") {
    same<float>(Op::sum, detreduce_sum_f32), same<double>(Op::sum, detreduce_sum_f64);
    same<float>(Op::mean, detreduce_mean_f32), same<double>(Op::mean, detreduce_mean_f64);
    same<float>(Op::asum, detreduce_asum_f32), same<double>(Op::asum, detreduce_asum_f64);
    same<float>(Op::sumsq, detreduce_sumsq_f32), same<double>(Op::sumsq, detreduce_sumsq_f64);
    same<float>(Op::nrm2, detreduce_nrm2_f32), same<double>(Op::nrm2, detreduce_nrm2_f64);
    same<float>(Op::dot, detreduce_dot_f32), same<double>(Op::dot, detreduce_dot_f64);
    same<float>(Op::sumdiffsq, detreduce_sumdiffsq_f32), same<double>(Op::sumdiffsq, detreduce_sumdiffsq_f64);
    same<float>(Op::mse, detreduce_mse_f32), same<double>(Op::mse, detreduce_mse_f64);
    same<float>(Op::mae, detreduce_mae_f32), same<double>(Op::mae, detreduce_mae_f64);
    same_order<float>(Op::min, detreduce_min_f32), same_order<double>(Op::min, detreduce_min_f64);
    same_order<float>(Op::max, detreduce_max_f32), same_order<double>(Op::max, detreduce_max_f64);
    same_order<float>(Op::nrminf, detreduce_nrminf_f32), same_order<double>(Op::nrminf, detreduce_nrminf_f64);
    same_order<float>(Op::argmin, detreduce_argmin_f32), same_order<double>(Op::argmin, detreduce_argmin_f64);
    same_order<float>(Op::argmax, detreduce_argmax_f32), same_order<double>(Op::argmax, detreduce_argmax_f64);

    const double x = 1;
    double out = 77;
    expect(detreduce_sum_f64(&x, 1, 99, &out), DETREDUCE_INVALID_ARGUMENT, "method");
    expect(detreduce_sum_f64(&x, 1, 256 + DETREDUCE_METHOD_EXACT, &out), DETREDUCE_INVALID_ARGUMENT, "method");
    expect(detreduce_sum_f64(nullptr, 1, DETREDUCE_METHOD_EXACT, &out), DETREDUCE_INVALID_ARGUMENT, "x");
    expect(detreduce_dot_f64(&x, nullptr, 1, DETREDUCE_METHOD_EXACT, &out), DETREDUCE_INVALID_ARGUMENT, "y");
    expect(detreduce_sum_f64(&x, 1, DETREDUCE_METHOD_EXACT, nullptr), DETREDUCE_INVALID_ARGUMENT, "out");
    expect(detreduce_max_f64(&x, 1, -1, &out), DETREDUCE_INVALID_ARGUMENT, "nan");
    REQUIRE(out == 77);
}

TEST_CASE("C: states have the bytes of ExactState", "[c]") {
    for (const DType dtype : dtypes()) {
        with_dtype(dtype, [&]<class T>(T) {
            const auto x = numbers<T>(4001, 11), y = numbers<T>(999, 12);
            detreduce_state a, b = DETREDUCE_STATE_INIT;
            std::memset(&a, 0xa5, sizeof a);
            detreduce_state_init(&a);
            detreduce_launch launch{};
            launch.threads = 2;
            expect_ok(detreduce_state_add(&a, static_cast<detreduce_dtype>(dtype), x.data(), x.size(), nullptr));
            expect_ok(detreduce_state_add(&b, static_cast<detreduce_dtype>(dtype), y.data(), y.size(), &launch));
            ExactState s, t;
            throw_if_error(s.add(std::span<const T>(x)));
            throw_if_error(t.add(std::span<const T>(y)));
            REQUIRE(std::memcmp(&a, &s, sizeof a) == 0);
            const detreduce_state before = a;
            expect_ok(detreduce_state_merge(&a, &b));
            s.merge(t);
            REQUIRE(std::memcmp(&a, &s, sizeof a) == 0);
            REQUIRE(detreduce_state_count(&a) == 5000);
            for (const DType output : dtypes()) {
                with_dtype(output, [&]<class Out>(Out) {
                    Out out{};
                    expect_ok(detreduce_state_round(&a, static_cast<detreduce_dtype>(output), &out));
                    REQUIRE(same_bits(out, s.round<Out>()));
                });
            }
            expect_ok(detreduce_state_subtract(&a, &b));
            REQUIRE(detreduce_state_equal(&a, &before) == 1);
            REQUIRE(detreduce_state_equal(&a, &b) == 0);
            expect_ok(detreduce_state_normalize(&a));
            REQUIRE(std::memcmp(&a, &before, sizeof a) == 0);
            expect_ok(detreduce_state_merge(&a, &a)); // itself
            REQUIRE(detreduce_state_count(&a) == 8002);
            REQUIRE(as_state(a).round<double>() == 2 * as_state(before).round<double>());
            detreduce_state_init(&a);
            REQUIRE(detreduce_state_count(&a) == 0);
        });
    }
}

TEST_CASE("C: states in parts, as bytes, and with infinities and NaN", "[c]") {
    const auto x = numbers<double>(3000, 13);
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{1500}, x.size()}) {
        double out = 0;
        expect_ok(sum_in_parts_in_c(x.data(), x.size(), first, &out));
        REQUIRE(same_bits(out, sum(x)));
    }
    detreduce_state state = DETREDUCE_STATE_INIT;
    REQUIRE(detreduce_state_is_nan(&state) + detreduce_state_is_inf(&state) == 0);
    const float infinities[] = {fp::from_bits<float>(0x7f800000u), fp::from_bits<float>(0xff800000u)};
    expect_ok(detreduce_state_add(&state, DETREDUCE_DTYPE_F32, infinities, 1, nullptr));
    REQUIRE(detreduce_state_is_inf(&state) == 1);
    REQUIRE(detreduce_state_is_nan(&state) == 0);
    expect_ok(detreduce_state_add(&state, DETREDUCE_DTYPE_F32, infinities + 1, 1, nullptr));
    REQUIRE(detreduce_state_is_inf(&state) == 0);
    REQUIRE(detreduce_state_is_nan(&state) == 1);
}

TEST_CASE("C: states beyond their headroom", "[c]") {
    constexpr detreduce_status_code invalid = DETREDUCE_INVALID_ARGUMENT;
    const double one = 1;
    detreduce_state state = DETREDUCE_STATE_INIT, unit = DETREDUCE_STATE_INIT;
    expect_ok(detreduce_state_add(&unit, DETREDUCE_DTYPE_F64, &one, 1, nullptr));
    state = unit;
    for (int i = 0; i < 62; ++i)
        expect_ok(detreduce_state_merge(&state, &state));
    double sum = 0;
    expect_ok(detreduce_state_round(&state, DETREDUCE_DTYPE_F64, &sum));
    REQUIRE(sum == 0x1p62);
    const detreduce_state full = state;
    expect(detreduce_state_add(&state, DETREDUCE_DTYPE_F64, &one, 1, nullptr), invalid, "state");
    const detreduce_state beyond = state;
    state = full;
    expect(detreduce_state_merge(&state, &unit), invalid, "state");
    for (int i = 0; i < 3; ++i) {
        REQUIRE(std::memcmp(&state, &beyond, sizeof state) == 0);
        REQUIRE(detreduce_state_is_nan(&state) == 1);
        REQUIRE(detreduce_state_is_inf(&state) == 0);
        REQUIRE(detreduce_state_count(&state) == INT64_MIN);
        expect_ok(detreduce_state_round(&state, DETREDUCE_DTYPE_F64, &sum));
        REQUIRE(same_bits(sum, quiet_nan<double>));
        expect_ok(detreduce_state_normalize(&state));
        expect(detreduce_state_subtract(&state, i == 0 ? &full : &state), invalid, "state");
        expect(detreduce_state_merge(&state, &full), invalid, "state");
        expect(detreduce_state_add(&state, DETREDUCE_DTYPE_F64, &one, 1, nullptr), invalid, "state");
    }
    unsigned char blob[DETREDUCE_STATE_SERIALIZED_BYTES];
    expect_ok(detreduce_state_serialize(&state, blob, sizeof blob));
    state = unit;
    expect(detreduce_state_deserialize(blob, sizeof blob, &state), invalid, "blob");
    REQUIRE(std::memcmp(&state, &unit, sizeof state) == 0);
}

TEST_CASE("C: what is wrong with a call on a state is said by name", "[c]") {
    constexpr detreduce_status_code invalid = DETREDUCE_INVALID_ARGUMENT;
    detreduce_state state = DETREDUCE_STATE_INIT;
    const double x[2] = {1, 2};
    expect_ok(detreduce_state_add(&state, DETREDUCE_DTYPE_F64, x, 2, nullptr));
    const detreduce_state before = state;
    alignas(8) unsigned char blob[DETREDUCE_STATE_SERIALIZED_BYTES + 8];
    expect(detreduce_state_add(nullptr, DETREDUCE_DTYPE_F64, x, 2, nullptr), invalid, "state");
    expect(detreduce_state_add(&state, 99, x, 2, nullptr), invalid, "dtype");
    expect(detreduce_state_add(&state, DETREDUCE_DTYPE_F64, nullptr, 2, nullptr), invalid, "x");
    detreduce_launch launch{};
    launch.threads = 5000;
    expect(detreduce_state_add(&state, DETREDUCE_DTYPE_F64, x, 2, &launch), invalid, "launch.threads");
    expect(detreduce_state_merge(&state, nullptr), invalid, "term");
    expect(detreduce_state_merge(nullptr, &state), invalid, "state");
    expect(detreduce_state_subtract(&state, nullptr), invalid, "term");
    expect(detreduce_state_normalize(nullptr), invalid, "state");
    expect(detreduce_state_round(&state, 99, blob), invalid, "dtype");
    expect(detreduce_state_round(&state, DETREDUCE_DTYPE_F64, nullptr), invalid, "out");
    expect(detreduce_state_round(&state, DETREDUCE_DTYPE_F64, blob + 4), invalid, "out");
    expect(detreduce_state_serialize(&state, blob, DETREDUCE_STATE_SERIALIZED_BYTES - 1), invalid, "size");
    expect(detreduce_state_serialize(&state, nullptr, 616), invalid, "blob");
    expect_ok(detreduce_state_serialize(&state, blob, sizeof blob));
    expect(detreduce_state_deserialize(blob, sizeof blob, &state), invalid, "blob");
    expect(detreduce_state_deserialize(nullptr, 616, &state), invalid, "blob");
    blob[20] ^= 1;
    expect(detreduce_state_deserialize(blob, DETREDUCE_STATE_SERIALIZED_BYTES, &state), invalid, "blob");
    REQUIRE(std::memcmp(&state, &before, sizeof state) == 0);
    REQUIRE(detreduce_state_is_nan(nullptr) + detreduce_state_is_inf(nullptr) + detreduce_state_count(nullptr) == 0);
    const detreduce_status no_state = detreduce_cuda_state_merge(nullptr, &state, nullptr);
    REQUIRE(no_state.code == (cuda::built_with_cuda() ? invalid : detreduce_status_code{DETREDUCE_NO_DEVICE}));
}

} // namespace detreduce::proptests
