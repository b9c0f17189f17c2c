// The C header losses.h: what is wrong with a loss, a row op or clip_grad_norm is said by name.
#include <string_view>
#include <vector>

#include "laws/c_api_in_c.h"
#include "laws/c_api_losses.hpp"
#include "laws/c_api_refusals.hpp"

namespace detreduce::proptests {
namespace {

template <class Change>
detreduce_status loss_with(const Change& change) {
    return status_of(detreduce_loss_request_init, detreduce_make_loss_plan, detreduce_loss_plan_status, change);
}
template <class Change>
detreduce_status rows_with(const Change& change) {
    return status_of(detreduce_row_request_init, detreduce_make_row_plan, detreduce_row_plan_status, change);
}
template <class Change>
detreduce_status clip_with(const Change& change) {
    return status_of(detreduce_clip_request_init, detreduce_make_clip_plan, detreduce_clip_plan_status,
                     [&](detreduce_clip_request& r) {
                         r.tensors = 2;
                         change(r);
                     });
}

} // namespace

TEST_CASE("C: what is wrong with a loss is said by name", "[c][losses]") {
    using R = detreduce_loss_request;
    sets_defaults<R>(detreduce_loss_request_init, DETREDUCE_LOSS_REQUEST_INIT);
    expect_ok(loss_with([](R&) {}));
    refuses_what_is_not_initialised<R>([](const auto& change) { return loss_with(change); }, std::size(R{}.reserved));
    for (const std::int32_t bad : no_words) {
        expect(loss_with([&](R& r) { r.loss = bad; }), invalid, "loss");
        expect(loss_with([&](R& r) { r.with_respect_to = bad; }), invalid, "with_respect_to");
        expect(loss_with([&](R& r) { r.reduction = bad; }), invalid, "reduction");
        expect(loss_with([&](R& r) { r.method = bad; }), invalid, "method");
        expect(loss_with([&](R& r) { r.dtype = bad; }), invalid, "dtype");
        expect(loss_with([&](R& r) { r.output = bad; }), invalid, "output");
    }
    expect(loss_with([](R& r) { r.state = 2; }), invalid, "state");
    expect(loss_with([](R& r) { r.batch = max_n + 1; }), invalid, "batch");
    expect(loss_with([](R& r) { r.batch = 1, r.reduction = DETREDUCE_REDUCTION_SUM; }), invalid, "batch");
    expect(loss_with([](R& r) { r.with_respect_to = DETREDUCE_LOSS_ARGUMENT_WEIGHT; }), invalid, "with_respect_to");
    expect_ok(loss_with([](R& r) { r.with_respect_to = DETREDUCE_LOSS_ARGUMENT_WEIGHT, r.weighted = 1; }));
    expect(loss_with([](R& r) { r.dtype = DETREDUCE_DTYPE_OF_INPUT; }), invalid, "dtype");
    expect(loss_with([](R& r) { r.dtype = DETREDUCE_DTYPE_F8E4M3; }), unsupported, "dtype");
    expect(loss_with([](R& r) { r.method = DETREDUCE_METHOD_ATOMIC; }), unsupported, "method");
    expect(loss_with([](R& r) { r.n = 0; }), invalid, "n");
    expect_ok(loss_with([](R& r) { r.n = 0, r.reduction = DETREDUCE_REDUCTION_SUM; }));
    expect(loss_with([](R& r) { r.loss = DETREDUCE_LOSS_HUBER, r.parameter = 0; }), invalid, "parameter");
    for (const std::uint32_t weighted : {2u, 256u, ~0u})
        expect(loss_with([&](R& r) { r.weighted = weighted; }), invalid, "weighted");

    R request = DETREDUCE_LOSS_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU, request.n = 2;
    detreduce_loss_plan plan;
    expect(detreduce_make_loss_plan(nullptr, &plan), invalid, "request");
    expect(detreduce_loss_plan_status(&plan), invalid, "plan");
    expect(detreduce_make_loss_plan(&request, nullptr), invalid, "plan");
    expect(detreduce_loss_plan_status(nullptr), invalid, "plan");
    REQUIRE(detreduce_loss_plan_results(&plan) + detreduce_loss_plan_workspace_bytes(nullptr) == 0);
    alignas(8) const float x[4] = {1, 2, 3, 4};
    const auto* const askew = reinterpret_cast<const char*>(x) + 1;
    float out = 77;
    detreduce_loss_inputs in = DETREDUCE_LOSS_INPUTS_INIT;
    in.x = x, in.target = x + 2;
    const auto run = [&](void* to) { return detreduce_run_loss(&plan, &in, to, nullptr, nullptr); };
    const auto slope = [&](const void* upstream, void* to) {
        return detreduce_run_loss_gradient(&plan, &in, upstream, to, nullptr, nullptr);
    };
    expect(run(&out), invalid, "plan");
    REQUIRE(run(&out).allowed == std::string_view("must come from detreduce_make_loss_plan()"));
    expect(slope(nullptr, &out), invalid, "plan");
    expect_ok(detreduce_make_loss_plan(&request, &plan));
    expect(detreduce_run_loss(&plan, nullptr, &out, nullptr, nullptr), invalid, "inputs");
    expect(detreduce_run_loss_gradient(&plan, nullptr, nullptr, &out, nullptr, nullptr), invalid, "inputs");
    expect(run(nullptr), invalid, "out");
    expect(slope(nullptr, nullptr), invalid, "dx");
    expect(slope(askew, &out), invalid, "upstream");
    const detreduce_status of_cpu = detreduce_run_loss_async(&plan, &in, &out, nullptr);
    REQUIRE(of_cpu.code == (cuda::built_with_cuda() ? invalid : detreduce_status_code{DETREDUCE_NO_DEVICE}));
    const auto with = [&](const auto& change, const char* argument) {
        const auto before = in;
        change();
        expect(run(&out), invalid, argument);
        expect(slope(nullptr, &out), invalid, argument);
        in = before;
    };
    with([&] { in.x = nullptr; }, "x");
    with([&] { in.x = askew; }, "x");
    with([&] { in.target = nullptr; }, "target");
    with([&] { in.weight = x; }, "weight");
    with([&] { in.struct_size = 0; }, "inputs");
    with([&] { in.struct_size += 8; }, "inputs");
    for (const void*& reserved : in.reserved)
        with([&] { reserved = x; }, "inputs");
    REQUIRE(out == 77);
    expect_ok(run(&out));
    REQUIRE(out == 4);

    // What has a value for each element may be written over it, but not beside it.
    float a[] = {5, 7, 9}, t[] = {1, 2, 3}, upstream[] = {2, 3, 4};
    in.x = a, in.target = t;
    expect(run(a + 1), invalid, "out");
    expect(slope(nullptr, a + 1), invalid, "dx");
    expect(slope(nullptr, t + 1), invalid, "dx");
    expect(slope(upstream, upstream), invalid, "dx"); // one number for all
    expect_ok(slope(upstream, a));
    REQUIRE((a[0] == 8 && a[1] == 10));
    request.reduction = DETREDUCE_REDUCTION_NONE;
    expect_ok(detreduce_make_loss_plan(&request, &plan));
    expect(slope(upstream, upstream + 1), invalid, "dx");
    expect_ok(slope(upstream, upstream));
    REQUIRE((upstream[0] == 28 && upstream[1] == 48));
    expect(run(t + 1), invalid, "out");
    expect_ok(run(t));
    REQUIRE((t[0] == 49 && t[1] == 64));
    request.output = DETREDUCE_DTYPE_F64;
    expect_ok(detreduce_make_loss_plan(&request, &plan));
    alignas(8) float wide[4] = {1, 2, 3, 4};
    in.x = wide;
    expect(run(wide), invalid, "out"); // whose elements are wider
}

TEST_CASE("C: what is wrong with a row op is said by name", "[c][rows]") {
    using R = detreduce_row_request;
    sets_defaults<R>(detreduce_row_request_init, DETREDUCE_ROW_REQUEST_INIT);
    expect_ok(rows_with([](R&) {}));
    refuses_what_is_not_initialised<R>([](const auto& change) { return rows_with(change); }, std::size(R{}.reserved));
    for (const std::uint32_t parameters : {1u, 2u, 256u, ~0u}) // of softmax not even 1
        expect(rows_with([&](R& r) { r.parameters = parameters; }), invalid, "parameters");
    for (const std::int32_t bad : no_words) {
        expect(rows_with([&](R& r) { r.op = bad; }), invalid, "op");
        expect(rows_with([&](R& r) { r.reduction = bad; }), invalid, "reduction");
        expect(rows_with([&](R& r) { r.method = bad; }), invalid, "method");
        expect(rows_with([&](R& r) { r.dtype = bad; }), invalid, "dtype");
        expect(rows_with([&](R& r) { r.output = bad; }), invalid, "output");
    }
    expect(rows_with([](R& r) { r.dtype = DETREDUCE_DTYPE_F8E5M2; }), unsupported, "dtype");
    expect(rows_with([](R& r) { r.output = DETREDUCE_DTYPE_F64; }), invalid, "output");
    expect(rows_with([](R& r) { r.reduction = DETREDUCE_REDUCTION_MEAN; }), invalid, "reduction");
    expect(rows_with([](R& r) { r.rows = max_groups + 1; }), invalid, "rows");
    expect(rows_with([](R& r) { r.stride = 9; }), invalid, "stride");
    expect(rows_with([](R& r) { r.output_stride = 9; }), invalid, "output_stride");
    expect(rows_with([](R& r) { r.probability_stride = 12; }), invalid, "probability_stride");
    expect(rows_with([](R& r) { r.upstream_stride = 12; }), invalid, "upstream_stride");
    expect(rows_with([](R& r) { r.epsilon = -1; }), invalid, "epsilon");
    expect(rows_with([](R& r) { r.label_smoothing = 0.5; }), invalid, "label_smoothing");
    expect(rows_with([](R& r) { r.z_loss = 0.5; }), invalid, "z_loss");
    expect_ok(rows_with([](R& r) { r.n = 0; }));
    const auto entropy = [](R& r) { r.op = DETREDUCE_ROW_OP_CROSS_ENTROPY; };
    expect(rows_with([&](R& r) { entropy(r), r.n = 0; }), invalid, "n");
    expect(rows_with([&](R& r) { entropy(r), r.rows = 0; }), invalid, "rows");
    expect(rows_with([&](R& r) { entropy(r), r.label_smoothing = 2; }), invalid, "label_smoothing");

    detreduce_row_plan plan;
    R request = DETREDUCE_ROW_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU, request.n = 2, request.rows = 2;
    request.op = DETREDUCE_ROW_OP_CROSS_ENTROPY;
    expect(detreduce_make_row_plan(nullptr, &plan), invalid, "request");
    expect(detreduce_row_plan_status(&plan), invalid, "plan");
    expect(detreduce_make_row_plan(&request, nullptr), invalid, "plan");
    expect(detreduce_row_plan_status(nullptr), invalid, "plan");
    REQUIRE(detreduce_row_plan_results(&plan) + detreduce_row_plan_workspace_bytes(nullptr) == 0);
    alignas(8) float x[4] = {1, 2, 3, 4};
    auto* const askew = reinterpret_cast<char*>(x) + 1;
    std::int64_t targets[] = {0, 1};
    float out = 77;
    detreduce_row_arrays a = DETREDUCE_ROW_ARRAYS_INIT;
    a.x = x, a.targets = targets, a.out = &out;
    std::vector<std::uint64_t> workspace;
    const auto run = [&] { return detreduce_run_rows(&plan, &a, workspace.data(), nullptr); };
    expect(run(), invalid, "plan");
    REQUIRE(run().allowed == std::string_view("must come from detreduce_make_row_plan()"));
    expect_ok(detreduce_make_row_plan(&request, &plan));
    expect(detreduce_run_rows(&plan, nullptr, nullptr, nullptr), invalid, "arrays");
    expect(detreduce_run_rows(&plan, &a, nullptr, nullptr), invalid, "workspace");
    workspace.resize(detreduce_row_plan_workspace_bytes(&plan) / 8 + 1);
    const detreduce_status of_cpu = detreduce_run_rows_async(&plan, &a, nullptr);
    REQUIRE(of_cpu.code == (cuda::built_with_cuda() ? invalid : detreduce_status_code{DETREDUCE_NO_DEVICE}));
    const auto with = [&](const auto& change, const char* argument, std::uint64_t index = DETREDUCE_NO_ELEMENT) {
        const auto before = a;
        change();
        expect(run(), invalid, argument);
        REQUIRE(run().index == index);
        a = before;
    };
    with([&] { a.x = nullptr; }, "x");
    with([&] { a.x = askew; }, "x");
    with([&] { a.out = nullptr; }, "out");
    with([&] { a.out = askew; }, "out");
    with([&] { a.targets = nullptr; }, "targets");
    with([&] { a.probabilities = x; }, "targets"); // both
    with([&] { a.weights = askew; }, "weights");
    with([&] { a.scale = x; }, "scale");
    with([&] { a.shift = x; }, "shift");
    with([&] { a.mean = x; }, "mean");
    with([&] { a.rstd = x; }, "rstd");
    with([&] { a.row_weights = x; }, "row_weights"); // with a reduction there are none
    with([&] { a.factor = x; }, "factor");
    with([&] { a.upstream = x; }, "upstream");
    with([&] { a.scale_gradient = x; }, "scale_gradient");
    with([&] { a.shift_gradient = x; }, "shift_gradient");
    with([&] { a.exp_sums = askew; }, "exp_sums");
    with([&] { a.struct_size = 0; }, "arrays");
    with([&] { a.struct_size += 8; }, "arrays");
    for (const void*& reserved : a.reserved)
        with([&] { reserved = x; }, "arrays");
    targets[1] = 2;
    with([] {}, "targets", 1);
    targets[1] = -1;
    with([] {}, "targets", 1);
    targets[1] = 1;
    REQUIRE(out == 77);
    expect_ok(run());
    REQUIRE(out > 0);

    // A gradient may be written over what it is made of, but not beside it.
    request.op = DETREDUCE_ROW_OP_SOFTMAX_GRADIENT, request.n = 1, request.reduction = DETREDUCE_REDUCTION_DEFAULT;
    expect_ok(detreduce_make_row_plan(&request, &plan));
    float d[2] = {3, 4};
    a = DETREDUCE_ROW_ARRAYS_INIT;
    a.x = x, a.upstream = d, a.out = d + 1;
    with([] {}, "out");
    with([&] { a.out = x + 1; }, "out");
    a.out = d;
    expect_ok(run());
    REQUIRE((d[0] == 0 && d[1] == -8)); // y·(d − d·y)
}

TEST_CASE("C: what is wrong with clip_grad_norm is said by name", "[c][clip]") {
    using R = detreduce_clip_request;
    sets_defaults<R>(detreduce_clip_request_init, DETREDUCE_CLIP_REQUEST_INIT);
    expect_ok(clip_with([](R&) {}));
    refuses_what_is_not_initialised<R>([](const auto& change) { return clip_with(change); }, std::size(R{}.reserved));
    expect(clip_with([](R& r) { r.reserved_word = 1; }), invalid, "reserved_word");
    for (const std::int32_t bad : no_words)
        expect(clip_with([&](R& r) { r.norm = bad; }), invalid, "norm");
    expect(clip_with([](R& r) { r.norm = DETREDUCE_DTYPE_BF16; }), invalid, "norm");
    expect(clip_with([](R& r) { r.max_norm = -1; }), invalid, "max_norm");
    expect(clip_with([](R& r) { r.epsilon = -1; }), invalid, "epsilon");
    expect(clip_with([](R& r) { r.tensors = std::uint64_t{1} << 32; }), invalid, "tensors");

    detreduce_clip_plan plan;
    R request = DETREDUCE_CLIP_REQUEST_INIT;
    request.device.backend = DETREDUCE_BACKEND_CPU, request.n = 3, request.tensors = 2;
    expect(detreduce_make_clip_plan(nullptr, &plan), invalid, "request");
    expect(detreduce_clip_plan_status(&plan), invalid, "plan");
    expect(detreduce_make_clip_plan(&request, nullptr), invalid, "plan");
    expect(detreduce_clip_plan_status(nullptr), invalid, "plan");
    float x[] = {3, 4, 0};
    double norm = 77;
    detreduce_tensor list[] = {{x, 1, DETREDUCE_DTYPE_F32, {}}, {x + 1, 2, DETREDUCE_DTYPE_F32, {}}};
    const auto run = [&] { return detreduce_run_clip(&plan, list, &norm, nullptr, nullptr); };
    expect(run(), invalid, "plan");
    REQUIRE(run().allowed == std::string_view("must come from detreduce_make_clip_plan()"));
    expect_ok(detreduce_make_clip_plan(&request, &plan));
    expect(detreduce_run_clip(&plan, nullptr, &norm, nullptr, nullptr), invalid, "list");
    expect(detreduce_run_clip(&plan, list, nullptr, nullptr, nullptr), invalid, "norm_out");
    const auto with = [&](const auto& change, detreduce_status_code code) {
        const detreduce_tensor before = list[1];
        change(list[1]);
        expect(run(), code, "list");
        REQUIRE(run().index == 1);
        list[1] = before;
    };
    with([](detreduce_tensor& t) { t.data = nullptr; }, invalid);
    with([](detreduce_tensor& t) { t.dtype = 255; }, invalid);
    with([](detreduce_tensor& t) { t.dtype = DETREDUCE_DTYPE_F8E4M3; }, unsupported);
    for (int i = 0; i < 7; ++i)
        with([i](detreduce_tensor& t) { t.reserved[i] = 1; }, invalid);
    list[1].n = 1;
    expect(run(), invalid, "list"); // not n in all
    list[1].n = 2;
    REQUIRE(norm == 77);
    expect_ok(run());
    REQUIRE(norm == 5);
    REQUIRE(x[0] < 0.6001f);
    alignas(8) float y[] = {3, 4, 0};
    list[0].data = y, list[1].data = y + 1;
    expect(detreduce_run_clip(&plan, list, y, nullptr, nullptr), invalid, "norm_out");
    REQUIRE(y[0] == 3);
}

} // namespace detreduce::proptests
