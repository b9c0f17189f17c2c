// detreduce._core: one call, which reduces the elements of an array in memory. What arrays, axes and dtypes mean is for
// the Python of the package to say; here they are a matrix of rows or columns, and a buffer for results.
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <detreduce/plan.hpp>
#include <detreduce/version.hpp>

namespace nb = nanobind;
namespace dr = detreduce;

namespace {

using Input = nb::ndarray<nb::ro, nb::device::cpu>;
using Output = nb::ndarray<nb::device::cpu>;

/// `status` as an exception that names the argument as Python calls it.
[[noreturn]] void raise(dr::Status status) {
    constexpr const char* names[][2] = {{"output", "dtype"}, {"dtype", "x"},  {"n", "x"},
                                        {"groups", "x"},     {"stride", "x"}, {"launch.threads", "threads"}};
    if (status.code == dr::StatusCode::out_of_memory) throw std::bad_alloc();
    for (const auto& [theirs, ours] : names) {
        if (std::strcmp(status.argument, theirs) != 0) continue;
        status.argument = ours;
        break;
    }
    const std::string text = std::string(status.argument) + ": " + status.allowed;
    throw nb::value_error(text.c_str());
}

/// The value that a word stands for; of one that names nothing 255, which make_plan() refuses by name.
template <class Enum>
Enum parsed(std::optional<Enum> (*parse)(std::string_view) noexcept, std::string_view word) {
    return parse(word).value_or(static_cast<Enum>(255));
}

/// Reduces `repeat` matrices, one behind the other in memory, each to `groups` results, or twice as many.
void reduce(std::string_view op, std::string_view method, std::string_view dtype,
            std::optional<std::string_view> output, std::string_view shape, std::uint64_t n, std::uint64_t groups,
            std::uint64_t stride, std::uint64_t repeat, std::uint64_t ddof, std::string_view nan, std::uint32_t threads,
            const Input& x, const std::optional<Input>& y, const Output& out) {
    dr::Request request{.op = parsed(dr::parse_op, op),
                        .method = parsed(dr::parse_method, method),
                        .dtype = parsed(dr::parse_dtype, dtype),
                        .shape = parsed(dr::parse_shape, shape),
                        .n = n,
                        .groups = groups,
                        .stride = stride,
                        .device = dr::cpu,
                        .launch = {.threads = threads},
                        .nan = parsed(dr::parse_nan_policy, nan),
                        .ddof = ddof};
    if (output) request.output = parsed(dr::parse_dtype, *output);
    const dr::Plan plan = dr::make_plan(request);
    if (!plan.status().ok()) raise(plan.status());
    const auto* const from = static_cast<const char*>(x.data());
    const auto* const from_y = y ? static_cast<const char*>(y->data()) : nullptr;
    auto* const to = static_cast<char*>(out.data());
    const std::uint64_t step = n * groups * dr::size_of(request.dtype), results = plan.results() * plan.result_bytes();
    if (out.nbytes() != repeat * results) throw nb::value_error("out: must have room for all results");
    dr::Status status;
    {
        const nb::gil_scoped_release released;
        std::vector<std::uint64_t> workspace((plan.workspace_bytes() + 7) / 8);
        for (std::uint64_t i = 0; i < repeat && status.ok(); ++i) {
            const dr::Inputs in(from + i * step, from_y != nullptr ? from_y + i * step : nullptr);
            status = dr::run(plan, in, to + i * results, workspace.data());
        }
    }
    if (!status.ok()) raise(status);
}

} // namespace

NB_MODULE(_core, m) {
    m.attr("__version__") = dr::version;
    m.attr("spec_version") = dr::spec_version;
    m.def("reduce", &reduce, nb::arg("op"), nb::arg("method"), nb::arg("dtype"), nb::arg("output").none(),
          nb::arg("shape"), nb::arg("n"), nb::arg("groups"), nb::arg("stride"), nb::arg("repeat"), nb::arg("ddof"),
          nb::arg("nan"), nb::arg("threads"), nb::arg("x").noconvert(), nb::arg("y").noconvert().none(),
          nb::arg("out").noconvert());
}
