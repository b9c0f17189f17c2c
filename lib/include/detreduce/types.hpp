// The words of the library: what can be asked for, and their names in text.
#pragma once

#include <detreduce/config.hpp> // first: it says what a compiler lacks

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <detreduce/fp/convert.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// What is computed, of elements x and, for ops of two inputs, y: X(enumerator and name, name in
/// C).
#define DETREDUCE_OPS(X)                                                                                               \
    X(sum, SUM)                     /* Σ x */                                                                         \
    X(mean, MEAN)                   /* Σ x / n */                                                                     \
    X(asum, ASUM)                   /* Σ |x|: the L1 norm */                                                          \
    X(sumsq, SUMSQ)                 /* Σ x² */                                                                       \
    X(nrm2, NRM2)                   /* √Σ x²: the L2 norm */                                                       \
    X(dot, DOT)                     /* Σ x·y */                                                                      \
    X(sumdiffsq, SUMDIFFSQ)         /* Σ (x − y)² */                                                               \
    X(mse, MSE)                     /* Σ (x − y)² / n */                                                           \
    X(mae, MAE)                     /* Σ |x − y| / n */                                                             \
    X(min, MIN)                     /* the minimum */                                                                  \
    X(max, MAX)                     /* the maximum */                                                                  \
    X(argmin, ARGMIN)               /* the index of the minimum, the lowest of equals */                               \
    X(argmax, ARGMAX)               /* the index of the maximum, the lowest of equals */                               \
    X(nrminf, NRMINF)               /* the maximum of |x|: the L∞ norm */                                            \
    X(minmax, MINMAX)               /* min and max, in one pass */                                                     \
    X(prod, PROD)                   /* Π x */                                                                         \
    X(variance, VARIANCE)           /* Σ (x − mean)² / (n − ddof) */                                             \
    X(stddev, STDDEV)               /* √variance */                                                                  \
    X(moments, MOMENTS)             /* mean and variance, together */                                                  \
    X(count_nonzero, COUNT_NONZERO) /* how many x are not zero; NaN is not zero */                                     \
    X(count_unique, COUNT_UNIQUE)   /* how many different values there are; −0 and +0 are one, and so are all NaN */
enum class Op : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_OPS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What an op does with the elements.
enum class Kind : std::uint8_t {
    sum,     ///< adds up terms of them (lib/SPEC.md, section 8)
    order,   ///< compares them (section 9)
    product, ///< multiplies them (section 11)
    moments, ///< mean and variance (section 12)
    count,   ///< counts some of them (section 13)
};

/// What ops that compare do with NaN.
enum class NanPolicy : std::uint8_t {
    propagate, ///< one is enough: the result is NaN, or the index of the first
    ignore,    ///< passed over; where there is nothing else, as propagate
};

/// What is added up.
enum class Transform : std::uint8_t { element, magnitude, square, product, squared_difference, absolute_difference };

/// What becomes of the sum.
enum class Finalize : std::uint8_t { sum, mean, root };

using Term [[deprecated("is now Transform")]] = Transform; ///< for one release
using Ending [[deprecated("is now Finalize")]] = Finalize; ///< for one release

/// Which bits come out. A method is a numerical specification (lib/SPEC.md), not an implementation:
/// X(enumerator and name, name in C).
#define DETREDUCE_METHODS(X)                                                                                           \
    X(atomic, ATOMIC)                                                                                                  \
    X(tree, TREE)                                                                                                      \
    X(serial, SERIAL)                                                                                                  \
    X(kahan, KAHAN)                                                                                                    \
    X(compensated, COMPENSATED)                                                                                        \
    X(exact, EXACT)                                                                                                    \
    X(automatic, AUTOMATIC) /* exact, but compensated of prod, which exact has not: see resolved() */
enum class Method : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_METHODS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// Type of an element: IEEE 754 binary16, bfloat16, binary32, binary64; OCP float8 E4M3 (without
/// infinities) and E5M2.
enum class DType : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name, type) name,
    DETREDUCE_FORMATS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// How the elements are grouped; each group has one result, or two (minmax, moments): X(enumerator
