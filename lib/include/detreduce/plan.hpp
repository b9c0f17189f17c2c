// The core: make a plan, run it. Neither call throws, prints, allocates or synchronises. Three
// things are beyond it: CUDA itself may load code and make a context when a kernel is first used in
// a process; the first run of a thread on the CPU takes 384 KiB for its buffers, which are kept
// until the thread ends; and with more than one CPU thread the library makes threads, which it
// keeps as well.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <detreduce/route.hpp>
#include <detreduce/status.hpp>
#include <detreduce/types.hpp>

struct CUstream_st; // what a cudaStream_t points to

#pragma GCC visibility push(default)
namespace detreduce {

/// A stream of a GPU, or nullptr for its default stream: whatever points to a class is one, so that
/// a cudaStream_t converts to it, and back, and users of the CPU need no CUDA headers.
class Stream {
  public:
    constexpr Stream(std::nullptr_t = nullptr) noexcept {}
    template <class T>
    requires(std::is_class_v<T> && !std::is_const_v<T>) constexpr Stream(T* stream) noexcept : handle_(stream) {}
    template <class T>
    requires std::same_as<T, void*>
    explicit constexpr Stream(T stream) noexcept : handle_(stream) {} // a template, so that 0 and NULL are nullptr
    /// What converts to a cudaStream_t: a stream of a framework, say.
    template <class T>
    requires(std::is_class_v<T> && !std::is_same_v<T, Stream> &&
             std::is_convertible_v<const T&, CUstream_st*>) constexpr Stream(const T& stream) noexcept
        : handle_(static_cast<CUstream_st*>(stream)) {}
    explicit constexpr operator bool() const noexcept { return handle_ != nullptr; }
    template <class T>
    requires std::is_class_v<T>
    constexpr operator T*() const noexcept { return static_cast<T*>(handle_); }

  private:
    void* handle_ = nullptr;
};

/// What to reduce and where. Only `dtype` and `n` have no useful default. Designated initializers
/// must be in the order of these fields.
struct Request {
    Op op = Op::sum;
    Method method = Method::automatic;
    DType dtype = DType::f32;         ///< of the elements
    std::optional<DType> output = {}; ///< of the result; empty: that of the elements, or an index
    Shape shape = Shape::flat;
    /// Number of elements, 0 … 2^40: of each row or column; otherwise of everything.
    std::uint64_t n = 0;
    /// How many rows, columns, segments or tensors there are, 0 … 2^40 (tensors: less than 2^32).
    /// Rows and columns: no more than 2^46 elements in all.
    std::uint64_t groups = 1;
    /// Rows and columns: elements from the beginning of one row of the matrix to that of the next,
    /// of x and y; 0: the length of such a row, else at least that.
    std::uint64_t stride = 0;
    Device device = current_gpu; ///< or `cpu`, for which host.hpp has shorter calls
    Launch launch = {};
    NanPolicy nan = NanPolicy::propagate; ///< for ops that compare
    bool each = false;                    ///< tensors: also the value of each, before that of all
    std::uint64_t ddof =
        0; ///< variance, stddev, moments: what is taken from n in the divisor, less than n; of segments at most 2^40
    /// Write the state of each group, for a reduction by many (states.hpp), in the place of its
    /// result. What n must be is then a matter of all of them: it may be 0, and ddof up to 2^40.
    bool state = false;
    std::uint64_t first_index =
        0; ///< argmin and argmax, of states: the index of a group's first element here, 0 … 2^61
};

/// Largest n that a plan accepts, largest number of groups, and most elements from the first to the
/// last.
inline constexpr std::uint64_t max_n = std::uint64_t{1} << 40, max_groups = max_n, max_extent = std::uint64_t{1} << 46;

/// Levels of partial results above the input: 4096^4 > 2^40.
inline constexpr int max_levels = 4;

class Plan;
namespace detail {
/// Has a group n elements, at distances that follow from the request alone?
[[nodiscard]] constexpr bool is_matrix(Shape shape) noexcept {
    return shape == Shape::rows || shape == Shape::columns;
}
/// Are the elements of a group apart, and those of neighbouring groups side by side?
[[nodiscard]] constexpr bool is_across(Shape shape) noexcept {
    return shape == Shape::columns;
}
/// Element i of group g of a matrix lies at g · group + i · element. What is no matrix is one row,
/// which may be cut.
struct Strides {
    std::uint64_t group, element;
};
[[nodiscard]] constexpr Strides strides_of(const Request& r) noexcept {
    if (is_across(r.shape)) return {1, r.stride != 0 ? r.stride : r.groups};
    return {r.stride != 0 ? r.stride : r.n, 1};
}
[[nodiscard]] constexpr const Route& route_of(const Plan& plan) noexcept;
} // namespace detail

/// One value that owns order, launch and workspace of a reduction; nothing else computes any of the
/// three.
/// A plan is a plain value: copy it, keep it, use it from many threads at once (each run with its
/// own workspace).
class Plan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    /// What was asked for, with the method that automatic is, and the device that was current where
    /// its index was -1.
    [[nodiscard]] const Request& request() const noexcept { return request_; }
    [[nodiscard]] DType output() const noexcept { return request_.output.value_or(request_.dtype); }
    /// Of ops that compare or count, by any method: order, but of an index, which says where an
    /// element lies, device.
    [[nodiscard]] Guarantee guarantee() const noexcept {
        const Kind kind = info(request_.op).kind;
        if (kind == Kind::count) return Guarantee::order;
        if (kind != Kind::order) return info(request_.method).guarantee;
        return result_is_integer() ? Guarantee::device : Guarantee::order;
    }

