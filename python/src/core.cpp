// detreduce._core: the calls of the library, on addresses. What arrays, axes and dtypes mean is for
// the Python of the package to say; here they are a matrix of rows or columns, and room for
// results.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "calls.hpp"
#include "losses.hpp"
#include "tensors.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/cuda.hpp>
#include <detreduce/host.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/spec/tree_order.hpp>
#include <detreduce/states.hpp>
#include <detreduce/version.hpp>

namespace detreduce::python {
namespace {

// ---- Reductions ---------------------------------------------------------------------------------

/// Reduces `repeat` matrices, one behind the other in memory, each to `groups` results, or twice as
/// many.
void reduce(std::string_view op, std::string_view method, std::string_view dtype, const Word& output,
            std::string_view shape, std::uint64_t n, std::uint64_t groups, std::uint64_t stride, std::uint64_t repeat,
            std::uint64_t ddof, std::string_view nan, std::uint32_t threads, const Word& isa, nb::handle x,
            nb::handle y, nb::handle out, nb::handle where) {
    const Place place(where);
    dr::Request request{.op = parsed(dr::parse_op, op),
                        .method = parsed(dr::parse_method, method),
                        .dtype = dtype_of(dtype),
                        .output = output_of(output),
                        .shape = parsed(dr::parse_shape, shape),
                        .n = n,
                        .groups = groups,
                        .stride = stride,
                        .device = place.device,
                        .launch = {.threads = threads},
                        .nan = parsed(dr::parse_nan_policy, nan),
                        .ddof = ddof};
    if (isa) request.launch.isa = named<dr::Isa>(*isa, 5);
    const dr::Plan plan = dr::make_plan(request);
    check(plan.status());
    const auto* const from = static_cast<const char*>(address(x));
    const auto* const from_y = static_cast<const char*>(address(y));
    auto* const to = static_cast<char*>(address(out));
    const std::uint64_t step = n * groups * dr::size_of(request.dtype), results = plan.results() * plan.result_bytes();
    const auto each = [&](const auto& one) {
        dr::Status status;
        for (std::uint64_t i = 0; i < repeat && status.ok(); ++i) {
            status =
                one(dr::Inputs(from + i * step, from_y != nullptr ? from_y + i * step : nullptr), to + i * results);
        }
        return status;
    };
    run(
        place, plan.workspace_bytes(),
        [&](void* memory) {
            return each([&](const dr::Inputs& in, void* at) { return dr::run(plan, in, at, memory, place.stream); });
        },
        [&] {
            return each(
                [&](const dr::Inputs& in, void* at) { return dr::cuda::run_async(plan, in, at, place.stream); });
        });
}

/// Of what PEP 3118 calls the elements of a buffer: "" if they are none of ours, or not those of
/// this machine.
std::string_view dtype_of_format(const char* format) {
    if (format == nullptr || format[0] == '\0' || format[1] != '\0') return "";
    return *format == 'f' ? "f32" : *format == 'd' ? "f64" : *format == 'e' ? "f16" : "";
}

/// An op of one result of all elements of a contiguous array in host memory, as a number; None
/// where this short way does not go.
nb::object flat(std::string_view op, std::string_view method, std::uint64_t ddof, std::string_view nan, nb::handle x) {
    constexpr std::uint64_t few = 16384; // which do not take as long as another thread would wait
    struct Buffer : Py_buffer {
        bool open = false;
        ~Buffer() {
            if (open) PyBuffer_Release(this);
        }
    } buffer;
    if (PyObject_GetBuffer(x.ptr(), &buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
        PyErr_Clear();
        return nb::none();
    }
    buffer.open = true;
    const std::string_view dtype = dtype_of_format(buffer.format);
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.buf);
    const std::uint64_t n = buffer.itemsize > 0 ? static_cast<std::uint64_t>(buffer.len / buffer.itemsize) : 0;
    if (dtype.empty() || n <= ddof || address % static_cast<std::uintptr_t>(buffer.itemsize) != 0) return nb::none();
    const dr::Plan plan = dr::make_plan({.op = parsed(dr::parse_op, op),
                                         .method = parsed(dr::parse_method, method),
                                         .dtype = dtype_of(dtype),
                                         .n = n,
                                         .device = dr::cpu,
                                         .nan = parsed(dr::parse_nan_policy, nan),
                                         .ddof = ddof});
    check(plan.status());
    if (plan.results() != 1 || plan.result_is_integer() || plan.workspace_bytes() > 0) return nb::none();
    double result = 0;
    dr::Status status;
    if (n <= few) {
        status = dr::run(plan, buffer.buf, &result);
    } else {
        const nb::gil_scoped_release released;
        status = dr::run(plan, buffer.buf, &result);
    }
    check(status);
    return dr::with_dtype(plan.output(), [&]<class T>(T) -> nb::object {
        T value;
        std::memcpy(&value, &result, sizeof value);
        return nb::float_(static_cast<double>(dr::fp::widen(value)));
    });
}

/// How long a call of the library takes that flat() makes for such an array, of float32: of so
/// many, a plan for each. For what is measured beside it.
double seconds_of_a_call(std::string_view op, nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> x,
                         std::uint64_t calls) {
    if (calls == 0) throw std::invalid_argument("calls: must be 1 or more");
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) {
        double result[2]; // of any op
        check(dr::run(
            dr::make_plan({.op = parsed(dr::parse_op, op), .dtype = dr::DType::f32, .n = x.size(), .device = dr::cpu}),
            x.data(), result));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / static_cast<double>(calls);
}

/// Arrays as Python lists them: tuples of address, elements and dtype.
std::vector<dr::Tensor> list_of(const nb::list& arrays) {
    std::vector<dr::Tensor> list;
    list.reserve(arrays.size());
    for (const nb::handle array : arrays) {
        const auto parts = nb::cast<nb::tuple>(array);
        list.push_back(
            {address(parts[0]), nb::cast<std::uint64_t>(parts[1]), dtype_of(nb::cast<std::string_view>(parts[2]))});
    }
    return list;
}
std::uint64_t elements_of(const std::vector<dr::Tensor>& list) {
    std::uint64_t n = 0;
    for (const dr::Tensor& t : list)
        n += t.n;
    return n;
}

/// Reduces a list of arrays, taken as one, and, if `each` says so, each of them before that.
void reduce_list(std::string_view op, std::string_view output, bool each, const nb::list& arrays, nb::handle out,
                 nb::handle where) {
    const Place place(where);
    const std::vector<dr::Tensor> list = list_of(arrays);
    const dr::Plan plan = dr::make_plan({.op = parsed(dr::parse_op, op),
                                         .dtype = dtype_of(output),
                                         .shape = dr::Shape::tensors,
                                         .n = elements_of(list),
                                         .groups = list.size(),
                                         .device = place.device,
                                         .each = each});
    check(plan.status());
    void* const to = address(out);
    run(
        place, plan.workspace_bytes(),
        [&](void* memory) { return dr::run(plan, list.data(), to, memory, place.stream); },
        [&] { return dr::cuda::run_async(plan, list.data(), to, place.stream); });
}

/// Writes the norm of a list of arrays, and scales them where it is too large.
void clip_grad_norm(const nb::list& arrays, double max_norm, double eps, std::string_view norm, nb::handle out,
                    nb::handle where) {
    const Place place(where);
    const std::vector<dr::Tensor> list = list_of(arrays);
    const dr::ClipPlan plan = dr::make_clip_plan({.n = elements_of(list),
                                                  .tensors = list.size(),
                                                  .max_norm = max_norm,
                                                  .epsilon = eps,
                                                  .norm = dtype_of(norm),
                                                  .device = place.device});
    check(plan.status());
    if (!place.takes_memory()) throw nb::type_error("parameters: have no memory that can be written");
    void* const to = address(out);
    const auto scaled = [&](void* memory) { return dr::run(plan, list.data(), to, memory, place.stream); };
    run(place, plan.workspace_bytes(), scaled, [&] { return scaled(nullptr); });
}

// ---- States -------------------------------------------------------------------------------------

dr::Plan plan_of_states(std::string_view op, std::string_view dtype, const Word& output, std::string_view shape,
                        std::uint64_t n, std::uint64_t groups, std::uint64_t stride, std::uint64_t ddof,
                        std::string_view nan, std::uint64_t first_index, const dr::Device& device) {
    const dr::Plan plan = dr::make_plan({.op = parsed(dr::parse_op, op),
                                         .dtype = dtype_of(dtype),
                                         .output = output_of(output),
                                         .shape = parsed(dr::parse_shape, shape),
                                         .n = n,
                                         .groups = groups,
                                         .stride = stride,
                                         .device = device,
                                         .nan = parsed(dr::parse_nan_policy, nan),
                                         .ddof = ddof,
                                         .state = true,
                                         .first_index = first_index});
    check(plan.status());
    return plan;
}

/// int64 words of a group's state, and how they are put together: "sum", "max" or "pair".
nb::tuple state_form(std::string_view op, std::string_view dtype, std::string_view nan) {
    const dr::Plan plan = plan_of_states(op, dtype, {}, "rows", 0, 1, 0, 0, nan, 0, dr::cpu);
    constexpr const char* merges[] = {"sum", "max", "pair"};
    return nb::make_tuple(plan.state_words(), merges[static_cast<int>(dr::state_merge(plan))]);
}

/// The states of the groups of a matrix.
void states(std::string_view op, std::string_view dtype, std::string_view shape, std::uint64_t n, std::uint64_t groups,
            std::uint64_t stride, std::string_view nan, std::uint64_t first_index, nb::handle x, nb::handle y,
            nb::handle out, nb::handle where) {
    const Place place(where);
    const dr::Plan plan = plan_of_states(op, dtype, {}, shape, n, groups, stride, 0, nan, first_index, place.device);
    const dr::Inputs in(address(x), address(y));
    void* const to = address(out);
    run(
        place, plan.workspace_bytes(), [&](void* memory) { return dr::run(plan, in, to, memory, place.stream); },
        [&] { return dr::cuda::run_async(plan, in, to, place.stream); });
}

/// States of f64, which those of every dtype go into; `output` is that of the norm.
dr::Plan plan_of_list_states(std::string_view output, std::uint64_t n, std::uint64_t tensors,
                             const dr::Device& device) {
    const dr::Plan plan = dr::make_plan({.op = dr::Op::nrm2,
                                         .dtype = dr::DType::f64,
                                         .output = dtype_of(output),
                                         .shape = dr::Shape::tensors,
                                         .n = n,
                                         .groups = tensors,
                                         .device = device,
                                         .state = true});
    check(plan.status());
    return plan;
}

/// int64 words of the state of a list's norm.
std::uint64_t norm_state_words() {
    return plan_of_list_states("f64", 0, 0, dr::cpu).state_words();
}

/// The state of the norm of a list of arrays.
void norm_state(const nb::list& arrays, nb::handle out, nb::handle where) {
    const Place place(where);
    const std::vector<dr::Tensor> list = list_of(arrays);
    const dr::Plan plan = plan_of_list_states("f64", elements_of(list), list.size(), place.device);
    void* const to = address(out);
    run(
        place, plan.workspace_bytes(),
        [&](void* memory) { return dr::run(plan, list.data(), to, memory, place.stream); },
        [&] { return dr::cuda::run_async(plan, list.data(), to, place.stream); });
}

/// The norm that such a state, or a sum of them, is of.
void norm_of_state(nb::handle from, std::string_view output, nb::handle out, nb::handle where) {
    const Place place(where);
    const dr::Plan plan = plan_of_list_states(output, 0, 0, place.device);
    const auto* const words = static_cast<const std::int64_t*>(address(from));
    void* const to = address(out);
    dr::Status status;
    {
        const nb::gil_scoped_release released;
        status = dr::finish(plan, words, to, place.stream);
    }
    check(status);
}

/// The serialized form of a flat state; of ops that give an index, so many elements are before what
/// goes on.
nb::bytes state_bytes(std::string_view op, std::string_view dtype, std::string_view nan, std::uint64_t first_index,
                      nb::handle from) {
    const dr::Plan plan = plan_of_states(op, dtype, {}, "flat", 0, 1, 0, 0, nan, first_index, dr::cpu);
    std::vector<std::byte> bytes(dr::serialized_bytes(plan));
    check(dr::serialize(plan, static_cast<const std::int64_t*>(address(from)), bytes));
    return nb::bytes(bytes.data(), bytes.size());
}

/// What such bytes are of: op, dtype, NaN policy and first index.
nb::tuple request_of_bytes(nb::handle data, std::size_t size) {
    dr::Request r;
    check(dr::serialized_request({static_cast<const std::byte*>(address(data)), size}, r));
    if (r.shape != dr::Shape::flat) throw nb::value_error("data: is a state of groups; allowed is that of one array");
    const auto text = [](std::string_view word) { return std::string(word); };
    return nb::make_tuple(text(dr::name(r.op)), text(dr::name(r.dtype)), text(dr::name(r.nan)), r.first_index);
}

/// Their words.
void read_state(std::string_view op, std::string_view dtype, std::string_view nan, nb::handle data, std::size_t size,
                nb::handle out) {
    const dr::Plan plan = plan_of_states(op, dtype, {}, "flat", 0, 1, 0, 0, nan, 0, dr::cpu);
    check(dr::deserialize(plan, {static_cast<const std::byte*>(address(data)), size},
                          static_cast<std::int64_t*>(address(out))));
}

/// Adds states to others, normalizes them where `others` is None.
void merge_states(std::string_view op, std::string_view dtype, std::string_view nan, std::uint64_t groups,
                  nb::handle into, nb::handle others, nb::handle where) {
    const Place place(where);
    const dr::Plan plan = plan_of_states(op, dtype, {}, "rows", 0, groups, 0, 0, nan, 0, place.device);
    auto* const a = static_cast<std::int64_t*>(address(into));
    const auto* const b = static_cast<const std::int64_t*>(address(others));
    dr::Status status;
    {
        const nb::gil_scoped_release released;
        status = b != nullptr ? dr::merge(plan, a, b, place.stream) : dr::normalize(plan, a, place.stream);
    }
    check(status);
}

/// Rounds states to results.
void finish_states(std::string_view op, std::string_view dtype, const Word& output, std::string_view nan,
                   std::uint64_t ddof, std::uint64_t groups, nb::handle from, nb::handle out, nb::handle where) {
    const Place place(where);
    const dr::Plan plan = plan_of_states(op, dtype, output, "rows", 0, groups, 0, ddof, nan, 0, place.device);
    const auto* const words = static_cast<const std::int64_t*>(address(from));
    void* const to = address(out);
    dr::Status status;
    {
        const nb::gil_scoped_release released;
        status = dr::finish(plan, words, to, place.stream);
    }
    check(status);
}

// ---- What there is ------------------------------------------------------------------------------

nb::list gpus() {
    nb::list list;
    for (const dr::cuda::DeviceInfo& d : dr::cuda::devices()) {
        list.append(nb::make_tuple(d.index, d.name, d.major, d.minor, d.multiprocessors, d.memory_bytes));
    }
    return list;
}

std::vector<std::string> isas() {
    std::vector<std::string> names;
    for (const dr::Isa isa : dr::available_isas())
        names.emplace_back(dr::name(isa));
    return names;
}

/// Roundings that an element of n goes through by tree, kahan (`pairwise` false) or compensated
/// (true).
std::uint64_t tree_depth(std::string_view dtype, std::uint64_t n, bool pairwise) {
    const dr::DType d = dtype_of(dtype);
    const auto lanes = [](dr::DType of) { return dr::spec::lanes_of(static_cast<std::uint32_t>(dr::size_of(of))); };
    return n < 2 ? 0 : dr::spec::tree_depth(n, lanes(d), lanes(dr::arithmetic_of(d)), pairwise);
}

} // namespace
} // namespace detreduce::python

