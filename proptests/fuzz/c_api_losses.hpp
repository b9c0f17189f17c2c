// losses.h, called as c_api.cpp calls detreduce.h: with words that name nothing, null pointers, and
// numbers of any kind. Arrays have the bytes that a request asks for, and not one more, for the
// sanitizers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include <detreduce/losses.h>

#include "c_api_words.hpp"

namespace detreduce::fuzz {

/// Of an option that is a number: one that is common, or a special one.
inline double any_parameter(FuzzedDataProvider& in) {
    constexpr double list[] = {1,
                               0,
                               0.5,
                               -1,
                               1e-5,
                               2,
                               1e39,
                               std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
    return list[in.ConsumeIntegralInRange<std::size_t>(0, std::size(list) - 1)];
}
/// A length: short, or any.
inline std::uint64_t any_length(FuzzedDataProvider& in, std::uint64_t most) {
    return in.ConsumeIntegralInRange(0, 15) == 0 ? any_integer(in) : in.ConsumeIntegralInRange<std::uint64_t>(0, most);
}
/// 0, enough, too little, or any.
inline std::uint64_t any_stride(FuzzedDataProvider& in, std::uint64_t n) {
    const int what = in.ConsumeIntegralInRange(0, 7);
    return what < 4 ? 0 : what == 7 ? any_integer(in) : n + in.ConsumeIntegralInRange<std::uint64_t>(0, 3) - what % 2;
}
/// Is it garbage that was written over a struct? Then it is refused, unless what says so is mended.
template <class R>
bool is_garbage(FuzzedDataProvider& in, R& r) {
    if (in.ConsumeIntegralInRange(0, 7) != 0) return false;
    const auto bytes = in.ConsumeBytes<std::uint8_t>(sizeof r);
    if (!bytes.empty()) std::memcpy(&r, bytes.data(), bytes.size());
    if (in.ConsumeIntegralInRange(0, 3) != 0) {
        r.struct_size = sizeof r;
        std::memset(r.reserved, 0, sizeof r.reserved);
        std::memset(r.launch.reserved, 0, sizeof r.launch.reserved);
    }
    r.launch.threads = any_threads(in);
    return true;
}
/// Rows of elements of so many bytes, so far apart; nothing when they would be too large.
inline std::optional<std::size_t> bytes_of_rows(std::uint64_t n, std::uint64_t rows, std::uint64_t stride,
                                                std::size_t size) {
    if (stride == 0) stride = n;
    if (n > 64 || rows > 64 || stride > 4096) return std::nullopt;
    return rows == 0 ? 0 : ((rows - 1) * stride + n) * size;
}

inline void call_losses(FuzzedDataProvider& in) {
    detreduce_loss_request r = DETREDUCE_LOSS_REQUEST_INIT;
    if (!is_garbage(in, r)) {
        detreduce_loss_request_init(or_null(in, &r), sizeof r);
        r.loss = any_word(in) % 10;
        r.reduction = in.ConsumeIntegralInRange(-3, 3);
        r.method = in.ConsumeIntegralInRange(-1, 7);
        r.dtype = in.ConsumeIntegralInRange(-1, 5);
        if (in.ConsumeBool()) r.output = in.ConsumeIntegralInRange(-2, 5);
        r.weighted = in.ConsumeIntegralInRange<std::uint32_t>(0, 2);
        r.with_respect_to = in.ConsumeIntegralInRange(-1, 3);
        r.n = any_length(in, 60);
        r.parameter = any_parameter(in);
        if (in.ConsumeIntegralInRange(0, 3) == 0) r.batch = any_length(in, 9);
        r.device = any_device(in);
        r.launch = any_launch(in);
    }
    detreduce_loss_plan plan;
    std::memset(&plan, 0x33, sizeof plan);
    const detreduce_status status = detreduce_make_loss_plan(or_null(in, &r), or_null(in, &plan));
    require_well_formed(status);
    const bool good = detreduce_loss_plan_status(&plan).code == DETREDUCE_OK;
    require(good || status.code != DETREDUCE_OK, "a plan keeps its status");
    const auto bytes = bytes_of_rows(good ? r.n : 0, 1, 0, detreduce_dtype_bytes(r.dtype));
    if (!bytes) return require_well_formed(detreduce_run_loss(&plan, nullptr, nullptr, nullptr, nullptr));
    const auto skew = in.ConsumeIntegralInRange<std::size_t>(0, 9);
    const Placed x(*bytes, 0, in.ConsumeIntegral<std::uint8_t>()), target(*bytes, skew, 0x3c), weight(*bytes, 0, 0x3c),
        out(detreduce_loss_plan_results(&plan) * detreduce_dtype_bytes(detreduce_loss_plan_output(&plan)), 0, 0xa5),
        dx(*bytes, 0, 0xa5), upstream(*bytes + 8, 0, 0x3c),
        workspace(
            std::max(detreduce_loss_plan_workspace_bytes(&plan), detreduce_loss_plan_gradient_workspace_bytes(&plan)),
            0, 0x5a);
    detreduce_loss_inputs inputs = DETREDUCE_LOSS_INPUTS_INIT;
    inputs.x = or_null(in, x.data());
    inputs.target = or_null(in, target.data());
    inputs.weight = r.weighted == 1 || in.ConsumeIntegralInRange(0, 7) == 0 ? weight.data() : nullptr;
    if (in.ConsumeIntegralInRange(0, 15) == 0) inputs.reserved[in.ConsumeIntegralInRange(0, 3)] = x.data();
    const auto* const given = or_null(in, &inputs);
    void* const in_place = in.ConsumeIntegralInRange(0, 3) == 0 ? x.data() : dx.data();
    require_well_formed(
        detreduce_run_loss(&plan, given, or_null(in, out.data()), or_null(in, workspace.data()), nullptr));
    require_well_formed(detreduce_run_loss_gradient(&plan, given, in.ConsumeBool() ? upstream.data() : nullptr,
                                                    or_null(in, in_place), or_null(in, workspace.data()), nullptr));
}

inline void call_row_ops(FuzzedDataProvider& in) {
    detreduce_row_request r = DETREDUCE_ROW_REQUEST_INIT;
    if (!is_garbage(in, r)) {
        detreduce_row_request_init(or_null(in, &r), sizeof r);
        r.op = any_word(in) % 17;
        r.dtype = in.ConsumeIntegralInRange(-1, 5);
        if (in.ConsumeBool()) r.output = in.ConsumeIntegralInRange(-2, 5);
        r.reduction = in.ConsumeIntegralInRange(-3, 3);
        r.method = in.ConsumeIntegralInRange(-1, 7);
        r.parameters = in.ConsumeIntegralInRange<std::uint32_t>(0, 2);
        r.n = any_length(in, 40);
        r.rows = any_length(in, 5);
        r.stride = any_stride(in, r.n);
        r.output_stride = any_stride(in, r.n);
        r.probability_stride = any_stride(in, r.n);
        r.upstream_stride = any_stride(in, r.n);
        r.ignore_index = in.ConsumeIntegralInRange<std::int64_t>(-2, 3);
        if (in.ConsumeBool()) r.epsilon = any_parameter(in);
        if (in.ConsumeIntegralInRange(0, 3) == 0) r.label_smoothing = any_parameter(in);
        if (in.ConsumeIntegralInRange(0, 3) == 0) r.z_loss = any_parameter(in);
        r.device = any_device(in);
        r.launch = any_launch(in);
    }
    detreduce_row_plan plan;
    std::memset(&plan, 0x33, sizeof plan);
    const detreduce_status status = detreduce_make_row_plan(or_null(in, &r), or_null(in, &plan));
    require_well_formed(status);
    const bool good = detreduce_row_plan_status(&plan).code == DETREDUCE_OK;
    require(good || status.code != DETREDUCE_OK, "a plan keeps its status");
    const std::uint64_t n = good ? r.n : 0, rows = good ? r.rows : 0, results = detreduce_row_plan_results(&plan);
    const std::size_t size = detreduce_dtype_bytes(r.dtype),
                      wide = detreduce_dtype_bytes(detreduce_row_plan_arithmetic(&plan)),
                      to = detreduce_dtype_bytes(detreduce_row_plan_output(&plan));
    const auto of_x = bytes_of_rows(n, rows, r.stride, size),
               of_out = bytes_of_rows(results, rows, results == n ? r.output_stride : 0, to),
               of_probabilities = bytes_of_rows(n, rows, r.probability_stride, size),
               of_upstream = bytes_of_rows(n, rows, r.upstream_stride, size);
    if (!of_x || !of_out || !of_probabilities || !of_upstream)
        return require_well_formed(detreduce_run_rows(&plan, nullptr, nullptr, nullptr));
    const auto skew = in.ConsumeIntegralInRange<std::size_t>(0, 3) * size;
    const Placed x(*of_x, skew, in.ConsumeIntegral<std::uint8_t>()), out(*of_out + to, 0, 0xa5),
        scale(n * size, 0, 0x3c), shift(n * size, 0, 0x3c), mean(rows * wide, 0, 0x3c), rstd(rows * wide, 0, 0x3c),
        probabilities(*of_probabilities, skew, 0x38), weights(n * size, 0, 0x3c), row_weights(rows * wide, 0, 0xa5),
        factor(wide, 0, 0x3c), upstream(std::max(*of_upstream, rows * wide), 0, 0x3c), of_scale(n * to, 0, 0xa5),
        of_shift(n * to, 0, 0xa5), exp_sums(rows * 2 * wide, 0, 0x3c),
        workspace(detreduce_row_plan_workspace_bytes(&plan), 0, 0x5a);
    std::vector<std::int64_t> targets(rows);
    for (std::int64_t& t : targets)
        t = in.ConsumeIntegralInRange(0, 15) == 0 ? static_cast<std::int64_t>(any_integer(in))
                                                  : static_cast<std::int64_t>(in.ConsumeIntegralInRange<std::uint64_t>(
                                                        0, std::max<std::uint64_t>(n, 1) - 1));
    // What an op has none of is hardly ever there.
    const auto maybe = [&](bool has, auto* p) -> decltype(p) {
        const bool other = in.ConsumeIntegralInRange(0, 15) == 0;
        return has != other ? p : nullptr;
    };
    const bool layer = r.op == DETREDUCE_ROW_OP_LAYERNORM, layer_gradient = r.op == DETREDUCE_ROW_OP_LAYERNORM_GRADIENT,
               norm = layer || r.op == DETREDUCE_ROW_OP_RMSNORM,
               norm_gradient = layer_gradient || r.op == DETREDUCE_ROW_OP_RMSNORM_GRADIENT,
               target = r.op >= DETREDUCE_ROW_OP_CROSS_ENTROPY && r.op <= DETREDUCE_ROW_OP_NLL_GRADIENT,
               loss = target || r.op == DETREDUCE_ROW_OP_CROSS_ENTROPY_TARGET_GRADIENT,
               given = target && r.op <= DETREDUCE_ROW_OP_CROSS_ENTROPY_GRADIENT && in.ConsumeBool();
    detreduce_row_arrays a = DETREDUCE_ROW_ARRAYS_INIT;
    a.x = maybe(true, x.data());
    a.out = maybe(true, in.ConsumeIntegralInRange(0, 3) == 0 && *of_x >= *of_out + to ? x.data() : out.data());
    a.scale = maybe((norm || norm_gradient) && in.ConsumeBool(), scale.data());
    a.shift = maybe(layer && a.scale != nullptr && in.ConsumeBool(), shift.data());
    a.mean = maybe(layer || layer_gradient, mean.data());
    a.rstd = maybe(norm || norm_gradient, rstd.data());
    a.targets = maybe(target && !given, targets.data());
    a.probabilities = maybe(given, probabilities.data());
    a.weights = maybe(loss && in.ConsumeBool(), weights.data());
    a.row_weights = maybe(false, row_weights.data());
    a.factor = maybe(loss && in.ConsumeBool(), factor.data());
    a.upstream = maybe(r.op >= DETREDUCE_ROW_OP_SOFTMAX_GRADIENT && !loss, upstream.data());
    a.scale_gradient = maybe(r.parameters == 1, of_scale.data());
    a.shift_gradient = maybe(r.parameters == 1 && layer_gradient, of_shift.data());
    const bool of_sum = r.op == DETREDUCE_ROW_OP_LOGSUMEXP || r.op == DETREDUCE_ROW_OP_LOGSUMEXP_GRADIENT ||
                        (loss && r.op != DETREDUCE_ROW_OP_NLL && r.op != DETREDUCE_ROW_OP_NLL_GRADIENT);
    a.exp_sums = maybe(of_sum && in.ConsumeBool(), exp_sums.data());
    require_well_formed(detreduce_run_rows(&plan, or_null(in, &a), or_null(in, workspace.data()), nullptr));
}

inline void call_cosines(FuzzedDataProvider& in) {
    detreduce_cosine_request r = DETREDUCE_COSINE_REQUEST_INIT;
    if (!is_garbage(in, r)) {
        detreduce_cosine_request_init(or_null(in, &r), sizeof r);
        r.dtype = in.ConsumeIntegralInRange(-1, 5);
        if (in.ConsumeBool()) r.output = in.ConsumeIntegralInRange(-2, 5);
        r.method = in.ConsumeIntegralInRange(-1, 7);
        r.n = any_length(in, 40);
        r.rows = any_length(in, 5);
        r.stride = any_stride(in, r.n);
        if (in.ConsumeBool()) r.epsilon = any_parameter(in);
        r.device = any_device(in);
        r.launch = any_launch(in);
    }
    detreduce_cosine_plan plan;
    std::memset(&plan, 0x33, sizeof plan);
    require_well_formed(detreduce_make_cosine_plan(or_null(in, &r), or_null(in, &plan)));
    const bool good = detreduce_cosine_plan_status(&plan).code == DETREDUCE_OK;
    const std::uint64_t n = good ? r.n : 0, rows = good ? r.rows : 0;
    const auto bytes = bytes_of_rows(n, rows, r.stride, detreduce_dtype_bytes(r.dtype));
    if (!bytes) return require_well_formed(detreduce_run_cosine(&plan, nullptr, nullptr, nullptr, nullptr, nullptr));
    const Placed x(*bytes, 0, in.ConsumeIntegral<std::uint8_t>()), y(*bytes, 0, 0x3c), out(rows * 8, 0, 0xa5),
        upstream(rows * 8, 0, 0x3c), dx(*bytes, 0, 0xa5),
        workspace(detreduce_cosine_plan_workspace_bytes(&plan), 0, 0x5a);
    require_well_formed(detreduce_run_cosine(&plan, or_null(in, x.data()), or_null(in, y.data()),
                                             or_null(in, out.data()), or_null(in, workspace.data()), nullptr));
    require_well_formed(detreduce_run_cosine_gradient(
        &plan, x.data(), or_null(in, y.data()), in.ConsumeBool() ? upstream.data() : nullptr,
        in.ConsumeBool() ? x.data() : dx.data(), or_null(in, workspace.data()), nullptr));
}

inline void call_clip(FuzzedDataProvider& in) {
    detreduce_clip_request r = DETREDUCE_CLIP_REQUEST_INIT;
    std::vector<detreduce_tensor> list(in.ConsumeIntegralInRange<std::size_t>(0, 4));
    const Placed memory(64 * 8 * list.size(), 0, in.ConsumeIntegral<std::uint8_t>());
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].n = in.ConsumeIntegralInRange<std::uint64_t>(0, 60);
        list[i].dtype = static_cast<std::uint8_t>(in.ConsumeIntegralInRange(0, 6));
        list[i].data = or_null(in, static_cast<char*>(memory.data()) + i * 64 * 8);
        r.n += list[i].n;
    }
    r.tensors = list.size();
    r.device = {DETREDUCE_BACKEND_CPU, -1};
    if (!is_garbage(in, r)) {
        if (in.ConsumeIntegralInRange(0, 7) == 0) r.n = any_integer(in);
        if (in.ConsumeBool()) r.max_norm = any_parameter(in);
        if (in.ConsumeBool()) r.epsilon = any_parameter(in);
        r.norm = in.ConsumeIntegralInRange(-1, 5);
        r.device = any_device(in);
        r.launch = any_launch(in);
    }
    detreduce_clip_plan plan;
    std::memset(&plan, 0x33, sizeof plan);
    require_well_formed(detreduce_make_clip_plan(or_null(in, &r), or_null(in, &plan)));
    if (detreduce_clip_plan_status(&plan).code != DETREDUCE_OK) list.clear();
    if (list.size() != r.tensors)
        return require_well_formed(detreduce_run_clip(&plan, nullptr, nullptr, nullptr, nullptr));
    const Placed norm(8, 0, 0xa5), workspace(detreduce_clip_plan_workspace_bytes(&plan), 0, 0x5a);
    require_well_formed(detreduce_run_clip(&plan, or_null(in, list.data()), or_null(in, norm.data()),
                                           or_null(in, workspace.data()), nullptr));
}

} // namespace detreduce::fuzz
