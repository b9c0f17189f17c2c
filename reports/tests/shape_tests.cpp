// `detreduce reduce --axis` and `--offsets`: what is printed for each row, column and segment is
// what the library has for its numbers alone.
#include <support/catch.hpp>

#include <detreduce/detreduce.hpp>
#include <nlohmann/json.hpp>

#include "number_text.hpp"
#include "program.hpp"

using namespace program_test;
using detreduce::DType;
using detreduce::float16;
using detreduce::Op;

namespace {

constexpr std::size_t rows = 3, columns = 4097; // two chunks of 4096, one of them short

double number(std::size_t i) {
    return (i % 7 == 3 ? -1 : 1) * (0.1 + static_cast<double>(i * 7919 % 1013)) * (i % 11 == 0 ? 1e5 : 1);
}

float16 narrowed(double value) {
    float16 narrow{};
    (void)detreduce::program::parse_number(std::to_string(value), narrow);
    return narrow;
}

template <class T>
std::vector<T> numbers(std::size_t n, std::size_t from = 0) {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<T, float16>) {
            all[i] = narrowed(number(from + i) / 1e3);
        } else {
            all[i] = static_cast<T>(number(from + i));
        }
    }
    return all;
}

/// What the library has for these numbers, as a flat array.
template <class T>
std::string alone(detreduce::Request request, const std::vector<T>& x, const std::vector<T>& y = {}) {
    request.dtype = detreduce::dtype_of<T>;
    request.n = x.size();
    request.device = detreduce::cpu;
    const detreduce::Plan plan = detreduce::throwing::make_plan(request);
    std::uint64_t index = 0;
    T value{};
    void* const out = plan.result_is_integer() ? static_cast<void*>(&index) : &value;
    detreduce::throwing::run(plan, {x.data(), y.empty() ? nullptr : y.data()}, out);
    return (plan.result_is_integer() ? std::to_string(index) : detreduce::program::shortest_decimal(value)) + "\n";
}

/// `count` elements, `step` apart.
template <class T>
std::vector<T> every(const std::vector<T>& x, std::size_t from, std::size_t step, std::size_t count) {
    std::vector<T> some(count);
    for (std::size_t i = 0; i < count && !x.empty(); ++i)
        some[i] = x[from + i * step];
    return x.empty() ? x : some;
}

struct Sizes {
    std::size_t rows, columns;
};

/// Every row, or every column, of a C-order matrix, alone.
template <class T>
std::string each_alone(const detreduce::Request& r, int axis, Sizes s, const std::vector<T>& x,
                       const std::vector<T>& y = {}) {
    std::string text;
    for (std::size_t i = 0; i < (axis == 1 ? s.rows : s.columns); ++i) {
        const auto group = [&](const std::vector<T>& z) {
            return axis == 1 ? every(z, i * s.columns, 1, s.columns) : every(z, i, s.columns, s.rows);
        };
        text += alone(r, group(x), group(y));
    }
    return text;
}

/// The same matrix with its columns one behind the other.
template <class T>
std::vector<T> by_columns(const std::vector<T>& x, Sizes s) {
    std::vector<T> turned;
    for (std::size_t j = 0; j < s.columns; ++j)
        for (std::size_t i = 0; i < s.rows; ++i)
            turned.push_back(x[i * s.columns + j]);
    return turned;
}

template <class T>
std::string matrix_file(const std::vector<T>& x, Sizes s, bool fortran = false) {
    const std::string shape = "(" + std::to_string(s.rows) + ", " + std::to_string(s.columns) + ")";
    return npy_file(npy_header("<f" + std::to_string(sizeof(T)), shape, fortran),
                    bytes_of(fortran ? by_columns(x, s) : x));
}

std::string npy_of_integers(const std::string& descr, const std::vector<std::int64_t>& values) {
    const bool narrow = descr.ends_with('4');
    const std::vector<std::int32_t> low(values.begin(), values.end());
    return npy_file(npy_header(descr, "(" + std::to_string(values.size()) + ",)"),
                    narrow ? bytes_of(low) : bytes_of(values));
}

bool says(const Outcome& o, const std::string& text) {
    INFO(o.err);
    CHECK(o.err.find(text) != std::string::npos);
    return o.err.find(text) != std::string::npos;
}

struct Case {
    const char *op, *method;
};

