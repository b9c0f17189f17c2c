// Losses, rows and norms, on addresses.
#include "losses.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <detreduce/channel_norm.hpp>
#include <detreduce/cosine_similarity.hpp>
#include <detreduce/cuda.hpp>
#include <detreduce/distillation.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>

#include "calls.hpp"

namespace detreduce::python {
namespace {

void loss(std::string_view name, std::string_view reduction, std::string_view method, std::string_view dtype,
          const Word& output, std::uint64_t n, double parameter, std::uint64_t batch, nb::handle x, nb::handle target,
          nb::handle weight, nb::handle out, nb::handle where) {
    const Place place(where);
    const dr::LossPlan plan = plan_of_loss(name, reduction, method, dtype_of(dtype), output_of(output), n, parameter,
                                           !weight.is_none(), batch, "x", place.device);
    const dr::LossInputs in{address(x), address(target), address(weight)};
    void* const to = address(out);
    run(
        place, plan.workspace_bytes(), [&](void* memory) { return dr::run(plan, in, to, memory, place.stream); },
        [&] { return dr::cuda::run_async(plan, in, to, place.stream); });
}

/// With respect to `argument`: x, target or weight.
void loss_gradient(std::string_view name, std::string_view argument, std::string_view reduction, std::string_view dtype,
                   std::uint64_t n, double parameter, std::uint64_t batch, nb::handle x, nb::handle target,
                   nb::handle weight, nb::handle upstream, nb::handle out, nb::handle where) {
    const Place place(where);
    const dr::LossPlan plan = plan_of_loss(name, reduction, "automatic", dtype_of(dtype), {}, n, parameter,
                                           !weight.is_none(), batch, argument, place.device);
    const dr::LossInputs in{address(x), address(target), address(weight)};
    const void* const from = address(upstream);
    void* const to = address(out);
    run(
        place, plan.gradient_workspace_bytes(),
        [&](void* memory) { return dr::run_gradient(plan, in, from, to, memory, place.stream); },
        [&] { return dr::cuda::run_gradient_async(plan, in, from, to, place.stream); });
}

/// A row op: `options` and `arrays` hold what is not the default, by the names of RowRequest and
/// RowArrays.
void row_op(std::string_view op, std::string_view dtype, const Word& output, std::uint64_t n, std::uint64_t rows,
            const nb::dict& options, const nb::dict& arrays, nb::handle where) {
    const Place place(where);
    dr::RowRequest r{.op = row_op_of(op), .dtype = dtype_of(dtype), .output = output_of(output), .n = n, .rows = rows};
    r.reduction = dr::Reduction::none;
    r.device = place.device;
    for (const auto [key, value] : options) {
        const auto name = nb::cast<std::string_view>(key);
        if (name == "stride")
            r.stride = nb::cast<std::uint64_t>(value);
        else if (name == "output_stride")
            r.output_stride = nb::cast<std::uint64_t>(value);
        else if (name == "epsilon")
            r.epsilon = nb::cast<double>(value);
        else if (name == "label_smoothing")
            r.label_smoothing = nb::cast<double>(value);
        else if (name == "z_loss")
            r.z_loss = nb::cast<double>(value);
        else if (name == "ignore_index")
            r.ignore_index = nb::cast<std::int64_t>(value);
        else if (name == "probability_stride")
            r.probability_stride = nb::cast<std::uint64_t>(value);
        else if (name == "upstream_stride")
            r.upstream_stride = nb::cast<std::uint64_t>(value);
        else if (name == "parameters")
            r.parameters = nb::cast<bool>(value);
        else if (name == "reduction")
            r.reduction = reduction_of(nb::cast<std::string_view>(value));
        else if (name == "method")
            r.method = parsed(dr::parse_method, nb::cast<std::string_view>(value));
        else
            throw nb::key_error(nb::cast<std::string>(key).c_str());
    }
    const dr::RowPlan plan = dr::make_row_plan(r);
    check(plan.status());
    dr::RowArrays a;
    for (const auto [key, value] : arrays) {
        const auto name = nb::cast<std::string_view>(key);
        void* const p = address(value);
        if (name == "x")
            a.x = p;
        else if (name == "out")
            a.out = p;
        else if (name == "scale")
            a.scale = p;
        else if (name == "shift")
            a.shift = p;
        else if (name == "mean")
            a.mean = p;
        else if (name == "rstd")
            a.rstd = p;
        else if (name == "targets")
            a.targets = static_cast<const std::int64_t*>(p);
        else if (name == "probabilities")
            a.probabilities = p;
        else if (name == "weights")
            a.weights = p;
        else if (name == "row_weights")
            a.row_weights = p;
        else if (name == "factor")
            a.factor = p;
        else if (name == "upstream")
            a.upstream = p;
        else if (name == "scale_gradient")
            a.scale_gradient = p;
        else if (name == "shift_gradient")
            a.shift_gradient = p;
        else if (name == "exp_sums")
            a.exp_sums = p;
        else
            throw nb::key_error(nb::cast<std::string>(key).c_str());
    }
    run(
        place, plan.workspace_bytes(), [&](void* memory) { return dr::run(plan, a, memory, place.stream); },
        [&] { return dr::cuda::run_async(plan, a, place.stream); });
}

/// group_norm or batch_norm, or its gradient; `arrays` by the names of ChannelNormArrays.
void channel_norm(std::string_view norm, std::string_view dtype, const Word& parameters, std::uint64_t n,
                  std::uint64_t channels, std::uint64_t size, std::uint64_t groups, double epsilon, double momentum,
                  bool given, std::string_view method, bool gradient, const nb::dict& arrays, nb::handle where) {
    const Place place(where);
    const dr::ChannelNormPlan plan = dr::make_channel_norm_plan({.norm = named<dr::ChannelNorm>(norm, 2),
                                                                 .dtype = dtype_of(dtype),
                                                                 .parameters = output_of(parameters),
                                                                 .n = n,
                                                                 .channels = channels,
                                                                 .size = size,
                                                                 .groups = groups,
                                                                 .epsilon = epsilon,
                                                                 .momentum = momentum,
                                                                 .given = given,
                                                                 .method = parsed(dr::parse_method, method),
                                                                 .device = place.device});
    check(plan.status());
    const auto at = [&](const char* name) { return arrays.contains(name) ? address(arrays[name]) : nullptr; };
    const dr::ChannelNormArrays a{.x = at("x"),
                                  .out = at("out"),
                                  .scale = at("scale"),
                                  .shift = at("shift"),
                                  .mean = static_cast<double*>(at("mean")),
                                  .rstd = static_cast<double*>(at("rstd")),
                                  .running_mean = at("running_mean"),
                                  .running_variance = at("running_variance"),
                                  .upstream = at("upstream"),
                                  .scale_gradient = at("scale_gradient"),
                                  .shift_gradient = at("shift_gradient")};
    run(
        place, gradient ? plan.gradient_workspace_bytes() : plan.workspace_bytes(),
        [&](void* memory) {
            return gradient ? dr::run_gradient(plan, a, memory, place.stream) : dr::run(plan, a, memory, place.stream);
        },
        [&] {
            return gradient ? dr::cuda::run_gradient_async(plan, a, place.stream)
                            : dr::cuda::run_async(plan, a, place.stream);
        });
}

/// The loss of distillation, of rows next to each other, or its gradient.
void distillation(std::string_view dtype, const Word& output, std::uint64_t n, std::uint64_t rows, double temperature,
                  std::string_view reduction, std::string_view method, bool gradient, nb::handle x, nb::handle target,
                  nb::handle upstream, nb::handle out, nb::handle where) {
    const Place place(where);
    const dr::DistillationPlan plan = dr::make_distillation_plan({.dtype = dtype_of(dtype),
                                                                  .output = output_of(output),
                                                                  .n = n,
                                                                  .rows = rows,
                                                                  .temperature = temperature,
                                                                  .reduction = reduction_of(reduction),
                                                                  .method = parsed(dr::parse_method, method),
                                                                  .device = place.device});
    check(plan.status());
    const void *const student = address(x), *const teacher = address(target), *const from = address(upstream);
    void* const to = address(out);
    run(
        place, plan.workspace_bytes(),
        [&](void* memory) {
            return gradient ? dr::run_gradient(plan, student, teacher, from, to, memory, place.stream)
                            : dr::run(plan, student, teacher, to, memory, place.stream);
        },
        [&] {
            return gradient ? dr::cuda::run_gradient_async(plan, student, teacher, from, to, place.stream)
                            : dr::cuda::run_async(plan, student, teacher, to, place.stream);
        });
}

/// Cosine similarities of the rows of two matrices; with `gradient` that of x, times `upstream`, of
/// which None is 1.
void cosine(std::string_view dtype, const Word& output, std::uint64_t n, std::uint64_t rows, std::uint64_t stride,
            double epsilon, std::string_view method, bool gradient, nb::handle x, nb::handle y, nb::handle upstream,
            nb::handle out, nb::handle where) {
    const Place place(where);
    const dr::CosinePlan plan = dr::make_cosine_plan({.dtype = dtype_of(dtype),
                                                      .output = output_of(output),
                                                      .n = n,
                                                      .rows = rows,
                                                      .stride = stride,
                                                      .epsilon = epsilon,
                                                      .method = parsed(dr::parse_method, method),
                                                      .device = place.device});
    check(plan.status());
    const void *const a = address(x), *const b = address(y), *const u = address(upstream);
    void* const to = address(out);
    const auto work = [&](void* memory) {
        return gradient ? dr::run_gradient(plan, a, b, u, to, memory, place.stream)
                        : dr::run(plan, a, b, to, memory, place.stream);
    };
    run(place, plan.workspace_bytes(), work, [&] { return work(nullptr); });
}

} // namespace

void bind_losses(nb::module_& m) {
    m.def("loss", &loss, nb::arg("loss"), nb::arg("reduction"), nb::arg("method"), nb::arg("dtype"),
          nb::arg("output").none(), nb::arg("n"), nb::arg("parameter"), nb::arg("batch"), nb::arg("x"),
          nb::arg("target"), nb::arg("weight").none(), nb::arg("out"), nb::arg("where").none());
    m.def("loss_gradient", &loss_gradient, nb::arg("loss"), nb::arg("argument"), nb::arg("reduction"), nb::arg("dtype"),
          nb::arg("n"), nb::arg("parameter"), nb::arg("batch"), nb::arg("x"), nb::arg("target"),
          nb::arg("weight").none(), nb::arg("upstream").none(), nb::arg("out"), nb::arg("where").none());
    m.def("row_op", &row_op, nb::arg("op"), nb::arg("dtype"), nb::arg("output").none(), nb::arg("n"), nb::arg("rows"),
          nb::arg("options"), nb::arg("arrays"), nb::arg("where").none());
    m.def("channel_norm", &channel_norm, nb::arg("norm"), nb::arg("dtype"), nb::arg("parameters").none(), nb::arg("n"),
          nb::arg("channels"), nb::arg("size"), nb::arg("groups"), nb::arg("epsilon"), nb::arg("momentum"),
          nb::arg("given"), nb::arg("method"), nb::arg("gradient"), nb::arg("arrays"), nb::arg("where").none());
    m.def("distillation", &distillation, nb::arg("dtype"), nb::arg("output").none(), nb::arg("n"), nb::arg("rows"),
          nb::arg("temperature"), nb::arg("reduction"), nb::arg("method"), nb::arg("gradient"), nb::arg("x"),
          nb::arg("target"), nb::arg("upstream").none(), nb::arg("out"), nb::arg("where").none());
    m.def("cosine", &cosine, nb::arg("dtype"), nb::arg("output").none(), nb::arg("n"), nb::arg("rows"),
          nb::arg("stride"), nb::arg("eps"), nb::arg("method"), nb::arg("gradient"), nb::arg("x"), nb::arg("y"),
          nb::arg("upstream").none(), nb::arg("out"), nb::arg("where").none());
}

} // namespace detreduce::python
