// The user's own files: reading them, what is measured of them, and what the page makes of it.
#include <support/catch.hpp>

#include <numeric>

#include "../../tests/program.hpp"
#include "failure.hpp"
#include "measure.hpp"
#include "number_text.hpp"
#include "render.hpp"
#include "report_inputs.hpp"
#include "sample.hpp"
#include "table.hpp"

using namespace report_test;
using namespace detreduce::report;
using detreduce::float16;
using detreduce::program::load_data;

namespace {

/// The files' sections of results, measured on the CPU.
Results measured(const std::vector<std::string>& files) {
    Options options;
    options.data = load_data(files);
    Results results;
    Progress silent(Progress::Shown::nothing);
    measure_data(options, silent, results);
    return results;
}

template <class T>
Results measured(const std::vector<T>& values) {
    const program_test::TemporaryDirectory dir;
    return measured({dir.write("x.npy", program_test::npy_of(values))});
}

const DataSumRow& by(const Results& results, const std::string& method, const std::string& output) {
    for (const DataSumRow& r : results.data_sums)
        if (r.subject.method == method && r.subject.output == output) return r;
    throw std::out_of_range(method + " to " + output);
}

std::string refusal(const std::string& file) {
    try {
        (void)load_data({file});
        return "";
    } catch (const detreduce::program::Failure& failure) {
        return failure.what();
    }
}

const Cell& cell(const Table& table, const std::string& row, const std::string& column) {
    for (const auto& cells : table.rows)
        for (std::size_t i = 0; i < table.columns.size(); ++i)
            if (cells.front().text == row && table.columns[i].title == column) return cells[i];
    throw std::out_of_range(row + ", " + column);
}

} // namespace

TEST_CASE("what a file holds, and its sum by each method", "[report]") {
    // 0.75 is lost beside 2^53, so one addition after the other gives 0.25
    const std::vector<double> values{0x1p53, 0.75, -0.0, -0x1p53, 0.25};
    const Results results = measured(values);
    REQUIRE(results.data.size() == 1);
    const DataRow& file = results.data.front();
    CHECK(file.dtype == "f64");
    CHECK(file.n == 5);
    CHECK(file.least == "-9007199254740992");
    CHECK(file.greatest == "9007199254740992");
    CHECK(file.smallest == "0.25");
    CHECK((file.nans == 0 && file.infinities == 0));
    CHECK(file.sum == "1");
    CHECK(file.condition == 0x1p54); // 2^54 + 1, rounded
    CHECK(results.data_sums.size() == detreduce::methods().size());
    const DataSumRow& exact = by(results, "exact", "f64");
    CHECK(exact.bits == "0x3ff0000000000000");
    CHECK(exact.result == "1");
    CHECK(exact.correctly_rounded);
    CHECK(exact.error_ulp == 0.0);
    CHECK(exact.bound == 0x1p-53);
    const DataSumRow& serial = by(results, "serial", "f64");
    CHECK(serial.bits == detreduce::program::bits_text(std::accumulate(values.begin(), values.end(), 0.0)));
    CHECK(serial.result == "0.25");
    CHECK_FALSE(serial.correctly_rounded);
    CHECK(serial.error_ulp == 0.75 * 0x1p52);
    CHECK(serial.relative_error == 0.75);
    for (const DataSumRow& r : results.data_sums)
        CHECK((r.error_over_bound && *r.error_over_bound <= 1));
}

TEST_CASE("elements of 16 bits are summed to 16 bits and to f32", "[report]") {
    const Results results = measured(std::vector{float16(1.0f), float16(0x1p-11f), float16(-0.0f)});
    CHECK(results.data_sums.size() == 2 * detreduce::methods().size());
    CHECK(by(results, "exact", "f16").bits == "0x3c00"); // a tie, to even
    CHECK(by(results, "exact", "f16").error_ulp == 0.5);
    CHECK(by(results, "exact", "f32").bits == "0x3f801000");
    CHECK(results.data.front().smallest == "0.0004883");
}

TEST_CASE("data without a true sum that is finite have no errors", "[report]") {
    const float inf = std::numeric_limits<float>::infinity();
    Results results = measured(std::vector<float>{1, inf, -3});
    CHECK(results.data.front().infinities == 1);
    CHECK(results.data.front().least == "-3");
    CHECK_FALSE(results.data.front().condition);
    CHECK(by(results, "exact", "f32").bits == "0x7f800000");
    results = measured(std::vector<float>{-inf, inf});
    CHECK(results.data.front().greatest.empty());
    for (const DataSumRow& r : results.data_sums) {
        CHECK(r.bits == "0x7fc00000");
        CHECK(r.correctly_rounded);
        CHECK_FALSE((r.error_ulp || r.relative_error || r.bound || r.error_over_bound));
    }
}

TEST_CASE("an empty file has a sum and no condition number", "[report]") {
    const Results results = measured(std::vector<float>{});
    CHECK(results.data.front().n == 0);
    CHECK_FALSE(results.data.front().condition);
    CHECK(results.data.front().least.empty());
    for (const DataSumRow& r : results.data_sums)
        CHECK(r.bits == "0x00000000");
}

