// Requests of losses, row ops, norms of channels, distillation and clipping as C has them, and
// memory that says what a run has written.
#pragma once

#include <cstring>
#include <vector>

#include <detreduce/channel_norm.hpp>
#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/distillation.hpp>
#include <detreduce/losses.h>
#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>

#include "laws/loss_draws.hpp"
#include "laws/row_draws.hpp"

namespace detreduce::proptests {

inline detreduce_dtype output_in_c(const std::optional<DType>& output) {
    return output ? static_cast<detreduce_dtype>(*output) : detreduce_dtype{DETREDUCE_DTYPE_OF_INPUT};
}
inline detreduce_reduction reduction_in_c(const std::optional<Reduction>& reduction) {
    return reduction ? static_cast<detreduce_reduction>(*reduction) : detreduce_reduction{DETREDUCE_REDUCTION_DEFAULT};
}
inline detreduce_device in_c(const Device& d) {
    return {static_cast<detreduce_backend>(d.backend), d.index};
}
inline detreduce_launch in_c(const Launch& l) {
    return {static_cast<detreduce_schedule>(l.schedule), l.grid, l.block, l.threads,
            static_cast<detreduce_isa>(l.isa),           {}};
}

inline detreduce_loss_request in_c(const LossRequest& r) {
    detreduce_loss_request c = DETREDUCE_LOSS_REQUEST_INIT;
    c.loss = static_cast<detreduce_loss>(r.loss);
    c.reduction = reduction_in_c(r.reduction);
    c.method = static_cast<detreduce_method>(r.method);
    c.dtype = static_cast<detreduce_dtype>(r.dtype);
    c.output = output_in_c(r.output);
    c.weighted = r.weighted ? 1 : 0;
    c.with_respect_to = static_cast<detreduce_loss_argument>(r.with_respect_to);
    c.n = r.n, c.parameter = r.parameter, c.batch = r.batch;
    c.device = in_c(r.device), c.launch = in_c(r.launch);
    return c;
}
inline detreduce_row_request in_c(const RowRequest& r) {
    detreduce_row_request c = DETREDUCE_ROW_REQUEST_INIT;
    c.op = static_cast<detreduce_row_op>(r.op);
    c.dtype = static_cast<detreduce_dtype>(r.dtype);
    c.output = output_in_c(r.output);
    c.reduction = reduction_in_c(r.reduction);
    c.method = static_cast<detreduce_method>(r.method);
    c.n = r.n, c.rows = r.rows, c.stride = r.stride, c.output_stride = r.output_stride;
    c.probability_stride = r.probability_stride, c.upstream_stride = r.upstream_stride;
    c.ignore_index = r.ignore_index, c.parameters = r.parameters ? 1 : 0;
    c.epsilon = r.epsilon, c.label_smoothing = r.label_smoothing, c.z_loss = r.z_loss;
    c.device = in_c(r.device), c.launch = in_c(r.launch);
    return c;
}
inline detreduce_row_arrays in_c(const RowArrays& a) {
    detreduce_row_arrays c = DETREDUCE_ROW_ARRAYS_INIT;
    c.x = a.x, c.out = a.out, c.scale = a.scale, c.shift = a.shift, c.mean = a.mean, c.rstd = a.rstd;
    c.targets = a.targets, c.probabilities = a.probabilities, c.weights = a.weights;
    c.row_weights = a.row_weights, c.factor = a.factor, c.upstream = a.upstream;
    c.scale_gradient = a.scale_gradient, c.shift_gradient = a.shift_gradient, c.exp_sums = a.exp_sums;
    return c;
}
inline detreduce_loss_inputs in_c(const LossInputs& in) {
    detreduce_loss_inputs c = DETREDUCE_LOSS_INPUTS_INIT;
    c.x = in.x, c.target = in.target, c.weight = in.weight;
    return c;
}
inline detreduce_channel_norm_request in_c(const ChannelNormRequest& r) {
    detreduce_channel_norm_request c = DETREDUCE_CHANNEL_NORM_REQUEST_INIT;
    c.norm = static_cast<detreduce_channel_norm>(r.norm);
    c.dtype = static_cast<detreduce_dtype>(r.dtype);
    c.parameters = output_in_c(r.parameters);
    c.method = static_cast<detreduce_method>(r.method);
    c.n = r.n, c.channels = r.channels, c.size = r.size, c.groups = r.groups;
    c.epsilon = r.epsilon, c.momentum = r.momentum, c.given = r.given ? 1 : 0;
    c.device = in_c(r.device), c.launch = in_c(r.launch);
    return c;
}
inline detreduce_channel_norm_arrays in_c(const ChannelNormArrays& a) {
    detreduce_channel_norm_arrays c = DETREDUCE_CHANNEL_NORM_ARRAYS_INIT;
    c.x = a.x, c.out = a.out, c.scale = a.scale, c.shift = a.shift, c.mean = a.mean, c.rstd = a.rstd;
    c.running_mean = a.running_mean, c.running_variance = a.running_variance;
    c.upstream = a.upstream, c.scale_gradient = a.scale_gradient, c.shift_gradient = a.shift_gradient;
    return c;
}
inline detreduce_distillation_request in_c(const DistillationRequest& r) {
    detreduce_distillation_request c = DETREDUCE_DISTILLATION_REQUEST_INIT;
    c.dtype = static_cast<detreduce_dtype>(r.dtype);
    c.output = output_in_c(r.output);
    c.method = static_cast<detreduce_method>(r.method);
    c.reduction = reduction_in_c(r.reduction);
    c.n = r.n, c.rows = r.rows, c.stride = r.stride, c.temperature = r.temperature;
    c.device = in_c(r.device), c.launch = in_c(r.launch);
    return c;
}
inline detreduce_clip_request in_c(const ClipRequest& r) {
    detreduce_clip_request c = DETREDUCE_CLIP_REQUEST_INIT;
    c.n = r.n, c.tensors = r.tensors, c.max_norm = r.max_norm, c.epsilon = r.epsilon;
    c.norm = static_cast<detreduce_dtype>(r.norm);
    c.device = in_c(r.device), c.launch = in_c(r.launch);
    return c;
}

/// Every output format of a dtype: its own, and wider.
inline std::vector<std::optional<DType>> loss_outputs(DType dtype) {
    if (dtype == DType::f64) return {std::nullopt};
    return {std::nullopt, DType::f64};
}

/// What can be asked for of `losses`, of n elements of a dtype.
template <class F>
void each_loss_request(DType dtype, std::uint64_t n, const F& f) {
    for (const LossInfo& info : losses) {
        for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
            for (const Method method : {Method::automatic, Method::compensated, Method::kahan, Method::tree}) {
                for (const bool weighted : {false, true}) {
                    for (const auto output : loss_outputs(dtype)) {
                        const auto of = output ? LossArgument::target : LossArgument::x;
                        f(LossRequest{.loss = info.loss,
                                      .reduction = reduction,
                                      .method = method,
                                      .dtype = dtype,
                                      .output = output,
                                      .n = n,
                                      .parameter = 0.375,
                                      .weighted = weighted,
                                      .batch = reduction == Reduction::mean && output ? n / 7 : 0,
                                      .with_respect_to = weighted && output ? LossArgument::weight : of});
                    }
                }
            }
        }
    }
}

