// Billions of elements on the CPU, in the memory of one block of them.
#include <cstring>
#include <span>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <detreduce/detreduce.hpp>

#include <support/bits.hpp>
#include <support/property.hpp>

#include "laws/repeating.hpp"
#include "laws/suite.hpp"

namespace detreduce::proptests {
namespace {

/// Copies of a block of memory for n elements, one after the other, in the room of one.
template <class T>
class Repeated {
  public:
    Repeated(const std::vector<T>& block, std::size_t n)
        : bytes_(block.size() * sizeof(T)), times_(n / block.size() + 1) {
        const int file = memfd_create("detreduce", 0);
        if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) return;
        auto* const base = static_cast<char*>(
            mmap(nullptr, bytes_ * times_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (base == MAP_FAILED) return;
        base_ = base;
        for (std::size_t i = 0; i < times_; ++i) {
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
    [[nodiscard]] const T* data() const { return static_cast<const T*>(static_cast<void*>(base_)); }

  private:
    std::size_t bytes_, times_;
    char* base_ = nullptr;
    bool ok_ = false;
};

} // namespace

TEST_CASE("more than 2^32 elements", "[cpu][large]") {
    const auto input = beyond_32_bits<bfloat16>();
    const Repeated<bfloat16> x(input.block, input.n);
    REQUIRE(x.ok());
    const std::span all(x.data(), input.n);
    for (const Method method : {Method::tree, Method::exact}) {
        INFO(name(method));
        REQUIRE(same_bits(sum_as<double>(all, method), input.expected<double>(method)));
    }
}

/// Elements with as many limbs set as there can be, none in the window of another: every element is
/// added limb by limb, as far as a limb has room. [slow]: half a minute.
TEST_CASE("more hostile elements than a limb has room for", "[.][slow][cpu][large]") {
    constexpr std::size_t n = std::size_t{5} << 29, length = std::size_t{1} << 22;
    std::vector<bfloat16> block(length, number<bfloat16>(0xff000000)), ones(length, number<bfloat16>(1));
    constexpr double far[] = {0x1p100, -0x1p100, 0x1p-100, -0x1p-100};
    for (std::size_t i = 0; i < length; i += 8)
        block[i] = number<bfloat16>(far[i / 8 % 4]);
    const Repeated<bfloat16> x(block, n), y(ones, n);
    REQUIRE((x.ok() && y.ok()));
    constexpr double expected = static_cast<double>(n / 8 * 7) * 0xff000000; // all else cancels
    static_assert(expected > 0x1p63);
    for (const Op op : {Op::sum, Op::dot}) {
        INFO(name(op));
        const Plan plan = make_plan(
            {.op = op, .dtype = DType::bf16, .output = DType::f64, .n = n, .device = cpu, .launch = {.threads = 1}});
        throw_if_error(plan.status());
        double result = 0;
        throw_if_error(run(plan, {x.data(), op == Op::dot ? y.data() : nullptr}, &result));
        REQUIRE(result == expected);
    }
}

/// n has 33 bits, most of them set, and n·Σx² a limb more than Σx² and the low limb of n have.
/// [slow]: ten seconds.
TEST_CASE("the variance of more than 2^32 elements", "[.][slow][cpu][large]") {
    constexpr std::size_t n = (std::size_t{7} << 30) + 6;
    std::vector<bfloat16> block(std::size_t{1} << 22);
    for (std::size_t i = 0; i < block.size(); ++i)
        block[i] = number<bfloat16>(i % 2 == 0 ? 0x3p14 : -0x3p14);
    const Repeated<bfloat16> x(block, n);
    REQUIRE(x.ok());
    const Plan plan = make_plan({.op = Op::moments, .dtype = DType::bf16, .output = DType::f64, .n = n, .device = cpu});
    throw_if_error(plan.status());
    double result[2] = {};
    throw_if_error(run(plan, x.data(), result));
    REQUIRE(result[0] == 0);
    REQUIRE(result[1] == 0x9p28);
}

} // namespace detreduce::proptests