/// and name, name in C).
#define DETREDUCE_SHAPES(X)                                                                                            \
    X(flat, FLAT)         /* all n elements */                                                                         \
    X(rows, ROWS)         /* a matrix, row by row in memory: each row of n elements */                                 \
    X(columns, COLUMNS)   /* the same matrix: each column of n elements */                                             \
    X(segments, SEGMENTS) /* an array of n elements cut at offsets: each segment, which may be empty */                \
    X(tensors, TENSORS)   /* a list of arrays, taken as one of n elements; with Request::each also each of them */
enum class Shape : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_SHAPES(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What a result's bits depend on, weakest first (README, "What is guaranteed").
enum class Guarantee : std::uint8_t {
    none,       ///< luck: scheduling of threads changes the bits
    run_to_run, ///< input, build, device and launch
    device,     ///< the input sequence, op, method, dtype and spec_version only: the same on every GPU and CPU
    order,      ///< the multiset of inputs: any permutation or split as well
};

/// Where the reduction runs. `index` picks a CUDA device; -1 is the calling thread's current one.
enum class Backend : std::uint8_t { cpu, cuda };
struct Device {
    Backend backend = Backend::cpu;
    int index = -1;
    friend bool operator==(const Device&, const Device&) = default;
};
inline constexpr Device cpu{Backend::cpu, -1};
inline constexpr Device current_gpu{Backend::cuda, -1};

/// How a GPU gets there. Never changes a bit of a deterministic method.
enum class Schedule : std::uint8_t {
    automatic,
    two_pass,    ///< one kernel launch a level of the tree
    last_block,  ///< one launch; the block that completes a group reduces it: flat sums and means by tree and exact
    cooperative, ///< one cooperative launch; grid-wide barriers between levels: flat sums and means by tree
};

/// Instruction set of the CPU backend. Never changes a bit.
enum class Isa : std::uint8_t { automatic, baseline, avx2, avx512, neon };

/// Launch parameters: free to be tuned, 0 or `automatic` leaves the choice to the library.
struct Launch {
    Schedule schedule = Schedule::automatic;
    std::uint32_t grid = 0;    ///< CUDA blocks, at most: 1 … 2^31 − 1
    std::uint32_t block = 0;   ///< CUDA threads a block: 128, 256 or what a plan says
    std::uint32_t threads = 0; ///< CPU threads, at most: 1 … 1024; 0 = the library's choice
    Isa isa = Isa::automatic;
};

/// What argmin and argmax give for a segment, or one tensor of a list, without elements.
inline constexpr std::uint64_t no_index = ~std::uint64_t{0};

/// What the registry says about an op: the sum of its transformed elements, finalized. For kinds
/// other than sum these two mean nothing.
struct OpInfo {
    Op op;
    std::string_view name;
    Transform transform;
    Finalize finalize;
    int inputs; ///< 1: x; 2: x and y
    std::string_view formula;
    Kind kind = Kind::sum;
    bool gives_integer = false; ///< the results are std::uint64_t, indices or counts, not elements
    int results = 1;            ///< values a group: 2 for minmax (minimum, maximum) and moments (mean, variance)
};

/// What the registry says about a method.
struct MethodInfo {
    Method method;
    std::string_view name;
    Guarantee guarantee;
    bool on_cpu;
    bool on_cuda;
    std::string_view summary;
};

/// Every op, in the order of Op.
[[nodiscard]] std::span<const OpInfo> ops() noexcept;
[[nodiscard]] const OpInfo& info(Op op) noexcept;
/// Every method that has bits of its own, so not automatic, in the order in which tables show them.
[[nodiscard]] std::span<const MethodInfo> methods() noexcept;
/// Every element type, in the order of DType.
[[nodiscard]] std::span<const DType> dtypes() noexcept;
/// Of automatic: what holds of each method that it may be.
[[nodiscard]] const MethodInfo& info(Method method) noexcept;
/// The method that a plan of `op` uses: `method`, or what automatic is for it.
[[nodiscard]] Method resolved(Method method, Op op) noexcept;

[[nodiscard]] std::string_view name(Op op) noexcept;
[[nodiscard]] std::string_view name(Method method) noexcept;
[[nodiscard]] std::string_view name(DType dtype) noexcept;
[[nodiscard]] std::string_view name(Shape shape) noexcept;
[[nodiscard]] std::string_view name(Guarantee guarantee) noexcept;
[[nodiscard]] std::string_view name(Schedule schedule) noexcept;
[[nodiscard]] std::string_view name(Isa isa) noexcept;
[[nodiscard]] std::string_view name(NanPolicy nan) noexcept;

/// The value whose name() is `text`; nothing when there is none.
[[nodiscard]] std::optional<Op> parse_op(std::string_view text) noexcept;
[[nodiscard]] std::optional<Method> parse_method(std::string_view text) noexcept;
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text) noexcept;
[[nodiscard]] std::optional<Shape> parse_shape(std::string_view text) noexcept;
[[nodiscard]] std::optional<Schedule> parse_schedule(std::string_view text) noexcept;
[[nodiscard]] std::optional<NanPolicy> parse_nan_policy(std::string_view text) noexcept;

