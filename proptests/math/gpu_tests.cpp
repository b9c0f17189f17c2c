// math.hpp on the GPU: the bits of the CPU. Without a GPU the whole program is skipped, and says so
// (cuda_test_backend.cpp).
//
//     detreduce_gpu_tests "[math]"             one float in 257, many doubles, the golden bits
//     detreduce_gpu_tests "[every_f32_gpu]"    all 2^32 floats; wants processors and AVX2, or it takes long
#include <atomic>
#include <cstring>
#include <limits>

#include <support/catch.hpp>

#include "laws/device_memory.hpp"
#include "math/evaluate.hpp"
#include "math/golden.hpp"
#include "math/inputs.hpp"
#include "math/kernels.hpp"

namespace detreduce::proptests {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

/// The lowest i for which the CPU does not say that f(x[i]) is y[i], to the bit.
template <class T>
std::size_t first_difference(math::Function f, const std::vector<T>& x, const std::vector<T>& y) {
    constexpr std::size_t block = 1 << 14;
    std::atomic<std::size_t> first{none};
    in_parallel((x.size() + block - 1) / block, [&](std::uint64_t b) {
        const std::size_t begin = b * block, n = std::min(block, x.size() - begin);
        std::vector<T> expected(n);
        evaluators().back()(f, x.data() + begin, expected.data(), n);
        if (std::memcmp(expected.data(), y.data() + begin, n * sizeof(T)) == 0) return;
        std::size_t i = begin;
        while (fp::to_bits(expected[i - begin]) == fp::to_bits(y[i]))
            ++i;
        for (std::size_t seen = first; i < seen && !first.compare_exchange_weak(seen, i);)
            ;
    });
    return first;
}

/// The GPU's values of `function` for inputs that lie there once for all functions.
template <class T>
class OnGpu {
  public:
    explicit OnGpu(const std::vector<T>& x)
        : x_(x), d_x_(x.size() * sizeof(T)), d_y_(x.size() * sizeof(T)), y_(x.size()) {
        d_x_.copy_from(x.data(), x.size() * sizeof(T));
    }
    const std::vector<T>& values(math::Function f) {
        d_y_.fill(0xff, d_y_.bytes());
        CUDA_CHECK(
            evaluate_on_gpu(f, reinterpret_cast<const T*>(d_x_.data()), reinterpret_cast<T*>(d_y_.data()), y_.size()));
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaMemcpy(y_.data(), d_y_.data(), y_.size() * sizeof(T), cudaMemcpyDeviceToHost));
        REQUIRE(d_y_.guards_intact());
        return y_;
    }
    void require_bits_of_cpu() {
        for (const auto& entry : math::functions) {
            const std::vector<T>& y = values(entry.function);
            const std::size_t i = first_difference(entry.function, x_, y);
            INFO(entry.name << ": bits of x 0x" << std::hex << (i == none ? 0 : fp::to_bits(x_[i]))
                            << ", of the GPU's result 0x" << (i == none ? 0 : fp::to_bits(y[i])));
            REQUIRE(i == none);
        }
    }

  private:
    const std::vector<T>& x_;
    DeviceBuffer d_x_, d_y_;
    std::vector<T> y_;
};

constexpr std::uint64_t block_of_floats = 1 << 24;

/// The floats with the bits first, first + stride, …
std::vector<float> floats(std::uint64_t first, std::uint64_t stride) {
    std::vector<float> x(block_of_floats);
    for (std::uint64_t i = 0; i < x.size(); ++i)
        x[i] = fp::from_bits<float>(static_cast<std::uint32_t>(first + i * stride));
    return x;
}

} // namespace

TEMPLATE_TEST_CASE("math on the GPU: golden bits", "[math][gpu][golden][sanitizer]", float, double) {
    const std::vector<TestType> x = golden_inputs<TestType>();
    OnGpu<TestType> gpu(x);
    for (const GoldenMath& golden : golden_math) {
        INFO(math::functions[static_cast<int>(golden.function)].name);
        CHECK(fingerprint_of(gpu.values(golden.function)) == golden_fingerprint<TestType>(golden));
    }
}

TEMPLATE_TEST_CASE("math on the GPU: the bits of the CPU", "[math][gpu]", float, double) {
    using T = TestType;
    std::vector<T> x = neighbourhoods<T>(8);
    for (std::uint64_t i = 0; i < 4'000'000; ++i)
        x.push_back(drawn<T>(4, i));
    OnGpu<T>(x).require_bits_of_cpu();
}

TEST_CASE("math on the GPU: the bits of the CPU for one float in 257", "[math][gpu]") {
    const std::vector<float> x = floats(0, 257);
    OnGpu<float>(x).require_bits_of_cpu();
}

TEST_CASE("math on the GPU: the bits of the CPU for all floats", "[.][every_f32_gpu]") {
    for (std::uint64_t first = 0; first < std::uint64_t{1} << 32; first += block_of_floats) {
        const std::vector<float> x = floats(first, 1);
        OnGpu<float>(x).require_bits_of_cpu();
    }
}

} // namespace detreduce::proptests
