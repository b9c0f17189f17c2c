// The training of ../training by several GPUs of this machine, each of which takes the
// micro-batches that it is dealt. By `exact` every bit of the curve is that of one GPU, and of a
// CPU, whoever has which of them. By `float`, for comparison, each adds up floats, and ncclSum
// those of all.
//     distributed_nccl [--gpus N] [--method exact|float] [--micro-batches N] [--deal N]
// Exit: 0 the model has learned, 1 it has not or a call failed, 77 there are not so many GPUs here.
#include <detreduce/nccl.hpp>

#include <cstring>
#include <memory>

#include "../training/gpu.cuh"
#include "deal.hpp"

namespace {

void check(ncclResult_t result) {
    if (result == ncclSuccess) return;
    std::fprintf(stderr, "NCCL: %s\n", ncclGetErrorString(result));
    std::exit(1);
}

/// All of them by one thread.
class Gpus {
  public:
    explicit Gpus(const DistributedOptions& options)
        : exact_(options.exact), deal_(options.deal), comms_(options.gpus) {
        static_assert(sizeof(dr::ExactState) == 74 * sizeof(std::int64_t)); // which is the state of a sum
        check(ncclCommInitAll(comms_.data(), static_cast<int>(comms_.size()), nullptr));
        Options own = options.training;
        own.exact = exact_;
        for (std::size_t g = 0; g < comms_.size(); ++g) {
            use(g);
            gpus_.push_back(std::make_unique<Gpu>(own));
        }
        const dr::Request sums{.dtype = dr::DType::f64,
                               .output = dr::DType::f32,
                               .shape = dr::Shape::rows,
                               .n = 0,
                               .groups = parameters + 1};
        plans_ = dr::nccl::make_plans(std::vector<dr::Request>(comms_.size(), sums), comms_);
        for (const dr::nccl::Plan& plan : plans_)
            dr::throw_if_error(plan.status());
    }
    ~Gpus() {
        plans_.clear();
        for (std::size_t g = 0; g < comms_.size(); ++g) {
            use(g);
            gpus_[g].reset();
            (void)ncclCommDestroy(comms_[g]);
        }
    }
    Gpus(const Gpus&) = delete;

    void begin() {
        for (std::size_t g = 0; g < gpus_.size(); ++g) {
            use(g);
            gpus_[g]->begin();
        }
    }
    void add(std::uint64_t first, std::uint64_t count) {
        const std::size_t g = deal_.next(gpus_.size());
        use(g);
        gpus_[g]->add(first, count);
    }
    Step end() {
        check(ncclGroupStart());
        for (std::size_t g = 0; g < gpus_.size(); ++g) {
            use(g);
            float* const sums = gpus_[g]->sums();
            if (exact_) {
                const auto* const states = reinterpret_cast<const std::int64_t*>(gpus_[g]->states());
                dr::throw_if_error(dr::nccl::begin_states(plans_[g], states));
            } else {
                check(ncclAllReduce(sums, sums, parameters + 1, ncclFloat, ncclSum, comms_[g], nullptr));
            }
        }
        check(ncclGroupEnd());
        Step step{};
        for (std::size_t g = 0; g < gpus_.size(); ++g) {
            use(g);
            if (exact_) dr::throw_if_error(dr::nccl::end(plans_[g], gpus_[g]->sums()));
            const Step own = gpus_[g]->update_parameters();
            if (g > 0 && (own.loss != step.loss || own.norm != step.norm)) fail("the GPUs have different losses");
            step = own;
        }
        return step;
    }

    [[nodiscard]] Evaluation evaluate() const {
        use(0);
        return gpus_[0]->evaluate();
    }
    /// Every GPU has the same weights, which is looked at.
    [[nodiscard]] std::vector<float> parameter() const {
        use(0);
        std::vector<float> first = gpus_[0]->parameter();
        for (std::size_t g = 1; g < gpus_.size(); ++g) {
            use(g);
            if (std::memcmp(gpus_[g]->parameter().data(), first.data(), first.size() * sizeof first[0]) != 0)
                fail("the GPUs have different weights");
        }
        return first;
    }

  private:
    [[noreturn]] static void fail(const char* what) {
        std::fprintf(stderr, "%s\n", what);
        std::exit(1);
    }
    static void use(std::size_t gpu) { ::check(cudaSetDevice(static_cast<int>(gpu))); }

    bool exact_;
    Deal deal_;
    std::vector<ncclComm_t> comms_;
    std::vector<std::unique_ptr<Gpu>> gpus_;
    std::vector<dr::nccl::Plan> plans_;
};

} // namespace

int main(int argc, char** argv) try {
    const DistributedOptions options = parse_distributed(argc, argv);
    std::string why;
    const std::size_t there = dr::cuda::devices(&why).size();
    if (there < options.gpus) {
        std::printf("*** SKIPPED: of %llu GPUs %zu are here %s; nothing was computed ***\n",
                    static_cast<unsigned long long>(options.gpus), there, why.c_str());
        return 77;
    }
    Gpus machine(options);
    return train(machine, options.training);
} catch (const dr::Error& error) {
    std::fprintf(stderr, "detreduce: %s\n", error.what());
    return 1;
}