const std::vector<Case> cases{
    {"sum", "exact"},   {"sum", "tree"},         {"mean", "compensated"}, {"nrm2", "serial"},  {"min", "exact"},
    {"argmax", "tree"}, {"nrminf", "exact"},     {"asum", "kahan"},       {"argmin", "exact"}, {"prod", "tree"},
    {"prod", "serial"}, {"prod", "compensated"}, {"stddev", "exact"},     {"variance", "tree"}};

detreduce::Request request_of(const Case& c) {
    return {.op = *detreduce::parse_op(c.op), .method = *detreduce::parse_method(c.method)};
}

template <class T>
void check_axes(Sizes s) {
    const TemporaryDirectory files;
    const auto x = numbers<T>(s.rows * s.columns);
    for (const bool fortran : {false, true}) {
        const std::string file = files.write("m.npy", matrix_file(x, s, fortran));
        for (const Case& c : cases) {
            for (const int axis : {0, 1}) {
                INFO(c.op << " " << c.method << ", axis " << axis << ", Fortran order: " << fortran);
                const Outcome o = run_program({"reduce", file, "--axis", std::to_string(axis), "--op", c.op, "--method",
                                               c.method, "--threads", "3"});
                CHECK(o.err == "");
                CHECK(o.out == each_alone(request_of(c), axis, s, x));
            }
        }
    }
}

} // namespace

TEST_CASE("--axis: each row and column, in C order and in Fortran order", "[program]") {
    check_axes<float>({rows, columns});
    check_axes<double>({5, 1});
    check_axes<double>({1, 5});
    check_axes<float16>({7, 33});
}

TEST_CASE("--axis counts as NumPy does", "[program]") {
    const TemporaryDirectory files;
    const std::vector<double> x{1, 2, 3, 10, 20, 30};
    for (const bool fortran : {false, true}) {
        const std::string file = files.write("m.npy", matrix_file(x, {2, 3}, fortran));
        CHECK(run_program({"reduce", file, "--axis", "1"}).out == "6\n60\n");
        CHECK(run_program({"reduce", file, "--axis", "0"}).out == "11\n22\n33\n");
        CHECK(run_program({"reduce", file, "--axis", "0", "--op", "argmax"}).out == "1\n1\n1\n");
        CHECK(run_program({"reduce", file, "--axis", "0", "--op", "prod"}).out == "10\n40\n90\n");
        const auto variances = [&](const char* axis, const char* method) {
            return run_program({"reduce", file, "--axis", axis, "--op", "variance", "--ddof", "1", "--method", method})
                .out;
        };
        for (const char* const method : {"exact", "tree", "serial"}) {
            CHECK(variances("1", method) == "1\n100\n");
            CHECK(variances("0", method) == "40.5\n162\n364.5\n");
        }
    }
    const std::string standard = matrix_file(x, {2, 3});
    CHECK(run_program({"reduce", "-", "--format", "npy", "--axis", "1"}, {.input = standard}).out == "6\n60\n");
}

TEST_CASE("a matrix without --axis is reduced as a whole, in C order", "[program]") {
    const TemporaryDirectory files;
    const auto x = numbers<float16>(rows * 5);
    const std::string file = files.write("m.npy", matrix_file(x, {rows, 5}));
    for (const Case& c : cases)
        CHECK(run_program({"reduce", file, "--op", c.op, "--method", c.method}).out == alone(request_of(c), x));
    for (const char* const method : {"exact", "tree"}) {
        const Outcome o =
            run_program({"reduce", files.write("f.npy", matrix_file(x, {rows, 5}, true)), "--method", method});
        CHECK(is_clean_failure(o));
        CHECK(says(o, "f.npy' is in Fortran order (fortran_order is True); allowed is C order, or --axis"));
    }
}

