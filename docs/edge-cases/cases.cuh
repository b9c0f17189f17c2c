// The sums of docs/edge-cases.md, for cub.cu and nccl.cu, and CUB's default sum.
#pragma once

#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

inline void check(cudaError_t error, const char* what) {
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

template <class T>
std::vector<T> ones_and(T other) {
    std::vector<T> data(1000, T(1));
    data[500] = other;
    return data;
}

inline std::vector<double> repeated(const std::vector<double>& terms, int times) {
    std::vector<double> data;
    for (int i = 0; i < times; ++i)
        data.insert(data.end(), terms.begin(), terms.end());
    return data;
}

/// Calls show(name, elements) of each.
template <class Show>
void for_each_case(Show show) {
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
