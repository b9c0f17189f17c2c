// The cases beside flat sums: few for each op, method, dtype and shape, where the order of the
// methods or the way of a backend changes.
#include <algorithm>
#include <array>

#include <detreduce/plan.hpp>

#include "golden/boundaries.hpp"
#include "golden/cases.hpp"

namespace detreduce::golden {
namespace {

using accuracy::Family;

/// Elements for every op that is offered in their shape.
struct Place {
    Shape shape;
    Family family;
    std::uint64_t n, seed;
    std::uint64_t groups = 1, stride = 0;
    bool to_other = false; ///< to an output that is not the dtype, where there is one
    bool each = false;
    bool adds = true; ///< also for ops that add up terms: four methods of nine ops are many lines
};

std::vector<Place> places_of(DType dtype) {
    const Boundaries b = boundaries_of(dtype);
    using enum Shape;
    return {
        {flat, Family::normal, 0, 2000},
        {flat, Family::normal, 1, 2001},
        {flat, Family::boundary_mantissas, b.lanes + 1, 2002},
        {flat, Family::nonfinite, b.chunk + 1, 3}, // 3: NaN
        {flat, Family::half_zeros, b.tile + 1, 2003},
        {.shape = flat, .family = Family::normal, .n = 40 * b.tile + 1, .seed = 2004, .to_other = true},
        {.shape = flat, .family = Family::integers, .n = 2 * b.tile, .seed = 2005, .adds = false}, // many are equal
        {.shape = flat, .family = Family::wide, .n = b.chunk, .seed = 2006, .adds = false},
        {rows, Family::nonfinite, 1, 1, 1000}, // 1: both infinities
        {rows, Family::wide, 31, 2101, 300, 37},
        {rows, Family::normal, b.tile + 1, 2102, 5, b.tile + 4},
        {columns, Family::boundary_mantissas, b.chunk + 1, 2200, 70, 73},
        {columns, Family::half_zeros, b.tile + 1, 2201, 3},
        {.shape = columns, .family = Family::nonfinite, .n = 40, .seed = 3, .groups = 33, .adds = false},
        {.shape = segments, .family = Family::normal, .n = 40 * b.tile, .seed = 2301, .groups = 100, .to_other = true},
        {segments, Family::wide, 20 * b.tile, 2305, 12},
        {.shape = segments, .family = Family::nonfinite, .n = 40 * b.tile, .seed = 3, .groups = 60, .adds = false},
        {tensors, Family::normal, 0, 2400, 0},
        {tensors, Family::wide, 20 * b.tile, 2401, 30},
        {.shape = tensors, .family = Family::half_zeros, .n = 40 * b.tile, .seed = 2402, .groups = 50, .each = true},
    };
}

/// Products take other elements (balanced() of input.cpp), of families whose reciprocals are not
/// zero.
std::vector<Place> places_of_products(DType dtype) {
    const Boundaries b = boundaries_of(dtype);
    using enum Shape;
    return {
        {flat, Family::normal, 0, 2500},
        {flat, Family::normal, 1, 2501},
        {flat, Family::lognormal, b.lanes + 1, 2502},
        {flat, Family::nonfinite, b.chunk + 1, 3},
        {.shape = flat, .family = Family::wide, .n = b.chunk + 2, .seed = 2503, .to_other = true},
        {flat, Family::boundary_mantissas, b.tile + 1, 2504},
        {.shape = flat, .family = Family::lognormal, .n = 40 * b.tile + 1, .seed = 2505, .to_other = true},
        {rows, Family::lognormal, 31, 2510, 300, 37},
        {.shape = rows,
         .family = Family::normal,
         .n = b.tile + 1,
         .seed = 2511,
         .groups = 5,
         .stride = b.tile + 4,
         .to_other = true},
        {columns, Family::normal, 40, 2512, 70, 73},
        {.shape = columns,
         .family = Family::boundary_mantissas,
         .n = b.tile + 1,
         .seed = 2513,
         .groups = 3,
         .to_other = true},
        {segments, Family::lognormal, 40 * b.tile, 2514, 100},
        {.shape = segments, .family = Family::normal, .n = 20 * b.tile, .seed = 2515, .groups = 12, .to_other = true},
    };
}

/// A method is one way to add up or to multiply. Ops that compare or count are the same by each, so
/// they take turns.
std::vector<Method> methods_for(const OpInfo& op, std::size_t turn) {
    std::vector<Method> all = golden_methods();
    const bool same_by_each = op.kind == Kind::order || op.kind == Kind::count;
    return same_by_each ? std::vector{all[turn % all.size()]} : all;
}

/// Methods that round give no narrower format.
DType other_output(const Case& c) {
    const bool any = c.method == Method::exact || info(c.op).kind == Kind::order;
    if (c.dtype == DType::f64) return any ? DType::f32 : DType::f64;
    return c.dtype == DType::f16 ? DType::f32 : DType::f64;
}

Case case_of(const Place& p, const OpInfo& op, Method method, DType dtype, std::size_t turn) {
    Case c{method, dtype, dtype, p.family, p.n, p.seed, op.op, p.shape, p.groups, p.stride};
    c.each = p.each;
    if (op.kind == Kind::moments && p.n > 1) c.ddof = turn % 2;
    if (p.to_other && !op.gives_integer) c.output = other_output(c);
    return c;
}

/// By every backend: what is refused on the CPU is on CUDA too.
bool is_offered(const Case& c) {
    Request request{.op = c.op, .method = c.method, .dtype = c.dtype, .shape = c.shape};
    request.n = c.n;
    request.groups = c.groups;
    request.stride = c.stride;
    request.device = cpu;
    request.each = c.each;
    request.ddof = c.ddof;
    return make_plan(request).status().ok();
}

/// With both policies for NaN, if there are any and the op has policies.
void add_case(const Case& c, std::vector<Case>& cases) {
    if (is_flat_sum(c) || !is_offered(c)) return;
    if (has_8_bits(c.dtype) && c.shape == Shape::tensors) return; // not by every backend
    cases.push_back(c);
    if (info(c.op).kind != Kind::order || c.family != Family::nonfinite) return;
    cases.push_back(c);
    cases.back().nan = NanPolicy::ignore;
}

void add_place(const Place& p, const OpInfo& op, DType dtype, std::size_t turn, std::vector<Case>& cases) {
    if (op.kind == Kind::sum && !p.adds) return;
    for (const Method method : methods_for(op, turn + static_cast<std::size_t>(op.op)))
        add_case(case_of(p, op, method, dtype, turn), cases);
}

} // namespace

std::vector<Case> op_cases() {
    std::vector<Case> cases;
    for (const DType dtype : dtypes()) {
        std::size_t turn = 0;
        for (const Place& p : places_of(dtype)) {
            for (const OpInfo& op : ops()) {
                if (op.kind != Kind::product) add_place(p, op, dtype, turn, cases);
            }
            ++turn;
        }
        for (const Place& p : places_of_products(dtype))
            add_place(p, info(Op::prod), dtype, turn, cases);
    }
    return cases;
}

} // namespace detreduce::golden