TEST_CASE("--axis of two files", "[program]") {
    const TemporaryDirectory files;
    const Sizes s{4, 37};
    const auto x = numbers<float>(4 * 37), y = numbers<float>(4 * 37, 500);
    const auto reduce = [](const std::string& a, const std::string& b, std::vector<std::string> more) {
        more.insert(more.begin(), {"reduce", a, "--with", b, "--op", "dot"});
        return run_program(more);
    };
    const std::string c1 = files.write("c1.npy", matrix_file(x, s)), c2 = files.write("c2.npy", matrix_file(y, s)),
                      f1 = files.write("f1.npy", matrix_file(x, s, true)),
                      f2 = files.write("f2.npy", matrix_file(y, s, true));
    for (const int axis : {0, 1}) {
        const std::string expected = each_alone({.op = Op::dot}, axis, s, x, y);
        CHECK(reduce(c1, c2, {"--axis", std::to_string(axis)}).out == expected);
        CHECK(reduce(f1, f2, {"--axis", std::to_string(axis)}).out == expected);
    }
    CHECK(says(reduce(c1, f2, {"--axis", "1"}), "f2.npy' has shape (4, 37) in Fortran order, but "));
    const std::string turned = files.write("turned.npy", matrix_file(y, {37, 4})),
                      flat = files.write("flat.npy", npy_of(y));
    for (const std::vector<std::string>& more : {std::vector<std::string>{"--axis", "0"}, {}}) {
        CHECK(is_clean_failure(reduce(c1, turned, more)));
        CHECK(says(reduce(c1, turned, more), "c1.npy' has shape (4, 37) in C order; both must have the same"));
        CHECK(says(reduce(c1, flat, more), "flat.npy' has one dimension, (148,), but "));
    }
}

TEST_CASE("--axis of matrices without numbers", "[program]") {
    const TemporaryDirectory files;
    const std::string none = files.write("none.npy", matrix_file(std::vector<float>{}, {0, 3})),
                      narrow = files.write("narrow.npy", matrix_file(std::vector<float>{}, {2, 0}));
    for (const char* const method : {"exact", "tree"}) {
        CHECK(run_program({"reduce", none, "--axis", "0", "--method", method}).out == "0\n0\n0\n");
        CHECK(run_program({"reduce", narrow, "--axis", "1", "--method", method}).out == "0\n0\n");
        const Outcome nothing = run_program({"reduce", none, "--axis", "1", "--method", method});
        CHECK(nothing.code == 0);
        CHECK(nothing.out == "");
    }
    CHECK(run_program({"reduce", none, "--axis", "0", "--op", "prod"}).out == "1\n1\n1\n");
    CHECK(says(run_program({"reduce", none, "--axis", "0", "--op", "variance"}), "variance needs one or more"));
    CHECK(says(run_program({"reduce", none, "--axis", "0", "--op", "min"}), "min needs one or more"));
    const auto json = nlohmann::json::parse(run_program({"reduce", none, "--axis", "1", "--json"}).out);
    CHECK(json["values"] == nlohmann::json::array());
    CHECK(json["groups"] == 0);
}

TEST_CASE("--axis where it has no meaning", "[program]") {
    const TemporaryDirectory files;
    const std::string flat = files.write("flat.npy", npy_of(std::vector<double>{1, 2})),
                      matrix = files.write("m.npy", matrix_file(std::vector<double>{1, 2}, {1, 2})),
                      text = files.write("a.txt", "1\n2\n"),
                      raw = files.write("a.bin", bytes_of(std::vector<double>{1, 2}));
    const auto check = [](const std::vector<std::string>& arguments, const std::string& why) {
        const Outcome o = run_program(arguments);
        CHECK(is_usage_error(o));
        CHECK(says(o, why));
    };
    check({"reduce", text, "--axis", "0"}, "allowed are .npy and .npz");
    check({"reduce", raw, "--dtype", "f64", "--axis", "1"}, "allowed are .npy and .npz");
    check({"reduce", matrix, "--with", text, "--op", "dot", "--axis", "1"}, "allowed are .npy and .npz");
    for (const char* const axis : {"64", "-65", "rows", "01", "-0", "1.", ""})
        check({"reduce", matrix, "--axis=" + std::string(axis)}, "--axis");
    const Outcome beyond = run_program({"reduce", matrix, "--axis", "2"}); // the file decides, as of empty ones
    CHECK(is_clean_failure(beyond));
    CHECK(says(beyond, "--axis: '" + matrix + "' has no axis 2, as its shape is (1, 2); allowed are -2 to 1"));
    CHECK(run_program({"reduce", flat, "--axis", "0"}).out == "3\n");
    check({"reduce", matrix, "--axis", "1", "--offsets", text}, "allowed is one of them");
    const std::string state = files.path("s.state");
    for (const char* const group : {"--axis", "--offsets"}) {
        check({"reduce", matrix, group, "1", "--save-state", state}, "--save-state: a state is that of one sum");
        check({"reduce", matrix, group, "1", "--add-state", state}, "--add-state: a state is that of one sum");
    }
    CHECK(read_file(state).empty());
}

