// Rows, columns, segments and lists of arrays, on the CPU. The site shows the parts between the
// marks.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <detreduce/detreduce.hpp>

namespace dr = detreduce;

static void expect(bool is_so, const char* what) {
    if (is_so) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(EXIT_FAILURE);
}
#define EXPECT(...) expect(__VA_ARGS__, #__VA_ARGS__)

static void flat() {
    // --8<-- [start:flat]
    std::vector<float> x{1, 2, 3, 4, 5, 6};
    dr::Plan plan = dr::make_plan({.op = dr::Op::sum, .dtype = dr::DType::f32, .n = x.size(), .device = dr::cpu});
    dr::throw_if_error(plan.status()); // says what is wrong and what is allowed
    float sum = 0;
    dr::throw_if_error(dr::run(plan, x.data(), &sum)); // 21
    // --8<-- [end:flat]
    EXPECT(sum == 21);
}

static void rows() {
    // --8<-- [start:rows]
    std::vector<float> matrix{1, 2, 3, //
                              4, 5, 6};
    dr::Plan plan = dr::make_plan({.op = dr::Op::sum,
                                   .dtype = dr::DType::f32,
                                   .shape = dr::Shape::rows,
                                   .n = 3,      // elements of a row
                                   .groups = 2, // rows
                                   .device = dr::cpu});
    std::vector<float> sums(plan.results());
    dr::throw_if_error(dr::run(plan, matrix.data(), sums.data())); // 6, 15
    // --8<-- [end:rows]
    EXPECT(sums == std::vector<float>{6, 15});
}

static void columns() {
    // --8<-- [start:columns]
    std::vector<float> matrix{1, 2, 3, //
                              4, 5, 6};
    dr::Plan plan = dr::make_plan({.op = dr::Op::max,
                                   .dtype = dr::DType::f32,
                                   .shape = dr::Shape::columns,
                                   .n = 2,      // elements of a column
                                   .groups = 3, // columns
                                   .device = dr::cpu});
    std::vector<float> largest(plan.results());
    dr::throw_if_error(dr::run(plan, matrix.data(), largest.data())); // 4, 5, 6
    // --8<-- [end:columns]
    EXPECT(largest == std::vector<float>{4, 5, 6});
}

static void segments() {
    // --8<-- [start:segments]
    std::vector<float> x{1, 2, 3, 4, 5};
    std::vector<std::uint64_t> offsets{0, 3, 3, 5}; // three segments; the second is empty
    dr::Plan plan = dr::make_plan({.op = dr::Op::sum,
                                   .dtype = dr::DType::f32,
                                   .shape = dr::Shape::segments,
                                   .n = x.size(),
                                   .groups = offsets.size() - 1,
                                   .device = dr::cpu});
    std::vector<float> sums(plan.results());
    dr::throw_if_error(dr::run(plan, {x.data(), nullptr, offsets.data()}, sums.data())); // 6, 0, 9
    // --8<-- [end:segments]
    EXPECT(sums == std::vector<float>{6, 0, 9});
}

static void ids() {
    // --8<-- [start:ids]
    std::vector<std::uint32_t> ids{0, 0, 0, 2, 2};                   // of each element, sorted
    std::vector<std::uint64_t> offsets = dr::offsets_of_ids(ids, 3); // of three segments: 0, 3, 3, 5
    // --8<-- [end:ids]
    EXPECT(offsets == std::vector<std::uint64_t>{0, 3, 3, 5});
}

static void tensors() {
    // --8<-- [start:tensors]
    std::vector<float> weight{3, 0}, bias{4};
    std::vector<dr::Tensor> list{{weight.data(), weight.size(), dr::DType::f32},
                                 {bias.data(), bias.size(), dr::DType::f32}};
    dr::Plan plan = dr::make_plan({.op = dr::Op::nrm2,
                                   .dtype = dr::DType::f32,
                                   .shape = dr::Shape::tensors,
                                   .n = 3, // elements in all
                                   .groups = list.size(),
                                   .device = dr::cpu,
                                   .each = true});
    std::vector<float> norms(plan.results());
    dr::throw_if_error(dr::run(plan, list.data(), norms.data())); // 3 and 4 of each, then 5 of all
    // --8<-- [end:tensors]
    EXPECT(norms == std::vector<float>{3, 4, 5});
}

static void parts() {
    // --8<-- [start:parts]
    std::vector<float> monday{1, 2}, tuesday{3};
    dr::ExactState a, b; // 592 bytes each
    dr::throw_if_error(a.add(std::span<const float>(monday)));
    dr::throw_if_error(b.add(std::span<const float>(tuesday))); // on another machine, perhaps: b.serialize()
    a.merge(b);
    float total = a.round<float>(); // 6: the bits that one sum over everything has
    // --8<-- [end:parts]
    EXPECT(total == 6);
}

int main() {
    flat();
    rows();
    columns();
    segments();
    ids();
    tensors();
    parts();
    std::puts("shapes: as expected");
}
