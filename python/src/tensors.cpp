// The short way of torch's tensors: ops of dense tensors, all on one device, that can be read where
// they lie. Each gives None where it does not go, and what is wrong, or has to be copied, is for
// the Python of the package to say. What a tensor is comes from the C functions that torch has for
// DLPack, without a call of Python.
#include "tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <detreduce/cuda.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/row_ops.hpp>

#include "calls.hpp"

namespace detreduce::python {
namespace {

// ---- What torch says ----------------------------------------------------------------------------

/// Of DLPack 1.3 (dmlc.github.io/dlpack), what nanobind does not have.
struct ManagedTensor {
    std::uint32_t version[2];
    void* context;
    void (*deleter)(ManagedTensor*);
    std::uint64_t flags;
    nb::dlpack::dltensor tensor;
};
struct ExchangeApi {
    struct Header {
        std::uint32_t version[2];
        Header* previous;
    } header;
    int (*allocate)(nb::dlpack::dltensor*, ManagedTensor**, void*, void (*)(void*, const char*, const char*));
    int (*export_tensor)(void*, ManagedTensor**);
    int (*import_tensor)(ManagedTensor*, void**);
    int (*describe)(void*, nb::dlpack::dltensor*);
    int (*current_stream)(std::int32_t, std::int32_t, void**);
};
constexpr std::int32_t on_cpu = 1, on_cuda = 2;

/// What open_tensors() was given, for as long as the process lives.
struct Torch {
    const ExchangeApi* api = nullptr;
    nb::handle tensor, parameter, empty_like, float32;
    nb::handle allocate; ///< of a device's index, what gives its memory as Place::memory() takes it
    nb::handle is_neg, new_empty, requires_grad, dtype; // words
} torch;

void open_tensors(nb::capsule api, nb::object tensor, nb::object parameter, nb::object empty_like, nb::object float32,
                  nb::object allocate) {
    constexpr std::uint32_t major = 1;
    const auto* const given = static_cast<const ExchangeApi*>(api.data());
    if (given->header.version[0] != major || given->describe == nullptr) return; // there is no short way
    torch = {given,
             tensor.release(),
             parameter.release(),
             empty_like.release(),
             float32.release(),
             allocate.release(),
             nb::str("is_neg").release(),
             nb::str("new_empty").release(),
             nb::str("requires_grad").release(),
             nb::make_tuple("dtype").release()};
}

/// Of a dtype here; of others none.
std::optional<dr::DType> dtype_of(nb::dlpack::dtype type) {
    using Code = nb::dlpack::dtype_code;
    const auto code = static_cast<Code>(type.code);
    if (code == Code::Float && type.bits == 32) return dr::DType::f32;
    if (code == Code::Float && type.bits == 64) return dr::DType::f64;
    if (code == Code::Float && type.bits == 16) return dr::DType::f16;
    if (code == Code::Bfloat && type.bits == 16) return dr::DType::bf16;
    if (code == Code::Float8_E4M3FN && type.bits == 8) return dr::DType::f8e4m3;
    if (code == Code::Float8_E5M2 && type.bits == 8) return dr::DType::f8e5m2;
    return std::nullopt;
}

/// A tensor whose elements lie in memory one behind the other.
struct Dense : nb::dlpack::dltensor {
    std::uint64_t n = 1;

    [[nodiscard]] std::span<const std::int64_t> sizes() const { return {shape, static_cast<std::size_t>(ndim)}; }
};

/// Is it of a type of torch's own?
bool is_plain(nb::handle x) {
    const nb::handle type = x.type();
    return torch.api != nullptr && (type.is(torch.tensor) || type.is(torch.parameter));
}

/// x as that; none where it is not, or where torch would negate its elements later.
std::optional<Dense> dense(nb::handle x) {
    if (!is_plain(x)) return std::nullopt;
    Dense t;
    if (torch.api->describe(x.ptr(), &t) != 0) {
        PyErr_Clear();
        return std::nullopt;
    }
    if (t.device.device_type != on_cpu && !(t.device.device_type == on_cuda && dr::cuda::built_with_cuda())) {
        return std::nullopt;
    }
    for (std::int32_t i = t.ndim; i-- > 0;) {
        if (t.shape[i] != 1 && t.strides[i] != static_cast<std::int64_t>(t.n)) return std::nullopt;
        t.n *= static_cast<std::uint64_t>(t.shape[i]);
    }
    if (t.dtype.lanes != 1 || t.dtype.bits < 8 || t.dtype.bits % 8 != 0) return std::nullopt;
    t.data = static_cast<std::byte*>(t.data) + t.byte_offset;
    const bool aligned = reinterpret_cast<std::uintptr_t>(t.data) % (t.dtype.bits / 8u) == 0;
    if (t.n == 0 || t.data == nullptr || !aligned || nb::cast<bool>(x.attr(torch.is_neg)())) return std::nullopt;
    return t;
}

/// Memory of a device, by the allocator of torch.
class Owner {
  public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() {
        if (tensor_ != nullptr && tensor_->deleter != nullptr) tensor_->deleter(tensor_);
    }
    void* take(std::size_t bytes, nb::dlpack::device device) {
        std::int64_t size = static_cast<std::int64_t>(bytes);
        nb::dlpack::dltensor like;
        like.device = device;
        like.ndim = 1;
        like.dtype = {static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1};
        like.shape = &size;
        const auto say_nothing = [](void*, const char*, const char*) {};
        if (torch.api->allocate(&like, &tensor_, nullptr, say_nothing) != 0) { // Python says what is wrong
            tensor_ = nullptr;
            PyErr_Clear();
            by_python_ = torch.allocate(device.device_id)(bytes);
            return address(nb::cast<nb::tuple>(by_python_)[1]);
        }
        return static_cast<std::byte*>(tensor_->tensor.data) + tensor_->tensor.byte_offset;
    }

