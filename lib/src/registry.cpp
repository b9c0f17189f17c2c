// Names, and the tables of ops and methods: adding one adds a line here.
#include <algorithm>
#include <array>

#include <detreduce/types.hpp>

#include "allowed.hpp"

namespace detreduce {
namespace {

using enum Guarantee;
constexpr std::array method_table{
    MethodInfo{Method::exact, "exact", order, true, true,
               "integers of the sum's every bit, rounded once: correctly rounded, whatever the order"},
    MethodInfo{Method::compensated, "compensated", device, true, true,
               "fixed binary tree that carries its rounding errors along, rounded once"},
    MethodInfo{Method::kahan, "kahan", device, true, true,
               "each lane in order with its rounding errors summed beside (Kahan, Babuska, Neumaier)"},
    MethodInfo{Method::tree, "tree", device, true, true,
               "fixed binary tree, one rounding an addition; error grows with log n"},
    MethodInfo{Method::serial, "serial", device, true, false, "one addition after the other, for comparison; CPU only"},
    MethodInfo{Method::atomic, "atomic", none, true, true,
               "partial sums meet in a floating-point atomic, in any order"},
};

// No method of its own: it stands for one of those above.
constexpr MethodInfo automatic_info{Method::automatic, "automatic", device, true, true, "exact; of prod compensated"};

constexpr std::array op_table{
    OpInfo{Op::sum, "sum", Transform::element, Finalize::sum, 1, "sum of x"},
    OpInfo{Op::mean, "mean", Transform::element, Finalize::mean, 1, "sum of x, over n"},
    OpInfo{Op::asum, "asum", Transform::magnitude, Finalize::sum, 1, "sum of |x|: the L1 norm"},
    OpInfo{Op::sumsq, "sumsq", Transform::square, Finalize::sum, 1, "sum of x^2"},
    OpInfo{Op::nrm2, "nrm2", Transform::square, Finalize::root, 1, "square root of the sum of x^2: the L2 norm"},
    OpInfo{Op::dot, "dot", Transform::product, Finalize::sum, 2, "sum of x*y"},
    OpInfo{Op::sumdiffsq, "sumdiffsq", Transform::squared_difference, Finalize::sum, 2, "sum of (x-y)^2"},
    OpInfo{Op::mse, "mse", Transform::squared_difference, Finalize::mean, 2, "sum of (x-y)^2, over n"},
    OpInfo{Op::mae, "mae", Transform::absolute_difference, Finalize::mean, 2, "sum of |x-y|, over n"},
    OpInfo{Op::min, "min", Transform::element, Finalize::sum, 1, "minimum of x", Kind::order},
    OpInfo{Op::max, "max", Transform::element, Finalize::sum, 1, "maximum of x", Kind::order},
    OpInfo{Op::argmin, "argmin", Transform::element, Finalize::sum, 1, "index of the minimum, from 0", Kind::order,
           true},
    OpInfo{Op::argmax, "argmax", Transform::element, Finalize::sum, 1, "index of the maximum, from 0", Kind::order,
           true},
    OpInfo{Op::nrminf, "nrminf", Transform::element, Finalize::sum, 1, "maximum of |x|: the L-infinity norm",
           Kind::order},
    OpInfo{Op::minmax, "minmax", Transform::element, Finalize::sum, 1, "minimum and maximum of x", Kind::order, false,
           2},
    OpInfo{Op::prod, "prod", Transform::element, Finalize::sum, 1, "product of x", Kind::product},
    OpInfo{Op::variance, "variance", Transform::element, Finalize::sum, 1, "sum of (x - mean)^2, over n - ddof",
           Kind::moments},
    OpInfo{Op::stddev, "stddev", Transform::element, Finalize::sum, 1, "square root of the variance", Kind::moments},
    OpInfo{Op::moments, "moments", Transform::element, Finalize::sum, 1, "mean and variance", Kind::moments, false, 2},
    OpInfo{Op::count_nonzero, "count_nonzero", Transform::element, Finalize::sum, 1, "how many x are not zero",
           Kind::count, true},
    OpInfo{Op::count_unique, "count_unique", Transform::element, Finalize::sum, 1, "how many different x there are",
           Kind::count, true},
};

#define DETREDUCE_ENUMERATOR(name, c_name, type) DType::name,
constexpr std::array all_dtypes{DETREDUCE_FORMATS(DETREDUCE_ENUMERATOR)};
#undef DETREDUCE_ENUMERATOR
#define DETREDUCE_ONE(name, c_name) +1
static_assert(op_table.size() == 0 DETREDUCE_OPS(DETREDUCE_ONE), "an op has no line in op_table");
static_assert(method_table.size() + 1 == 0 DETREDUCE_METHODS(DETREDUCE_ONE), "a method has no line in method_table");
#undef DETREDUCE_ONE
constexpr bool is_in_order() {
    for (std::size_t i = 0; i < op_table.size(); ++i) {
        if (op_table[i].op != static_cast<Op>(i)) return false;
    }
    return true;
}
static_assert(is_in_order(), "the lines of op_table are in the order of DETREDUCE_OPS");

#define DETREDUCE_NAME(name, c_name) std::string_view(#name),
constexpr std::array shape_names{DETREDUCE_SHAPES(DETREDUCE_NAME)};
#undef DETREDUCE_NAME
constexpr std::array guarantee_names{std::string_view("none"), std::string_view("run_to_run"),
                                     std::string_view("device"), std::string_view("order")};
constexpr std::array schedule_names{std::string_view("automatic"), std::string_view("two_pass"),
                                    std::string_view("last_block"), std::string_view("cooperative")};
constexpr std::array isa_names{std::string_view("automatic"), std::string_view("baseline"), std::string_view("avx2"),
                               std::string_view("avx512"), std::string_view("neon")};
constexpr std::array nan_names{std::string_view("propagate"), std::string_view("ignore")};

template <class Enum, std::size_t N>
constexpr std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
    const auto i = static_cast<std::size_t>(value);
    return i < N ? names[i] : std::string_view("?");
}

template <class Enum, std::size_t N>
constexpr std::optional<Enum> find_in(const std::array<std::string_view, N>& names, std::string_view text) {
    const auto it = std::find(names.begin(), names.end(), text);
    if (it == names.end()) return std::nullopt;
    return static_cast<Enum>(it - names.begin());
}

/// Of the lines of a table.
template <const auto& Table>
constexpr std::array<std::string_view, Table.size()> names_in() {
    std::array<std::string_view, Table.size()> names{};
    std::transform(Table.begin(), Table.end(), names.begin(), [](const auto& line) { return line.name; });
    return names;
}
constexpr auto op_names = names_in<op_table>();
constexpr auto method_names = names_in<method_table>();
constexpr char allowed_methods_begin[] = "allowed are automatic, ";

} // namespace

