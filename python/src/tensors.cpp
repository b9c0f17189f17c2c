// The short way of torch's tensors: ops of dense tensors, all on one device, that can be read where
// they lie. Each gives None where it does not go, and what is wrong, or has to be copied, is for
// the Python of the package to say.
#include "tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <detreduce/losses.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/row_ops.hpp>

#include "calls.hpp"
#include "dense.hpp"

namespace detreduce::python {
namespace {

// ---- Ops ----------------------------------------------------------------------------------------

/// One result of all elements, or of those along `axis`, if the others can be taken as rows or
/// columns.
nb::object reduce(std::string_view op, std::string_view method, std::uint64_t ddof, nb::handle x,
                  std::optional<std::int64_t> axis, bool keepdim) {
    const Arguments arguments(x);
    if (!arguments) return nb::none();
    const Dense& in = arguments.x();
    const TensorPlace place(in);
    dr::Request request{.op = parsed(dr::parse_op, op),
                        .method = parsed(dr::parse_method, method),
                        .dtype = arguments.dtype(),
                        .n = in.n,
                        .device = place.device,
                        .ddof = ddof};
    std::vector<std::int64_t> shape;
    if (axis) {
        if (*axis < 0 || *axis >= in.ndim) return nb::none();
        const auto at = static_cast<std::size_t>(*axis);
        const auto before = in.sizes().first(at), behind = in.sizes().subspan(at + 1);
        const std::uint64_t outer = product(before), inner = product(behind);
        if (inner > 1 && outer > 1) return nb::none();
        request.shape = inner > 1 ? dr::Shape::columns : in.ndim > 1 ? dr::Shape::rows : dr::Shape::flat;
        request.n = static_cast<std::uint64_t>(in.shape[at]);
        request.groups = inner > 1 ? inner : outer;
        shape.assign(before.begin(), before.end());
        if (keepdim) shape.push_back(1);
        shape.insert(shape.end(), behind.begin(), behind.end());
    }
    if (request.n <= ddof) return nb::none();
    const dr::Plan plan = dr::make_plan(request);
    check(plan.status());
    const Made out = made(x, shape);
    run(place, plan.workspace_bytes(),
        [&](void* memory) { return dr::run(plan, in.data, out.data, memory, place.stream); });
    return out.tensor;
}

nb::object loss(std::string_view name, std::string_view reduction, std::string_view method, double parameter,
                nb::handle x, nb::handle target, nb::handle weight) {
    Arguments arguments(x);
    const auto sizes = arguments.x().sizes();
    const dr::LossInputs in{arguments.x().data, arguments.other(target, sizes), arguments.other(weight, sizes)};
    if (!arguments || reduction == "batchmean") return nb::none();
    const TensorPlace place(arguments.x());
    const dr::LossPlan plan = plan_of_loss(name, reduction, method, arguments.dtype(), {}, arguments.x().n, parameter,
                                           !weight.is_none(), 0, "x", place.device);
    const Made out = reduction == "none" ? made_like(x) : made(x, {});
    run(place, plan.workspace_bytes(), [&](void* memory) { return dr::run(plan, in, out.data, memory, place.stream); });
    return out.tensor;
}

/// `grad` has the dtype of x: one number, or, not reduced, one an element.
nb::object loss_gradient(std::string_view name, std::string_view argument, std::string_view reduction, double parameter,
                         nb::handle grad, nb::handle x, nb::handle target, nb::handle weight) {
    Arguments arguments(x);
    const auto sizes = arguments.x().sizes();
    const dr::LossInputs in{arguments.x().data, arguments.other(target, sizes), arguments.other(weight, sizes)};
    const void* const upstream = arguments.other(grad, sizes.first(reduction == "none" ? sizes.size() : 0));
    if (!arguments || reduction == "batchmean") return nb::none();
    const TensorPlace place(arguments.x());
    const dr::LossPlan plan = plan_of_loss(name, reduction, "automatic", arguments.dtype(), {}, arguments.x().n,
                                           parameter, !weight.is_none(), 0, argument, place.device);
    const Made out = made_like(x);
    run(place, plan.gradient_workspace_bytes(),
        [&](void* memory) { return dr::run_gradient(plan, in, upstream, out.data, memory, place.stream); });
    return out.tensor;
}

/// A request for an op, or its gradient, of rows of n elements.
dr::RowRequest request_of_rows(std::string_view op, bool gradient, const Arguments& arguments, std::uint64_t n,
                               const TensorPlace& place) {
    dr::RowRequest r{.op = row_op_of(gradient ? std::string(op) + "_gradient" : std::string(op)),
                     .dtype = arguments.dtype(),
                     .n = n,
                     .rows = arguments.x().n / n};
    r.reduction = dr::Reduction::none;
    r.device = place.device;
    return r;
}

void run_rows(const dr::RowRequest& request, const dr::RowArrays& arrays, const TensorPlace& place) {
    const dr::RowPlan plan = dr::make_row_plan(request);
    check(plan.status());
    run(place, plan.workspace_bytes(), [&](void* memory) { return dr::run(plan, arrays, memory, place.stream); });
}

/// softmax or log_softmax along the last axis; with `grad` the gradient, of which x is what the op
/// gave.
nb::object rows(std::string_view op, nb::handle x, std::int64_t dim, nb::handle grad) {
    Arguments arguments(x);
    const auto sizes = arguments.x().sizes();
    const void* const upstream = arguments.other(grad, sizes);
    arguments.only_if(!sizes.empty() && (dim == -1 || dim == static_cast<std::int64_t>(sizes.size()) - 1));
    if (!arguments) return nb::none();
    const TensorPlace place(arguments.x());
    const auto n = static_cast<std::uint64_t>(sizes.back());
    const Made out = made_like(x);
    run_rows(request_of_rows(op, upstream != nullptr, arguments, n, place),
             {.x = arguments.x().data, .out = out.data, .upstream = upstream}, place);
    return out.tensor;
}

/// The last axes of x, where they have the lengths `normalized`.
std::span<const std::int64_t> ends_of(Arguments& arguments, std::span<const std::int64_t> normalized) {
    const auto sizes = arguments.x().sizes();
    arguments.only_if(!normalized.empty() && normalized.size() <= sizes.size() &&
                      std::ranges::equal(sizes.last(std::min(normalized.size(), sizes.size())), normalized));
    return arguments ? sizes.last(normalized.size()) : sizes.first(0);
}

/// What is kept of each row: of layernorm the mean, then the reciprocal; of rmsnorm that alone.
struct Kept {
    Arguments& arguments;
    std::vector<std::int64_t> shape;
    bool has_mean;

