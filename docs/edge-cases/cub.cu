// The sums of docs/edge-cases.md by cub::DeviceReduce::Sum: its default, and each determinism level
// where CUB has them (CCCL 3.1 and later).
//     nvcc -std=c++17 docs/edge-cases/cub.cu -o cub && ./cub                      the toolkit's CUB
//     nvcc -std=c++17 -I CCCL docs/edge-cases/cub.cu -o cub && ./cub              CCCL: a folder with cub/, cuda/ and thrust/
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#if CUB_VERSION >= 300100
#include <cuda/execution>
#endif

namespace {

void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

template <class T>
struct OnDevice {
    T* p = nullptr;
    explicit OnDevice(std::size_t n) { check(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)), "cudaMalloc"); }
    ~OnDevice() { cudaFree(p); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
};

template <class T>
T copied(const OnDevice<T>& out) {
    T result{};
    check(cudaMemcpy(&result, out.p, sizeof result, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
}

template <class T>
T by_default(const T* x, std::size_t n) {
    std::size_t bytes = 0;
    const OnDevice<T> out(1);
    check(cub::DeviceReduce::Sum(nullptr, bytes, x, out.p, n), "cub::DeviceReduce::Sum");
    const OnDevice<char> temporary(bytes);
    check(cub::DeviceReduce::Sum(temporary.p, bytes, x, out.p, n), "cub::DeviceReduce::Sum");
    return copied(out);
}

#if CUB_VERSION >= 300100
template <class T, class Level>
T by_level(const T* x, std::size_t n, Level level) {
    const OnDevice<T> out(1);
    check(cub::DeviceReduce::Sum(x, out.p, n, cuda::std::execution::env{cuda::execution::require(level)}),
          "cub::DeviceReduce::Sum");
    return copied(out);
}
#endif

template <class T>
void show(const char* name, const std::vector<T>& data) {
    const OnDevice<T> x(data.size());
    check(cudaMemcpy(x.p, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    const int digits = std::numeric_limits<T>::max_digits10;
    const char* const dtype = sizeof(T) == 4 ? "f32" : "f64";
    std::printf("| %s | %s | %.*g", name, dtype, digits, static_cast<double>(by_default(x.p, data.size())));
#if CUB_VERSION >= 300100
    namespace levels = cuda::execution::determinism;
    for (const T sum : {by_level(x.p, data.size(), levels::not_guaranteed),
                        by_level(x.p, data.size(), levels::run_to_run), by_level(x.p, data.size(), levels::gpu_to_gpu)})
        std::printf(" | %.*g", digits, static_cast<double>(sum));
#endif
    std::puts(" |");
}

template <class T>
std::vector<T> ones_and(T other) {
    std::vector<T> data(1000, T(1));
    data[500] = other;
    return data;
}

std::vector<double> repeated(std::vector<double> terms, int times) {
    std::vector<double> data;
    for (int i = 0; i < times; ++i)
        data.insert(data.end(), terms.begin(), terms.end());
    return data;
}

} // namespace

int main() {
    cudaDeviceProp gpu{};
    check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
    std::printf("%s, CUB %d.%d.%d, CUDA %d.%d\n\n", gpu.name, CUB_VERSION / 100000, CUB_VERSION / 100 % 1000,
                CUB_VERSION % 100, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
#if CUB_VERSION >= 300100
    std::puts("| sum of | dtype | default | not_guaranteed | run_to_run | gpu_to_gpu |\n|---|---|---:|---:|---:|---:|");
#else
    std::puts("| sum of | dtype | default |\n|---|---|---:|");
#endif
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    show("1 000 000 zeros", std::vector<float>(1'000'000, 0.0f));
    show("1000 times -0", std::vector<float>(1000, -0.0f));
    show("1000 times 1e-37", std::vector<float>(1000, 1e-37f));
    show("999 ones and +inf", ones_and(inf));
    show("999 ones and NaN", ones_and(nan));
    show("+inf and -inf", std::vector<float>{inf, -inf});
    show("1e300 + 1e300", std::vector<double>{1e300, 1e300});
    show("1e100 + 1 - 1e100", std::vector<double>{1e100, 1, -1e100});
    show("1e308 + 1e308 - 1e308", std::vector<double>{1e308, 1e308, -1e308});
    show("1000 times (1e100 + 1 - 1e100)", repeated({1e100, 1, -1e100}, 1000));
    std::vector<double> opposite(1999, -1e308);
    std::fill_n(opposite.begin(), 1000, 1e308);
    show("1000 times 1e308, 999 times -1e308", opposite);
}
