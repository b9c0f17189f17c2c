// The training of ../training by the processes of an MPI job: each takes the micro-batches that it
// is dealt. By `exact` every bit of the curve is that of one process (of ../training, too), whoever
// has which of them. By `float`, for comparison, each adds up floats, and MPI_SUM those of all.
//     mpirun -n N distributed [--method exact|float] [--micro-batches N] [--deal N]
#include <detreduce/mpi.hpp>

#include <array>

#include "deal.hpp"

namespace dr = detreduce;

namespace {

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    std::abort();
}
void check(const dr::Status& status) {
    if (!status.ok()) fail(dr::to_string(status));
}

/// Sums of a row of numbers each, some of which this process has: states that hold them without any
/// rounding. What comes out is rounded to f32, once.
template <class T>
class Sums {
  public:
    explicit Sums(std::uint64_t rows) : rows_(rows), all_(dr::mpi::make_plan(request(0), MPI_COMM_WORLD)) {
        check(all_.status());
        states_.resize(rows * all_.states().state_words());
        clear();
    }
    void clear() { check(dr::run(all_.states(), nullptr, states_.data())); } // the states of no numbers
    /// Adds n numbers to each row.
    void add(const std::vector<T>& numbers, std::uint64_t n) {
        dr::Request own = request(n);
        own.state = true;
        const dr::Plan plan = dr::make_plan(own);
        std::vector<std::int64_t> states(states_.size());
        check(dr::run(plan, numbers.data(), states.data()));
        check(dr::merge(plan, states_.data(), states.data()));
    }
    void round(float* sums) { check(dr::mpi::all_reduce_states(all_, states_.data(), sums)); }

  private:
    [[nodiscard]] dr::Request request(std::uint64_t n) const {
        return {.dtype = sizeof(T) == 8 ? dr::DType::f64 : dr::DType::f32,
                .output = dr::DType::f32,
                .shape = dr::Shape::rows,
                .n = n,
                .groups = rows_,
                .device = dr::cpu};
    }
    std::uint64_t rows_;
    dr::mpi::Plan all_;
    std::vector<std::int64_t> states_;
};

class Process {
  public:
    Process(int rank, int ranks, bool exact, std::uint64_t deal)
        : rank_(rank), ranks_(static_cast<std::uint64_t>(ranks)), exact_(exact), deal_(deal) {}

    void begin() {
        losses_.clear();
        gradients_.clear();
        floats_ = {};
    }

    /// All processes come by here with the same micro-batch, and one takes it.
    void add(std::uint64_t first, std::uint64_t count) {
        if (deal_.next(ranks_) != static_cast<std::uint64_t>(rank_)) return;
        std::vector<float> losses(count);
        std::vector<double> terms(parameters * count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const float* const x = row(first + i);
            const float z = score(parameter_, x), t = data_.t[first + i], r = residual(z, t);
            losses[i] = BceWithLogits{}(z, t);
            floats_[parameters] += losses[i];
            for (int j = 0; j < parameters; ++j) {
                const double term = gradient_term(r, x, j);
                terms[static_cast<std::uint64_t>(j) * count + i] = term;
                floats_[j] += static_cast<float>(term);
            }
        }
        losses_.add(losses, count);
        gradients_.add(terms, count);
    }

    Step end() {
        std::array<float, parameters + 1> sums = floats_; // the last is the loss
        if (exact_) {
            gradients_.round(sums.data());
            losses_.round(&sums[parameters]);
        } else {
            MPI_Allreduce(MPI_IN_PLACE, sums.data(), parameters + 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        Step step{sums[parameters] * mean_factor, 0};
        float gradient[parameters];
        for (int j = 0; j < parameters; ++j)
            gradient[j] = sums[j] * mean_factor;
        const dr::Tensor list[] = {{gradient, features, dr::DType::f32}, {gradient + features, 1, dr::DType::f32}};
        const unsigned char replicated[] = {1, 1}; // every process has both
        check(dr::mpi::clip_grad_norm(list, 2, replicated, MPI_COMM_WORLD, &step.norm, {.max_norm = max_norm}));
        for (int j = 0; j < parameters; ++j)
            parameter_[j] = parameter_[j] - learning_rate * gradient[j];
        return step;
    }

    /// Each process by itself: they have the same weights, which is looked at.
    [[nodiscard]] Evaluation evaluate() const {
        const dr::Tensor weights{parameter_, parameters, dr::DType::f32};
        std::uint64_t parted = 0;
        check(dr::mpi::all_equal(&weights, 1, MPI_COMM_WORLD, parted));
        if (parted != dr::no_index) fail("the processes have different weights");
        std::vector<float> z(samples);
        std::uint64_t right = 0;
        for (std::uint64_t i = 0; i < samples; ++i) {
            z[i] = score(parameter_, row(i));
            right += (z[i] > 0) == (data_.t[i] > 0) ? 1 : 0;
        }
        return {dr::transform_reduce(BceWithLogits{}, z, data_.t, {.finalize = dr::Finalize::mean}), right};
    }
    [[nodiscard]] std::vector<float> parameter() const { return {parameter_, parameter_ + parameters}; }

  private:
    [[nodiscard]] const float* row(std::uint64_t i) const { return data_.x.data() + i * features; }

    int rank_;
    std::uint64_t ranks_;
    bool exact_;
    Deal deal_;
    Data data_ = make_data();
    Sums<float> losses_{1};
    Sums<double> gradients_{parameters};
    float parameter_[parameters] = {};
    std::array<float, parameters + 1> floats_{};
};

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1, result = 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const DistributedOptions options = parse_distributed(argc, argv);
    if (rank != 0 && std::freopen("/dev/null", "w", stdout) == nullptr)
        fail("/dev/null cannot be written"); // one prints
    try {
        Process process(rank, ranks, options.exact, options.deal);
        result = train(process, options.training);
    } catch (const dr::Error& error) {
        fail(error.what());
    }
    MPI_Finalize();
    return result;
}