template <class T>
struct DTypeOf;
#define DETREDUCE_DTYPE_OF(name, c_name, type)                                                                         \
    template <>                                                                                                        \
    struct DTypeOf<type> {                                                                                             \
        static constexpr DType value = DType::name;                                                                    \
    };
DETREDUCE_FORMATS(DETREDUCE_DTYPE_OF)
#undef DETREDUCE_DTYPE_OF
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// f(T{}) for the type T of `dtype`, which must be an enumerator: a check that was forgotten ends
/// the program.
template <class F>
constexpr decltype(auto) with_dtype(DType dtype, const F& f) {
    switch (dtype) {
#define DETREDUCE_CASE(name, c_name, type)                                                                             \
    case DType::name:                                                                                                  \
        return f(type{});
        DETREDUCE_FORMATS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    }
    __builtin_trap();
}

/// The same where there are none of 8 bits.
template <class F>
constexpr decltype(auto) with_dtype_from_16_bits(DType dtype, const F& f) {
    switch (dtype) {
#define DETREDUCE_CASE(name, c_name, type)                                                                             \
    case DType::name:                                                                                                  \
        return f(type{});
        DETREDUCE_FORMATS_FROM_16_BITS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    default:
        __builtin_trap();
    }
}

/// The same where there are those of 8 bits alone.
template <class F>
constexpr decltype(auto) with_dtype_of_8_bits(DType dtype, const F& f) {
    switch (dtype) {
#define DETREDUCE_CASE(name, c_name, type)                                                                             \
    case DType::name:                                                                                                  \
        return f(type{});
        DETREDUCE_FORMATS_OF_8_BITS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    default:
        __builtin_trap();
    }
}

/// Is `dtype` an enumerator, or a number that was cast to one?
[[nodiscard]] constexpr bool is_dtype(DType dtype) noexcept {
    switch (dtype) {
#define DETREDUCE_CASE(name, c_name, type) case DType::name:
        DETREDUCE_FORMATS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
        return true;
    }
    return false;
}
/// Bytes of one element; 0 of what is no dtype.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
    return is_dtype(dtype) ? with_dtype(dtype, []<class T>(T) { return sizeof(T); }) : 0;
}
/// The format in which elements are added (lib/SPEC.md, section 1): f64 for f64, f32 for all
/// others.
[[nodiscard]] constexpr DType arithmetic_of(DType dtype) noexcept {
    return is_dtype(dtype) ? with_dtype(dtype, []<class T>(T) { return dtype_of<fp::Arithmetic<T>>; }) : dtype;
}
/// Is that a wider one?
[[nodiscard]] constexpr bool is_narrow(DType dtype) noexcept {
    return arithmetic_of(dtype) != dtype;
}
[[nodiscard]] constexpr bool has_8_bits(DType dtype) noexcept {
    return size_of(dtype) == 1;
}
/// Is every number of `from` one of `to`? Of no dtype: no.
[[nodiscard]] constexpr bool embeds(DType from, DType to) noexcept {
    return is_dtype(from) && is_dtype(to) && with_dtype(from, [to]<class T>(T) {
               return with_dtype(to, []<class To>(To) { return fp::embeds_in<T, To>; });
           });
}

} // namespace detreduce
#pragma GCC visibility pop
