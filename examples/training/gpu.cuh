// The training of one GPU: its kernels, and what it adds up. training.cu and
// ../distributed/distributed_nccl.cu include this.
#pragma once

#include <detreduce/transform_reduce.cuh>

#include "train.hpp"

namespace dr = detreduce;

namespace {

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

/// Device memory.
template <class T>
class Buffer {
  public:
    explicit Buffer(std::size_t n) : n_(n) {
        check(cudaMalloc(&data_, n * sizeof(T)));
        zero();
    }
    explicit Buffer(const std::vector<T>& x) : Buffer(x.size()) {
        check(cudaMemcpy(data_, x.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Buffer() { (void)cudaFree(data_); }
    Buffer(const Buffer&) = delete;
    [[nodiscard]] T* get() const { return data_; }
    void zero() const { check(cudaMemsetAsync(data_, 0, n_ * sizeof(T))); }
    [[nodiscard]] std::vector<T> copy() const {
        std::vector<T> x(n_);
        check(cudaMemcpy(x.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return x;
    }

  private:
    std::size_t n_;
    T* data_ = nullptr;
};

constexpr unsigned block_threads = 128;

__device__ std::uint64_t this_thread() {
    return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// A thread a sample: its score, its loss, and what it adds to the gradient, those of one parameter
/// side by side.
__global__ void forward(const float* parameter, const float* x, const float* t, std::uint64_t count, float* losses,
                        double* terms) {
    const std::uint64_t i = this_thread();
    if (i >= count) return;
    const float* const row = x + i * features;
    const float z = score(parameter, row), r = residual(z, t[i]);
    losses[i] = BceWithLogits{}(z, t[i]);
    for (int j = 0; j < parameters; ++j)
        terms[j * count + i] = gradient_term(r, row, j);
}

/// The same into sums that all threads share; the last is the loss.
__global__ void forward_in_any_order(const float* parameter, const float* x, const float* t, std::uint64_t count,
                                     float* sums) {
    const std::uint64_t i = this_thread();
    if (i >= count) return;
    const float* const row = x + i * features;
    const float z = score(parameter, row), r = residual(z, t[i]);
    atomicAdd(sums + parameters, BceWithLogits{}(z, t[i]));
    for (int j = 0; j < parameters; ++j)
        atomicAdd(sums + j, static_cast<float>(gradient_term(r, row, j)));
}

/// Sums become means.
__global__ void average(float* sums) {
    if (threadIdx.x <= parameters) sums[threadIdx.x] = sums[threadIdx.x] * mean_factor;
}
__global__ void update(float* parameter, const float* gradient) {
    const unsigned j = threadIdx.x;
    if (j < parameters) parameter[j] = parameter[j] - learning_rate * gradient[j];
}
static_assert(parameters < block_threads);

__global__ void score_all(const float* parameter, const float* x, float* z) {
    const std::uint64_t i = this_thread();
    if (i < samples) z[i] = score(parameter, x + i * features);
}

unsigned blocks(std::uint64_t threads) {
    return static_cast<unsigned>((threads + block_threads - 1) / block_threads);
}

class Gpu {
  public:
    explicit Gpu(const Options& options)
        : options_(options), clip_(dr::throwing::make_clip_plan({.n = parameters, .tensors = 2, .max_norm = max_norm})),
          workspace_(clip_.workspace_bytes()) {}

    void begin() {
        states_.zero(); // bytes of zero are the empty sum
        sums_.zero();
    }

    void add(std::uint64_t first, std::uint64_t count) {
        const float *const x = x_.get() + first * features, *const t = t_.get() + first;
        if (!options_.exact) {
            forward_in_any_order<<<blocks(count), block_threads>>>(parameter_.get(), x, t, count, sums_.get());
            return check(cudaGetLastError());
        }
        forward<<<blocks(count), block_threads>>>(parameter_.get(), x, t, count, losses_.get(), terms_.get());
        check(cudaGetLastError());
        dr::throw_if_error(dr::cuda::add(states_.get() + parameters, dr::DType::f32, losses_.get(), count));
        for (int j = 0; j < parameters; ++j)
            dr::throw_if_error(dr::cuda::add(states_.get() + j, dr::DType::f64, terms_.get() + j * count, count));
    }

    /// Rounds what the states hold, once, to the sums.
    void round() {
        for (int j = 0; options_.exact && j <= parameters; ++j)
            dr::throw_if_error(dr::cuda::round(states_.get() + j, dr::DType::f32, sums_.get() + j));
    }

    /// What the sums make of the parameters.
    Step update_parameters() {
        average<<<1, block_threads>>>(sums_.get());
        const dr::Tensor list[] = {{sums_.get(), features, dr::DType::f32},
                                   {sums_.get() + features, 1, dr::DType::f32}};
        dr::throwing::run(clip_, list, norm_.get(), workspace_.get());
        update<<<1, block_threads>>>(parameter_.get(), sums_.get());
        check(cudaGetLastError());
        return {sums_.copy()[parameters], norm_.copy()[0]}; // the one time that this waits
    }

    [[nodiscard]] Evaluation evaluate() const {
        const Buffer<float> z(samples), loss(1);
        score_all<<<blocks(samples), block_threads>>>(parameter_.get(), x_.get(), z.get());
        check(cudaGetLastError());
        dr::throw_if_error(dr::cuda::transform_reduce(BceWithLogits{}, z.get(), t_.get(), samples, loss.get(),
                                                      {.finalize = dr::Finalize::mean}));
        const std::vector<float> scores = z.copy();
        std::uint64_t right = 0;
        for (std::uint64_t i = 0; i < samples; ++i)
            right += (scores[i] > 0) == (data_.t[i] > 0) ? 1 : 0;
        return {loss.copy()[0], right};
    }
    [[nodiscard]] std::vector<float> parameter() const { return parameter_.copy(); }
    /// Those of the gradient, and of the loss.
    [[nodiscard]] dr::ExactState* states() const { return states_.get(); }
    [[nodiscard]] float* sums() const { return sums_.get(); }

  private:
    Options options_;
    Data data_ = make_data();
    dr::ClipPlan clip_;
    Buffer<char> workspace_;
    Buffer<float> x_{data_.x}, t_{data_.t}, parameter_{std::size_t{parameters}}, losses_{batch};
    Buffer<double> terms_{parameters * batch}, norm_{1};
    Buffer<float> sums_{parameters + 1};            ///< the gradient, and the loss
    Buffer<dr::ExactState> states_{parameters + 1}; ///< the same, without rounding
};

} // namespace