TEST_CASE("minmax and counts of rows, columns and segments", "[program]") {
    const TemporaryDirectory files;
    const std::string matrix = files.write("m.npy", matrix_file(std::vector<double>{1, -2, 0, 7, -0.0, 7}, {2, 3}));
    const std::string flat = files.write("a.txt", "3\nnan\n5\n0\n5\n"), offsets = files.write("o.txt", "0\n2\n2\n5\n");
    const auto out = [&](const std::vector<std::string>& how, const std::string& op) {
        std::vector<std::string> arguments{"reduce"};
        arguments.insert(arguments.end(), how.begin(), how.end());
        arguments.insert(arguments.end(), {"--op", op});
        return run_program(arguments).out;
    };
    CHECK(out({matrix, "--axis", "1"}, "minmax") == "-2 1\n-0 7\n");
    CHECK(out({matrix, "--axis", "0"}, "minmax") == "1 7\n-2 -0\n0 7\n");
    CHECK(out({matrix, "--axis", "1"}, "count_nonzero") == "2\n2\n");
    CHECK(out({matrix, "--axis", "0"}, "count_nonzero") == "2\n1\n1\n");
    CHECK(out({matrix, "--axis", "1"}, "count_unique") == "3\n2\n");
    CHECK(out({matrix, "--axis", "0"}, "count_unique") == "2\n2\n2\n");
    CHECK(out({flat, "--offsets", offsets}, "minmax") == "nan nan\nnan nan\n0 5\n");
    CHECK(out({flat, "--offsets", offsets, "--nan", "ignore"}, "minmax") == "3 3\nnan nan\n0 5\n");
    CHECK(out({flat, "--offsets", offsets}, "count_nonzero") == "2\n0\n2\n");
    CHECK(out({flat, "--offsets", offsets}, "count_unique") == "2\n0\n2\n");
    const auto json = [&](const std::string& op) {
        return nlohmann::json::parse(out({matrix, "--axis", "1", "--json"}, op));
    };
    const auto both = json("minmax");
    CHECK(both["values"].size() == 2);
    CHECK(both["values"][0][0]["decimal"] == "-2");
    CHECK(both["values"][1][1]["decimal"] == "7");
    CHECK(both["guarantee"] == "order");
    const auto counts = json("count_nonzero");
    CHECK(counts["counts"] == nlohmann::json({2, 2}));
    CHECK_FALSE(counts.contains("indices"));
    CHECK_FALSE(counts.contains("output"));
}

TEST_CASE("JSON of rows and columns", "[program]") {
    const TemporaryDirectory files;
    const std::string file = files.write("m.npy", matrix_file(std::vector<double>{1, 2, 3, 10, 20, 30}, {2, 3}, true));
    const auto json = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"reduce", file, "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return nlohmann::json::parse(run_program(arguments).out);
    };
    const auto sums = json({"--axis", "1"});
    CHECK(sums["shape"] == "rows");
    CHECK(sums["groups"] == 2);
    CHECK(sums["n"] == 3);
    CHECK(sums["values"].size() == 2);
    CHECK(sums["values"][1]["decimal"] == "60");
    CHECK(sums["values"][1]["bits"] == "0x404e000000000000");
    CHECK_FALSE(sums.contains("value"));
    const auto minimum = json({"--axis", "0", "--op", "argmin"});
    CHECK(minimum["shape"] == "columns");
    CHECK(minimum["groups"] == 3);
    CHECK(minimum["n"] == 2);
    CHECK(minimum["indices"] == nlohmann::json({0, 0, 0}));
    CHECK_FALSE(minimum.contains("values"));
    const auto flat = nlohmann::json::parse(reduce_text("1\n", {"--json"}).out);
    CHECK_FALSE(flat.contains("shape"));
}