    Kept(Arguments& of, std::string_view op, std::size_t last) : arguments(of), has_mean(op == "layernorm") {
        const auto sizes = arguments.x().sizes();
        shape.push_back(has_mean ? 2 : 1);
        shape.insert(shape.end(), sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(last));
    }
    void put(void* data, dr::RowArrays& arrays) const {
        const std::uint64_t bytes =
            product(std::span(shape).subspan(1)) * dr::size_of(dr::arithmetic_of(arguments.dtype()));
        if (has_mean) arrays.mean = data;
        arrays.rstd = has_mean ? static_cast<std::byte*>(data) + bytes : data;
    }
};

/// layernorm or rmsnorm, and, with `kept`, what the gradient needs of each row.
nb::object norm(std::string_view op, nb::handle x, const std::vector<std::int64_t>& normalized, nb::handle weight,
                nb::handle bias, double epsilon, bool keep) {
    Arguments arguments(x);
    const auto ends = ends_of(arguments, normalized);
    dr::RowArrays arrays{.x = arguments.x().data};
    arrays.scale = arguments.other(weight, ends);
    arrays.shift = arguments.other(bias, ends);
    arguments.only_if(bias.is_none() || !weight.is_none());
    if (!arguments || !(epsilon >= 0 && epsilon < std::numeric_limits<double>::infinity())) return nb::none();
    const TensorPlace place(arguments.x());
    dr::RowRequest request = request_of_rows(op, false, arguments, product(ends), place);
    request.epsilon = epsilon;
    const Kept kept(arguments, op, ends.size());
    const Made out = made_like(x), statistics = keep ? arguments.make_kept(x, kept.shape) : Made();
    arrays.out = out.data;
    if (keep) kept.put(statistics.data, arrays);
    run_rows(request, arrays, place);
    return nb::make_tuple(out.tensor, statistics.tensor);
}

/// With respect to x and, with `parameters`, to scale and, with `bias`, to shift.
nb::object norm_gradient(std::string_view op, nb::handle grad, nb::handle x,
                         const std::vector<std::int64_t>& normalized, nb::handle weight, nb::handle statistics,
                         bool bias, bool parameters) {
    Arguments arguments(x);
    const auto ends = ends_of(arguments, normalized);
    const Kept kept(arguments, op, ends.size());
    dr::RowArrays arrays{.x = arguments.x().data};
    arrays.scale = arguments.other(weight, ends);
    arrays.upstream = arguments.other(grad, arguments.x().sizes());
    void* const of_rows = arguments.kept(statistics, kept.shape);
    if (!arguments || of_rows == nullptr) return nb::none();
    kept.put(of_rows, arrays);
    const TensorPlace place(arguments.x());
    dr::RowRequest request = request_of_rows(op, true, arguments, product(ends), place);
    request.parameters = parameters;
    const auto of_parameter = [&] { return weight.is_none() ? made(x, ends) : made_like(weight); };
    const Made dx = made_like(x), dw = parameters ? of_parameter() : Made(),
               db = parameters && bias ? of_parameter() : Made();
    arrays.out = dx.data;
    arrays.scale_gradient = dw.data;
    arrays.shift_gradient = db.data;
    run_rows(request, arrays, place);
    return nb::make_tuple(dx.tensor, dw.tensor, db.tensor);
}

/// What the losses of classes have in common.
struct Classes {
    Arguments arguments;
    dr::RowArrays arrays;
    std::span<const std::int64_t> rows; ///< the first axis of x

