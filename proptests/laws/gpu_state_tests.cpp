// States on a GPU: their words are those of the CPU, whoever has the elements, and so is what
// becomes of them.
#include <support/property.hpp>

#include "laws/on_cpu.hpp"
#include "laws/rank_device.hpp"

namespace detreduce::proptests {
namespace {

/// A request for states, on a GPU.
Request on_gpu(Request r, unsigned draw) {
    constexpr std::uint32_t grids[] = {0, 0, 1, 3, 64};
    r.device = current_gpu;
    r.launch = {.grid = grids[draw % 5]};
    r.state = true;
    return r;
}

/// What the plan of a request gives on a GPU.
template <class T>
Bytes bytes_on_gpu(const Request& r, const Share<T>& share, unsigned draw) {
    const Plan plan = make_plan(r);
    throw_if_error(plan.status());
    const std::size_t bytes = bytes_of_all(plan);
    const OnRank<T> rank(share, bytes, draw % 8);
    const DeviceBuffer workspace(plan.workspace_bytes());
    workspace.fill(0xff, plan.workspace_bytes());
    throw_if_error(run(plan, rank.inputs(r), rank.out.data(), workspace.data()));
    RC_ASSERT(workspace.guards_intact());
    return rank.results(bytes);
}
template <class T>
Words words_on_gpu(const Request& asked, const Share<T>& share, unsigned draw) {
    const Bytes bytes = bytes_on_gpu(on_gpu(plan_of_states(asked, share).request(), draw), share, draw);
    Words words(bytes.size() / sizeof(std::int64_t));
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

/// The same from the device's merge, normalize and finish.
Words merged_on_gpu(const Plan& plan, const Words& a, const Words& b) {
    const auto d_a = upload(a), d_b = upload(b);
    auto* const words = reinterpret_cast<std::int64_t*>(d_a->data());
    throw_if_error(merge(plan, words, reinterpret_cast<const std::int64_t*>(d_b->data())));
    Words merged(a.size());
    CUDA_CHECK(cudaMemcpy(merged.data(), words, a.size() * sizeof a[0], cudaMemcpyDeviceToHost));
    return merged;
}
Words normalized_on_gpu(const Plan& plan, const Words& a) {
    const auto d_a = upload(a);
    auto* const words = reinterpret_cast<std::int64_t*>(d_a->data());
    throw_if_error(normalize(plan, words));
    Words normal(a.size());
    CUDA_CHECK(cudaMemcpy(normal.data(), words, a.size() * sizeof a[0], cudaMemcpyDeviceToHost));
    return normal;
}
Bytes finished_on_gpu(const Plan& plan, const Words& states) {
    const std::size_t bytes = plan.results() * plan.result_bytes();
    const auto d_states = upload(states);
    const DeviceBuffer out(bytes + 8);
    out.fill(0, bytes + 8);
    throw_if_error(finish(plan, reinterpret_cast<const std::int64_t*>(d_states->data()), out.data()));
    Bytes results(bytes + 8);
    CUDA_CHECK(cudaMemcpy(results.data(), out.data(), results.size(), cudaMemcpyDeviceToHost));
    Words after(states.size());
    CUDA_CHECK(cudaMemcpy(after.data(), d_states->data(), states.size() * sizeof states[0], cudaMemcpyDeviceToHost));
    RC_ASSERT(after == states);
    RC_ASSERT(out.guards_intact());
    return results;
}

Words added(const Plan& plan, Words a, const Words& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool pair = state_merge(plan) == StateMerge::pair;
        if (state_merge(plan) == StateMerge::sum) {
            a[i] += b[i];
        } else if (!pair) {
            a[i] = std::max(a[i], b[i]);
        } else if (i % 2 == 0 && std::pair(b[i], b[i + 1]) > std::pair(a[i], a[i + 1])) {
            a[i] = b[i];
            a[i + 1] = b[i + 1];
        }
    }
    return a;
}

template <class T>
std::string described(const Request& r, const Share<T>& share) {
    return std::string(name(r.op)) + ' ' + std::string(name(r.shape)) + ", " + std::string(name(dtype_of<T>)) +
           ", groups " + std::to_string(share.groups) + ", n " + std::to_string(share.n);
}

/// The words of two parts, and what becomes of them together.
template <class T>
void check_parts(const Request& asked, const Share<T>& a, const Share<T>& b, unsigned draw) {
    RC_LOG(described(asked, a) + "; " + described(asked, b));
    const Plan plan = plan_of_states(asked, a), gpu_plan = make_plan(on_gpu(plan.request(), draw));
    throw_if_error(gpu_plan.status());
    const Words of_a = states_of(asked, a), of_b = states_of(asked, b);
    RC_ASSERT(words_on_gpu(asked, a, draw) == of_a);
    RC_ASSERT(words_on_gpu(asked, b, draw + 1) == of_b);
    if (of_a.empty() || of_a.size() != of_b.size()) return;
    Words merged = of_a;
    throw_if_error(merge(plan, merged.data(), of_b.data()));
    const Words sum = added(plan, of_a, of_b);
    RC_ASSERT(merged_on_gpu(gpu_plan, of_a, of_b) == merged);
    RC_ASSERT(normalized_on_gpu(gpu_plan, sum) == merged);
    RC_ASSERT(finished_on_gpu(gpu_plan, sum) == finished(plan, sum));
    RC_ASSERT(finished_on_gpu(gpu_plan, of_b) == finished(plan, of_b));
}

/// Numbers at a few places far apart, in runs, and NaN, infinities and zeros among them: what no
/// window of `exact` holds.
template <class T>
std::vector<T> far_apart(std::size_t n, std::uint64_t seed) {
    using Bits = fp::Bits<T>;
    constexpr int fraction_bits = fp::Format<T>::precision - 1, fields = 2 * fp::Format<T>::max_exponent + 1;
    constexpr int sign_at = 8 * sizeof(T) - 1;
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(seed, i); };
    const std::uint64_t run = 1 + draw(0) % 70, places = 1 + draw(1) % 5, one_in = 1 + draw(2) % 60,
                        kinds = draw(3) % 32;
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t h = accuracy::hash(seed + 1, i), place = accuracy::hash(seed + 2, i / run) % places,
                            kind = h >> 8 & 7;
        const bool negative = (h & 1) != 0, special = kinds >> kind & 1 && kind < 5 && (h >> 16) % one_in == 0;
        std::uint64_t field = draw(10 + place) % fields, fraction = accuracy::hash(seed + 3, i);
        if (special) {
            field = kind < 3 ? fields : 0; // NaN, two times infinity, two times zero
            fraction = kind == 0 ? 1 : 0;
        }
        fraction &= (std::uint64_t{1} << fraction_bits) - 1;
        x[i] =
            fp::from_bits<T>(static_cast<Bits>(std::uint64_t{negative} << sign_at | field << fraction_bits | fraction));
    }
    return x;
}

} // namespace

