// The sums of docs/edge-cases.md by cub::DeviceReduce::Sum: its default, and each determinism level
// where CUB has them (CCCL 3.1 and later).
//     nvcc -std=c++17 docs/edge-cases/cub.cu -o cub && ./cub                      the toolkit's CUB
//     nvcc -std=c++17 -I CCCL docs/edge-cases/cub.cu -o cub && ./cub              CCCL: a folder with cub/, cuda/ and thrust/
#include "cases.cuh"

#include <cub/version.cuh>

#if CUB_VERSION >= 300100
#include <cuda/execution>
#endif

namespace {

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
    for_each_case([](const char* name, const auto& data) { show(name, data); });
}