/// What can be asked for of row ops, of 7 rows of 40 elements of a dtype.
template <class F>
void each_row_request(DType dtype, const F& f) {
    for (auto op = RowOp::logsumexp; name(op) != "?"; op = static_cast<RowOp>(static_cast<int>(op) + 1)) {
        for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
            if (reduction != Reduction::none && !of_losses(op)) continue;
            for (const Method method : {Method::automatic, Method::compensated, Method::kahan, Method::tree}) {
                for (const bool other : {false, true}) {
                    RowRequest r{
                        .op = op, .dtype = dtype, .n = 40, .rows = 7, .reduction = reduction, .method = method};
                    r.parameters = of_norm_gradients(op);
                    if (r.parameters && method != Method::automatic) r.output = arithmetic_of(dtype);
                    if (other) {
                        r.stride = 43, r.ignore_index = 3, r.epsilon = 0.25;
                        if (is_narrow(dtype)) r.output = DType::f32;
                        if (has_smoothing(op)) r.label_smoothing = 0.125;
                        if (of_entropy(op)) r.z_loss = 0.01;
                        if (of_entropy(op)) r.probability_stride = 41;
                        if (has_upstream(op)) r.upstream_stride = 44;
                        if (!has_one_result(op)) r.output_stride = 45;
                    }
                    f(r);
                }
            }
        }
    }
}

/// The arrays of such a request: what is read, and bytes for what is written.
template <class T>
struct RowMemory {
    static constexpr std::size_t rows = 7, pitch = 45;
    std::vector<T> x, upstream, scale, shift, weights, probabilities;
    std::vector<std::int64_t> targets;
    std::vector<fp::Arithmetic<T>> factor, mean, rstd, exp_sums;