    Classes(nb::handle x, nb::handle target, nb::handle weight, double smoothing) : arguments(x) {
        const auto sizes = arguments.x().sizes();
        arguments.only_if(sizes.size() == 2 && smoothing >= 0 && smoothing <= 1);
        if (!arguments) return;
        rows = sizes.first(1);
        arrays.x = arguments.x().data;
        arrays.targets = arguments.classes(target, rows);
        arrays.weights = arguments.other(weight, sizes.last(1));
        arguments.only_if(arrays.targets != nullptr);
    }
    [[nodiscard]] dr::RowRequest request(std::string_view op, bool gradient, std::int64_t ignore_index,
                                         double smoothing, std::string_view reduction, std::string_view method,
                                         double z_loss, const TensorPlace& place) const {
        const auto n = static_cast<std::uint64_t>(arguments.x().sizes().back());
        dr::RowRequest r = request_of_rows(op, gradient, arguments, n, place);
        r.ignore_index = ignore_index;
        r.label_smoothing = smoothing;
        r.reduction = reduction_of(reduction);
        r.method = parsed(dr::parse_method, method);
        r.z_loss = z_loss;
        return r;
    }
};

/// cross_entropy or nll of a matrix, and, with `kept`, what the gradient of the first needs of each
/// row.
nb::object classes(std::string_view op, nb::handle x, nb::handle target, nb::handle weight, std::int64_t ignore_index,
                   double smoothing, std::string_view reduction, std::string_view method, double z_loss, bool kept) {
    Classes given(x, target, weight, smoothing);
    if (!given.arguments) return nb::none();
    const TensorPlace place(given.arguments.x());
    const dr::RowRequest request = given.request(op, false, ignore_index, smoothing, reduction, method, z_loss, place);
    const Made out = made(x, given.rows.first(reduction == "none" ? 1 : 0));
    const std::int64_t pairs[] = {given.rows[0], 2}, none[] = {0};
    const bool of_exponentials = request.op == dr::RowOp::cross_entropy;
    const std::span<const std::int64_t> sizes = of_exponentials ? std::span<const std::int64_t>(pairs) : none;
    const Made sums = kept ? given.arguments.make_kept(x, sizes) : Made();
    given.arrays.out = out.data;
    given.arrays.exp_sums = of_exponentials ? sums.data : nullptr;
    run_rows(request, given.arrays, place);
    return nb::make_tuple(out.tensor, sums.tensor);
}

/// `grad` has the dtype of the arithmetic: one number, or, not reduced, one a row.
nb::object classes_gradient(std::string_view op, nb::handle grad, nb::handle x, nb::handle target, nb::handle weight,
                            std::int64_t ignore_index, double smoothing, std::string_view reduction,
                            std::string_view method, double z_loss, nb::handle exp_sums) {
    Classes given(x, target, weight, smoothing);
    if (!given.arguments) return nb::none();
    const bool each = reduction == "none";
    const void* const upstream = given.arguments.kept(grad, given.rows.first(each ? 1 : 0));
    const std::int64_t pairs[] = {given.rows[0], 2};
    given.arrays.exp_sums = given.arguments.kept(exp_sums, pairs);
    if (!given.arguments) return nb::none();
    (each ? given.arrays.upstream : given.arrays.factor) = upstream;
    const TensorPlace place(given.arguments.x());
    const Made out = made_like(x);
    given.arrays.out = out.data;
    run_rows(given.request(op, true, ignore_index, smoothing, reduction, method, z_loss, place), given.arrays, place);
    return out.tensor;
}

} // namespace

void bind_tensors(nb::module_& m) {
    m.def("open_tensors", &open_tensors);
    m.def("tracked_tensors", &tracked);
    m.def("tensor_reduce", &reduce, nb::arg("op"), nb::arg("method"), nb::arg("ddof"), nb::arg("x"),
          nb::arg("axis").none(), nb::arg("keepdim"));
    m.def("tensor_loss", &loss, nb::arg("name"), nb::arg("reduction"), nb::arg("method"), nb::arg("parameter"),
          nb::arg("x"), nb::arg("target"), nb::arg("weight").none());
    m.def("tensor_loss_gradient", &loss_gradient, nb::arg("name"), nb::arg("argument"), nb::arg("reduction"),
          nb::arg("parameter"), nb::arg("grad"), nb::arg("x"), nb::arg("target"), nb::arg("weight").none());
    m.def("tensor_rows", &rows, nb::arg("op"), nb::arg("x"), nb::arg("dim"), nb::arg("grad").none());
    m.def("tensor_norm", &norm, nb::arg("op"), nb::arg("x"), nb::arg("normalized_shape"), nb::arg("weight").none(),
          nb::arg("bias").none(), nb::arg("eps"), nb::arg("kept"));
    m.def("tensor_norm_gradient", &norm_gradient, nb::arg("op"), nb::arg("grad"), nb::arg("x"),
          nb::arg("normalized_shape"), nb::arg("weight").none(), nb::arg("statistics"), nb::arg("bias"),
          nb::arg("parameters"));
    m.def("tensor_classes", &classes, nb::arg("op"), nb::arg("x"), nb::arg("target"), nb::arg("weight").none(),
          nb::arg("ignore_index"), nb::arg("label_smoothing"), nb::arg("reduction"), nb::arg("method"),
          nb::arg("z_loss"), nb::arg("kept"));
    m.def("tensor_classes_gradient", &classes_gradient, nb::arg("op"), nb::arg("grad"), nb::arg("x"), nb::arg("target"),
          nb::arg("weight").none(), nb::arg("ignore_index"), nb::arg("label_smoothing"), nb::arg("reduction"),
          nb::arg("method"), nb::arg("z_loss"), nb::arg("exp_sums").none());
}

} // namespace detreduce::python
