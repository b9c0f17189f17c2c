// Losses on the CPU.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <vector>

#include <detreduce/spec/loss_terms.hpp>

#include "laws/askew.hpp"
#include "laws/loss_backend.hpp"
#include "laws/refused.hpp"

namespace detreduce::proptests {
namespace {

struct Cpu {
    static constexpr Device device = cpu;
    static constexpr int cases = 1000;
    template <class T>
    using Array = Askew<T>;
    static std::vector<Launch> launches(const LossRequest&) {
        std::vector<Launch> list;
        for (const std::uint32_t threads : {1u, 2u, 3u, 7u}) {
            for (const Isa isa : available_isas())
                list.push_back({.threads = threads, .isa = isa});
        }
        return list;
    }
    static void execute(const LossPlan& plan, const LossInputs& in, void* out, void*) {
        throw_if_error(run(plan, in, out));
    }
    static void execute_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx) {
        throw_if_error(run_gradient(plan, in, upstream, dx));
    }
};
using LossBackend = LossBackendOn<Cpu>;

} // namespace
} // namespace detreduce::proptests

#include "laws/loss_laws.hpp"

namespace detreduce::proptests {

TEST_CASE("losses: log(1 + e^-a) of floats is off by 2.5 units of the last place at most", "[losses][error]") {
    constexpr std::uint32_t end = 0x42d40000; // 106: from 104 on it is 0
    double worst = 0;
    for (std::uint32_t bits = 0; bits < end; bits += 1009) {
        const float a = fp::from_bits<float>(bits), result = loss_terms::log1p_exp(a);
        const double truth = std::log1p(std::exp(-static_cast<double>(a)));
        const double unit = std::ldexp(1.0, std::max(std::ilogb(truth) - 23, -149));
        worst = std::max(worst, std::fabs(result - truth) / unit);
        const float reference = reference::LossReference<float>{Loss::bce_with_logits, 1, a, 0}.soft();
        if (fp::to_bits(result) != fp::to_bits(reference)) FAIL(hexadecimal(a));
    }
    REQUIRE(worst <= 2.5);
    REQUIRE(worst > 2);
}

TEST_CASE("losses: ranges, and what the calls on them refuse", "[losses]") {
    const std::vector<float> x{1, 2, 6}, t{1, 4, 2}, w{1, 2, 3};
    REQUIRE(loss(Loss::mse, x, t) == 20.0f / 3);
    REQUIRE(loss(Loss::mse, x, t, {.reduction = Reduction::sum}) == 20);
    REQUIRE(loss(Loss::mae, x, t, w, {.reduction = Reduction::sum, .method = Method::tree}) == 16);
    REQUIRE(loss_as<double>(Loss::huber, x, t, {}, {.reduction = Reduction::sum, .parameter = 2}) == 8);
    REQUIRE(loss_terms_of(Loss::mae, x, t, std::span<const float>(w)) == std::vector<float>{0, 4, 12});
    REQUIRE(loss_gradient(Loss::mae, x, t, {.reduction = Reduction::sum}) == std::vector<float>{0, -1, 1});
    const float upstream = 3;
    REQUIRE(loss_gradient(Loss::mae, x, t, w, {.reduction = Reduction::sum}) == std::vector<float>{0, -2, 3});
    REQUIRE(loss(Loss::mse, x, t, w) == 56.0f / 6);
    REQUIRE(loss(Loss::mae, x, t, w) == 16.0f / 6);
    REQUIRE(loss(Loss::huber, x, t, w) == 13.5f / 3);
    REQUIRE(loss(Loss::mse, x, t, {.batch = 2}) == 10);
    REQUIRE(loss(Loss::mse, x, t, w, {.batch = 2}) == 28);
    REQUIRE(loss_gradient(Loss::mse, x, t, w, &upstream, {}) == std::vector<float>{0, -4, 12});
    REQUIRE(loss_gradient(Loss::mse, x, t, w, &upstream, {.batch = 3}) == std::vector<float>{0, -8, 24});
    REQUIRE(loss_gradient(Loss::mse, x, t, w, {.reduction = Reduction::sum, .with_respect_to = LossArgument::target}) ==
            std::vector<float>{0, 8, -24});
    REQUIRE(loss_gradient(Loss::mse, x, t, w, {.reduction = Reduction::sum, .with_respect_to = LossArgument::weight}) ==
            std::vector<float>{0, 4, 16});
    const std::vector<float> two{1, 2};
    REQUIRE(refused([&] { (void)loss(Loss::mse, x, two); }) == "target");
    const std::vector<float> none;
    for (const auto& wrong : {two, none}) {
        REQUIRE(refused([&] { (void)loss(Loss::mse, x, t, wrong); }) == "weight");
        REQUIRE(refused([&] { (void)loss_terms_of(Loss::mse, x, t, wrong); }) == "weight");
        REQUIRE(refused([&] { (void)loss_gradient(Loss::mse, x, t, wrong); }) == "weight");
    }
    const std::span<const float> none_of_some =
        std::span<const float>(w).first(0); // not null, so that no look at pointers refuses it
    REQUIRE(refused([&] { (void)loss(Loss::mse, x, t, none_of_some); }) == "weight");
    REQUIRE(loss(Loss::huber, none, none, none, {.reduction = Reduction::sum}) == 0);
    REQUIRE(refused([&] { (void)loss(Loss::mse, x, t, {.reduction = Reduction::none}); }) == "reduction");
    REQUIRE(refused([&] { (void)loss_terms_of(Loss::mse, x, t, {}, {}); }) == "reduction");
}

TEST_CASE("losses: the caller's rounding mode means nothing", "[losses]") {
    for (const Loss loss : all_losses) {
        const auto data = loss_data<float>(loss, 5003, 3);
        for (const std::uint32_t threads : {1u, 3u}) {
            LossRequest r{.loss = loss, .parameter = 0.1, .weighted = true, .launch = {.threads = threads}};
            const float upstream = 0.7f;
            const auto all = [&] {
                auto values = LossBackend::run<float>(r, data, 0);
                const auto slopes = LossBackend::gradient(r, data, std::vector<float>{upstream}, 0);
                values.insert(values.end(), slopes.begin(), slopes.end());
                r.reduction = Reduction::none;
                const auto terms = LossBackend::run<float>(r, data, 0);
                values.insert(values.end(), terms.begin(), terms.end());
                r.reduction = Reduction::mean;
                return values;
            };
            const auto expected = all();
            std::fesetround(FE_UPWARD);
            const auto up = all();
            const int mode = std::fegetround();
            std::fesetround(FE_TONEAREST);
            REQUIRE(mode == FE_UPWARD);
            REQUIRE(bits_of(up) == bits_of(expected));
        }
    }
}

TEST_CASE("losses: names", "[losses]") {
    for (const Loss loss : all_losses) {
        REQUIRE(losses[static_cast<std::size_t>(loss)].loss == loss);
        REQUIRE(parse_loss(name(loss)) == loss);
    }
    REQUIRE_FALSE(parse_loss("?").has_value());
    REQUIRE(name(static_cast<Loss>(77)) == "?");
    REQUIRE(name(Reduction::mean) == "mean");
}

TEST_CASE("losses: what is wrong is said by name", "[losses][status]") {
    const auto status_of = [](LossRequest r) {
        r.device = cpu;
        if (r.n == 0) r.n = 4;
        return make_loss_plan(r).status();
    };
    constexpr auto invalid = StatusCode::invalid_argument, unsupported = StatusCode::unsupported;
    const double nan = quiet_nan<double>, inf = infinity<double>;
    expect(LossPlan().status(), invalid, "plan");
    expect(status_of({.loss = static_cast<Loss>(99)}), invalid, "loss");
    expect(status_of({.reduction = static_cast<Reduction>(99)}), invalid, "reduction");
    expect(status_of({.method = static_cast<Method>(99)}), invalid, "method");
    expect(status_of({.dtype = static_cast<DType>(99)}), invalid, "dtype");
    expect(status_of({.output = static_cast<DType>(99)}), invalid, "output");
    expect(status_of({.n = max_n + 1}), invalid, "n");
    expect(status_of({.batch = max_n + 1}), invalid, "batch");
    expect(status_of({.reduction = Reduction::sum, .batch = 3}), invalid, "batch");
    expect(status_of({.with_respect_to = static_cast<LossArgument>(99)}), invalid, "with_respect_to");
    expect(status_of({.with_respect_to = LossArgument::weight}), invalid, "with_respect_to");
    REQUIRE(status_of({.weighted = true, .with_respect_to = LossArgument::weight}).ok());
    REQUIRE(status_of({.with_respect_to = LossArgument::target}).ok());
    expect(status_of({.device = {static_cast<Backend>(9), 0}, .launch = {.threads = 1025}}), invalid, "launch.threads");
    for (const Loss loss : {Loss::mse, Loss::kl_div}) {
        expect(status_of({.loss = loss, .method = Method::serial}), unsupported, "method");
        expect(status_of({.loss = loss, .method = Method::atomic}), unsupported, "method");
        expect(status_of({.loss = loss, .method = Method::tree, .output = DType::f16}), invalid, "output");
        expect(make_loss_plan({.loss = loss, .n = 0, .device = cpu}).status(), invalid, "n");
        REQUIRE(status_of({.loss = loss, .reduction = Reduction::none, .output = DType::f16}).ok());
        REQUIRE(make_loss_plan({.loss = loss, .reduction = Reduction::sum, .device = cpu}).status().ok());
    }
    for (const double bad : {0.0, -1.0, nan, inf, 1e300, 1e-300})
        expect(status_of({.loss = Loss::huber, .parameter = bad}), invalid, "parameter");
    for (const double bad : {-1.0, -1e-300, nan, inf, 1e300}) {
        for (const Loss loss : {Loss::smooth_l1, Loss::bce_with_logits, Loss::focal})
            expect(status_of({.loss = loss, .parameter = bad}), invalid, "parameter");
    }
    REQUIRE(status_of({.loss = Loss::huber, .dtype = DType::f64, .parameter = 1e-300}).ok());
    REQUIRE(status_of({.loss = Loss::smooth_l1, .parameter = 0}).ok());
}

TEST_CASE("losses: what is wrong with pointers is said by name", "[losses][status]") {
    alignas(8) const float x[4] = {1, 2, 3, 4};
    alignas(8) float out[4] = {77, 77, 77, 77};
    const auto askew = [](const void* p) { return static_cast<const void*>(static_cast<const char*>(p) + 1); };
    constexpr auto invalid = StatusCode::invalid_argument;
    for (const Loss loss : {Loss::mse, Loss::huber}) {
        for (const Reduction reduction : {Reduction::none, Reduction::sum}) {
            LossRequest r{.loss = loss, .reduction = reduction, .n = 2, .device = cpu};
            const auto with = [&](const LossInputs& in, void* to) { return run(make_loss_plan(r), in, to); };
            const auto slopes = [&](const LossInputs& in, const void* g, void* to) {
                return run_gradient(make_loss_plan(r), in, g, to);
            };
            for (const void* bad : {static_cast<const void*>(nullptr), askew(x)}) {
                void* const bad_out = const_cast<void*>(bad);
                expect(with({bad, x}, out), invalid, "x");
                expect(with({x, bad}, out), invalid, "target");
                expect(with({x, x}, bad_out), invalid, "out");
                expect(slopes({bad, x}, x, out), invalid, "x");
                expect(slopes({x, bad}, x, out), invalid, "target");
                expect(slopes({x, x}, nullptr, bad_out), invalid, "dx");
                r.weighted = true;
                expect(with({x, x, bad}, out), invalid, "weight");
                expect(slopes({x, x, bad}, x, out), invalid, "weight");
                r.weighted = false;
            }
            expect(with({x, x, x}, out), invalid, "weight");
            expect(slopes({x, x}, askew(x), out), invalid, "upstream");
            expect(run(LossPlan(), {x, x}, out), invalid, "plan");
            expect(run_gradient(LossPlan(), {x, x}, nullptr, out), invalid, "plan");
            REQUIRE(out[0] == 77);
        }
    }
}

} // namespace detreduce::proptests