TEST_CASE("files of any shape are taken as they lie, and the same elements have one fingerprint", "[report]") {
    const program_test::TemporaryDirectory dir;
    const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
    const auto write = [&](const char* name, const char* shape, bool fortran = false) {
        return dir.write(name, program_test::npy_file(program_test::npy_header("<f4", shape, fortran),
                                                      program_test::bytes_of(values)));
    };
    const Results results = measured({write("flat.npy", "(8,)"), write("matrix.npy", "(2, 4)"),
                                      write("cube.npy", "(2, 2, 2)"), write("fortran.npy", "(2, 2, 2)", true)});
    REQUIRE(results.data.size() == 4);
    for (const DataRow& r : results.data) {
        CHECK(r.n == 8);
        CHECK(r.sum == "36");
        CHECK(r.fingerprint == results.data.front().fingerprint);
    }
    CHECK(measured(std::vector<float>{2, 1, 3, 4, 5, 6, 7, 8}).data.front().fingerprint !=
          results.data.front().fingerprint);
    const std::string scalar =
        dir.write("scalar.npy", program_test::npy_file(program_test::npy_header("<f8", "()"),
                                                       program_test::bytes_of(std::vector<double>{3.5})));
    CHECK(measured({scalar}).data.front().n == 1);
}

TEST_CASE("files that --data cannot use are refused, naming both", "[report]") {
    const program_test::TemporaryDirectory dir;
    const auto refused = [&](const std::string& file, const std::string& says) {
        const std::string text = refusal(file);
        INFO(text);
        CHECK(text.starts_with("--data: "));
        CHECK(text.find(file) != std::string::npos);
        CHECK(text.find(says) != std::string::npos);
    };
    refused(dir.path("none.npy"), "No such file");
    refused(dir.write("ints.npy", program_test::npy_file(program_test::npy_header("<i4", "(1,)"), "1234")),
            "allowed are '<f2', '<f4', '<f8' and '|V1'");
    refused(dir.write("short.npy", program_test::npy_file(program_test::npy_header("<f4", "(2,)"), "1234")),
            "is truncated");
    refused(dir.write("text.npy", "1 2 3\n"), "is not a .npy file");
    refused(dir.write("nothing.npy", ""), "is empty");
    const std::string twice = dir.write("x.npy", program_test::npy_of(std::vector<float>{1}));
    CHECK_THROWS_AS(load_data({twice, twice}), detreduce::program::Failure);
    // by the command, before anything is measured
    const Outcome o = run_program("report --quick --device cpu --measure-only --out '" + dir.path("out") +
                                  "' --data '" + twice + "' '" + dir.path("none.npy") + "'");
    CHECK(o.status == 1);
    CHECK(o.err.starts_with("detreduce: --data: cannot read '" + dir.path("none.npy")));
    CHECK_FALSE(std::filesystem::exists(dir.path("out")));
}

TEST_CASE("the page shows files and sums, and defects in red", "[report]") {
    Results results = sample();
    const auto table = [&] { return data_section(results).tables.at(1); };
    CHECK(cell(data_section(results).tables.front(), "a.npy", "condition number").text == "8.00");
    CHECK(cell(table(), "exact", "bits").text == "0x3f000000");
    CHECK(cell(table(), "exact", "correctly rounded").mood == Mood::good);
    CHECK(cell(table(), "serial (cpu)", "correctly rounded").mood == Mood::notable); // it promises no such thing
    CHECK(cell(table(), "serial (cpu)", "error / bound").mood == Mood::plain);
    CHECK(data_section(results).findings.front() ==
          "a.npy: condition number 8.00. Correctly rounded: exact; not: serial (cpu) (4.0e+06 ulp).");
    CHECK(cell(data_section(results).tables.at(2), "exact", "error, ulp").mood == Mood::absent);
    results.data_sums[0].correctly_rounded = false;
    CHECK(cell(table(), "exact", "correctly rounded").mood == Mood::bad);
    CHECK(data_section(results).findings.front().find("defect") != std::string::npos);
    results = sample();
    results.data_sums[1].error_over_bound = 1.0; // within it
    CHECK(cell(table(), "serial (cpu)", "error / bound").mood == Mood::plain);
    results.data_sums[1].error_over_bound = 1.5;
    CHECK(cell(table(), "serial (cpu)", "error / bound").mood == Mood::bad);
    CHECK(data_section(results).findings.front().find("defect") != std::string::npos);
}

TEST_CASE("reference results are the same in every run", "[report]") {
    Progress silent(Progress::Shown::nothing);
    Options options, other;
    other.seed = 99, other.quick = true;
    Results first, second;
    measure_reference(options, silent, first);
    measure_reference(other, silent, second);
    auto &rows = first.reference, &again = second.reference;
    for (auto* list : {&rows, &again}) // whose bits nobody promises
        std::erase_if(*list, [](const ReferenceRow& r) { return r.subject.method == "atomic"; });
    CHECK((rows == again));
    CHECK(rows.size() == 4 * 5 * (detreduce::methods().size() - 1)); // dtypes, data, methods
    // exact: by the golden tables of other tests; here, that it is the sum of these data
    CHECK(rows.front().subject.method == "exact");
    CHECK(rows.front().bits == "0xc19f63e2");
}
