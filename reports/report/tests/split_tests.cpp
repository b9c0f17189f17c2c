// Random ways to a sum by parts: every element is in one piece, every piece gets into the sum.
#include <support/catch.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/oracle.hpp>

#include "determinism_axes.hpp"
#include "runner.hpp"

using namespace detreduce;
using namespace detreduce::report;

TEST_CASE("random splits differ and leave nothing out", "[report]") {
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        const Split split = random_split(1000, 1 + seed, seed);
        CHECK(split.cuts.front() == 0);
        CHECK(split.cuts.back() == 1000);
        CHECK(std::is_sorted(split.cuts.begin(), split.cuts.end()));
        const std::size_t pieces = split.cuts.size() - 1;
        CHECK(pieces == 1 + seed);
        CHECK(split.merges.size() == pieces - 1);
        std::vector<bool> taken(pieces, false);
        for (const auto& [to, from] : split.merges) {
            CHECK(to != from);
            CHECK_FALSE(taken[to]);
            CHECK_FALSE(taken[from]);
            taken[from] = true;
        }
        CHECK_FALSE(taken[split.last]);
    }
    // Of as many pieces: cut elsewhere, and merged in another order.
    constexpr std::size_t pieces = 20;
    std::set<std::vector<std::uint64_t>> cuts;
    std::set<std::vector<std::pair<std::size_t, std::size_t>>> merges;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        const Split split = random_split(1000, pieces, seed), again = random_split(1000, pieces, seed);
        CHECK(split.cuts == again.cuts);
        CHECK(split.merges == again.merges);
        cuts.insert(split.cuts);
        merges.insert(split.merges);
    }
    CHECK(cuts.size() == 64);
    CHECK(merges.size() == 64);
}

TEST_CASE("an even split leaves nothing out", "[report]") {
    for (const std::uint64_t n : {0, 1, 7, 8, 1003}) {
        for (std::size_t pieces = 1; pieces <= 8; ++pieces) {
            const Split split = even_split(n, pieces);
            REQUIRE(split.cuts.size() == pieces + 1);
            CHECK(split.cuts.front() == 0);
            CHECK(split.cuts.back() == n);
            for (std::size_t i = 0; i < pieces; ++i)
                CHECK((split.cuts[i + 1] - split.cuts[i] - n / pieces) <= 1);
            CHECK(split.merges.size() == pieces - 1);
            CHECK(split.last == 0);
        }
    }
}

TEST_CASE("any piece may be merged into any other", "[report]") {
    std::set<std::pair<std::size_t, std::size_t>> first, second;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        const Split split = random_split(1000, 4, seed);
        first.insert(split.merges[0]);
        second.insert(split.merges[1]);
    }
    CHECK(first.size() == 4 * 3);
    CHECK(second.size() == 4 * 3);
}

TEST_CASE("each axis varies what it names", "[report]") {
    const auto jobs_of = [](const std::string& name) {
        for (const Axis& axis : determinism_axes())
            if (axis.name == name) return axis.plan({.method = Method::exact, .device = {}, .launch = {}}, true).jobs;
        throw std::out_of_range(name);
    };
    std::set<std::uint32_t> threads;
    std::set<Isa> isas;
    std::set<std::size_t> places;
    for (const Job& job : jobs_of("CPU threads"))
        threads.insert(job.launch.threads);
    for (const Job& job : jobs_of("instruction sets"))
        isas.insert(job.launch.isa);
    for (const Job& job : jobs_of("alignment"))
        places.insert(job.misalignment);
    CHECK(threads == std::set<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8});
    const auto available = available_isas();
    CHECK(isas == std::set<Isa>(available.begin(), available.end()));
    CHECK(places.size() == 16);
    CHECK(jobs_of("splits").size() == 64);
    CHECK(jobs_of("ranks").size() == 8);
    CHECK(jobs_of("MPI ranks").empty()); // of other processes
    CHECK(jobs_of("schedules").empty()); // of GPUs
}

TEST_CASE("a sum by parts has the bits of the correctly rounded sum", "[report]") {
    const auto data = accuracy::generate<bfloat16>(accuracy::Family::wide, 5000, 7);
    const float expected = accuracy::exact_sum(std::span<const bfloat16>(data)).round<float>();
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        float result = 0;
        run_split({}, random_split(data.size(), 1 + 3 * seed, seed), input_of(std::span<const bfloat16>(data)),
                  DType::f32, &result);
        CHECK(fp::to_bits(result) == fp::to_bits(expected));
    }
    for (std::size_t ranks = 1; ranks <= 8; ++ranks) {
        float result = 0;
        run_split({}, even_split(data.size(), ranks), input_of(std::span<const bfloat16>(data)), DType::f32, &result);
        CHECK(fp::to_bits(result) == fp::to_bits(expected));
    }
}

TEST_CASE("a job gives one result a run, of the dtype asked for", "[report]") {
    const std::vector<float16> ones(10, fp::round_to<float16>(1.0f));
    const Job job{.method = Method::exact, .device = {}, .launch = {}, .runs = 3, .misalignment = 5};
    CHECK(results_of<float16, double>(job, std::span<const float16>(ones)) == std::vector<double>(3, 10.0));
}

TEST_CASE("a job of rows gives the results of each, run by run", "[report]") {
    const auto data = accuracy::generate<float>(accuracy::Family::normal, 4 * 77, 3);
    const std::span<const float> all(data);
    const auto results = results_of(Job{.method = Method::tree, .device = {}, .launch = {}, .runs = 2, .rows = 4}, all);
    REQUIRE(results.size() == 8);
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Job alone{.method = Method::tree, .device = {}, .launch = {}};
        CHECK(fp::to_bits(results[i]) == fp::to_bits(results_of(alone, all.subspan(i % 4 * 77, 77)).front()));
    }
}