  private:
    ManagedTensor* tensor_ = nullptr;
    nb::object by_python_;
};

/// The device of a tensor, and the stream that torch now uses there.
struct TensorPlace {
    using Owner = python::Owner;
    dr::Device device = dr::cpu;
    dr::Stream stream;
    nb::dlpack::device of_torch;
    explicit TensorPlace(const Dense& x) : of_torch(x.device) {
        if (of_torch.device_type == on_cpu) return;
        void* current = nullptr;
        if (torch.api->current_stream(of_torch.device_type, of_torch.device_id, &current) != 0) {
            throw nb::python_error();
        }
        device = {dr::Backend::cuda, of_torch.device_id};
        stream = dr::Stream(static_cast<CUstream_st*>(current));
    }
    [[nodiscard]] static bool takes_memory() { return true; }
    [[nodiscard]] void* memory(std::size_t bytes, Owner& owner) const { return owner.take(bytes, of_torch); }
};

/// run() of calls.hpp, which gives all the memory that there has to be.
template <class Run>
void run(const TensorPlace& place, std::size_t workspace_bytes, const Run& with_memory) {
    python::run(place, workspace_bytes, with_memory, [&] { return with_memory(nullptr); });
}

/// Is a gradient to be had of one of those `arguments` that `which`, a bit each, says are tensors?
/// None where one is no tensor of torch's own types.
std::optional<bool> tracked(std::uint64_t which, const nb::args& arguments) {
    bool any = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const nb::handle a = arguments[i];
        if ((which >> i & 1) == 0 || a.is_none()) continue;
        if (!is_plain(a)) return std::nullopt;
        any = any || nb::cast<bool>(a.attr(torch.requires_grad));
    }
    return any;
}

// ---- New tensors --------------------------------------------------------------------------------

/// A tensor that is to be written, and where it lies.
struct Made {
    nb::object tensor = nb::none();
    void* data = nullptr;

    Made() = default;
    explicit Made(nb::object made) : tensor(std::move(made)) {
        nb::dlpack::dltensor t;
        if (torch.api->describe(tensor.ptr(), &t) != 0) throw nb::python_error();
        data = static_cast<std::byte*>(t.data) + t.byte_offset;
    }
};

Made made_like(nb::handle x) {
    return Made(torch.empty_like(x));
}

/// On the device of x, of its dtype or of `dtype`.
Made made(nb::handle x, std::span<const std::int64_t> sizes, nb::handle dtype = {}) {
    const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
    if (!shape.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
    }
    PyObject* arguments[] = {nullptr, x.ptr(), shape.ptr(), dtype.ptr()}; // the first is for Python to use
    const nb::object tensor =
        nb::steal(PyObject_VectorcallMethod(torch.new_empty.ptr(), arguments + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                            dtype.is_valid() ? torch.dtype.ptr() : nullptr));
    if (!tensor.is_valid()) throw nb::python_error();
    return Made(tensor);
}

/// The dtype of what is kept of the rows of x; none: that of x.
nb::handle of_arithmetic(dr::DType dtype) {
    return dr::arithmetic_of(dtype) == dtype ? nb::handle() : torch.float32;
}

// ---- Tensors that go together -------------------------------------------------------------------

/// The arguments of an op, the first of which says where all have to be. Once one does not fit
/// there is no short way.
class Arguments {
  public:
    explicit Arguments(nb::handle x) {
        const auto first = dense(x);
        const auto dtype = first ? dtype_of(first->dtype) : std::nullopt;
        if (!dtype) return;
        first_ = *first;
        dtype_ = *dtype;
        fit_ = true;
    }
    explicit operator bool() const { return fit_; }
    [[nodiscard]] const Dense& x() const { return first_; }
    [[nodiscard]] dr::DType dtype() const { return dtype_; }

    void only_if(bool fits) { fit_ = fit_ && fits; }
    /// The address of another, of `shape` and of the dtype of x; of None null.
    const void* other(nb::handle t, std::span<const std::int64_t> shape) { return any(t, shape, first_.dtype); }
    /// The same of one in the arithmetic of x.
    void* kept(nb::handle t, std::span<const std::int64_t> shape) {
        return any(t, shape, dr::arithmetic_of(dtype_) == dtype_ ? first_.dtype : f32);
    }
    /// The same of classes.
    const std::int64_t* classes(nb::handle t, std::span<const std::int64_t> shape) {
        return static_cast<const std::int64_t*>(any(t, shape, int64));
    }

  private:
    using Code = nb::dlpack::dtype_code;
    static constexpr nb::dlpack::dtype f32{static_cast<std::uint8_t>(Code::Float), 32, 1},
        int64{static_cast<std::uint8_t>(Code::Int), 64, 1};

    void* any(nb::handle t, std::span<const std::int64_t> shape, nb::dlpack::dtype dtype) {
        if (t.is_none() || !fit_) return nullptr;
        const auto found = dense(t);
        fit_ = found && found->dtype == dtype && found->device.device_type == first_.device.device_type &&
               found->device.device_id == first_.device.device_id && std::ranges::equal(found->sizes(), shape);
        return fit_ ? found->data : nullptr;
    }

    Dense first_;
    dr::DType dtype_{};
    bool fit_ = false;
};

std::uint64_t product(std::span<const std::int64_t> sizes) {
    std::uint64_t n = 1;
    for (const std::int64_t size : sizes)
        n *= static_cast<std::uint64_t>(size);
    return n;
}

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
    const Made out = made_like(x), statistics = keep ? made(x, kept.shape, of_arithmetic(arguments.dtype())) : Made();
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
    const Made sums = kept ? made(x, sizes, of_arithmetic(given.arguments.dtype())) : Made();
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
