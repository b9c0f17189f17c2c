// Ops of every kind in every shape, on the GPU: graphs that are replayed in a workspace that holds
// anything, and offsets that are none.
#include "laws/gpu_bytes.hpp"
#include "laws/op_pairs.hpp"
#include "laws/ties.hpp"

namespace detreduce::proptests {

namespace {

struct Case {
    Op op;
    Method method = Method::exact;
    [[nodiscard]] bool two() const { return info(op).inputs == 2; }
};
constexpr Case cases[] = {{Op::minmax},
                          {Op::count_nonzero},
                          {Op::count_unique},
                          {Op::argmin},
                          {Op::sum},
                          {Op::sum, Method::tree},
                          {Op::nrm2},
                          {Op::mean, Method::kahan},
                          {Op::dot},
                          {Op::dot, Method::compensated},
                          {Op::variance},
                          {Op::variance, Method::tree},
                          {Op::prod, Method::tree},
                          {Op::prod, Method::compensated}};
constexpr Shape shapes[] = {Shape::rows, Shape::columns, Shape::segments, Shape::tensors};

/// Lists have values by `exact` and by what compares or counts, but for distinct ones.
bool is_offered(const Case& c, Shape shape) {
    return shape != Shape::tensors || (c.method == Method::exact && c.op != Op::count_unique);
}

/// One array, or two, cut in every way; in this memory or the device's.
struct Arrays {
    const float *x, *y;
    const std::uint64_t* offsets;
    std::vector<Tensor> list_x, list_y;

    Arrays(const float* first, const float* second, const std::uint64_t* where, std::size_t n)
        : x(first), y(second), offsets(where), list_x(list(first, n)), list_y(list(second, n)) {}
    [[nodiscard]] static std::vector<Tensor> list(const float* p, std::size_t n) {
        return {{p, 1000, DType::f32}, {p, 0, DType::f16}, {p + 1000, n - 1000, DType::f32}};
    }
    [[nodiscard]] Inputs of(const Case& c, Shape shape) const {
        if (shape == Shape::tensors) return {list_x.data(), c.two() ? list_y.data() : nullptr};
        return {x, c.two() ? y : nullptr, shape == Shape::segments ? offsets : nullptr};
    }
};

Request request_of(const Case& c, Shape shape, std::size_t n, std::size_t segments) {
    Request r{.op = c.op, .method = c.method, .dtype = DType::f32, .shape = shape, .n = n};
    r.groups = shape == Shape::segments ? segments : shape == Shape::tensors ? 3 : 7;
    if (shape == Shape::rows || shape == Shape::columns) r.n = n / 7;
    return r;
}

std::vector<char> bytes_of(const DeviceBuffer& buffer, std::size_t count) {
    std::vector<char> bytes(count);
    CUDA_CHECK(cudaMemcpy(bytes.data(), buffer.data(), count, cudaMemcpyDeviceToHost));
    return bytes;
}

/// Columns of numbers near 1, and in each fourth one what no window holds with them: at the front,
/// where windows are made, in the midst, and at the end. And others whose numbers lie so far apart
/// that a wide window holds them, of products one of four or of six bins.
template <class T>
std::vector<T> columns_askew(std::size_t n, std::size_t columns) {
    std::vector<T> x(n * columns);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t kind = i % columns % 8;
        const int binades = kind % 4 != 3 ? 2 : std::is_same_v<T, float16> ? 14 : kind == 3 ? 30 : 55;
        const auto word = static_cast<int>(accuracy::hash(i, 2) % (2 * static_cast<unsigned>(binades) + 1));
        x[i] = from_fields<T>({accuracy::hash(i, 1) % 2 != 0, word - binades, accuracy::hash(i, 3)});
    }
    const T odd[] = {largest<T>, smallest<T>, from_fields<T>({true, largest_exponent<T> + 1, 0}), number<T>(-0.0),
                     from_fields<T>({false, largest_exponent<T> + 1, 1})};
    for (std::size_t c = 1; c < columns; c += 4) {
        const std::size_t rows[] = {0, n / 2, n - 1, accuracy::hash(c, 4) % n};
        for (std::size_t k = 0; k <= c % 3; ++k)
            x[rows[(c / 4 + k) % 4] * columns + c] = odd[(c / 4 + k) % 5];
    }
    for (std::size_t i = 0; i < n; ++i)
        x[i * columns + columns - 1] = number<T>(-0.0); // all of them
    return x;
}

template <class T>
void check_columns_askew(std::size_t n, std::size_t columns) {
    const auto x = columns_askew<T>(n, columns), y = columns_askew<T>(n + 1, columns); // another row's
    for (const Op op : {Op::sum, Op::asum, Op::nrm2, Op::dot, Op::mse, Op::moments}) {
        for (const bool state : {false, true}) {
            const Request r{.op = op,
                            .method = Method::exact,
                            .dtype = dtype_of<T>,
                            .output = state ? std::nullopt : std::optional(DType::f64),
                            .shape = Shape::columns,
                            .n = n,
                            .groups = columns,
                            .state = state};
            CAPTURE(name(op), state, n, columns);
            require_bytes_of_cpu(r, x, info(op).inputs == 2 ? y : std::vector<T>{});
        }
    }
}

} // namespace