TEMPLATE_TEST_CASE("states on the GPU of numbers far apart: the words of the CPU, and its results",
                   "[gpu][ranks][exact][sanitizer]", float16, bfloat16, float, double) {
    property("words", [](std::uint64_t) {
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        constexpr Op ops[] = {Op::sum, Op::asum, Op::sumsq, Op::dot, Op::sumdiffsq, Op::mae, Op::variance};
        constexpr Shape shapes[] = {Shape::flat, Shape::rows, Shape::columns, Shape::tensors};
        Request r;
        r.op = ops[word % std::size(ops)];
        r.method = Method::exact;
        r.dtype = dtype_of<TestType>;
        r.shape = shapes[accuracy::hash(word, 3) % 4];
        Share<TestType> share;
        const bool one = r.shape == Shape::flat;
        const std::uint64_t groups = one ? 1 : 1 + accuracy::hash(word, 4) % 3,
                            n = accuracy::hash(word, 1) % (one ? 12000 : 4000);
        share.x = far_apart<TestType>(groups * n, accuracy::hash(word, 2));
        share.y = far_apart<TestType>(groups * n, accuracy::hash(word, 2 + word / 7 % 2));
        share.n = n;
        share.groups = groups;
        if (r.shape == Shape::tensors) {
            share.list_of(std::vector<std::uint64_t>(groups, n));
            r.each = word % 2 == 0;
        }
        RC_LOG(described(r, share));
        const auto draw = static_cast<unsigned>(word % 1000);
        const Words states = states_of(r, share);
        RC_ASSERT(words_on_gpu(r, share, draw) == states);
        Bytes expected = finished(plan_of_states(r, share), states);
        expected.resize(expected.size() - 8);
        Request of_results = on_gpu(share.request(r), draw);
        of_results.state = false;
        RC_ASSERT(bytes_on_gpu(of_results, share, draw) == expected);
    });
}