TEST_CASE("--offsets: each segment, from text and from .npy", "[program]") {
    const TemporaryDirectory files;
    const auto x = numbers<float>(9000);
    const std::string file = files.write("x.npy", npy_of(x));
    const std::vector<std::int64_t> cuts{2, 3, 3, 5000, 9000};
    std::string text = "# where they begin\n\n";
    for (const auto cut : cuts)
        text += " " + std::to_string(cut) + " # here\r\n";
    for (const std::string& offsets :
         {files.write("o.txt", text), files.write("o", text), files.write("u.npy", npy_of_integers("<u8", cuts)),
          files.write("i.NPY", npy_of_integers("<i8", cuts)), files.write("u4.npy", npy_of_integers("<u4", cuts)),
          files.write("i4.npy", npy_of_integers("<i4", cuts))}) {
        for (const Case& c : cases) {
            INFO(offsets << ": " << c.op << " " << c.method);
            std::string expected;
            for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
                const std::vector<float> segment(x.begin() + cuts[i], x.begin() + cuts[i + 1]);
                const bool index = std::string_view(c.op).starts_with("arg");
                const bool of_none = index || std::string_view(c.op) == "mean" || std::string_view(c.op) == "min" ||
                                     detreduce::info(request_of(c).op).kind == detreduce::Kind::moments;
                if (segment.empty() && of_none) {
                    expected += index ? "none\n" : "nan\n";
                } else {
                    expected += alone(request_of(c), segment);
                }
            }
            const Outcome o = run_program({"reduce", file, "--offsets", offsets, "--op", c.op, "--method", c.method});
            CHECK(o.err ==
                  "detreduce: note: --offsets: 2 of 9000 numbers are in no segment, 2 before the first offset and "
                  "0 from the last on\n");
            CHECK(o.out == expected);
        }
    }
}

TEST_CASE("--offsets of text, raw data, a matrix, two files and standard input", "[program]") {
    const TemporaryDirectory files;
    const std::vector<double> x{1, 2, 3, 4, 5};
    const std::string offsets = files.write("o.txt", "0\n2\n5");
    const std::string text = files.write("x.txt", "1\n2\n3\n4\n5\n"), raw = files.write("x.bin", bytes_of(x));
    CHECK(run_program({"reduce", text, "--offsets", offsets}).out == "3\n12\n");
    CHECK(run_program({"reduce", raw, "--dtype", "f64", "--offsets", offsets}).out == "3\n12\n");
    CHECK(run_program({"reduce", text, "--with", raw, "--dtype", "f64", "--op", "dot", "--offsets", offsets}).out ==
          "5\n50\n");
    CHECK(reduce_text("1\n2\n3\n4\n5\n", {"--offsets", offsets}).out == "3\n12\n");
    CHECK(run_program({"reduce", text, "--offsets", "-"}, {.input = "1\n1\n4\n"}).out == "0\n9\n");
    const std::string matrix = files.write("m.npy", matrix_file(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}));
    CHECK(run_program({"reduce", matrix, "--offsets", offsets}).out == "3\n12\n");
    const Outcome none = run_program({"reduce", text, "--offsets", files.write("one.txt", "5\n")});
    CHECK(none.code == 0);
    CHECK(none.out == "");
    CHECK(reduce_text("", {"--offsets", files.write("zeros.txt", "0\n0\n0\n")}).out == "0\n0\n");
    CHECK(is_usage_error(reduce_text("1\n", {"--offsets", "-"})));
}

TEST_CASE("--offsets: a variance takes more elements than are taken from n", "[program]") {
    const TemporaryDirectory files;
    const std::string offsets = files.write("o.txt", "0\n0\n1\n3\n6\n");
    for (const char* const method : {"exact", "tree", "serial"}) {
        const auto of_segments = [&](const char* op, const char* ddof) {
            return reduce_text("5\n1\n3\n2\n4\n9\n",
                               {"--op", op, "--ddof", ddof, "--offsets", offsets, "--method", method})
                .out;
        };
        CHECK(of_segments("variance", "0") == "nan\n0\n1\n8.666666666666666\n");
        CHECK(of_segments("variance", "1") == "nan\nnan\n2\n13\n");
        CHECK(of_segments("stddev", "7") == "nan\nnan\nnan\nnan\n");
    }
    CHECK(reduce_text("5\n1\n3\n2\n4\n9\n", {"--op", "prod", "--offsets", offsets}).out == "1\n5\n3\n72\n");
}

TEST_CASE("JSON of segments", "[program]") {
    const TemporaryDirectory files;
    const std::string offsets = files.write("o.txt", "0\n2\n2\n3\n");
    const auto json = [&](const char* op) {
        return nlohmann::json::parse(reduce_text("1\n2\n3\n", {"--json", "--op", op, "--offsets", offsets}).out);
    };
    CHECK(json("argmax")["indices"] == nlohmann::json({1, nullptr, 0}));
    CHECK(json("argmax")["shape"] == "segments");
    CHECK(json("max")["groups"] == 3);
    CHECK(json("max")["n"] == 3);
    CHECK(json("max")["values"][1]["decimal"] == "nan");
    CHECK(json("max")["values"][2]["value"] == "0x1.8p+1");
}

