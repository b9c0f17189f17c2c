// detreduce/mpi.hpp with real processes: mpiexec -n N detreduce_mpi_tests. Every process knows all the elements,
// reduces its share of them with the others, and compares with what one process makes of all. What is wrong ends the
// job.
#include <detreduce/mpi.hpp> // first: it must need nothing before it

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

#include "laws/rank_draws.hpp"

namespace detreduce::proptests {

int ranks = 1, rank = 0;

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
    require(reduced([&](void* out) { return mpi::all_reduce(plan, in, out); }) == expected, what + ": again");
}

template <class T>
void check_random(std::uint64_t word, Request r) {
    const auto d = deal<T>(r, static_cast<std::size_t>(ranks), word);
    check_share(d,
                std::string(name(r.op)) + ' ' + std::string(name(r.shape)) + ' ' + std::string(name(dtype_of<T>)) +
                    ", draw " + std::to_string(word),
                word % 3 == 0   ? 2
                : word % 3 == 1 ? 101
                                : 1 << 20,
                static_cast<int>(word / 3 % static_cast<unsigned>(ranks)));
}

/// Every op, dtype and shape, several times over.
void check_all_ops() {
    std::uint64_t word = 0;
    for (const Op op : ops_with_states()) {
        for (const Shape shape : {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors}) {
            for (const DType dtype : dtypes()) {
                with_dtype(dtype, [&]<class T>(T) {
                    for (int i = 0; i < 4; ++i) {
                        Request r = request_from(accuracy::hash(++word, 77));
                        r.ddof = info(op).kind == Kind::moments ? word % 3 : 0;
                        r.nan = info(op).kind == Kind::order && word % 2 ? NanPolicy::ignore : NanPolicy::propagate;
                        r.each = shape == Shape::tensors && !gives_index(op) && word % 2;
                        if (info(op).gives_integer) r.output = std::nullopt;
                        r.op = op;
                        r.shape = shape;
                        check_random<T>(accuracy::hash(word, 78), r);
                    }
                });
            }
        }
    }
}

/// Each rank has nothing, or nothing but one special value.
template <class T>
void check_special_ranks() {
    const T special[] = {
        T(std::numeric_limits<double>::quiet_NaN()), T(HUGE_VAL), T(-HUGE_VAL), T(-0.0), T(0.0), T(-3.0)};
    for (std::uint64_t word = 0; word < 200; ++word) {
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
    const Status status = mpi::all_reduce(plan, rank == bad ? nullptr : x, &out);
    require(!status.ok() && out == 42, "a rank without elements is seen");
    require(std::string(status.argument) == (rank == bad ? "x" : "in"), "who knows of what: " + to_string(status));
    const Status at_root = mpi::reduce(plan, rank == bad ? nullptr : x, &out, 0);
    require(at_root.ok() == (rank != bad && rank != 0) && out == 42, "the root knows: " + to_string(at_root));
    require(std::string(mpi::reduce(plan, x, &out, ranks).argument) == "root", "there is such a rank");
    require(std::string(mpi::reduce(plan, x, &out, -1).argument) == "root", "there is no rank -1");
    require(mpi::all_reduce(plan, x, &out).ok() && out == 4, "it works the next time");
}

} // namespace detreduce::proptests

int main(int argc, char** argv) {
    using namespace detreduce::proptests;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        check_disagreement();
        check_bad_arguments();
        check_special_ranks<double>();
        check_special_ranks<float>();
        check_all_ops();
    } catch (const std::exception& error) {
        require(false, error.what());
    }
    MPI_Finalize();
    if (rank == 0) std::printf("%d ranks have the bits of one\n", ranks);
}