    RowMemory() {
        using V = fp::Arithmetic<T>;
        for (std::size_t i = 0; i < rows * pitch; ++i) {
            x.push_back(fp::round_to<T>(scattered(1, i, -3, 4)));
            upstream.push_back(fp::round_to<T>(scattered(6, i, -3, 1)));
            probabilities.push_back(fp::round_to<T>(unit(2, i)));
        }
        for (std::size_t i = 0; i < 40; ++i) {
            scale.push_back(fp::round_to<T>(scattered(3, i, -2, 2)));
            shift.push_back(fp::round_to<T>(scattered(4, i, -2, 2)));
            weights.push_back(fp::round_to<T>(0.5 + unit(5, i)));
        }
        for (std::size_t i = 0; i < rows; ++i) {
            targets.push_back(static_cast<std::int64_t>(i * 5 % 40));
            factor.push_back(static_cast<V>(0.7 + unit(7, i)));
            mean.push_back(static_cast<V>(scattered(8, i, -3, 0)));
            rstd.push_back(static_cast<V>(0.1 + unit(9, i)));
            exp_sums.push_back(static_cast<V>(scattered(10, i, -3, 4)));
            exp_sums.push_back(static_cast<V>(0x1p64 * unit(11, i)));
        }
        targets[2] = 3; // ignore_index of some
    }
    /// Those that the op has and reads. `soft`: probabilities for targets.
    [[nodiscard]] RowArrays arrays(const RowRequest& r, bool soft) {
        RowArrays a{.x = x.data()};
        if (of_norms(r.op) || of_norm_gradients(r.op)) a.scale = scale.data();
        if (r.op == RowOp::layernorm) a.shift = shift.data();
        if (has_factor(r.op)) a.factor = factor.data();
        if (has_upstream(r.op)) a.upstream = upstream.data();
        if (r.op == RowOp::logsumexp_gradient) a.upstream = factor.data();
        if (of_norm_gradients(r.op)) a.rstd = rstd.data();
        if (r.op == RowOp::layernorm_gradient) a.mean = mean.data();
        if (of_losses(r.op)) a.weights = weights.data();
        if (takes_exp_sums(r.op) && !soft) a.exp_sums = exp_sums.data();
        if (soft && of_entropy(r.op)) {
            a.probabilities = probabilities.data();
        } else if (of_targets(r.op)) {
            a.targets = targets.data();
        }
        return a;
    }
};

/// Bytes for the results of a row op and for what else it writes, one behind the other.
struct RowRoom {
    static constexpr std::size_t part = 7 * 45 * 8, bytes = 4 * part;
    char* at;
    void put_into(const RowRequest& r, RowArrays& a) const {
        a.out = at;
        if (r.op == RowOp::layernorm) a.mean = at + part;
        if (of_norms(r.op)) a.rstd = at + 2 * part;
        if (has_row_weights(r)) a.row_weights = at + 3 * part;
        if (keeps_exp_sums(r.op)) a.exp_sums = at + part;
        if (r.parameters) a.scale_gradient = at + part;
        if (r.op == RowOp::layernorm_gradient) a.shift_gradient = at + 2 * part;
    }
};

/// What can be asked for of distillation, of 5 rows of 37 elements of a dtype, 40 apart.
template <class F>
void each_distillation_request(DType dtype, const F& f) {
    for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
        for (const Method method : {Method::automatic, Method::compensated, Method::kahan, Method::tree}) {
            for (const auto output : loss_outputs(dtype)) {
                f(DistillationRequest{.dtype = dtype,
                                      .output = output,
                                      .n = 37,
                                      .rows = 5,
                                      .stride = 40,
                                      .temperature = 2.5,
                                      .reduction = reduction,
                                      .method = method});
            }
        }
    }
}

/// What can be asked for of norms of channels, of 3 samples of 4 channels of 70 elements of a
/// dtype.
template <class F>
void each_norm_request(DType dtype, const F& f) {
    for (const Method method : {Method::automatic, Method::tree}) {
        ChannelNormRequest r{.dtype = dtype,
                             .parameters = arithmetic_of(dtype),
                             .n = 3,
                             .channels = 4,
                             .size = 70,
                             .groups = 2,
                             .epsilon = 0.5,
                             .momentum = 0.25,
                             .method = method};
        f(r);
        r.norm = ChannelNorm::batch_norm, r.groups = 1;
        f(r);
        r.given = true;
        f(r);
    }
}

/// The arrays of such a request: what is read, and the image of memory that is written, in which
/// running statistics are.
template <class T>
struct NormMemory {
    using P = fp::Arithmetic<T>;
    static constexpr std::size_t part = 3 * 4 * 70 * 8, bytes = 7 * part;
    std::vector<T> x, upstream;
    std::vector<P> scale, shift;
    std::vector<char> image = std::vector<char>(bytes, '\xa5');

    NormMemory() {
        const auto data = loss_data<T>(Loss::mse, 3 * 4 * 70, 7);
        const auto of_channels = loss_data<P>(Loss::mse, 4, 7);
        x = data.x, upstream = data.target;
        scale = of_channels.x, shift = of_channels.target;
        const std::vector<P> running{1, 2, 3, 0.25};
        for (const std::size_t at : {3, 4})
            std::memcpy(image.data() + at * part, running.data(), running.size() * sizeof(P));
    }
    /// `room` is a copy of the image.
    [[nodiscard]] ChannelNormArrays arrays(const ChannelNormRequest& r, char* room, bool gradient) const {
        ChannelNormArrays a{.x = x.data(), .out = room, .scale = scale.data()};
        a.mean = reinterpret_cast<double*>(room + part), a.rstd = reinterpret_cast<double*>(room + 2 * part);
        if (gradient) {
            a.upstream = upstream.data(), a.scale_gradient = room + 5 * part, a.shift_gradient = room + 6 * part;
        } else {
            a.shift = shift.data();
            if (r.norm == ChannelNorm::batch_norm)
                a.running_mean = room + 3 * part, a.running_variance = room + 4 * part;
        }
        return a;
    }
};

} // namespace detreduce::proptests
