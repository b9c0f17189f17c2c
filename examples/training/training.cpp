// Training on the CPU. By `exact` every bit of the curve is the same for any number of
// micro-batches and threads, in every run, and on a GPU (training.cu). By `atomic`, for comparison,
// threads add floats as they come.
//     training [--method exact|atomic] [--micro-batches N] [--threads N]
#include <atomic>
#include <thread>

#include "train.hpp"

namespace dr = detreduce;

namespace {

class Cpu {
  public:
    explicit Cpu(const Options& options)
        : options_(options), clip_(dr::throwing::make_clip_plan(
                                 {.n = parameters, .tensors = 2, .max_norm = max_norm, .device = dr::cpu})) {}

    void begin() {
        loss_ = {};
        for (int j = 0; j < parameters; ++j)
            sum_[j] = {};
        for (std::atomic<float>& sum : any_order_)
            sum = 0;
    }

    void add(std::uint64_t first, std::uint64_t count) {
        if (options_.exact) {
            add_exactly(first, count);
        } else {
            add_in_any_order(first, count);
        }
    }

    Step end() {
        Step step{};
        step.loss = (options_.exact ? loss_.round<float>() : any_order_[parameters].load()) * mean_factor;
        for (int j = 0; j < parameters; ++j)
            gradient_[j] = (options_.exact ? sum_[j].round<float>() : any_order_[j].load()) * mean_factor;
        const dr::Tensor list[] = {{gradient_, features, dr::DType::f32}, {gradient_ + features, 1, dr::DType::f32}};
        dr::throwing::run(clip_, list, &step.norm);
        for (int j = 0; j < parameters; ++j)
            parameter_[j] = parameter_[j] - learning_rate * gradient_[j];
        return step;
    }

    [[nodiscard]] Evaluation evaluate() const {
        std::vector<float> z(samples);
        std::uint64_t right = 0;
        for (std::uint64_t i = 0; i < samples; ++i) {
            z[i] = score(parameter_, row(i));
            right += (z[i] > 0) == (data_.t[i] > 0) ? 1 : 0;
        }
        // The loss and its mean in one pass.
        return {dr::transform_reduce(BceWithLogits{}, z, data_.t, {.finalize = dr::Finalize::mean}), right};
    }
    [[nodiscard]] std::vector<float> parameter() const { return {parameter_, parameter_ + parameters}; }

  private:
    [[nodiscard]] const float* row(std::uint64_t i) const { return data_.x.data() + i * features; }

    /// States hold sums without any rounding: how samples are dealt out to calls means nothing.
    void add_exactly(std::uint64_t first, std::uint64_t count) {
        std::vector<float> losses(count);
        std::vector<double> terms[parameters];
        for (std::vector<double>& of_parameter : terms)
            of_parameter.resize(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const float* const x = row(first + i);
            const float z = score(parameter_, x), t = data_.t[first + i], r = residual(z, t);
            losses[i] = BceWithLogits{}(z, t);
            for (int j = 0; j < parameters; ++j)
                terms[j][i] = gradient_term(r, x, j);
        }
        const dr::Launch launch{.threads = options_.threads};
        dr::throw_if_error(loss_.add(std::span<const float>(losses), launch));
        for (int j = 0; j < parameters; ++j)
            dr::throw_if_error(sum_[j].add(std::span<const double>(terms[j]), launch));
    }

    /// What comes to be written first: each thread takes the next sample and adds to sums that all
    /// share.
    void add_in_any_order(std::uint64_t first, std::uint64_t count) {
        std::atomic<std::uint64_t> next{0};
        std::vector<std::thread> threads;
        for (std::uint32_t k = 0; k < options_.threads; ++k) {
            threads.emplace_back([&] {
                for (std::uint64_t i = next++; i < count; i = next++) {
                    const float* const x = row(first + i);
                    const float z = score(parameter_, x), t = data_.t[first + i], r = residual(z, t);
                    any_order_[parameters] += BceWithLogits{}(z, t);
                    for (int j = 0; j < parameters; ++j)
                        any_order_[j] += static_cast<float>(gradient_term(r, x, j));
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
    }

    Options options_;
    Data data_ = make_data();
    dr::ClipPlan clip_;
    float parameter_[parameters] = {}, gradient_[parameters] = {};
    dr::ExactState loss_, sum_[parameters];
    std::atomic<float> any_order_[parameters + 1] = {}; ///< the last is the loss
};

} // namespace

int main(int argc, char** argv) try {
    const Options options = parse(argc, argv);
    Cpu machine(options);
    return train(machine, options);
} catch (const dr::Error& error) {
    std::fprintf(stderr, "detreduce: %s\n", error.what());
    return 1;
}
