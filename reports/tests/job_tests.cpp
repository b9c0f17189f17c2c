// `mpirun -n N detreduce reduce … --mpi`: the bits of one process, whatever N.
#include <support/catch.hpp>

#include <algorithm>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/fp/bits.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace program_test;

namespace {

Outcome reduce_by(int ranks, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "reduce");
    arguments.emplace_back("--mpi");
    return run_program(arguments, {.launcher = {DETREDUCE_MPIEXEC, DETREDUCE_MPIEXEC_N, std::to_string(ranks)}});
}

/// Numbers of any exponent, but no NaN and no infinity.
template <class T, class Bits>
std::vector<T> numbers(std::size_t n, std::uint64_t seed, Bits largest_exponent) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        auto bits = static_cast<Bits>(detreduce::accuracy::hash(seed, i));
        if ((bits & largest_exponent) == largest_exponent) bits = static_cast<Bits>(bits & ~largest_exponent);
        std::memcpy(&x[i], &bits, sizeof bits);
    }
    return x;
}
std::vector<float> floats(std::size_t n, std::uint64_t seed) {
    return numbers<float, std::uint32_t>(n, seed, 0x7f800000);
}

/// What one process prints, by any number of them.
void check_ranks(const std::vector<std::string>& arguments, const std::vector<int>& numbers_of_ranks = {3}) {
    std::vector<std::string> alone(arguments);
    alone.insert(alone.begin(), "reduce");
    const Outcome expected = run_program(alone);
    INFO(expected.err);
    REQUIRE(expected.code == 0);
    for (const int ranks : numbers_of_ranks) {
        std::string words;
        for (const std::string& word : arguments)
            words += ' ' + word;
        const Outcome o = reduce_by(ranks, arguments);
        INFO(ranks << " ranks:" << words << ": " << o.err);
        CHECK(o.code == 0);
        if (arguments.back() != "--json") {
            CHECK(o.out == expected.out);
            continue;
        }
        auto json = nlohmann::ordered_json::parse(o.out);
        CHECK(json["ranks"] == ranks);
        json.erase("ranks");
        CHECK(json.dump() + '\n' == expected.out);
    }
}

/// Fails with these words, which one of the ranks says, once, and without a result.
void check_failure(int ranks, const std::vector<std::string>& arguments, const std::string& says, int code = 1) {
    const Outcome o = reduce_by(ranks, arguments);
    INFO(o.err);
    CHECK(o.code == code);
    CHECK(o.out.empty());
    const std::size_t at = o.err.find("detreduce: ");
    REQUIRE(at != std::string::npos);
    CHECK(o.err.find("detreduce: ", at + 1) == std::string::npos);
    CHECK(o.err.find(says) != std::string::npos);
}

} // namespace

