// What the calls of detreduce._core have in common: errors as exceptions, words as enumerators,
// where an array lies and where the work is done.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <detreduce/losses.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/row_ops.hpp>

namespace detreduce::python {

namespace nb = nanobind;
namespace dr = detreduce;

using Word = std::optional<std::string_view>;

// ---- What went wrong ----------------------------------------------------------------------------

/// `status` as an exception that names the argument as Python calls it.
[[noreturn]] inline void raise(dr::Status status) {
    constexpr const char* names[][2] = {{"output", "dtype"},
                                        {"dtype", "x"},
                                        {"n", "x"},
                                        {"groups", "x"},
                                        {"rows", "x"},
                                        {"stride", "x"},
                                        {"epsilon", "eps"},
                                        {"targets", "target"},
                                        {"weights", "weight"},
                                        {"scale", "weight"},
                                        {"probabilities", "target"},
                                        {"shift", "bias"},
                                        {"states", "state"},
                                        {"bytes", "data"},
                                        {"list", "parameters"},
                                        {"launch.threads", "threads"},
                                        {"launch.isa", "isa"},
                                        {"device.index", "x"}};
    if (status.code == dr::StatusCode::out_of_memory) throw std::bad_alloc();
    if (status.code == dr::StatusCode::cuda_error) throw std::runtime_error(dr::to_string(status));
    if (status.code == dr::StatusCode::no_device) throw std::runtime_error(dr::to_string(status));
    for (const auto& [theirs, ours] : names) {
        if (std::strcmp(status.argument, theirs) != 0) continue;
        status.argument = ours;
        break;
    }
    std::string text = status.argument;
    if (status.index != dr::Status::no_element) text += "[" + std::to_string(status.index) + "]";
    text += std::string(": ") + status.allowed;
    throw nb::value_error(text.c_str());
}

inline void check(const dr::Status& status) {
    if (!status.ok()) raise(status);
}

// ---- What is asked for --------------------------------------------------------------------------

/// The value that a word stands for; of one that names nothing 255, which plans refuse by name.
template <class Enum>
Enum parsed(std::optional<Enum> (*parse)(std::string_view) noexcept, std::string_view word) {
    return parse(word).value_or(static_cast<Enum>(255));
}
inline dr::DType dtype_of(std::string_view word) {
    return parsed(dr::parse_dtype, word);
}
inline std::optional<dr::DType> output_of(const Word& word) {
    return word ? std::optional(dtype_of(*word)) : std::nullopt;
}
/// The value of a list whose name() is `word`, of as many as there are.
template <class Enum>
Enum named(std::string_view word, int count) {
    for (int i = 0; i < count; ++i) {
        if (name(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
    }
    return static_cast<Enum>(255);
}
inline dr::Reduction reduction_of(std::string_view word) {
    return named<dr::Reduction>(word, 3);
}

inline dr::RowOp row_op_of(std::string_view word) {
    return named<dr::RowOp>(word, 64);
}

/// Where an array lies: None nowhere, an address there, an array in host memory where it says.
inline void* address(nb::handle array) {
    if (array.is_none()) return nullptr;
    if (PyLong_Check(array.ptr())) {
        void* const p = PyLong_AsVoidPtr(array.ptr());
        if (p == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
        return p;
    }
    return const_cast<void*>(nb::cast<nb::ndarray<nb::ro, nb::device::cpu>>(array).data());
}

/// Where the work is done: None is the CPU; else (device, stream, allocate), and allocate(bytes)
/// gives memory of the device as a pair of its owner and its address. Without `allocate` the
/// library takes it from the stream's pool.
class Place {
  public:
    using Owner = nb::object;
    dr::Device device = dr::cpu;
    dr::Stream stream;
    explicit Place(nb::handle where) {
        if (where.is_none()) return;
        const auto parts = nb::cast<nb::tuple>(where);
        device = {dr::Backend::cuda, nb::cast<int>(parts[0])};
        stream = dr::Stream(reinterpret_cast<CUstream_st*>(nb::cast<std::uintptr_t>(parts[1])));
        allocate_ = nb::borrow(parts[2]);
    }
    [[nodiscard]] bool takes_memory() const { return device == dr::cpu || !allocate_.is_none(); }
    [[nodiscard]] void* memory(std::size_t bytes, Owner& owner) const {
        owner = allocate_(bytes);
        return address(nb::cast<nb::tuple>(owner)[1]);
    }

  private:
    nb::object allocate_ = nb::none();
};

/// Runs a plan with `workspace_bytes` of memory, without the interpreter's lock: run(memory), or
/// alone(), which takes the memory itself.
template <class Where, class Run, class Alone>
void run(const Where& place, std::size_t workspace_bytes, const Run& with_memory, const Alone& alone) {
    typename Where::Owner owner;
    std::unique_ptr<std::uint64_t[]> host;
    void* memory = nullptr;
    if (workspace_bytes > 0 && place.takes_memory()) {
        if (place.device == dr::cpu) {
            host.reset(new std::uint64_t[(workspace_bytes + 7) / 8]);
            memory = host.get();
        } else {
            memory = place.memory(workspace_bytes, owner);
        }
    }
    dr::Status status;
    {
        const nb::gil_scoped_release released;
        status = workspace_bytes > 0 && !place.takes_memory() ? alone() : with_memory(memory);
    }
    check(status);
}

inline dr::LossPlan plan_of_loss(std::string_view loss, std::string_view reduction, std::string_view method,
                                 dr::DType dtype, std::optional<dr::DType> output, std::uint64_t n, double parameter,
                                 bool weighted, std::uint64_t batch, std::string_view argument,
                                 const dr::Device& device) {
    dr::LossRequest request{.loss = parsed<dr::Loss>(dr::parse_loss, loss)};
    request.reduction = reduction_of(reduction);
    request.method = parsed(dr::parse_method, method);
    request.dtype = dtype;
    request.output = output;
    request.n = n;
    request.parameter = parameter;
    request.weighted = weighted;
    request.batch = batch;
    request.with_respect_to = named<dr::LossArgument>(argument, 3);
    request.device = device;
    const dr::LossPlan plan = dr::make_loss_plan(request);
    check(plan.status());
    return plan;
}

} // namespace detreduce::python
