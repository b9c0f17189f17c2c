// What a tensor of torch is, where it lies and on which stream, and new ones: by the C functions
// that torch has for DLPack, without a call of Python but for those that are new.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <detreduce/cuda.hpp>

#include "calls.hpp"

namespace detreduce::python {

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
};
inline Torch torch;

inline void open_tensors(nb::capsule api, nb::object tensor, nb::object parameter, nb::object empty_like,
                         nb::object float32, nb::object allocate) {
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
inline std::optional<dr::DType> dtype_of(nb::dlpack::dtype type) {
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
inline bool is_plain(nb::handle x) {
    const nb::handle type = x.type();
    return torch.api != nullptr && (type.is(torch.tensor) || type.is(torch.parameter));
}

/// x as that; none where it is not, or where torch would negate its elements later.
inline std::optional<Dense> dense(nb::handle x) {
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
inline std::optional<bool> tracked(std::uint64_t which, const nb::args& arguments) {
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

inline Made made_like(nb::handle x) {
    return Made(torch.empty_like(x));
}

/// On the device of x, of its dtype or of `dtype`.
inline Made made(nb::handle x, std::span<const std::int64_t> sizes, nb::handle dtype = {}) {
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
    /// Are the elements added in another dtype than theirs, which is f32?
    [[nodiscard]] bool is_narrow() const { return dr::arithmetic_of(dtype_) != dtype_; }
    /// The same of one in the arithmetic of x.
    void* kept(nb::handle t, std::span<const std::int64_t> shape) {
        return any(t, shape, is_narrow() ? f32 : first_.dtype);
    }
    /// A new one.
    [[nodiscard]] Made make_kept(nb::handle like, std::span<const std::int64_t> shape) const {
        return made(like, shape, is_narrow() ? torch.float32 : nb::handle());
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

inline std::uint64_t product(std::span<const std::int64_t> sizes) {
    std::uint64_t n = 1;
    for (const std::int64_t size : sizes)
        n *= static_cast<std::uint64_t>(size);
    return n;
}

} // namespace detreduce::python
