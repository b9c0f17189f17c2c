// detreduce/mpi.hpp with real processes: mpiexec -n N detreduce_mpi_tests [--few | --fewest]. Every
// process knows all the elements, reduces its share of them with the others, and compares with what
// one process makes of all. What is wrong ends the job. --few: an eighth of the cases, --fewest: a
// 64th, for processes that wait for a processor.
#include <detreduce/mpi.hpp> // first: it must need nothing before it

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "laws/rank_draws.hpp"

namespace {
int calls_until_failure = -1; ///< of MPI_Iallreduce; negative: none fails
int waits = 0;                ///< calls of MPI_Waitall
int messages = 0;             ///< calls of MPI_Allreduce, and what the last one sent
std::int64_t message_bytes = 0;
bool has_memory = true; ///< for what C++ allocates
} // namespace

// In the place of MPI's own, which they call, and of the C++ library's.
extern "C" int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request* request) {
    if (calls_until_failure == 0) return MPI_ERR_OTHER;
    if (calls_until_failure > 0) --calls_until_failure;
    return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    ++messages;
    message_bytes = std::int64_t{count} * bytes;
    return PMPI_Allreduce(from, to, count, type, op, comm);
}
extern "C" int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    ++waits;
    return PMPI_Waitall(count, requests, statuses);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    void* const memory = has_memory ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace detreduce::proptests {

int ranks = 1, rank = 0;
std::uint64_t one_of = 1; ///< of so many cases: 1, 8 or 64

std::uint64_t cases(std::uint64_t all, std::uint64_t few, std::uint64_t fewest) {
    return one_of == 1 ? all : one_of == 8 ? few : fewest;
}

void require(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "rank %d of %d: %s\n", rank, ranks, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

template <class T>
void check_share(const Dealt<T>& d, const std::string& what, std::uint64_t most_words, int root) {
    const auto& own = d.ranks[static_cast<std::size_t>(rank)];
    Request r = own.request(d.request);
    r.first_index = gives_index(r.op) ? own.first_index : 0;
    mpi::Plan plan = mpi::make_plan(r, MPI_COMM_WORLD, most_words);
    require(plan.status().ok(), what + ": " + to_string(plan.status()));
    const Bytes expected = finished(plan_of_states(d.request, d.all), states_of(d.request, d.all));
    const Bytes untouched(expected.size(), std::byte{0x5a});
    const auto reduced = [&](const auto& reduce) {
        Bytes out = untouched;
        const Status status = reduce(out.data());
        require(status.ok(), what + ": " + to_string(status));
        std::fill(out.end() - 8, out.end(), std::byte{}); // as it is in what is expected
        return out;
    };
    const Inputs in = own.inputs(r);
    require(reduced([&](void* out) { return mpi::all_reduce(plan, in, out); }) == expected, what + ": all_reduce");
    const Bytes at_root = reduced([&](void* out) { return mpi::reduce(plan, in, rank == root ? out : nullptr, root); });
    require(rank != root || at_root == expected, what + ": reduce");
    const Words words = states_of(d.request, own);
    require(reduced([&](void* out) { return mpi::all_reduce_states(plan, words.data(), out); }) == expected,
            what + ": all_reduce_states");
    const Bytes from_words =
        reduced([&](void* out) { return mpi::reduce_states(plan, words.data(), rank == root ? out : nullptr, root); });
    require(rank != root || from_words == expected, what + ": reduce_states");
    const auto in_two = [&](void* out) {
        const Status begun = mpi::begin(plan, in);
        return begun.ok() ? mpi::end(plan, out) : begun;
    };
    require(reduced(in_two) == expected, what + ": begin and end");
    require(reduced([&](void* out) { return mpi::all_reduce(plan, in, out); }) == expected, what + ": again");
}

void check_all_ops() {
    for_all_ops(
        static_cast<std::size_t>(ranks), one_of == 1 ? 4 : 1, [](DType, Shape) { return true; },
        [](const auto& dealt, const std::string& what, std::uint64_t word) {
            if (word % one_of != 0) return;
            const std::uint64_t most_words[] = {cases(2, 16, 1 << 20), 101, 1 << 20};
            check_share(dealt, what, most_words[word / 8 % 3],
                        static_cast<int>(word / 24 % static_cast<unsigned>(ranks)));
        });
}

/// Each rank has nothing, or nothing but one special value.
template <class T>
void check_special_ranks() {
    const T special[] = {
        T(std::numeric_limits<double>::quiet_NaN()), T(HUGE_VAL), T(-HUGE_VAL), T(-0.0), T(0.0), T(-3.0)};
    for (std::uint64_t word = 0; word < cases(200, 10, 1); ++word) {
        for (const Op op : ops_with_states()) {
            const auto kind = info(op).kind;
            Dealt<T> d{{.op = op, .dtype = dtype_of<T>}, {}, std::vector<Share<T>>(static_cast<std::size_t>(ranks))};
            if (kind == Kind::order && word % 2) d.request.nan = NanPolicy::ignore;
            std::uint64_t i = 0;
            for (auto& share : d.ranks) {
                const std::uint64_t draw = accuracy::hash(word, i++);
                share.x.assign(draw % 3, special[draw / 3 % std::size(special)]);
                share.y = share.x;
                share.n = share.x.size();
                share.first_index = d.all.n;
                d.all.x.insert(d.all.x.end(), share.x.begin(), share.x.end());
                d.all.n = d.all.x.size();
            }
            d.all.y = d.all.x;
            check_share(d, "special values, " + std::string(name(op)) + ' ' + std::to_string(word), 1 << 20, 0);
        }
    }
}

std::string said_by(const mpi::Plan& plan) {
    return to_string(plan.status());
}

/// The same everywhere?
void require_same(const std::string& text, const std::string& expected) {
    require(text.find(expected) != std::string::npos, "said " + text + ", not " + expected);
    std::vector<char> first(256);
    text.copy(first.data(), 255);
    MPI_Bcast(first.data(), 256, MPI_CHAR, 0, MPI_COMM_WORLD);
    require(text == first.data(), "said " + text + ", and rank 0 " + first.data());
}

void check_disagreement() {
    const Request good{.op = Op::nrm2, .dtype = DType::f32, .shape = Shape::rows, .n = 0, .groups = 2, .device = cpu};
    const auto with_last = [&](const auto& change) {
        Request r = good;
        if (rank == ranks - 1) change(r);
        return said_by(mpi::make_plan(r, MPI_COMM_WORLD));
    };
    if (ranks > 1) {
        const std::string where = '[' + std::to_string(ranks - 1) + ']';
        require_same(with_last([](Request& r) { r.op = Op::sum; }), "'op" + where + "': must be the same");
        require_same(with_last([](Request& r) { r.dtype = DType::f64; }), "'dtype" + where);
        require_same(with_last([](Request& r) { r.output = DType::f64; }), "'output" + where);
        require_same(with_last([](Request& r) { r.groups = 3; }), "'groups" + where);
        require_same(with_last([](Request& r) { r.shape = Shape::columns; }), "'shape" + where);
        require_same(with_last([](Request& r) { r.nan = NanPolicy::ignore; }), "'nan" + where);
    }
    require_same(with_last([](Request& r) { r.n = max_n + 1; }), "'n'"); // bad on one of them
    require_same(with_last([](Request& r) { r.launch.threads = 5000; }), "'launch.threads'");
    require_same(with_last([](Request& r) { r.n = 5, r.stride = 7; }), "ok");
    Request product = good;
    product.op = Op::prod;
    require_same(said_by(mpi::make_plan(product, MPI_COMM_WORLD)), "'op'");
    product = good;
    product.method = Method::tree;
    require_same(said_by(mpi::make_plan(product, MPI_COMM_WORLD)), "'method'");
    require_same(said_by(mpi::make_plan(good, MPI_COMM_NULL)), "'comm'");
    Request huge = good;
    huge.groups = std::uint64_t{1} << 40;
    huge.n = 1;
    require_same(said_by(mpi::make_plan(huge, MPI_COMM_WORLD)), "out of memory 'groups'");
}

/// One rank has arguments that are refused: it knows why, and nobody waits for it, or writes.
void check_bad_arguments() {
    const double x[] = {3, 4};
    mpi::Plan plan = mpi::make_plan({.op = Op::max, .dtype = DType::f64, .n = 2, .device = cpu}, MPI_COMM_WORLD);
    const int bad = ranks - 1;
    double out = 42;
    Words plan_states(plan.states().state_words());
    throw_if_error(run(plan.states(), x, plan_states.data()));
    const Status status = mpi::all_reduce(plan, rank == bad ? nullptr : x, &out);
    require(!status.ok() && out == 42, "a rank without elements is seen");
    require(std::string(status.argument) == (rank == bad ? "x" : "in"), "who knows of what: " + to_string(status));
    const Status at_root = mpi::reduce(plan, rank == bad ? nullptr : x, &out, 0);
    require(at_root.ok() == (rank != bad && rank != 0) && out == 42, "the root knows: " + to_string(at_root));
    require(std::string(mpi::reduce(plan, x, &out, ranks).argument) == "root", "there is such a rank");
    require(std::string(mpi::reduce(plan, x, &out, -1).argument) == "root", "there is no rank -1");
    require(mpi::all_reduce(plan, x, &out).ok() && out == 4, "it works the next time");
    out = 42;
    const std::int64_t none[] = {INT64_MAX - 1}; // of no maximum
    for (const std::int64_t* states : {static_cast<const std::int64_t*>(nullptr), none})
        require(std::string(mpi::all_reduce_states(plan, rank == bad ? states : plan_states.data(), &out).argument) ==
                        (rank == bad ? "states" : "in") &&
                    out == 42,
                "a rank without states is seen");
}

/// Calls that lie within each other are refused, and several plans may have begun at once.
void check_begin_end() {
    const double x[] = {3, 4};
    double out = 42, other_out = 42;
    mpi::Plan plan = mpi::make_plan({.op = Op::sum, .dtype = DType::f64, .n = 2, .device = cpu}, MPI_COMM_WORLD),
              other = mpi::make_plan({.op = Op::argmax, .dtype = DType::f64, .n = 2, .device = cpu}, MPI_COMM_WORLD);
    std::uint64_t index = 42;
    require(std::string(mpi::end(plan, &out).argument) == "plan" && out == 42, "nothing has begun");
    require(mpi::begin(plan, x).ok() && mpi::begin(other, x).ok(), "two begin");
    require(std::string(mpi::begin(plan, x).argument) == "plan", "it has begun");
    require(std::string(mpi::all_reduce(plan, x, &other_out).argument) == "plan" && other_out == 42, "it has begun");
    require(mpi::end(other, &index).ok() && index == 1, "the other ends");
    require(mpi::end(plan, &out).ok() && out == 7.0 * ranks, "it ends");
    const int bad = ranks - 1;
    out = 42;
    const Status begun = mpi::begin(plan, rank == bad ? nullptr : x);
    require(begun.ok() == (rank != bad), "a rank without elements knows");
    require(std::string(mpi::end(plan, &out).argument) == (rank == bad ? "x" : "in") && out == 42, "as do all then");
}

/// Messages that MPI refuses are no messages: no rank has a result.
void check_refused_messages() {
    const double x[] = {3, 4};
    for (const int failing : {0, 1}) { // the first of many messages, and another
        mpi::Plan plan =
            mpi::make_plan({.op = Op::sum, .dtype = DType::f64, .n = 2, .device = cpu}, MPI_COMM_WORLD, 16);
        double out = 42;
        calls_until_failure = failing;
        const Status begun = mpi::begin(plan, x);
        calls_until_failure = -1;
        require(std::string(begun.argument) == "comm", "begin() says that it failed: " + to_string(begun));
        const Status ended = mpi::end(plan, &out);
        require(std::string(ended.argument) == "comm" && out == 42, "and so does end(): " + to_string(ended));
        require(mpi::all_reduce(plan, x, &out).ok() && out == 7.0 * ranks, "it works the next time");
    }
}

/// begin() needs no memory that make_plan() has not got: what has none would leave the others
/// waiting.
void check_no_memory() {
    const double x[] = {3, 4};
    for (const Op op : {Op::sum, Op::argmax}) {
        mpi::Plan plan = mpi::make_plan({.op = op, .dtype = DType::f64, .n = 2, .device = cpu}, MPI_COMM_WORLD);
        double first = 42, second = 43;
        require(mpi::all_reduce(plan, x, &first).ok(), "a sum");
        has_memory = false;
        const Status begun = mpi::begin(plan, x), ended = mpi::end(plan, &second);
        has_memory = true;
        require(begun.ok() && ended.ok(), "without memory: " + to_string(begun) + ", " + to_string(ended));
        require(std::memcmp(&first, &second, sizeof first) == 0, "without memory, the result");
    }
}

/// A plan whose call has begun waits for its messages before their memory goes, and takes them
/// along where it is moved.
void check_lifetimes() {
    const double x[] = {3, 4};
    const auto make = [] {
        return mpi::make_plan({.op = Op::sum, .dtype = DType::f64, .n = 2, .device = cpu}, MPI_COMM_WORLD);
    };
    const auto waited = [] { return std::exchange(waits, 0); };
    double out = 42;
    waits = 0;
    {
        mpi::Plan plan = make();
        require(mpi::begin(plan, x).ok(), "it begins");
    }
    require(waited() == 1, "a plan that goes waits");
    {
        mpi::Plan plan = make(), other = make();
        require(mpi::begin(plan, x).ok(), "it begins");
        plan = std::move(other);
        require(waited() == 1, "one that is assigned to waits");
        require(mpi::all_reduce(plan, x, &out).ok() && out == 7.0 * ranks, "and is the other then");
        for (const Status& status : {other.status(), mpi::all_reduce(other, x, &out), mpi::begin(other, x),
                                     mpi::end(other, &out), mpi::reduce(other, x, &out, 0)})
            require(status.code == StatusCode::invalid_argument && std::string(status.argument) == "plan",
                    "one that was moved from is of no use: " + to_string(status));
    }
    require(waited() == 0, "one whose call has ended does not wait");
    {
        mpi::Plan plan = make();
        require(mpi::begin(plan, x).ok(), "it begins");
        mpi::Plan moved = std::move(plan);
        require(waited() == 0, "one that is moved does not wait");
        out = 42;
        require(mpi::end(moved, &out).ok() && out == 7.0 * ranks && waited() == 1, "it ends elsewhere");
    }
    require(waited() == 0, "and has nothing to wait for then");
}

/// All groups of a call go in one message: the norms of 1000 tensors are 0.6 MB, of f64 1.2 MB.
void check_messages() {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const double zeros[1] = {};
        std::vector<Tensor> list(1000, {zeros, 1, dtype});
        std::vector<double> norms(list.size() + 1);
        mpi::Plan plan = mpi::make_plan({.op = Op::nrm2,
                                         .dtype = dtype,
                                         .output = DType::f64,
                                         .shape = Shape::tensors,
                                         .n = list.size(),
                                         .groups = list.size(),
                                         .device = cpu,
                                         .each = true},
                                        MPI_COMM_WORLD);
        messages = 0;
        require(mpi::all_reduce(plan, list.data(), norms.data()).ok() && norms[0] == 0, "norms of 1000 tensors");
        const std::int64_t bytes = 8 * (1001 * (dtype == DType::f64 ? 142 : 74) + 2); // two say that all is well
        require(messages == 1 && message_bytes == bytes,
                "1000 tensors by " + std::to_string(messages) + " messages, of " + std::to_string(message_bytes));
    }
}

/// Where ranks part is found, whatever differs: one bit, a length, a dtype.
void check_all_equal() {
    std::vector<std::vector<float>> x;
    for (std::size_t n : {0, 1, 2, 3, 1000, 100'001})
        x.push_back(elements_from<float>(n, n, 0));
    std::vector<Tensor> list;
    for (const auto& v : x)
        list.push_back({v.data(), v.size(), DType::f32});
    std::uint64_t first = 42;
    const auto all_equal = [&] { return mpi::all_equal(list.data(), list.size(), MPI_COMM_WORLD, first); };
    require(all_equal().ok() && first == no_index, "equal lists are equal");
    require(mpi::all_equal(nullptr, 0, MPI_COMM_WORLD, first).ok() && first == no_index, "and so is nothing");
    if (ranks == 1) return;
    for (std::uint64_t word = 0; word < cases(60, 6, 2); ++word) {
        const std::size_t which = 1 + accuracy::hash(word, 1) % 5, at = accuracy::hash(word, 2) % x[which].size();
        const bool here = rank == static_cast<int>(accuracy::hash(word, 3) % static_cast<unsigned>(ranks));
        const float kept = x[which][at];
        if (here) x[which][at] = fp::from_bits<float>(fp::to_bits(kept) ^ 1u << accuracy::hash(word, 4) % 32);
        require(all_equal().ok() && first == which,
                "a bit of " + std::to_string(which) + ", not " + std::to_string(first));
        x[which][at] = kept;
    }
    const bool last = rank == ranks - 1;
    std::swap(x[4][0], x[4][rank == 0 ? 0 : 999]);
    require(all_equal().ok() && first == 4, "elements that changed places");
    std::swap(x[4][0], x[4][rank == 0 ? 0 : 999]);
    if (last) list[2].n = 1;
    require(all_equal().ok() && first == 2, "a length");
    if (last) list[0].dtype = DType::f64;
    require(all_equal().ok() && first == 0, "a dtype");
    first = 42;
    if (last) list[3].data = nullptr;
    require(std::string(all_equal().argument) == "list" && first == 42, "a list that is refused");
    if (last) list.pop_back();
    require(std::string(all_equal().argument) == "tensors" && first == 42, "other lists");
}

/// Tensors of all ranks, some of which every rank has, clipped as by one process.
void check_clip() {
    for (std::uint64_t word = 0; word < cases(60, 6, 2); ++word) {
        const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
        std::vector<std::vector<double>> doubles; // of all ranks, and the replicated ones at the end
        std::vector<int> owners;
        for (std::uint64_t i = 0; i < 6; ++i) {
            auto v = vector_from<double>(static_cast<Style>(draw(i) % styles), draw(10 + i) % 300, draw(20 + i),
                                         draw(6) % 4 == 0 ? any_bits<double> : no_overflow<double>);
            doubles.push_back(std::move(v));
            owners.push_back(draw(30 + i) % 3 == 0 ? -1
                                                   : static_cast<int>(draw(40 + i) % static_cast<unsigned>(ranks)));
        }
        std::vector<std::vector<float16>> halves;
        for (std::uint64_t i = 0; i < 3; ++i)
            halves.push_back(vector_from<float16>(static_cast<Style>(draw(50 + i) % styles), draw(60 + i) % 200,
                                                  draw(70 + i), finite_bits<float16>));
        auto expected = doubles;
        auto expected_halves = halves;
        std::vector<Tensor> all, own;
        std::vector<unsigned char> replicated;
        std::uint64_t n = 0;
        const auto put = [&](auto& theirs, auto& mine, int owner, DType dtype) {
            all.push_back({theirs.data(), theirs.size(), dtype});
            n += theirs.size();
            if (owner >= 0 && owner != rank) return;
            own.push_back({mine.data(), mine.size(), dtype});
            replicated.push_back(owner < 0);
        };
        for (std::size_t i = 0; i < doubles.size(); ++i)
            put(expected[i], doubles[i], owners[i], DType::f64);
        for (std::size_t i = 0; i < halves.size(); ++i)
            put(expected_halves[i], halves[i], static_cast<int>(i) % ranks, DType::f16);
        const mpi::ClipOptions options{.max_norm = draw(7) % 2 ? 1e-3 : 1e300,
                                       .norm = draw(8) % 2 ? DType::f64 : DType::f32};
        std::array<std::byte, 8> norm{}, found{};
        throw_if_error(
            run(make_clip_plan(
                    {.n = n, .tensors = all.size(), .max_norm = options.max_norm, .norm = options.norm, .device = cpu}),
                all.data(), norm.data()));
        const Status status =
            mpi::clip_grad_norm(own.data(), own.size(), replicated.data(), MPI_COMM_WORLD, found.data(), options);
        const std::string what = "clip_grad_norm, draw " + std::to_string(word) + ": ";
        require(status.ok(), what + to_string(status));
        require(found == norm, what + "norm");
        const auto same = [](const auto& a, const auto& b) {
            return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
        };
        for (std::size_t i = 0; i < doubles.size(); ++i)
            require((owners[i] >= 0 && owners[i] != rank) || same(doubles[i], expected[i]), what + "a tensor of f64");
        for (std::size_t i = 0; i < halves.size(); ++i)
            require(static_cast<int>(i) % ranks != rank || same(halves[i], expected_halves[i]), what + "one of f16");
    }
    double x[] = {3, 4}, norm = 42;
    const Tensor list[] = {{x, 2, DType::f64}};
    const auto said = [&](const Tensor* of, const mpi::ClipOptions& options) {
        return std::string(mpi::clip_grad_norm(of, 1, nullptr, MPI_COMM_WORLD, &norm, options).argument);
    };
    const bool last = rank == ranks - 1;
    require(said(list, {.max_norm = -1}) == "max_norm", "a bad max_norm");
    require(said(last ? nullptr : list, {}) == "list", "a bad list");
    const std::uint8_t byte[] = {1};
    const Tensor narrow[] = {{byte, 1, DType::f8e4m3}};
    require(said(last ? narrow : list, {}) == "list", "a list with a tensor that cannot be clipped");
    if (ranks > 1) require(said(list, {.epsilon = last ? 1.0 : 0.0}) == "epsilon", "epsilons that differ");
    require(norm == 42 && x[0] == 3, "nothing was written");
}

} // namespace detreduce::proptests

int main(int argc, char** argv) {
    using namespace detreduce::proptests;
    const std::string asked = argc > 1 ? argv[1] : "";
    one_of = asked == "--few" ? 8 : asked == "--fewest" ? 64 : 1;
    std::optional<detreduce::mpi::Plan> last; // outlives MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        check_disagreement();
        check_bad_arguments();
        check_begin_end();
        check_refused_messages();
        check_no_memory();
        check_lifetimes();
        check_messages();
        check_all_equal();
        check_clip();
        check_special_ranks<double>();
        check_special_ranks<float>();
        check_all_ops();
        last = detreduce::mpi::make_plan({.op = detreduce::Op::argmax, .device = detreduce::cpu}, MPI_COMM_WORLD);
    } catch (const std::exception& error) {
        require(false, error.what());
    }
    MPI_Finalize();
    if (rank == 0) std::printf("%d ranks have the bits of one\n", ranks);
}