TEMPLATE_TEST_CASE("states on the GPU: the words of the CPU, and its results", "[gpu][ranks][exact][sanitizer]",
                   float16, bfloat16, float, double, float8_e4m3, float8_e5m2) {
    property("dealt", [](std::uint64_t) {
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        Request r = request_from(word);
        if (sizeof(TestType) == 1 && r.shape == Shape::tensors) r.shape = Shape::rows; // no lists of those
        if (r.shape != Shape::tensors) r.each = false;
        const auto d = deal<TestType>(r, 2, word);
        check_parts(d.request, d.ranks[0], d.ranks[1], static_cast<unsigned>(word % 1000));
    });
}

namespace {

/// Sizes whose elements go other ways.
struct Size {
    Shape shape;
    std::uint64_t n, groups;
};
constexpr Size sizes[] = {{Shape::flat, 100'003, 1},    {Shape::rows, 32'800, 3},   {Shape::rows, 9, 4100},
                          {Shape::columns, 3, 5000},    {Shape::columns, 5000, 3},  {Shape::columns, 70, 90},
                          {Shape::segments, 70'000, 6}, {Shape::tensors, 70'000, 6}};

template <class T>
Share<T> share_of(const Size& size, std::uint64_t word) {
    Share<T> share;
    const bool matrix = size.shape == Shape::rows || size.shape == Shape::columns;
    const std::uint64_t total = matrix ? size.n * size.groups : size.n;
    share.x = elements_from<T>(total, word, accuracy::hash(word, 1));
    share.y = elements_from<T>(total, word + 1, accuracy::hash(word, 2));
    share.n = size.n;
    share.groups = size.groups;
    if (size.shape == Shape::segments || size.shape == Shape::tensors)
        share.offsets = {0, 0, 5, 40'000, 40'001, 60'000, size.n};
    if (size.shape == Shape::tensors) {
        std::vector<std::uint64_t> lengths;
        for (std::size_t i = 1; i < share.offsets.size(); ++i)
            lengths.push_back(share.offsets[i] - share.offsets[i - 1]);
        share.list_of(lengths);
    }
    return share;
}

} // namespace

TEMPLATE_TEST_CASE("states on the GPU: large groups, many of them, and their columns", "[gpu][ranks][exact]", float16,
                   bfloat16, float, double) {
    for (const Size& size : sizes) {
        property(std::string(name(size.shape)) + ' ' + std::to_string(size.n) + " x " + std::to_string(size.groups),
                 [&](std::uint64_t) {
                     const auto word = *rc::gen::arbitrary<std::uint64_t>();
                     Request r = request_from(word);
                     r.dtype = dtype_of<TestType>;
                     r.shape = size.shape;
                     r.each = size.shape == Shape::tensors && word % 3 != 0;
                     const auto a = share_of<TestType>(size, word), b = share_of<TestType>(size, ~word);
                     check_parts(r, a, b, static_cast<unsigned>(word % 1000));
                 });
    }
}

TEMPLATE_TEST_CASE("states on the GPU: groups of nothing, of ops that compare or count", "[gpu][ranks][order][count]",
                   float16, bfloat16, float, double) {
    constexpr Op ops[] = {Op::min, Op::max, Op::argmin, Op::argmax, Op::minmax, Op::nrminf, Op::count_nonzero};
    unsigned draw = 0;
    for (const Op op : ops) {
        for (const Shape shape : {Shape::flat, Shape::rows, Shape::columns}) {
            Request r;
            r.op = op;
            r.dtype = dtype_of<TestType>;
            r.shape = shape;
            const std::uint64_t groups = shape == Shape::flat ? 1 : 45;
            const auto some = share_of<TestType>({shape, 3, groups}, 7),
                       none = share_of<TestType>({shape, 0, groups}, 7);
            property(std::string(name(op)) + ' ' + std::string(name(shape)),
                     [&](std::uint64_t) { check_parts(r, none, some, draw++); });
        }
    }
}

TEST_CASE("states on the GPU: of what is no state, or is beyond the headroom, there is no number", "[gpu][ranks]") {
    const auto check = [](Op op, std::size_t word, std::int64_t value) {
        INFO(name(op) << ", word " << word << " is " << value);
        Request r{.op = op, .dtype = DType::f64, .n = 1};
        r.state = true;
        const Plan plan = make_plan(r);
        throw_if_error(plan.status());
        Words words(plan.state_words());
        words[word] = value;
        const auto d_words = upload(words);
        auto* const states = reinterpret_cast<std::int64_t*>(d_words->data());
        const DeviceBuffer out(2 * sizeof(double));
        throw_if_error(finish(plan, states, out.data()));
        if (plan.result_is_integer()) {
            REQUIRE(download<std::uint64_t>(out.data()) == no_index);
        } else {
            for (std::size_t k = 0; k < plan.results(); ++k) {
                const double x = download<double>(out.data() + k * sizeof(double));
                REQUIRE(x != x);
            }
        }
        r.device = cpu;
        const Plan on_cpu = make_plan(r);
        Words expected = words;
        REQUIRE(!normalize(on_cpu, expected.data()).ok());
        throw_if_error(normalize(plan, states));
        Words after(words.size());
        CUDA_CHECK(cudaMemcpy(after.data(), states, words.size() * sizeof words[0], cudaMemcpyDeviceToHost));
        REQUIRE(after == expected);
    };
    constexpr std::int64_t most = std::int64_t{1} << 62;
    check(Op::sum, 71, most + 1);
    check(Op::mean, 71, -1);
    check(Op::sum, 68, 1);  // more NaN than elements
    check(Op::sum, 0, 1);   // a sum of no elements
    check(Op::dot, 67, -1); // likewise
    check(Op::moments, 74 + 68, 1);
    check(Op::nrm2, 139, most + 1);
    check(Op::nrm2, 135, -1);   // a norm of a negative number
    check(Op::variance, 71, 1); // sums of different numbers of elements
    check(Op::moments, 74 + 139, 1);
    check(Op::count_nonzero, 0, -1);
    check(Op::max, 0, INT64_MAX - 1);
    check(Op::nrminf, 0, -1);
    check(Op::minmax, 1, INT64_MIN); // a minimum, and no maximum
    check(Op::argmax, 1, most);
}

TEST_CASE("states on the GPU: a step of many in a graph", "[graph][gpu][ranks]") {
    const auto x = elements_from<float>(100'000, 1, 1);
    const OnDevice<float> d_x(x, 0);
    Request r{.op = Op::nrm2, .dtype = DType::f32, .n = x.size()};
    const Plan whole = make_plan(r);
    r.state = true;
    const Plan plan = make_plan(r);
    const DeviceBuffer words(plan.state_words() * 8), workspace(plan.workspace_bytes()), out(4), expected(4),
        scratch(whole.workspace_bytes());
    auto* const states = reinterpret_cast<std::int64_t*>(words.data());
    const StreamOwner owner;
    const Graph graph(owner.stream, [&](cudaStream_t stream) {
        const Status status = run(plan, d_x.data, states, workspace.data(), stream);
        return status.ok() ? finish(plan, states, out.data(), stream) : status;
    });
    graph.launch();
    throw_if_error(run(whole, d_x.data, expected.data(), scratch.data()));
    CUDA_CHECK(cudaDeviceSynchronize());
    REQUIRE(download<std::uint32_t>(out.data()) == download<std::uint32_t>(expected.data()));
}

} // namespace detreduce::proptests
