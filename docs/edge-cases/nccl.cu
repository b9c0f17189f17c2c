// The sums of docs/edge-cases.md by NCCL: each GPU of this machine has a part of the elements, sums
// it by cub::DeviceReduce::Sum, and ncclAllReduce adds up the parts. NCCL_ALGO=Ring and =Tree
// choose how.
//     nvcc -std=c++17 docs/edge-cases/nccl.cu -lnccl -o nccl && ./nccl
#include "cases.cuh"

#include <cub/version.cuh>
#include <nccl.h>

namespace {

void check(ncclResult_t result, const char* what) {
    if (result == ncclSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
    std::exit(1);
}

ncclDataType_t nccl_type(float) {
    return ncclFloat;
}
ncclDataType_t nccl_type(double) {
    return ncclDouble;
}

// Of GPU k the elements from k·n/gpus up to (k + 1)·n/gpus.
template <class T>
T by_all(const std::vector<T>& data, const std::vector<ncclComm_t>& comms) {
    const std::size_t gpus = comms.size();
    std::vector<T*> parts(gpus);
    for (std::size_t k = 0; k < gpus; ++k) {
        check(cudaSetDevice(static_cast<int>(k)), "cudaSetDevice");
        const std::size_t first = k * data.size() / gpus, n = (k + 1) * data.size() / gpus - first;
        const OnDevice<T> x(n + 1);
        check(cudaMemcpy(x.p, data.data() + first, n * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
        const T part = by_default(x.p, n);
        check(cudaMalloc(reinterpret_cast<void**>(&parts[k]), sizeof(T)), "cudaMalloc");
        check(cudaMemcpy(parts[k], &part, sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t k = 0; k < gpus; ++k)
        check(ncclAllReduce(parts[k], parts[k], 1, nccl_type(T()), ncclSum, comms[k], nullptr), "ncclAllReduce");
    check(ncclGroupEnd(), "ncclGroupEnd");
    T result{};
    for (std::size_t k = 0; k < gpus; ++k) {
        check(cudaSetDevice(static_cast<int>(k)), "cudaSetDevice");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        check(cudaMemcpy(&result, parts[k], sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        check(cudaFree(parts[k]), "cudaFree");
    }
    return result;
}

template <class T>
void show(const char* name, const std::vector<T>& data, const std::vector<ncclComm_t>& comms) {
    std::printf("| %s | %s | %.*g |\n", name, sizeof(T) == 4 ? "f32" : "f64", std::numeric_limits<T>::max_digits10,
                static_cast<double>(by_all(data, comms)));
}

} // namespace

int main() {
    int gpus = 0, version = 0;
    check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    if (gpus < 2) {
        std::fprintf(stderr, "this needs two GPUs or more; here are %d\n", gpus);
        return 1;
    }
    check(ncclGetVersion(&version), "ncclGetVersion");
    cudaDeviceProp gpu{};
    check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
    std::vector<ncclComm_t> comms(static_cast<std::size_t>(gpus));
    check(ncclCommInitAll(comms.data(), gpus, nullptr), "ncclCommInitAll");
    const char* const algorithm = std::getenv("NCCL_ALGO");
    std::printf("%d GPUs, %s, NCCL %d.%d.%d, CUB %d.%d.%d, CUDA %d.%d\n\n", gpus, gpu.name, version / 10000,
                version / 100 % 100, version % 100, CUB_VERSION / 100000, CUB_VERSION / 100 % 1000, CUB_VERSION % 100,
                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    std::printf("| sum of | dtype | ncclAllReduce%s%s |\n|---|---|---:|\n", algorithm ? " " : "",
                algorithm ? algorithm : "");
    for_each_case([&](const char* name, const auto& data) { show(name, data, comms); });
    for (ncclComm_t comm : comms)
        check(ncclCommDestroy(comm), "ncclCommDestroy");
}