TEST_CASE("--offsets: numbers in no segment are told of", "[program]") {
    const TemporaryDirectory files;
    const std::string text = "1\n2\n3\n4\n5\n";
    const auto check = [&](const std::string& offsets, const std::string& sums, const std::string& note) {
        const Outcome o = reduce_text(text, {"--offsets", files.write("o.txt", offsets)});
        CHECK(o.code == 0);
        CHECK(o.out == sums);
        CHECK(o.err == note);
    };
    const std::string begins = "detreduce: note: --offsets: ";
    check("0\n2\n5\n", "3\n12\n", "");
    check("1\n2\n5\n", "2\n12\n",
          begins + "1 of 5 numbers are in no segment, 1 before the first offset and 0 from the last on\n");
    check("0\n2\n3\n", "3\n3\n",
          begins + "2 of 5 numbers are in no segment, 0 before the first offset and 2 from the last on\n");
    check("1\n3\n", "5\n",
          begins + "3 of 5 numbers are in no segment, 1 before the first offset and 2 from the last on\n");
    check("2\n", "", begins + "5 of 5 numbers are in no segment, 2 before the first offset and 3 from the last on\n");
    const Outcome ids = reduce_text(text, {"--ids", files.write("i.txt", "1\n1\n1\n2\n2\n"), "--groups", "4"});
    CHECK(ids.out == "0\n6\n9\n0\n"); // each number has a segment
    CHECK(ids.err.empty());
}

TEST_CASE("offsets that are wrong are refused, with the line or entry", "[program]") {
    const TemporaryDirectory files;
    const std::string file = files.write("x.npy", npy_of(std::vector<double>{1, 2, 3}));
    const auto check = [&](const char* name, const std::string& bytes, const std::string& why) {
        const Outcome o = run_program({"reduce", file, "--offsets", files.write(name, bytes)});
        CHECK(is_clean_failure(o));
        CHECK(says(o, why));
    };
    check("o.txt", "0\n\n2\n1\n",
          "o.txt', line 4: the offset 1 is less than the one before it, 2; offsets must not descend");
    check("o.txt", "0\n# 4\n4\n2\n", "o.txt', line 3: the offset 4 is past the end; allowed are 0 to 3");
    for (const char* const bad : {"-1", "1.0", "x", "1 2", "+1", "0x1", "18446744073709551616", "1e0"})
        check("o.txt", "0\n" + std::string(bad) + "\n", "line 2: '" + std::string(bad) + "' is not an offset");
    check("o.txt", "0\n18446744073709551615\n", "line 2: the offset 18446744073709551615 is past the end");
    check("o.txt", "# nothing\n", "o.txt' has no offsets; allowed are one or more");
    check("o.txt", "", "o.txt' has no offsets");
    check("o.npy", npy_of_integers("<u8", {0, 2, 1}), "o.npy', entry [2]: the offset 1 is less than");
    check("o.npy", npy_of_integers("<i8", {0, 4}), "o.npy', entry [1]: the offset 4 is past the end");
    check("o.npy", npy_of_integers("<i8", {-1, 2}), "o.npy', entry [0]: -1 is not an offset");
    check("o.npy", npy_of_integers("<u8", {-1, 2}), "entry [0]: the offset 18446744073709551615 is past the end");
    check("o.npy", npy_of_integers("<u8", {}), "o.npy' has no offsets");
    check("o.npy", npy_of(std::vector<double>{0, 3}),
          "o.npy' holds dtype '<f8'; allowed for offsets are '<u8', '<i8', '<u4' and '<i4'");
    check("o.npy", npy_file(npy_header("<i8", "(1, 2)"), bytes_of<std::int64_t>({0, 3})),
          "o.npy' has 2 dimensions; allowed for offsets is one");
    check("o.npy", npy_of_integers("<i8", {0, 3}).substr(0, 140), "is truncated");
    check("o.npy", npy_of_integers("<i8", {0, 3}) + "x", "holds 1 bytes more");
    const Outcome missing = run_program({"reduce", file, "--offsets", files.path("no.txt")});
    CHECK(is_clean_failure(missing));
    CHECK(says(missing, "No such file"));
}