TEST_CASE("mpi: raw and .npy files, by 1 to 4 ranks") {
    const TemporaryDirectory directory;
    const std::string raw = directory.write("x.bin", bytes_of(floats(100'002, 1)));
    check_ranks({raw, "--dtype", "f32"}, {2});
    check_ranks({raw, "--dtype", "f32", "--op", "nrm2", "--output", "f64", "--json"}, {1, 2, 3, 4});
    check_ranks({raw, "--dtype", "f32", "--op", "argmin", "--json"});
    check_ranks({raw, "--dtype", "f32", "--op", "minmax", "--nan", "ignore"});
    check_ranks({raw, "--dtype", "f64", "--format", "raw", "--op", "count_nonzero"}); // other numbers
}

TEST_CASE("mpi: .npy, of two files, of integers, and as a list") {
    const TemporaryDirectory directory;
    const std::string x = directory.write("x.npy", npy_of(floats(10'001, 2))),
                      y = directory.write("y.npy", npy_of(floats(10'001, 3))),
                      few = directory.write("few.npy", npy_of(floats(2, 4))),
                      none = directory.write("none.npy", npy_of(floats(0, 5)));
    check_ranks({x, "--with", y, "--op", "dot", "--output", "f64"});
    check_ranks({x, few, none, y, few, "--op", "variance", "--ddof", "1", "--output", "f64", "--json"}, {1, 2, 4});
    check_ranks({few, none, x, y, "--op", "argmax", "--json"});
    check_ranks({few, "--op", "mean"}, {4}); // fewer numbers than ranks
    check_ranks({none, none});
    const auto both = directory.write("both.npy", npy_of(floats(20'002, 6)));
    check_ranks({x, y, "--with", both, "--op", "sumdiffsq", "--output", "f64"});
    std::vector<std::int32_t> integers(9999);
    for (std::size_t i = 0; i < integers.size(); ++i)
        integers[i] = static_cast<std::int32_t>(detreduce::accuracy::hash(7, i));
    check_ranks({directory.write("i.npy", npy_file(npy_header("<i4", "(3, 3333)"), bytes_of(integers)))});
}

TEST_CASE("mpi: what fails ends the job, and one rank says why") {
    const TemporaryDirectory directory;
    const std::string x = directory.write("x.npy", npy_of(floats(1000, 2)));
    std::string cut = npy_of(floats(1000, 2));
    cut.resize(cut.size() - 4);
    check_failure(3, {directory.path("none.npy")}, "detreduce: rank 0 of 3: cannot read '");
    check_failure(3, {x, directory.write("cut.npy", cut)}, "is truncated");
    check_failure(2, {x, directory.write("d.npy", npy_of(std::vector<double>{1, 2}))}, "all must hold the same");
    check_failure(2, {x, "--with", x, x, "--op", "dot"}, "has 1000 numbers, but FILE has 2000");
    check_failure(2, {directory.write("0.npy", npy_of(floats(0, 1))), "--op", "mean"}, "there are no numbers");
    // Alone in its part of the file.
    std::vector<std::int64_t> integers(999, 3);
    integers.back() = (std::int64_t{1} << 53) + 1;
    check_failure(3, {directory.write("i.npy", npy_file(npy_header("<i8", "(999,)"), bytes_of(integers)))},
                  "detreduce: rank 2 of 3: ");
}

// The sanitizers' libraries must be loaded first.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("mpi: a rank that is killed ends the job, and nothing is printed") {
    const TemporaryDirectory directory;
    const std::string x = directory.write("x.npy", npy_of(floats(1000, 2)));
    int deaths = 0;
    for (int call = 0; call < 20; ++call) { // the last of which nobody makes
        const Outcome o = run_program(
            {"reduce", x, "--mpi"},
            {.launcher = {"/usr/bin/env", "timeout", "--kill-after=5", "60", DETREDUCE_MPIEXEC, DETREDUCE_MPIEXEC_N,
                          "3", "env", "LD_PRELOAD=" DETREDUCE_DYING_RANK, "DYING_CALL=" + std::to_string(call)}});
        INFO("call " << call << ": " << o.err);
        if (o.err.find("rank 1 dies") == std::string::npos) {
            CHECK(o.code == 0);
            CHECK(!o.out.empty());
            break;
        }
        ++deaths;
        CHECK(o.code != 0);
        CHECK(o.code != 124); // the time limit
        CHECK(o.out.empty());
    }
    CHECK(deaths >= 4); // of the file, the request and the states
    CHECK(deaths < 20);
}
#endif

TEST_CASE("mpi: what cannot be dealt out is refused") {
    const TemporaryDirectory directory;
    const std::string x = directory.write("x.npy", npy_of(floats(1000, 2)));
    check_failure(2, {x, "--method", "tree"}, "--method: ", 2);
    check_failure(2, {x, "--op", "prod"}, "'op'");
    check_failure(2, {x, "--axis", "0"}, "--mpi: all numbers are one group", 2);
    check_failure(2, {x, "--save-state", directory.path("s")}, "--mpi: allowed without --add-state", 2);
    check_failure(2, {x, "--device", "cuda"}, "--mpi: allowed with --device cpu only", 2);
    check_failure(2, {directory.write("x.txt", "1\n2\n")}, "allowed are .npy and raw files", 2);
    check_failure(2, {"-"}, "allowed are .npy and raw files", 2);
}