    /// Are the results std::uint64_t: indices or counts? Then output() means nothing.
    [[nodiscard]] bool result_is_integer() const noexcept { return info(request_.op).gives_integer; }
    /// Bytes of one result, which is also how it must be aligned.
    [[nodiscard]] std::size_t result_bytes() const noexcept {
        return result_is_integer() ? sizeof(std::uint64_t) : size_of(output());
    }

    /// Groups of elements that are reduced, each on its own: 1, or as many as there are rows,
    /// columns or segments, or tensors and all of them.
    [[nodiscard]] std::uint64_t groups() const noexcept {
        if (request_.shape == Shape::tensors) return request_.each ? request_.groups + 1 : 1;
        return request_.shape == Shape::flat ? 1 : request_.groups;
    }
    /// Of a request for states: std::int64_t that run() writes for each group, in the place of its
    /// results; else 0.
    [[nodiscard]] std::uint64_t state_words() const noexcept;
    /// Results that run() writes, or of states finish(); those of one group side by side.
    [[nodiscard]] std::uint64_t results() const noexcept {
        return groups() * static_cast<std::uint64_t>(info(request_.op).results);
    }
    /// Rows and columns: elements from the beginning of one row of the matrix to that of the next.
    [[nodiscard]] std::uint64_t stride() const noexcept {
        if (request_.stride != 0) return request_.stride;
        return request_.shape == Shape::columns ? request_.groups : request_.n;
    }

    /// Bytes of memory, of the device, that run() needs as workspace. Alignment: 256 bytes, as
    /// cudaMalloc gives. On the CPU: 0 but for count_unique of f32 and f64, which takes as many
    /// bytes as the elements have, aligned to 8; on CUDA it takes twice that and what
    /// cub::DeviceRadixSort needs, of f16 and bf16 8 KiB; of groups, of any dtype, 32 bytes an
    /// element and what the sort needs. exact on CUDA keeps states of 592 bytes: one of a sum, of
    /// products of f64 three, and of variance, stddev and moments one more than of squares. Rows
    /// and segments of more than 32768 elements have as many for each 32768 of them (of variance,
    /// stddev and moments a row has at most 8192 times as many, and all segments 32768 times). For
    /// sum, mean and asum of rows and segments of f32 and 16 bits it has at most 4 bytes a group,
    /// where these are 32 MiB or more. On CUDA elements of 8 bits take 2 bytes each more as f16;
    /// read as they are, at most 32 a row.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return route_.workspace_bytes; }

    /// The launch that was chosen; a request that asks for it has the same plan. CPU: threads and
    /// isa. CUDA: the schedule, and the block of the kernels that read the elements; automatic
    /// and 0 where there is nothing to reduce, and so no kernel. A grid of 0 is no limit: each
    /// kernel has as many blocks as help, which run() knows once it has seen how the pointers are
    /// aligned.
    [[nodiscard]] const Launch& launch() const noexcept { return route_.launch; }

