// host::Partial: what comes part by part has the bits of the whole, wherever it is cut.
#include <support/property.hpp>
#include <support/vectors.hpp>

#include <array>
#include <cstring>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/detreduce.hpp>

#include "host/partial.hpp"

using namespace detreduce;
using namespace detreduce::proptests;

namespace {

using Out = std::array<std::byte, 16>;

/// The whole, by a plan of the library.
template <class T>
Out whole(const Request& request, const std::vector<T>& x, const std::vector<T>& y) {
    const Plan plan = make_plan(request);
    Out out{};
    if (!plan.status().ok() ||
        !run(plan, {x.data(), info(request.op).inputs == 2 ? y.data() : nullptr}, out.data()).ok())
        out.fill(std::byte{0xee});
    return out;
}

/// Cut at random; every length from 0 to about n occurs.
template <class T>
Out in_parts(Request request, const std::vector<T>& x, const std::vector<T>& y, std::uint64_t word) {
    host::Partial partial(request);
    for (std::size_t at = 0, k = 0; at < x.size(); ++k) {
        const std::uint64_t bits = accuracy::hash(word, k), most = std::uint64_t{1} << (bits % 14);
        const std::size_t n = std::min<std::size_t>(x.size() - at, (bits >> 8) % (most + 1));
        const T* const second = info(request.op).inputs == 2 ? y.data() + at : nullptr;
        if (!partial.add(x.data() + at, second, n).ok()) return {};
        at += n;
    }
    request.n = partial.count();
    Out out{};
    partial.finish(make_plan(request), out.data());
    return out;
}

/// Requests of the numbers that can be reduced in parts: each op, and some method, NaN policy, ddof
/// and dtype of the result.
Request draw_request(DType dtype, std::uint64_t n, std::uint64_t word) {
    Request request{
        .op = ops()[word % ops().size()].op, .method = Method::exact, .dtype = dtype, .n = n, .device = cpu};
    const Kind kind = info(request.op).kind;
    if (kind == Kind::order && word >> 8 & 1) request.method = Method::tree;
    if (kind == Kind::order && word >> 9 & 1) request.nan = NanPolicy::ignore;
    if (kind == Kind::moments) request.ddof = word >> 10 & 1;
    if (!info(request.op).gives_integer && word >> 11 & 1) request.output = dtypes()[(word >> 12) % dtypes().size()];
    request.launch.threads = 1 + (word >> 16) % 3;
    return request;
}

} // namespace

TEMPLATE_TEST_CASE("parts: the bits of the whole, wherever it is cut", "[program]", float16, bfloat16, float, double) {
    using T = TestType;
    property("parts", [](const Values<T>& values) {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        std::vector<T> x = values.xs, y(x.rbegin(), x.rend());
        if (word >> 40 & 1) { // few different numbers: ties, which the first of them wins
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] = values.xs[accuracy::hash(word, i) % std::min<std::size_t>(3, x.size())];
        }
        const Request request = draw_request(dtype_of<T>, x.size(), word);
        RC_PRE(host::Partial::can(request) && make_plan(request).status().ok());
        RC_LOG() << name(request.op) << ' ' << name(request.method) << ' ' << name(request.nan) << '\n';
        RC_ASSERT(in_parts(request, x, y, word) == whole(request, x, y));
    });
}

TEST_CASE("parts: which requests can be reduced so", "[program]") {
    for (const OpInfo& op : ops()) {
        const Request exact{.op = op.op, .method = Method::exact, .n = 2, .device = cpu};
        const bool never = op.kind == Kind::product || op.op == Op::count_unique;
        CHECK(host::Partial::can(exact) == !never);
        Request tree = exact;
        tree.method = Method::tree;
        CHECK(host::Partial::can(tree) == (op.kind == Kind::order || op.op == Op::count_nonzero));
        Request rows = exact;
        rows.shape = Shape::rows;
        CHECK_FALSE(host::Partial::can(rows));
        Request gpu = exact;
        gpu.device = current_gpu;
        CHECK_FALSE(host::Partial::can(gpu));
    }
}

TEST_CASE("parts: a launch that is not there is said", "[program]") {
    Request request{.op = Op::nrm2, .method = Method::exact, .dtype = DType::f32, .device = cpu};
    request.launch.threads = 5000;
    host::Partial partial(request);
    const float x = 1;
    CHECK_FALSE(partial.add(&x, nullptr, 1).ok());
    CHECK(partial.count() == 0);
}