const char* const allowed_ops = allowed<op_names>;
const char* const allowed_methods = allowed<method_names, allowed_methods_begin>;
const char* const allowed_shapes = allowed<shape_names>;

std::span<const MethodInfo> methods() noexcept {
    return method_table;
}

std::span<const OpInfo> ops() noexcept {
    return op_table;
}

const OpInfo& info(Op op) noexcept {
    static constexpr OpInfo unknown{Op{}, "?", Transform::element, Finalize::sum, 1, "not an op"};
    const auto i = static_cast<std::size_t>(op);
    return i < op_table.size() ? op_table[i] : unknown;
}

std::span<const DType> dtypes() noexcept {
    return all_dtypes;
}

const MethodInfo& info(Method method) noexcept {
    if (method == Method::automatic) return automatic_info;
    for (const MethodInfo& m : method_table) {
        if (m.method == method) return m;
    }
    static constexpr MethodInfo unknown{Method{}, "?", none, false, false, "not a method"};
    return unknown;
}

Method resolved(Method method, Op op) noexcept {
    if (method != Method::automatic) return method;
    return info(op).kind == Kind::product ? Method::compensated : Method::exact;
}

std::string_view name(Op op) noexcept {
    return info(op).name;
}
std::string_view name(Method method) noexcept {
    return info(method).name;
}
std::string_view name(DType dtype) noexcept {
    return name_in(detail::dtype_names, dtype);
}
std::string_view name(Shape shape) noexcept {
    return name_in(shape_names, shape);
}
std::string_view name(Guarantee guarantee) noexcept {
    return name_in(guarantee_names, guarantee);
}
std::string_view name(Schedule schedule) noexcept {
    return name_in(schedule_names, schedule);
}
std::string_view name(Isa isa) noexcept {
    return name_in(isa_names, isa);
}
std::string_view name(NanPolicy nan) noexcept {
    return name_in(nan_names, nan);
}

std::optional<Op> parse_op(std::string_view text) noexcept {
    for (const OpInfo& o : op_table) {
        if (o.name == text) return o.op;
    }
    return std::nullopt;
}
std::optional<DType> parse_dtype(std::string_view text) noexcept {
    return find_in<DType>(detail::dtype_names, text);
}
std::optional<Shape> parse_shape(std::string_view text) noexcept {
    return find_in<Shape>(shape_names, text);
}
std::optional<Schedule> parse_schedule(std::string_view text) noexcept {
    return find_in<Schedule>(schedule_names, text);
}
std::optional<NanPolicy> parse_nan_policy(std::string_view text) noexcept {
    return find_in<NanPolicy>(nan_names, text);
}

std::optional<Method> parse_method(std::string_view text) noexcept {
    for (const MethodInfo& m : method_table) {
        if (m.name == text) return m.method;
    }
    if (text == automatic_info.name) return Method::automatic;
    return std::nullopt;
}

} // namespace detreduce