  private:
    friend struct detail::PlanParts;
    friend constexpr const detail::Route& detail::route_of(const Plan& plan) noexcept;
    Request request_;
    detail::Route route_;
    Status status_{StatusCode::invalid_argument, "plan", "must come from make_plan()"};
};
static_assert(std::is_trivially_copyable_v<Plan>);

namespace detail {
constexpr const Route& route_of(const Plan& plan) noexcept {
    return plan.route_;
}
} // namespace detail

/// Makes the plan of `request`. A bad request gives a plan whose status() says which argument is
/// wrong and what is allowed. For a CUDA device this reads a few cached device attributes; it does
/// not create work on any stream.
[[nodiscard]] Plan make_plan(const Request& request) noexcept;

/// One array of a list (shape tensors).
struct Tensor {
    const void* data = nullptr;
    std::uint64_t n = 0;
    DType dtype = DType::f32;
};

/// Where the elements are: y for ops of two inputs, else null; offsets for segments, else null. A
/// pointer to x alone converts to this.
/// Segments: segment i is the elements from offsets[i] up to, but not including, offsets[i + 1], so
/// there are Request::groups + 1 offsets, where the elements are; segments.hpp makes them of ids,
/// and looks at those on a device. Tensors: x points to Request::groups Tensors, in host memory,
/// and for ops of two inputs y to as many, of the same lengths and dtypes.
struct Inputs {
    const void* x = nullptr;
    const void* y = nullptr;
    const std::uint64_t* offsets = nullptr;
    constexpr Inputs(const void* x_elements, const void* y_elements = nullptr,
                     const std::uint64_t* segment_offsets = nullptr) noexcept
        : x(x_elements), y(y_elements), offsets(segment_offsets) {}
};

/// Runs `plan`: reduces each of plan.groups() groups and writes plan.results() results to `out`.
///
/// formula      Op says what is computed. exact rounds the true value once. Other methods round in
///              the order that lib/SPEC.md gives for the method
/// shapes       x, y: Inputs and Shape say where the elements are; each is aligned to its size.
///              out: groups in order, results of one group side by side, aligned to
///              plan.result_bytes()
/// dtypes       x, y: f16, bf16, f32, f64, f8e4m3, f8e5m2. out: plan.output(), but std::uint64_t
///              for indices and counts, and std::int64_t with Request::state
/// guarantee    plan.guarantee(). A group has the bits that its elements have when reduced alone
/// error bound  of sums, with u = 2^−24 (f64: 2^−53) and γ_d = d·u/(1 − d·u): exact half an ulp of
///              the output; tree, serial, atomic γ_d·Σ|x|; kahan, compensated u·|Σx| + (1 +
///              u)·γ_2d·γ_d·Σ|x|. docs/reference-calls.md has d and the other ops
/// workspace    plan.workspace_bytes() bytes of memory of the plan's device, not initialised,
///              private to this call until it is done. It, x, y and out must not overlap
/// stream       CUDA: enqueued on `stream` (nullptr: the default stream) of the plan's device, not
///              synchronised, may be captured in a graph. Pointers are device pointers, but the
///              lists of tensors are in host memory. CPU: returns when `out` is written
/// errors       plan.status() if that is not ok; invalid_argument for a null or misaligned pointer,
///              an input that the op or the shape does not have, offsets that descend or pass n
///              (CPU only), and lists of tensors that do not fit; cuda_error; out_of_memory
/// NaN, empty   sums and products: NaN, ∞ − ∞ and 0·∞ give the canonical quiet NaN. Comparisons: as
///              Request::nan says. n = 0: +0 (prod: +1, counts: 0), or an error of make_plan()
/// more         docs/reference-calls.md, lib/SPEC.md
Status run(const Plan& plan, Inputs in, void* out, void* workspace = nullptr, Stream stream = nullptr) noexcept;

/// Throws Error where make_plan() and run() return what went wrong; otherwise the same.
namespace throwing {
/// A plan of any kind, which is good.
template <class AnyPlan>
[[nodiscard]] AnyPlan checked(const AnyPlan& plan) {
    throw_if_error(plan.status());
    return plan;
}
[[nodiscard]] inline Plan make_plan(const Request& request) {
    return checked(detreduce::make_plan(request));
}
inline void run(const Plan& plan, Inputs in, void* out, void* workspace = nullptr, Stream stream = nullptr) {
    throw_if_error(detreduce::run(plan, in, out, workspace, stream));
}
} // namespace throwing

} // namespace detreduce
#pragma GCC visibility pop
