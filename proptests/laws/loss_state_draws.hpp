// Batches of losses that are dealt out in parts, for tests of their states.
#pragma once

#include <cmath>

#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>

#include "laws/rank_draws.hpp"

namespace detreduce::proptests {

/// The elements of a batch, of which most terms are numbers.
template <class T>
struct Batch {
    std::vector<T> x, target, weight;
    Batch(std::size_t n, std::uint64_t word) {
        for (std::size_t i = 0; i < n; ++i) {
            const auto draw = [&](std::uint64_t k) {
                return static_cast<double>(accuracy::hash(word + k, i) % 4096) / 4096;
            };
            const bool odd = accuracy::hash(word + 9, i) % 997 == 0; // infinite, or no number
            x.push_back(odd ? fp::round_to<T>(accuracy::hash(word, i) % 2 ? INFINITY : NAN) : fp::round_to<T>(draw(1)));
            target.push_back(fp::round_to<T>(draw(2)));
            weight.push_back(fp::round_to<T>(accuracy::hash(word + 4, i) % 5 == 0 ? 0 : std::ldexp(draw(3), 7)));
        }
    }
    [[nodiscard]] LossInputs from(std::size_t first, bool weighted) const {
        return {x.data() + first, target.data() + first, weighted ? weight.data() + first : nullptr};
    }
};

/// Ends of 1 to 64 parts of n elements, some of them empty, and the beginning.
inline std::vector<std::size_t> cuts_of(std::size_t n, std::uint64_t word) {
    const std::size_t parts = 1 + accuracy::hash(word, 1) % (word % 3 == 0 ? 64 : 5);
    std::vector<std::size_t> cuts{0, n};
    for (std::size_t i = 1; i < parts; ++i)
        cuts.push_back(accuracy::hash(word, 50 + i) % (n + 1));
    std::sort(cuts.begin(), cuts.end());
    return cuts;
}

/// Any loss of a batch, on the CPU, reduced.
template <class T>
LossRequest loss_from(std::uint64_t word) {
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
    LossRequest r{.loss = static_cast<Loss>(draw(3) % losses.size()),
                  .reduction = draw(4) % 3 ? Reduction::mean : Reduction::sum,
                  .method = draw(5) % 2 ? Method::automatic : Method::exact,
                  .dtype = dtype_of<T>,
                  .n = draw(1) % 4 == 0 ? 1 + draw(2) % 20'000 : 1 + draw(2) % 300,
                  .weighted = draw(6) % 2 == 0,
                  .device = cpu,
                  .launch = {.threads = static_cast<std::uint32_t>(1 + draw(7) % 2)}};
    if (r.reduction == Reduction::mean && draw(8) % 3 == 0) r.batch = 1 + draw(9) % 100;
    if (draw(10) % 2) r.output = dtypes()[draw(11) % 4];
    return r;
}
inline std::string described(const LossRequest& r) {
    return std::string(name(r.loss)) + (r.weighted ? " weighted" : "") + ", batch " + std::to_string(r.batch);
}

/// Cross entropy or nll of a batch, on the CPU, reduced.
template <class T>
struct RowBatch {
    RowRequest request;
    bool weighted, probabilities;
    Batch<T> batch, classes; ///< of the second the weights
    std::vector<std::int64_t> targets;

    explicit RowBatch(std::uint64_t word) : RowBatch(word, 1 + accuracy::hash(word, 3) % 70) {}
    [[nodiscard]] std::string described() const {
        return std::string(name(request.op)) + (weighted ? " weighted" : "") + (probabilities ? " probabilities" : "");
    }

  private:
    RowBatch(std::uint64_t word, std::size_t n)
        : request(request_from(word, n)), weighted(accuracy::hash(word, 10) % 2),
          probabilities(request.op == RowOp::cross_entropy && request.reduction == Reduction::sum &&
                        accuracy::hash(word, 9) % 2 == 0),
          batch(request.rows * n, word), classes(n, word + 77) {
        const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
        for (std::size_t i = 0; i < request.rows; ++i) // many of them ignored, or all
            targets.push_back(
                draw(11) % 9 == 0 || draw(200 + i) % 3 == 0 ? -1 : static_cast<std::int64_t>(draw(300 + i) % n));
    }
    static RowRequest request_from(std::uint64_t word, std::size_t n) {
        const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
        RowRequest r{.op = draw(4) % 2 ? RowOp::cross_entropy : RowOp::nll,
                     .dtype = dtype_of<T>,
                     .n = n,
                     .rows = 1 + draw(1) % (draw(2) % 3 == 0 ? 300 : 20),
                     .ignore_index = -1,
                     .reduction = draw(5) % 3 ? Reduction::mean : Reduction::sum,
                     .device = cpu,
                     .launch = {.threads = static_cast<std::uint32_t>(1 + draw(6) % 2)}};
        if (r.op == RowOp::cross_entropy && draw(7) % 2) r.label_smoothing = 0.25;
        if (sizeof(T) == 2 && draw(8) % 2) r.output = DType::f32;
        return r;
    }
};

} // namespace detreduce::proptests