/// Where a part of a long column does not fit, it alone is added again; a shorter column all at
/// once. They have a part, several whose sum is one, and several of such sums.
TEMPLATE_TEST_CASE("shapes: columns some of whose parts no window holds", "[groups][exact][gpu][sanitizer]",
                   DETREDUCE_ALL_TYPES) {
    check_columns_askew<TestType>(50, 70);
    check_columns_askew<TestType>(1500, 70);
    check_columns_askew<TestType>(70000, 6);
    check_columns_askew<TestType>(8200, 33);
    check_columns_askew<TestType>(8193, 34);
}
TEMPLATE_TEST_CASE("shapes: long columns some of whose parts no window holds", "[groups][exact][gpu][large]",
                   DETREDUCE_ALL_TYPES) {
    check_columns_askew<TestType>((std::size_t{1} << 20) + 5, 10);
    check_columns_askew<TestType>((std::size_t{1} << 20) + 5, 9);
}

/// Nothing is copied back or waited for in the middle, and nothing is expected of the workspace:
/// not even what the call before has left there.
TEST_CASE("shapes: captured graphs of groups and lists read their input anew", "[graph][groups][tensors][gpu]") {
    constexpr std::size_t n = 300'007;
    const std::vector<float> inputs[] = {full_of_ties<float>(n, 1),
                                         vector_from<float>(Style::near, n, 2, finite_bits<float>)};
    std::vector<std::uint64_t> offsets{0};
    while (offsets.size() < 900) // one of them large
        offsets.push_back(offsets.back() + (offsets.size() == 400 ? 200'000 : accuracy::hash(3, offsets.size()) % 100));
    const auto d_offsets = upload(offsets), x = upload(inputs[0]), y = upload(inputs[1]);
    const Arrays there(reinterpret_cast<const float*>(x->data()), reinterpret_cast<const float*>(y->data()),
                       reinterpret_cast<const std::uint64_t*>(d_offsets->data()), n);
    for (const Case& c : cases) {
        for (const Shape shape : shapes) {
            INFO(name(c.op) << ' ' << name(c.method) << ' ' << name(shape));
            const Request r = request_of(c, shape, n, offsets.size() - 1);
            const Plan plan = make_plan(r);
            REQUIRE(plan.status().ok() == is_offered(c, shape));
            if (!plan.status().ok()) continue;
            const std::size_t bytes = plan.results() * plan.result_bytes();
            const DeviceBuffer output(bytes), workspace(plan.workspace_bytes());
            const StreamOwner owner;
            const Graph graph(owner.stream, [&](cudaStream_t stream) {
                return run(plan, there.of(c, shape), output.data(), workspace.data(), stream);
            });
            for (int round = 0; round < 3; ++round) {
                const auto &first = inputs[round % 2], &second = inputs[1 - round % 2];
                x->copy_from(first.data(), n * sizeof(float));
                y->copy_from(second.data(), n * sizeof(float));
                output.fill(0xee, bytes);
                if (round != 1) workspace.fill(round == 0 ? 0xff : 0x7f, plan.workspace_bytes());
                graph.launch();
                const Arrays here(first.data(), second.data(), offsets.data(), n);
                REQUIRE(bytes_of(output, bytes) == on_cpu<char>(r, here.of(c, shape)));
            }
        }
    }
}

/// Offsets of the device cannot be looked at before: what they make no segment of is not read, and
/// has no value. There are elements behind the last.
TEST_CASE("shapes: offsets that are none", "[groups][gpu]") {
    const std::vector<float> ones(2000, 1.0f), twos(2000, 2.0f);
    const std::vector<std::uint64_t> bad{0, 10, 5, 400, 1010, ~std::uint64_t{0}, 2000}, good{0, 10, 10, 405};
    constexpr std::size_t groups = 6;
    const auto x = upload(twos), y = upload(ones), d_offsets = upload(bad);
    const Arrays there(reinterpret_cast<const float*>(x->data()), reinterpret_cast<const float*>(y->data()),
                       reinterpret_cast<const std::uint64_t*>(d_offsets->data()), 1000),
        here(twos.data(), ones.data(), good.data(), 1000);
    for (const Case& c : cases) {
        INFO(name(c.op) << ' ' << name(c.method));
        const Plan plan = make_plan(request_of(c, Shape::segments, 1000, groups));
        const std::size_t bytes = plan.result_bytes();
        const DeviceBuffer out(plan.results() * bytes), workspace(plan.workspace_bytes());
        throw_if_error(run(plan, there.of(c, Shape::segments), out.data(), workspace.data()));
        CUDA_CHECK(cudaDeviceSynchronize());
        REQUIRE(out.guards_intact());
        REQUIRE(workspace.guards_intact());
        // Segments 0 and 2 are good ones; they are 0 and 2 of `good`, too, as all elements are the
        // same.
        if (c.op == Op::count_unique)
            continue; // sorts all elements at once: of those around a bad offset it says nothing
        const std::size_t each = plan.results() / groups * bytes;
        const std::vector<char> found = bytes_of(out, plan.results() * bytes),
                                expected =
                                    on_cpu<char>(request_of(c, Shape::segments, 405, 3), here.of(c, Shape::segments));
        for (const std::size_t g : {std::size_t{0}, std::size_t{2}})
            REQUIRE(
                std::equal(expected.begin() + g * each, expected.begin() + (g + 1) * each, found.begin() + g * each));
        for (const std::size_t g : {1, 3, 4, 5}) { // the bad ones
            INFO("group " << g);
            if (info(c.op).gives_integer) {
                REQUIRE(download<std::uint64_t>(out.data() + g * each) == (c.op == Op::argmin ? no_index : 0));
                continue;
            }
            for (std::size_t at = 0; at < each; at += sizeof(float))
                REQUIRE(fp::is_nan(download<float>(out.data() + g * each + at)));
        }
    }
}

/// Nor is anything counted of a segment that ends behind the last element.
TEST_CASE("shapes: distinct elements of a segment past the end", "[groups][count][gpu]") {
    std::vector<double> x(100);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(i % 7);
    const auto there = upload(x);
    const auto offsets = upload(std::vector<std::uint64_t>{0, 5, 61});
    const Plan plan = make_plan({.op = Op::count_unique,
                                 .dtype = DType::f64,
                                 .shape = Shape::segments,
                                 .n = 60,
                                 .groups = 2,
                                 .device = current_gpu});
    throw_if_error(plan.status());
    const DeviceBuffer out(plan.results() * plan.result_bytes()), workspace(plan.workspace_bytes());
    throw_if_error(run(plan, {there->data(), nullptr, reinterpret_cast<const std::uint64_t*>(offsets->data())},
                       out.data(), workspace.data()));
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(download<std::uint64_t>(out.data()) == 5);
    REQUIRE(download<std::uint64_t>(out.data() + 8) == 0);
}

} // namespace detreduce::proptests
