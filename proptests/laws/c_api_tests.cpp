// The C header: plans with the bits of the C++ API, errors by name, and layouts that C and C++
// agree on.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <detreduce/detreduce.hpp>

#include <support/numbers.hpp>

#include "laws/c_api_in_c.h"
#include "laws/c_api_support.hpp"
#include "laws/draw.hpp"

namespace detreduce::proptests {
namespace {

/// The status of the default request on the CPU with one change.
template <class Change>
detreduce_status status_with(const Change& change) {
    detreduce_request request;
    detreduce_request_init(&request, sizeof request);
    request.device.backend = DETREDUCE_BACKEND_CPU;
    request.n = 10;
    change(request);
    detreduce_plan plan;
    const detreduce_status status = detreduce_make_plan(&request, &plan);
    REQUIRE(detreduce_plan_status(&plan).code == status.code);
    return status;
}

} // namespace

TEST_CASE("C: C and C++ see the same layouts", "[c]") {
    const std::size_t here[] = {sizeof(detreduce_status),
                                sizeof(detreduce_request),
                                sizeof(detreduce_plan),
                                sizeof(detreduce_launch),
                                sizeof(detreduce_state),
                                sizeof(detreduce_tensor),
                                sizeof(detreduce_loss_request),
                                sizeof(detreduce_loss_inputs),
                                sizeof(detreduce_loss_plan),
                                sizeof(detreduce_row_request),
                                sizeof(detreduce_row_arrays),
                                sizeof(detreduce_row_plan),
                                sizeof(detreduce_clip_request),
                                sizeof(detreduce_clip_plan),
                                offsetof(detreduce_loss_request, launch),
                                offsetof(detreduce_row_request, launch),
                                offsetof(detreduce_row_arrays, factor),
                                offsetof(detreduce_clip_request, launch),
                                offsetof(detreduce_request, n),
                                offsetof(detreduce_request, device),
                                offsetof(detreduce_request, launch),
                                offsetof(detreduce_request, each),
                                offsetof(detreduce_status, cuda_error),
                                offsetof(detreduce_status, index),
                                offsetof(detreduce_tensor, dtype),
                                0};
    for (std::size_t i = 0; i < std::size(here); ++i)
        REQUIRE(layout_in_c()[i] == here[i]);
    REQUIRE(sizeof(detreduce_state) == 592);
    REQUIRE(sizeof(detreduce_plan) == 256);
    REQUIRE(sizeof(detreduce_request) == 144);
}

TEST_CASE("C: words have the names and values of C++", "[c]") {
    REQUIRE(words_in_c() == 0);
    for (const OpInfo& op : ops())
        REQUIRE(detreduce_op_name(static_cast<detreduce_op>(op.op)) == op.name);
    for (const detreduce_op bad : {-1, 99, 255, 256, 1 << 16})
        REQUIRE(detreduce_op_name(bad) == std::string_view("?"));
    REQUIRE(detreduce_dtype_name(DETREDUCE_DTYPE_OF_INPUT) == std::string_view("?"));
    REQUIRE(detreduce_backend_name(2) == std::string_view("?"));
    REQUIRE(detreduce_backend_name(-1) == std::string_view("?"));
    for (const char* text : {"", "SUM", "sums", static_cast<const char*>(nullptr)}) {
        REQUIRE(detreduce_parse_op(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_method(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_dtype(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_shape(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_schedule(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_nan_policy(text) == DETREDUCE_UNKNOWN);
        REQUIRE(detreduce_parse_backend(text) == DETREDUCE_UNKNOWN);
    }
    REQUIRE(detreduce_dtype_bytes(DETREDUCE_DTYPE_BF16) == 2);
    REQUIRE(detreduce_dtype_bytes(DETREDUCE_DTYPE_F64) == 8);
    REQUIRE(detreduce_dtype_bytes(DETREDUCE_UNKNOWN) == 0);
    REQUIRE(detreduce_version() == std::string_view(DETREDUCE_VERSION));
    REQUIRE(detreduce_spec_version() == spec_version);
    REQUIRE(detreduce_built_with_cuda() == (cuda::built_with_cuda() ? 1 : 0));
    REQUIRE(detreduce_cuda_device_count() == static_cast<std::int32_t>(cuda::devices().size()));
}

TEST_CASE("C: requests made in C give the bits of C++", "[c]") {
    REQUIRE(request_inits_differ() == 0);
    for (const DType dtype : dtypes()) {
        with_dtype(dtype, [&]<class T>(T) {
            for (const OpInfo& op : sum_ops()) {
                for (const MethodInfo& m : methods()) {
                    const std::size_t n = 3001;
                    const auto x = numbers<T>(n, 5), y = numbers<T>(n, 6);
                    const T* const second = op.inputs == 2 ? y.data() : nullptr;
                    T expected{}, out{};
                    const Request request{.op = op.op, .method = m.method, .dtype = dtype, .n = n, .device = cpu};
                    throw_if_error(run(make_plan(request), {x.data(), second}, &expected));
                    expect_ok(
                        reduce_in_c(op.name.data(), m.name.data(), name(dtype).data(), x.data(), second, n, &out));
                    INFO(op.name << ' ' << m.name << ' ' << name(dtype));
                    REQUIRE((m.method == Method::atomic || same_bits(out, expected)));
                }
            }
        });
    }
    double out = 0;
    expect(reduce_in_c("sums", "tree", "f64", &out, nullptr, 1, &out), DETREDUCE_INVALID_ARGUMENT, "op");
    expect(reduce_in_c("sum", "trees", "f64", &out, nullptr, 1, &out), DETREDUCE_INVALID_ARGUMENT, "method");
    expect(reduce_in_c("sum", "tree", "f65", &out, nullptr, 1, &out), DETREDUCE_INVALID_ARGUMENT, "dtype");
}

TEST_CASE("C: every field of a request arrives", "[c]") {
    const auto x = numbers<float>(60, 8);
    detreduce_request r = DETREDUCE_REQUEST_INIT;
    r.op = DETREDUCE_OP_NRM2, r.method = DETREDUCE_METHOD_KAHAN, r.output = DETREDUCE_DTYPE_F64;
    r.shape = DETREDUCE_SHAPE_ROWS, r.n = 10, r.groups = 5, r.stride = 12, r.device.backend = DETREDUCE_BACKEND_CPU;
    r.launch.threads = 3, r.launch.isa = DETREDUCE_ISA_BASELINE;
    detreduce_plan plan;
    expect_ok(detreduce_make_plan(&r, &plan));
    REQUIRE(detreduce_plan_workspace_bytes(&plan) == 0);
    REQUIRE(detreduce_plan_results(&plan) == 5);
    REQUIRE(detreduce_plan_result_bytes(&plan) == 8);
    REQUIRE(detreduce_plan_output(&plan) == DETREDUCE_DTYPE_F64);
    REQUIRE(detreduce_plan_guarantee(&plan) == DETREDUCE_GUARANTEE_DEVICE);
    double out[5];
    expect_ok(detreduce_run(&plan, x.data(), nullptr, nullptr, out, nullptr, nullptr));
    for (std::size_t row = 0; row < 5; ++row) {
        const std::span<const float> alone(x.data() + 12 * row, 10);
        REQUIRE(same_bits(out[row], reduce_as<double>(Op::nrm2, alone, Method::kahan)));
    }
    r.op = DETREDUCE_OP_ARGMAX, r.shape = DETREDUCE_SHAPE_FLAT, r.groups = 1, r.stride = 0, r.output = -2;
    r.nan = DETREDUCE_NAN_IGNORE;
    expect_ok(detreduce_make_plan(&r, &plan));
    REQUIRE(detreduce_plan_result_bytes(&plan) == 8);
    REQUIRE(detreduce_plan_guarantee(&plan) == DETREDUCE_GUARANTEE_DEVICE);
    const float with_nan[10] = {1, fp::from_bits<float>(0x7fc00000u), 3, 2};
    std::uint64_t index = 77;
    expect_ok(detreduce_run(&plan, with_nan, nullptr, nullptr, &index, nullptr, nullptr));
    REQUIRE(index == 2);
}

TEST_CASE("C: what is wrong with a request is said by name", "[c]") {
    using R = detreduce_request;
    constexpr detreduce_status_code invalid = DETREDUCE_INVALID_ARGUMENT;
    expect_ok(status_with([](R&) {}));
    for (const std::int32_t bad : {-1, 99, 255, 256, 65536}) {
        expect(status_with([&](R& r) { r.op = bad; }), invalid, "op");
        expect(status_with([&](R& r) { r.method = bad; }), invalid, "method");
        expect(status_with([&](R& r) { r.dtype = bad; }), invalid, "dtype");
        expect(status_with([&](R& r) { r.output = bad; }), invalid, "output");
        expect(status_with([&](R& r) { r.shape = bad; }), invalid, "shape");
        expect(status_with([&](R& r) { r.nan = bad; }), invalid, "nan");
        expect(status_with([&](R& r) { r.device.backend = bad; }), invalid, "device.backend");
        expect(status_with([&](R& r) { r.launch.schedule = bad; }), invalid, "launch.schedule");
        expect(status_with([&](R& r) { r.launch.isa = bad; }), invalid, "launch.isa");
    }
    expect(status_with([](R& r) { r.dtype = DETREDUCE_DTYPE_OF_INPUT; }), invalid, "dtype");
    expect(status_with([](R& r) { r.launch.threads = 1025; }), invalid, "launch.threads");
    expect(status_with([](R& r) { r.n = max_n + 1; }), invalid, "n");
    expect(status_with([](R& r) { r.groups = 2; }), invalid, "groups");
    expect(status_with([](R& r) { r.stride = 12; }), invalid, "stride");
    expect(status_with([](R& r) { r.ddof = 1; }), invalid, "ddof");
    const auto tensors = [](std::uint32_t each) {
        return status_with([each](R& r) { r.shape = DETREDUCE_SHAPE_TENSORS, r.each = each; });
    };
    for (const std::uint32_t each : {2u, 256u, 0x80000000u, ~0u}) { // words, of which none but 0 and 1 is a bool
        expect(tensors(each), invalid, "each");
        expect(status_with([each](R& r) { r.each = each; }), invalid, "each");
    }
    expect_ok(tensors(0));
    expect_ok(tensors(1));
    expect(status_with([](R& r) { r.each = 1; }), invalid, "each");

    detreduce_plan plan;
    R request = DETREDUCE_REQUEST_INIT;
    expect(detreduce_make_plan(nullptr, &plan), invalid, "request");
    expect(detreduce_plan_status(&plan), invalid, "plan");
    expect(detreduce_make_plan(&request, nullptr), invalid, "plan");
    expect(detreduce_plan_status(nullptr), invalid, "plan");
    plan = {}; // zeros are no plan
    float out = 0;
    expect(detreduce_plan_status(&plan), invalid, "plan");
    expect(detreduce_run(&plan, &out, nullptr, nullptr, &out, nullptr, nullptr), invalid, "plan");
    expect(detreduce_run_async(&plan, &out, nullptr, nullptr, &out, nullptr),
           cuda::built_with_cuda() ? invalid : detreduce_status_code{DETREDUCE_NO_DEVICE},
           cuda::built_with_cuda() ? "plan" : "device");
    REQUIRE(detreduce_plan_results(&plan) == 0);
    REQUIRE(detreduce_plan_result_bytes(&plan) == 0);
}

TEST_CASE("C: a request says how large it is, and what is reserved is 0", "[c]") {
    using R = detreduce_request;
    constexpr detreduce_status_code invalid = DETREDUCE_INVALID_ARGUMENT;
    for (const std::size_t size : {std::size_t{0}, sizeof(R) - 1, sizeof(R) + 1, 2 * sizeof(R), ~std::size_t{0}})
        expect(status_with([&](R& r) { r.struct_size = size; }), invalid, "struct_size");
    for (int i = 0; i < 6; ++i)
        expect(status_with([i](R& r) { r.reserved[i] = 1; }), invalid, "reserved");
    for (int i = 0; i < 3; ++i)
        expect(status_with([i](R& r) { r.launch.reserved[i] = 1; }), invalid, "launch.reserved");
    unsigned char blank[sizeof(R)] = {};
    detreduce_plan plan;
    expect(detreduce_make_plan(reinterpret_cast<const R*>(blank), &plan), invalid, "struct_size");
    // A newer program, whose request has more, is told that the library is older; an older one's is
    // not written past its end.
    struct {
        R known;
        unsigned char more[16];
    } newer, same;
    std::memset(&newer, 0xa5, sizeof newer);
    detreduce_request_init(&newer.known, sizeof newer);
    REQUIRE(newer.known.struct_size == sizeof newer);
    REQUIRE(std::all_of(newer.more, newer.more + 16, [](unsigned char byte) { return byte == 0; }));
    expect(detreduce_make_plan(&newer.known, &plan), invalid, "struct_size");
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{40}, sizeof(R)}) {
        std::memset(&same, 0xa5, sizeof same);
        detreduce_request_init(&same.known, size);
        const auto* const bytes = reinterpret_cast<const unsigned char*>(&same);
        REQUIRE(std::all_of(bytes + size, bytes + sizeof same, [](unsigned char byte) { return byte == 0xa5; }));
    }
    R lists = DETREDUCE_REQUEST_INIT;
    lists.shape = DETREDUCE_SHAPE_TENSORS, lists.n = 2, lists.groups = 2, lists.device.backend = DETREDUCE_BACKEND_CPU;
    lists.op = DETREDUCE_OP_DOT;
    expect_ok(detreduce_make_plan(&lists, &plan));
    const float x[] = {3, 4};
    float out = 77;
    detreduce_tensor list[] = {{x, 1, DETREDUCE_DTYPE_F32, {}}, {x + 1, 1, DETREDUCE_DTYPE_F32, {}}},
                     odd[] = {list[0], list[1]};
    odd[1].reserved[6] = 1;
    expect(detreduce_run(&plan, odd, list, nullptr, &out, nullptr, nullptr), invalid, "x");
    expect(detreduce_run(&plan, list, odd, nullptr, &out, nullptr, nullptr), invalid, "y");
    REQUIRE(detreduce_run(&plan, odd, list, nullptr, &out, nullptr, nullptr).index == 1);
    REQUIRE(out == 77);
    expect_ok(detreduce_run(&plan, list, list, nullptr, &out, nullptr, nullptr));
    REQUIRE(out == 25);
    detreduce_state state = DETREDUCE_STATE_INIT;
    detreduce_launch launch{};
    launch.reserved[2] = 1;
    expect(detreduce_state_add(&state, DETREDUCE_DTYPE_F32, x, 2, &launch), invalid, "launch.reserved");
}

TEST_CASE("C: messages are those of C++, and cut where there is no more room", "[c]") {
    const Status statuses[] = {{},
                               {StatusCode::invalid_argument, "block", "allowed are 128 and 256"},
                               {StatusCode::invalid_argument, "offsets", "must not descend", 0, 0},
                               {StatusCode::invalid_argument, "ids", "must not descend", 0, std::uint64_t{1} << 40},
                               {StatusCode::unsupported, "method", "not here"},
                               {StatusCode::cuda_error, "cudaMalloc", "out of memory", 2}};
    for (const Status& s : statuses) {
        const detreduce_status c{
            static_cast<detreduce_status_code>(s.code), s.argument, s.allowed, s.cuda_code, s.index, {}};
        const std::string expected = to_string(s);
        REQUIRE(detreduce_status_message(&c, nullptr, 0) == expected.size());
        for (const std::size_t size :
             {std::size_t{1}, std::size_t{2}, expected.size(), expected.size() + 1, std::size_t{200}}) {
            std::vector<char> text(size + 1, '#');
            REQUIRE(detreduce_status_message(&c, text.data(), size) == expected.size());
            REQUIRE(text.data() == expected.substr(0, size - 1));
            REQUIRE(text[size] == '#');
        }
    }
    char text[4] = "abc";
    REQUIRE(detreduce_status_message(nullptr, text, sizeof text) == 0);
    REQUIRE(text == std::string_view());
    REQUIRE(detreduce_status_name(DETREDUCE_NO_DEVICE) == std::string_view("no device"));
    REQUIRE(detreduce_status_name(99) == std::string_view("unknown status"));
}

TEST_CASE("C: segments by id, and checks that name the first bad one", "[c][segments]") {
    constexpr detreduce_status_code invalid = DETREDUCE_INVALID_ARGUMENT;
    constexpr detreduce_device here{DETREDUCE_BACKEND_CPU, -1};
    const auto at = [](const detreduce_status& status, std::string_view argument, std::uint64_t index) {
        expect(status, invalid, argument);
        REQUIRE(status.index == index);
    };
    const auto check = [&](auto make, auto look, auto zero) {
        using Id = decltype(zero);
        Id ids[] = {1, 1, 3, 3, 3};
        std::uint64_t offsets[6];
        const detreduce_status made = make(here, ids, 5, 5, offsets, nullptr);
        expect_ok(made);
        REQUIRE(made.index == DETREDUCE_NO_ELEMENT);
        REQUIRE(std::vector<std::uint64_t>(offsets, offsets + 6) == offsets_of_ids(ids, 5));
        expect_ok(look(here, ids, 5, 4, nullptr));
        at(look(here, ids, 5, 3, nullptr), "ids", 2);
        at(make(here, ids, 5, 3, offsets, nullptr), "ids", 2);
        ids[4] = 2;
        at(look(here, ids, 5, 4, nullptr), "ids", 4);
        at(look(here, static_cast<const Id*>(nullptr), 1, 4, nullptr), "ids", DETREDUCE_NO_ELEMENT);
        at(make(here, ids, 5, 4, nullptr, nullptr), "offsets", DETREDUCE_NO_ELEMENT);
        at(look({99, -1}, ids, 5, 4, nullptr), "device.backend", DETREDUCE_NO_ELEMENT);
        at(make(here, ids, max_n + 1, 4, offsets, nullptr), "n", DETREDUCE_NO_ELEMENT);
    };
    check(detreduce_offsets_of_ids_u32, detreduce_check_ids_u32, std::uint32_t{});
    check(detreduce_offsets_of_ids_u64, detreduce_check_ids_u64, std::uint64_t{});
    const std::uint64_t offsets[] = {1, 3, 2, 9};
    expect_ok(detreduce_check_offsets(here, offsets, 1, 3, 0, nullptr));
    at(detreduce_check_offsets(here, offsets, 1, 3, 1, nullptr), "offsets", 0);
    at(detreduce_check_offsets(here, offsets + 3, 0, 8, 0, nullptr), "offsets", 0);
    at(detreduce_check_offsets(here, offsets, 3, 9, 0, nullptr), "offsets", 2);
    at(detreduce_check_offsets(here, offsets, 1, 3, 2, nullptr), "whole", DETREDUCE_NO_ELEMENT);
    at(detreduce_check_offsets(here, offsets, 1, 3, -1, nullptr), "whole", DETREDUCE_NO_ELEMENT);
}

} // namespace detreduce::proptests
