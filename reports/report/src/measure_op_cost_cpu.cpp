// What ops and shapes cost on the CPU, beside a read-only pass of the same bytes and the standard
// library.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "failure.hpp"
#include "measure.hpp"
#include "op_names.hpp"
#include "op_peers_cpu.hpp"
#include "own.hpp"

namespace detreduce::report {
namespace {

constexpr std::uint64_t group = 4096;                          // elements of a row or column
constexpr std::uint64_t most_to_sort = std::uint64_t{1} << 20; // which count_unique does

/// Memory of any kind of result.
using Words = std::vector<std::uint64_t>;
std::shared_ptr<Words> words_for(std::size_t bytes) {
    return std::make_shared<Words>((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
}

/// Nothing where the library does not offer that method.
template <class T>
std::optional<Candidate<T>> plan_candidate(const Request& request, const std::string& shape, int threads) {
    const Plan plan = make_plan(request);
    if (plan.status().code == StatusCode::unsupported) return std::nullopt;
    if (!plan.status().ok()) throw program::Failure("make_plan: " + to_string(plan.status()));
    const auto out = words_for(plan.results() * plan.result_bytes()), workspace = words_for(plan.workspace_bytes());
    const std::uint64_t half = info(request.op).inputs == 2 ? request.n : 0;
    const auto run_plan = [=](std::span<const T> x) {
        const Status status =
            run(plan, {x.data(), half > 0 ? x.data() + half : nullptr}, out->data(), workspace->data());
        if (!status.ok()) throw program::Failure("run: " + to_string(status));
        keep(out->front());
    };
    return Candidate<T>{std::string(name(request.method)),
                        threads_text(threads),
                        threads,
                        run_plan,
                        std::string(name(request.op)),
                        shape};
}

/// One line a method that differs: those that compare or count are the same by all.
std::vector<Method> methods_of(Op op, bool few) {
    const Kind kind = info(op).kind;
    if (kind == Kind::order || kind == Kind::count) return {Method::exact};
    if (few) return {Method::exact, Method::tree};
    return {Method::exact, Method::compensated, Method::kahan, Method::tree, Method::serial};
}

template <class T>
void add(std::vector<Candidate<T>>& list, const Request& base, const std::string& shape, int threads, bool few) {
    for (const Method method : methods_of(base.op, few)) {
        if (method == Method::serial && threads > 1) continue; // has no work for a second
        Request r = base;
        r.method = method;
        r.dtype = dtype_of<T>;
        r.device = cpu;
        r.launch.threads = static_cast<std::uint32_t>(threads);
        if (auto one = plan_candidate<T>(r, shape, threads)) list.push_back(std::move(*one));
    }
}

template <class T>
void add_flat(std::vector<Candidate<T>>& list, std::uint64_t n, int threads, bool few) {
    for (const OpInfo& op : ops()) {
        if (op.op == Op::count_unique && n > most_to_sort) continue;
        add<T>(list, {.op = op.op, .n = op.inputs == 2 ? n / 2 : n}, flat_shape, threads, few);
        if constexpr (!fp::is_narrow<T>)
            if (threads == 1) OpPeers<T>::add(list, op.op);
    }
}

template <class T>
void add_shapes(std::vector<Candidate<T>>& list, std::uint64_t n, int threads, bool quick) {
    for (const Op op : {Op::sum, Op::argmax, Op::variance}) {
        const Request rows{.op = op, .shape = Shape::rows, .n = group, .groups = n / group},
            columns{.op = op, .shape = Shape::columns, .n = group, .groups = n / group};
        add<T>(list, rows, fmt::format("rows of {}", group), threads, true);
        if (!quick) add<T>(list, columns, fmt::format("columns of {}", group), threads, true);
        if constexpr (!fp::is_narrow<T>)
            if (threads == 1) OpPeers<T>::add_rows(list, op, group);
    }
}

template <class T>
std::vector<Candidate<T>> candidates(const Options& options, std::span<const T> x) {
    std::vector<Candidate<T>> list;
    const auto add_all = [&](int threads, bool few) {
        list.push_back(read_candidate<T>(x, threads, threads_text(threads)));
        list.back().op = "read";
        add_flat(list, x.size(), threads, few);
        if (x.size() >= group) add_shapes(list, x.size(), threads, options.quick);
    };
    add_all(1, options.quick || fp::is_narrow<T>);
    if (!options.quick && cpu_threads() > 1) add_all(cpu_threads(), true);
    return list;
}

/// Beyond a core's own caches; more would take minutes. 16-bit elements are slow on a CPU.
std::vector<std::uint64_t> sizes_of(const Options& options, std::size_t element) {
    const std::uint64_t bytes = std::uint64_t{options.quick ? 16u : element == 2 ? 8u : 32u} << 20;
    const std::uint64_t most = std::min(bytes / element, options.largest_n), whole = most >= group ? group : 2;
    const std::uint64_t last = most / whole * whole; // as groups and halves take it
    std::vector<std::uint64_t> sizes;
    for (const int exponent : {16, 20})
        if (!options.quick && std::uint64_t{1} << exponent < last) sizes.push_back(std::uint64_t{1} << exponent);
    sizes.push_back(last);
    return sizes;
}

std::vector<DType> dtypes_of(const Options& options) {
    std::vector<DType> list = measured_dtypes(options);
    if (options.quick) std::erase_if(list, [](DType dtype) { return is_narrow(dtype); });
    return list;
}

template <class T>
void append_rows(const std::vector<Candidate<T>>& list, std::span<const T> x, std::vector<OpCostRow>& rows) {
    const std::vector<double> reads = read_seconds(list);
    for (const Candidate<T>& c : list) {
        const double time = median(c.seconds), bytes = static_cast<double>(x.size_bytes());
        rows.push_back({c.op, c.shape, std::string(name(dtype_of<T>)), c.name, c.variant, "cpu", x.size(),
                        x.size_bytes(), static_cast<std::int64_t>(c.seconds.size()), time,
                        relative_deviation(c.seconds), bytes / time / 1e9,
                        reads[static_cast<std::size_t>(c.threads)] / time});
    }
}

template <class T>
void measure_dtype(const Options& options, Progress& progress, std::vector<OpCostRow>& rows) {
    const std::vector<std::uint64_t> sizes = sizes_of(options, sizeof(T));
    std::vector<T> data(sizes.back());
    fill(data, Data::normal, options.seed);
    for (const std::uint64_t n : sizes) {
        progress.step(fmt::format("{} n = {}", name(dtype_of<T>), n), static_cast<double>(n));
        const auto x = std::span<const T>(data).first(n);
        std::vector<Candidate<T>> list = candidates(options, x);
        time_in_turns(list, x, options.quick ? Rounds{1, 3, 20} : Rounds{2, 3, 50}, progress);
        append_rows(list, x, rows);
    }
}

} // namespace

void measure_op_cost_on_cpu(const Options& options, Progress& progress, Results& results) {
    double work = 0;
    std::size_t steps = 0;
    for (const DType dtype : dtypes_of(options))
        for (const std::uint64_t n : sizes_of(options, size_of(dtype)))
            ++steps, work += static_cast<double>(n);
    progress.begin("cost of ops", static_cast<int>(steps), work);
    for (const DType dtype : dtypes_of(options))
        with_dtype(dtype, [&]<class T>(T) { measure_dtype<T>(options, progress, results.op_cost); });
}

} // namespace detreduce::report
