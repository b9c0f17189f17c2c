// The rungs of the ladder on a GPU. The order of each is its own, so what holds is the bound of
// that order; and that nothing but the results is written.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>
#include <detreduce/accuracy/row_oracle.hpp>
#include <ladder/ladder.hpp>

#include <support/property.hpp>
#include <support/vectors.hpp>

#include "laws/device_memory.hpp"
#include "laws/row_draws.hpp"

namespace detreduce::proptests {
namespace {

using ladder::Family;
using ladder::Rung;
using ladder::Settings;
using ladder::Shape;

struct Pinned {
    void* data = nullptr;
    explicit Pinned(std::size_t bytes) {
        if (bytes > 0) CUDA_CHECK(cudaMallocHost(&data, bytes));
    }
    ~Pinned() { (void)cudaFreeHost(data); }
    Pinned(const Pinned&) = delete;
};

struct Ran {
    std::vector<float> out;
    bool clean; ///< the input is as it was, and nothing around out and workspace was written
};

/// The rung on x, which begins `offset` elements after a boundary, with memory that begins as
/// garbage.
Ran ran(const Rung& rung, const Shape& shape, const Settings& settings, const std::vector<float>& x, unsigned offset) {
    const ladder::Needs needs = ladder::needs(rung, shape, settings);
    throw_if_error(needs.status);
    const std::size_t results = rung.family == Family::softmax ? x.size() : shape.rows;
    const OnDevice<float> input(x, offset), output(std::vector<float>(results, -1.0f), offset);
    const DeviceBuffer workspace(needs.workspace);
    workspace.fill(0xff, workspace.bytes());
    const Pinned pinned(needs.pinned);
    throw_if_error(ladder::run(rung, {shape, settings, input.data, output.data, workspace.data(), pinned.data}));
    Ran o{output.fetched(), false};
    const std::vector<float> left = input.fetched(); // both look at their guards
    o.clean = workspace.guards_intact() && std::equal(x.begin(), x.end(), left.begin(), [](float a, float b) {
                  return fp::to_bits(a) == fp::to_bits(b);
              });
    return o;
}

/// Any settings, of 64 random bits.
Settings drawn_settings(std::uint64_t word) {
    constexpr std::uint32_t per_thread[] = {1, 2, 3, 4, 7, 32, 512};
    return {.threads = 64u << (word % 5), .per_thread = per_thread[word / 8 % 7], .coalesced = word / 64 % 2 == 0};
}

bool within(const Rung& rung, const Shape& shape, const Settings& settings, std::span<const float> row, float result) {
    const std::uint64_t additions = ladder::needs(rung, shape, settings).additions;
    const double flushed =
        rung.guarantee == Guarantee::none ? accuracy::flush_bound(Method::atomic, DType::f32, row.size()) : 0;
    const accuracy::ErrorBound bound{0, accuracy::gamma_bound(DType::f32, additions), 0};
    return accuracy::within_bound(result, accuracy::exact_sum(row), bound, flushed);
}

template <class Work>
void for_rungs(bool softmax, const Work& work) {
    for (const Rung& rung : ladder::rungs())
        if ((rung.family == Family::softmax) == softmax) work(rung);
}

/// Each row within its bound, bits that come again unless atomics meet, input and surroundings
/// untouched.
bool rows_hold(const Rung& rung, const Shape& shape, const Settings& settings, const std::vector<float>& x,
               unsigned offset) {
    const Ran first = ran(rung, shape, settings, x, offset);
    bool good = first.clean;
    for (std::uint64_t row = 0; row < shape.rows; ++row)
        good = good &&
               within(rung, shape, settings, std::span(x).subspan(row * shape.length, shape.length), first.out[row]);
    if (rung.guarantee == Guarantee::none) return good;
    const Ran again = ran(rung, shape, settings, x, offset);
    for (std::uint64_t row = 0; row < shape.rows; ++row)
        good = good && fp::to_bits(first.out[row]) == fp::to_bits(again.out[row]);
    return good;
}

std::string shown(const Rung& rung, const Shape& shape, const Settings& s, unsigned offset) {
    return std::string(rung.name) + ": " + std::to_string(shape.rows) + " × " + std::to_string(shape.length) + ", " +
           std::to_string(s.threads) + " threads, " + std::to_string(s.per_thread) + " a thread, " +
           (s.coalesced ? "" : "not ") + "coalesced, offset " + std::to_string(offset);
}

const std::vector<std::size_t> boundaries{0, 1, 63, 64, 128, 256, 2048, 4096, 65536, 131072};

} // namespace

TEST_CASE("rungs of the ladder: sums are within the bound of their own order", "[ladder][gpu]") {
    std::vector<const Rung*> sums;
    for_rungs(false, [&](const Rung& rung) { sums.push_back(&rung); });
    property("any rung, settings and place", [&](std::uint64_t word) {
        const auto v = *values<float>(no_overflow<float>, boundaries);
        const Rung& rung = *sums[word / 512 % sums.size()];
        const Settings settings = drawn_settings(word);
        const unsigned offset = word / 128 % 4;
        RC_TAG(std::string(rung.name));
        RC_LOG() << shown(rung, {1, v.size()}, settings, offset);
        RC_ASSERT(rows_hold(rung, {1, v.size()}, settings, v.xs, offset));
    });
}

TEST_CASE("rungs of the ladder: rows of any length, in any place", "[ladder][gpu][sanitizer]") {
    for_rungs(false, [](const Rung& rung) {
        std::uint64_t word = 1;
        for (const std::uint64_t length : {0, 1, 3, 64, 127, 1000, 4099})
            for (const std::uint64_t rows : {1, 3}) {
                if (rung.family == Family::three_level && rows != 1) continue;
                word = accuracy::hash(word, length);
                const Settings settings = drawn_settings(word);
                const unsigned offset = word / 128 % 4;
                INFO(shown(rung, {rows, length}, settings, offset));
                CHECK(rows_hold(rung, {rows, length}, settings,
                                vector_from<float>(Style::near, rows * length, word, no_overflow<float>), offset));
            }
    });
}

TEST_CASE("rungs of the ladder: more pieces than one level, and than the device holds", "[ladder][gpu]") {
    const auto x = vector_from<float>(Style::near, (1 << 23) + 37, 5, no_overflow<float>);
    for_rungs(false, [&](const Rung& rung) {
        for (const Settings& settings : {Settings{.threads = 64, .per_thread = 1}, Settings{.threads = 256},
                                         Settings{.threads = 1024, .per_thread = 512, .coalesced = false}}) {
            INFO(shown(rung, {1, x.size()}, settings, 1));
            CHECK(rows_hold(rung, {1, x.size()}, settings, x, 1));
        }
        const Shape many{20'000, 41}; // more blocks than are resident
        if (rung.family != Family::three_level)
            CHECK(rows_hold(rung, many, {}, std::vector<float>(x.begin(), x.begin() + 20'000 * 41), 0));
    });
}

TEST_CASE("rungs of the ladder: no elements, one, zeros, NaN and infinities", "[ladder][gpu]") {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for_rungs(false, [&](const Rung& rung) {
        INFO(rung.name);
        const auto sum = [&](std::vector<float> x) { return ran(rung, {1, x.size()}, {}, x, 0).out.front(); };
        const auto among = [&](std::vector<float> special) {
            std::vector<float> x(9001, 1.0f);
            for (std::size_t i = 0; i < special.size(); ++i)
                x[4000 + 100 * i] = special[i];
            return sum(x);
        };
        CHECK(fp::to_bits(sum({})) == 0);
        CHECK(sum({-3.5f}) == -3.5f);
        CHECK(fp::to_bits(sum({-0.0f})) == 0);
        CHECK(among({}) == 9001.0f);
        CHECK(among({inf}) == inf);
        CHECK(among({-inf, -inf}) == -inf);
        CHECK(std::isnan(among({nan})));
        CHECK(std::isnan(among({inf, -inf})));
    });
}

namespace {

/// With u = 2⁻²⁴ and D the largest difference that a term does not underflow at: differences, and
/// the exponentials of them, are off by D·u and less than 2u each, in the numerator and on average
/// in the sum; each addition, and in the online rung each scale, by up to 4u; the quotient by u.
/// Twice that for what is of second order.
double softmax_bound(const Rung& rung, const Shape& shape, const Settings& settings, std::span<const float> row) {
    const auto [minimum, maximum] = std::minmax_element(row.begin(), row.end());
    const double range = std::min(110.0, static_cast<double>(*maximum) - static_cast<double>(*minimum));
    return 2 * 0x1p-24 * (3 * range + 4 * static_cast<double>(ladder::needs(rung, shape, settings).additions) + 8);
}

} // namespace

TEST_CASE("rungs of the ladder: softmax is near the true one", "[ladder][gpu][sanitizer]") {
    for_rungs(true, [](const Rung& rung) {
        for (const std::uint64_t length : {1, 2, 63, 129, 1000})
            for (const RowKind kind :
                 {RowKind::ordinary, RowKind::wide, RowKind::very_low, RowKind::huge, RowKind::equal, RowKind::zeros}) {
                const Settings settings = drawn_settings(length + 7 * static_cast<std::uint64_t>(kind));
                const Shape shape{2, length};
                std::vector<float> x;
                for (std::uint64_t row = 0; row < 2; ++row) {
                    const auto more = row_of<float>(kind, length, 11 * length + row);
                    x.insert(x.end(), more.begin(), more.end());
                }
                const Ran o = ran(rung, shape, settings, x, length % 4);
                INFO(shown(rung, shape, settings, length % 4) << ", kind " << static_cast<int>(kind));
                bool good = o.clean;
                for (std::uint64_t row = 0; row < 2; ++row) {
                    const std::span<const float> one = std::span(x).subspan(row * length, length);
                    const std::vector<double> wide(one.begin(), one.end());
                    const accuracy::RowOracle oracle(wide);
                    const double bound = softmax_bound(rung, shape, settings, one);
                    for (std::size_t i = 0; i < length; i += 1 + length / 50)
                        good = good &&
                               oracle.softmax_error(i, o.out[row * length + i]) <= bound * oracle.softmax(i) + 0x1p-125;
                }
                CHECK(good);
            }
    });
}

TEST_CASE("rungs of the ladder: softmax of what is not finite, of nothing, and of many rows", "[ladder][gpu]") {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for_rungs(true, [&](const Rung& rung) {
        INFO(rung.name);
        const auto of = [&](std::vector<float> x) { return ran(rung, {1, x.size()}, {}, x, 0).out; };
        for (const std::vector<float>& row :
             {std::vector{1.0f, nan, 2.0f}, std::vector{-inf, -inf}, std::vector{inf, 1.0f, inf}})
            CHECK(std::isnan(of(row).front() + of(row).back()));
        CHECK(of({-inf, 0.0f}) == std::vector{0.0f, 1.0f});
        CHECK(of({}).empty());
        const std::uint64_t rows = 100'000;
        const Ran many = ran(rung, {rows, 4}, {}, std::vector<float>(rows * 4, 1.5f), 0);
        CHECK(many.clean);
        CHECK(std::all_of(many.out.begin(), many.out.end(), [](float y) { return y == 0.25f; }));
    });
}

} // namespace detreduce::proptests
