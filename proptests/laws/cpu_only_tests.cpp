// What only the CPU backend can get wrong: the caller's floating-point environment, and more than 2^32 elements.
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <xmmintrin.h>

#include <detreduce/detreduce.hpp>
#include <detreduce/acc/rounded.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/fp/eft.hpp>
#include <spec_reference.hpp>

#include <support/bits.hpp>
#include <support/property.hpp>
#include <support/catch.hpp>

#include "host/levels.hpp"

namespace detreduce::proptests {
namespace {

/// Sets the control word of SSE for a scope.
class ControlWord {
  public:
    explicit ControlWord(unsigned word) : saved_(_mm_getcsr()) { _mm_setcsr(word); }
    ~ControlWord() { _mm_setcsr(saved_); }
    ControlWord(const ControlWord&) = delete;
    ControlWord& operator=(const ControlWord&) = delete;

  private:
    unsigned saved_;
};

} // namespace

TEMPLATE_TEST_CASE("a caller's rounding mode and flush-to-zero neither change a bit nor get lost", "[cpu]", float,
                   double) {
    constexpr unsigned flush = 0x8040, up = 0x4000, masked = 0x1f80;
    const auto x = vector_from<TestType>(Style::stratified, 100003, 3, no_overflow<TestType>);
    const auto tiny =
        vector_from<TestType>(Style::stratified, 5000, 4, {1 - largest_exponent<TestType>, 1, true, false});
    for (const auto* data : {&x, &tiny}) {
        const std::span<const TestType> span(*data);
        const TestType tree = reference::tree_sum(span), serial = reference::serial_sum(span);
        const ControlWord put_back(masked);
#pragma omp parallel num_threads(3)
        _mm_setcsr(masked | flush | up); // the pool's threads keep what they were given
        _mm_setcsr(masked);
        for (const unsigned word : {masked | flush, masked | up, masked | flush | up}) {
            for (const unsigned threads : {1u, 3u}) {
                const ControlWord scope(word);
                const TestType a = sum(span, Method::tree, {.threads = threads});
                const TestType b = sum(span, Method::serial);
                const unsigned after = _mm_getcsr() & ~0x3fu; // the exception flags are sticky
                const ControlWord normal(masked);
                REQUIRE(fp::to_bits(a) == fp::to_bits(tree));
                REQUIRE(fp::to_bits(b) == fp::to_bits(serial));
                REQUIRE(after == word);
            }
        }
    }
}

TEMPLATE_TEST_CASE("error-free transforms: value and error are the exact result", "[fp]", float, double) {
    const auto exactly = [](TestType a, TestType b, fp::Eft<TestType> r) {
        const TestType in[] = {a, b}, out[] = {r.value, r.error};
        return accuracy::exact_sum(std::span<const TestType>(in)).scaled() ==
               accuracy::exact_sum(std::span<const TestType>(out)).scaled();
    };
    property("two_sum", [&] {
        const TestType a = *value<TestType>(no_overflow<TestType>), b = *value<TestType>(no_overflow<TestType>);
        RC_ASSERT(exactly(a, b, fp::two_sum(a, b)));
        RC_ASSERT(fp::two_sum(a, b).value == a + b);
    });
    property("fast_two_sum", [&] {
        const TestType a = *value<TestType>(no_overflow<TestType>), b = *value<TestType>(no_overflow<TestType>);
        const bool ordered = std::abs(a) >= std::abs(b);
        RC_ASSERT(exactly(a, b, ordered ? fp::fast_two_sum(a, b) : fp::fast_two_sum(b, a)));
    });
    property("two_prod", [&] {
        constexpr Scope scope{-largest_exponent<TestType> / 2 + fp::Format<TestType>::precision,
                              largest_exponent<TestType> / 2 - 1, false, false};
        const TestType a = *value<TestType>(scope), b = *value<TestType>(scope);
        const fp::Eft<TestType> r = fp::two_prod(a, b);
        const auto scaled = [](TestType x) { return accuracy::scaled_value(x); };
        RC_ASSERT(scaled(a) * scaled(b) == (scaled(r.value) + scaled(r.error)) << -accuracy::ExactSum::lowest_exponent);
    });
}

struct OneLane {
    static constexpr std::uint32_t lanes = 1, chunk = 8, tile = 64;
};

TEST_CASE("levels of the CPU backend, all four of them, in a tree small enough to count through", "[cpu]") {
    using Order = OneLane;
    using Acc = acc::Rounded<double>;
    constexpr std::uint64_t most = 64ull * 64 * 64 * 64;
    const auto rule = [](std::vector<double> items) { // SPEC 3 for one lane
        while (items.size() > 1) {
            std::vector<double> next;
            for (std::size_t begin = 0; begin < items.size(); begin += Order::tile) {
                const auto tile =
                    std::span(items).subspan(begin, std::min<std::size_t>(Order::tile, items.size() - begin));
                next.push_back(*reference::lane(std::span<const double>(tile), 1, 0, 8, 0));
            }
            items = next;
        }
        return items[0];
    };
    for (const std::uint64_t n : {1ull, 2ull, 63ull, 64ull, 65ull, 4095ull, 4096ull, 4097ull, 262143ull, 262144ull}) {
        const auto x = vector_from<double>(Style::near, n, n, no_overflow<double>);
        host::Levels<Acc, Order, most> levels; // its items are results of tiles already
        for (std::uint64_t first = 0; first < n; first += Order::tile) {
            const std::uint64_t count = std::min<std::uint64_t>(Order::tile, n - first);
            for (std::uint64_t i = 0; i < count; ++i)
                levels.next()[i] = {x[first + i]};
            levels.take(count);
        }
        INFO(n);
        REQUIRE(fp::to_bits(levels.finish().sum) == fp::to_bits(rule(x)));
    }
}

namespace {

/// `times` copies of a block of memory, one after the other, in the room of one.
class Repeated {
  public:
    Repeated(const std::vector<float>& block, std::size_t times) : bytes_(block.size() * sizeof(float)), times_(times) {
        const int file = memfd_create("detreduce", 0);
        if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) return;
        auto* const base = static_cast<char*>(
            mmap(nullptr, bytes_ * times, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (base == MAP_FAILED) return;
        base_ = base;
        for (std::size_t i = 0; i < times; ++i) {
            if (mmap(base + i * bytes_, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
                return;
        }
        close(file);
        std::memcpy(base, block.data(), bytes_);
        ok_ = true;
    }
    ~Repeated() {
        if (base_) munmap(base_, bytes_ * times_);
    }
    Repeated(const Repeated&) = delete;
    Repeated& operator=(const Repeated&) = delete;
    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] const float* data() const { return static_cast<const float*>(static_cast<void*>(base_)); }

  private:
    std::size_t bytes_, times_;
    char* base_ = nullptr;
    bool ok_ = false;
};

} // namespace

TEST_CASE("more than 2^32 elements", "[cpu][large]") {
    constexpr std::size_t tile = spec::TreeOrder<4>::tile, block_tiles = 3 * 512;
    const auto block = vector_from<float>(Style::near, block_tiles * tile, 11, no_overflow<float>);
    const std::size_t n = (std::size_t{1} << 32) + 5 * tile + 77, times = n / block.size() + 1;
    const Repeated x(block, times);
    REQUIRE(x.ok());

    std::vector<float> results; // of the tiles of one block, which repeat
    for (std::size_t i = 0; i < block_tiles; ++i)
        results.push_back(reference::tree_of(std::span(block).subspan(i * tile, tile)));
    std::vector<float> level;
    for (std::size_t i = 0; i < n / tile; ++i)
        level.push_back(results[i % block_tiles]);
    const std::size_t last = n / tile * tile;
    level.push_back(reference::tree_of(std::span(block).subspan(last % block.size(), n - last)));
    REQUIRE(fp::to_bits(sum(std::span(x.data(), n))) == fp::to_bits(reference::tree_of(std::span<const float>(level))));
}

TEST_CASE("many threads may call at once", "[cpu]") {
    const auto x = vector_from<double>(Style::near, 300007, 12, no_overflow<double>);
    const double expected = reference::tree_sum(std::span<const double>(x));
    std::vector<std::thread> threads;
    std::vector<int> wrong(6);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i)
                wrong[t] += fp::to_bits(sum(x, Method::tree, {.threads = 2})) != fp::to_bits(expected);
        });
    }
    for (std::thread& t : threads)
        t.join();
    for (const int w : wrong)
        REQUIRE(w == 0);
}

} // namespace detreduce::proptests
