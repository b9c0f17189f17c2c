// Laws of the memory of row gradients: what may be written over what is read, and what is refused.
// Included by row_laws.hpp.
#pragma once

namespace detreduce::proptests {

/// May results be written over this array?
inline bool is_in_place(RowOp op, Over over, const RowVariant& v) {
    switch (over) {
    case Over::upstream:
        return has_upstream(op);
    case Over::probabilities:
        return op == RowOp::cross_entropy_gradient && v.probabilities;
    default:
        return op == RowOp::cross_entropy_gradient || op >= RowOp::softmax_gradient;
    }
}

TEMPLATE_TEST_CASE("row gradients: over what they are made of they are the same", "[rows][gradients]", float16,
                   bfloat16, float, double) {
    using T = TestType;
    std::uint64_t checked = 0;
    for_requests<T>(6, [&](RowRequest r, const RowVariant& v, std::uint64_t word) {
        choose(r, word);
        r.stride = r.upstream_stride = r.probability_stride = r.output_stride = word / 8 % 2 ? r.n + 5 : 0;
        if (!has_upstream(r.op)) r.upstream_stride = 0;
        if (!of_entropy(r.op)) r.probability_stride = 0;
        for (const Over over : {Over::x, Over::upstream, Over::probabilities}) {
            if (!is_in_place(r.op, over, v)) continue;
            const auto data = row_data<T>(r, v, word >> 20);
            INFO(shown(r, v) << " over " << static_cast<int>(over));
            RowRequest alone = r;
            require_same(run_rows<T>(r, data, static_cast<unsigned>(word % 5), true, over),
                         run_rows<T>(alone, data, static_cast<unsigned>(word % 3)));
            ++checked;
        }
    });
    REQUIRE(checked > 0);
}

TEMPLATE_TEST_CASE("row gradients: that of the mean with respect to probabilities is divided by the rows",
                   "[rows][gradients]", bfloat16, float, double) {
    using T = TestType;
    using V = fp::Arithmetic<T>;
    if (!is_offered(RowOp::cross_entropy_target_gradient)) {
        SUCCEED();
        return;
    }
    for (const std::uint64_t rows : {1, 5, 300}) {
        for (const bool factor : {false, true}) {
            RowRequest r{
                .op = RowOp::cross_entropy_target_gradient, .n = 37, .rows = rows, .reduction = Reduction::none};
            auto data = row_data<T>(r, {.weights = true, .factor = factor}, rows);
            RowData<T> divided = data;
            const double by = factor ? static_cast<double>(data.factor[0]) : 1;
            divided.factor = {fp::round_to<V>(by / static_cast<double>(rows))};
            const auto expected = run_rows<T>(r, divided, 0), sum = run_rows<T>(r, data, 0);
            r.reduction = Reduction::mean;
            require_same(run_rows<T>(r, data, 1), expected);
            r.reduction = Reduction::sum;
            require_same(run_rows<T>(r, data, 1), sum);
        }
    }
}

TEST_CASE("row gradients: what overlaps is refused by name", "[rows][gradients][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    // Of a GPU's plan pointers are looked at before anything runs.
    constexpr std::uint64_t n = 8, rows = 3;
    const RowBackend::Array<float> memory(std::vector<float>(400), 0);
    float* const p = memory.data();
    RowArrays good{.x = p,
                   .out = p + 50,
                   .scale = p + 100,
                   .mean = p + 120,
                   .rstd = p + 130,
                   .upstream = p + 150,
                   .scale_gradient = p + 200,
                   .shift_gradient = p + 220};
    RowRequest r{.op = RowOp::layernorm_gradient,
                 .n = n,
                 .rows = rows,
                 .parameters = true,
                 .reduction = Reduction::none,
                 .device = RowBackend::device};
    if (!is_offered(r.op)) {
        SUCCEED();
        return;
    }
    std::vector<double> workspace(1 << 16);
    const auto status = [&](const RowArrays& arrays) {
        const RowPlan plan = make_row_plan(r);
        throw_if_error(plan.status());
        // A workspace that is refused comes after all arrays.
        const Status got = run(plan, arrays, reinterpret_cast<char*>(workspace.data()) + 4);
        return got.argument == std::string_view("workspace") ? Status{} : got;
    };
    const auto wrong = [&](auto RowArrays::*member, float* value, const char* argument) {
        RowArrays bad = good;
        bad.*member = value;
        INFO(argument << " at " << value - p);
        expect(status(bad), invalid, argument);
    };
    const auto right = [&](auto RowArrays::*member, float* value) {
        RowArrays other = good;
        other.*member = value;
        INFO("at " << value - p);
        REQUIRE(status(other).ok());
    };
    REQUIRE(status(good).ok());
    right(&RowArrays::out, p);
    right(&RowArrays::out, p + 150);
    right(&RowArrays::out, p + 24);
    for (float* const at : {p + 1, p + 23, p + 100, p + 122, p + 132, p + 149, p + 173, p + 107, p + 99})
        wrong(&RowArrays::out, at, "out");
    for (float* const at : {p, p + 23, p + 50, p + 73, p + 107, p + 121, p + 131, p + 150, p + 45})
        wrong(&RowArrays::scale_gradient, at, "scale_gradient");
    for (float* const at : {p, p + 50, p + 150, p + 207, p + 193})
        wrong(&RowArrays::shift_gradient, at, "shift_gradient");
    wrong(&RowArrays::scale_gradient, nullptr, "scale_gradient");
    right(&RowArrays::shift_gradient, nullptr);
    right(&RowArrays::shift_gradient, p + 192);
    // Rows between rows: of the same stride, and not so close that one reaches the next.
    r.stride = r.output_stride = 20;
    good.out = p + 70;
    good.scale = good.scale_gradient = good.shift_gradient = nullptr;
    good.mean = p + 350;
    good.rstd = p + 360;
    good.upstream = p + 200;
    r.parameters = false;
    for (float* const at : {p, p + 8, p + 12, p + 28, p + 48})
        right(&RowArrays::out, at);
    for (float* const at : {p + 7, p + 13, p + 27, p + 33, p + 47})
        wrong(&RowArrays::out, at, "out");
    r.output_stride = 21;
    wrong(&RowArrays::out, p + 8, "out");
    wrong(&RowArrays::out, p, "out");
    // Results of another size are not written over elements.
    r = {.op = RowOp::softmax_gradient,
         .dtype = DType::bf16,
         .output = DType::f32,
         .n = n,
         .rows = rows,
         .device = RowBackend::device};
    good = {.x = p, .out = p, .upstream = p + 100};
    expect(status(good), invalid, "out");
    r = {.op = RowOp::logsumexp_gradient, .n = n, .rows = rows, .device = RowBackend::device};
    good = {.x = p, .out = p, .upstream = p + 100};
    REQUIRE(status(good).ok());
    wrong(&RowArrays::upstream, p + 23, "out");
    wrong(&RowArrays::out, p + 100, "out"); // one number a row
    good.exp_sums = p + 200;
    REQUIRE(status(good).ok());
    wrong(&RowArrays::out, p + 205, "out"); // two numbers a row
    // Forward writes them.
    r = {.op = RowOp::logsumexp, .n = n, .rows = rows, .device = RowBackend::device};
    good = {.x = p, .out = p + 100, .exp_sums = p + 200};
    REQUIRE(status(good).ok());
    wrong(&RowArrays::exp_sums, p + 23, "exp_sums");
    wrong(&RowArrays::exp_sums, p + 95, "exp_sums");
    right(&RowArrays::exp_sums, p + 94);
}

} // namespace detreduce::proptests