NB_MODULE(_core, m) {
    using namespace detreduce::python;
    m.attr("__version__") = dr::version;
    m.attr("spec_version") = dr::spec_version;
    m.attr("built_with_cuda") = dr::cuda::built_with_cuda();
    m.def("reduce", &reduce, nb::arg("op"), nb::arg("method"), nb::arg("dtype"), nb::arg("output").none(),
          nb::arg("shape"), nb::arg("n"), nb::arg("groups"), nb::arg("stride"), nb::arg("repeat"), nb::arg("ddof"),
          nb::arg("nan"), nb::arg("threads"), nb::arg("isa").none(), nb::arg("x"), nb::arg("y").none(), nb::arg("out"),
          nb::arg("where").none());
    m.def("flat", &flat);
    m.def("seconds_of_a_call", &seconds_of_a_call);
    m.def("reduce_list", &reduce_list, nb::arg("op"), nb::arg("output"), nb::arg("each"), nb::arg("arrays"),
          nb::arg("out"), nb::arg("where").none());
    m.def("clip_grad_norm", &clip_grad_norm, nb::arg("arrays"), nb::arg("max_norm"), nb::arg("eps"), nb::arg("norm"),
          nb::arg("out"), nb::arg("where").none());
    m.def("state_form", &state_form);
    m.def("states", &states, nb::arg("op"), nb::arg("dtype"), nb::arg("shape"), nb::arg("n"), nb::arg("groups"),
          nb::arg("stride"), nb::arg("nan"), nb::arg("first_index"), nb::arg("x"), nb::arg("y").none(), nb::arg("out"),
          nb::arg("where").none());
    m.def("merge_states", &merge_states, nb::arg("op"), nb::arg("dtype"), nb::arg("nan"), nb::arg("groups"),
          nb::arg("into"), nb::arg("others").none(), nb::arg("where").none());
    m.def("finish_states", &finish_states, nb::arg("op"), nb::arg("dtype"), nb::arg("output").none(), nb::arg("nan"),
          nb::arg("ddof"), nb::arg("groups"), nb::arg("states"), nb::arg("out"), nb::arg("where").none());
    m.def("state_bytes", &state_bytes);
    m.def("request_of_bytes", &request_of_bytes);
    m.def("read_state", &read_state);
    m.def("norm_state_words", &norm_state_words);
    m.def("norm_state", &norm_state, nb::arg("arrays"), nb::arg("out"), nb::arg("where").none());
    m.def("norm_of_state", &norm_of_state, nb::arg("states"), nb::arg("output"), nb::arg("out"),
          nb::arg("where").none());
    bind_losses(m);
    m.def("gpus", &gpus);
    m.def("isas", &isas);
    m.def("tree_depth", &tree_depth);
    bind_tensors(m);
}
