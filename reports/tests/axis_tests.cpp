// --axis of arrays of any number of dimensions, and of axes counted from the end.
#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "axis.hpp"
#include "failure.hpp"
#include "program.hpp"

using namespace program_test;
using detreduce::program::Axis;
using detreduce::program::Failure;
using detreduce::program::find_axis;
using detreduce::program::Layout;

namespace {

using Shape = std::vector<std::uint64_t>;

/// Calls f(index) for every index of the shape, in C order.
template <class F>
void for_each_index(const Shape& shape, const F& f) {
    std::uint64_t n = 1;
    for (const std::uint64_t d : shape)
        n *= d;
    for (std::uint64_t k = 0; k < n; ++k) {
        Shape index(shape.size());
        std::uint64_t rest = k;
        for (std::size_t i = shape.size(); i-- > 0;) {
            index[i] = rest % shape[i];
            rest /= shape[i];
        }
        f(index);
    }
}

/// A number of its own for each index, so that whatever is mixed up shows.
float element(const Shape& index) {
    std::uint64_t code = 7;
    for (const std::uint64_t i : index)
        code = code * 31 + i;
    return static_cast<float>(code % 1009) - 300.25f;
}

std::string array_file(const Shape& shape, bool fortran) {
    std::vector<float> data;
    if (!fortran) {
        for_each_index(shape, [&](const Shape& index) { data.push_back(element(index)); });
    } else {
        for_each_index(Shape(shape.rbegin(), shape.rend()),
                       [&](const Shape& index) { data.push_back(element(Shape(index.rbegin(), index.rend()))); });
    }
    return npy_file(npy_header("<f4", detreduce::program::shape_text(shape), fortran), bytes_of(data));
}

/// The numbers of each result, in C order of the other axes, reduced alone.
std::string expected(const std::string& op, const std::string& method, const Shape& shape, std::size_t axis) {
    Shape others = shape;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    std::string text;
    for_each_index(others, [&](Shape index) {
        std::vector<float> x;
        index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), 0);
        for (index[axis] = 0; index[axis] < shape[axis]; ++index[axis])
            x.push_back(element(index));
        const TemporaryDirectory directory;
        text += run_program({"reduce", directory.write("x.npy", npy_of(x)), "--op", op, "--method", method}).out;
    });
    return text;
}

} // namespace

TEST_CASE("--axis: any axis of any number of dimensions, in C and Fortran order", "[program]") {
    const TemporaryDirectory directory;
    for (const Shape& shape : {Shape{5}, Shape{2, 3, 4}, Shape{3, 1, 2}, Shape{1, 4, 1}, Shape{2, 3, 1, 2}}) {
        const std::string files[] = {directory.write("c.npy", array_file(shape, false)),
                                     directory.write("f.npy", array_file(shape, true))};
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            const bool minmax = axis % 2 == 0; // of two results each
            const std::string op = minmax ? "minmax" : "sum", method = minmax ? "exact" : "tree";
            const std::string all = expected(op, method, shape, axis);
            for (const std::string& file : files) {
                for (const int from_end : {0, 1}) {
                    const int k = static_cast<int>(axis) - from_end * static_cast<int>(shape.size());
                    INFO(file << " axis " << k << " of " << detreduce::program::shape_text(shape));
                    CHECK(run_program({"reduce", file, "--axis", std::to_string(k), "--op", op, "--method", method})
                              .out == all);
                }
            }
        }
    }
}

TEST_CASE("--axis: what JSON says of it, and of indices, counts and two files", "[program]") {
    const TemporaryDirectory directory;
    const std::string file = directory.write("a.npy", array_file({2, 3, 4}, false));
    const auto json = nlohmann::json::parse(run_program({"reduce", file, "--axis", "-2", "--json"}).out);
    CHECK(json["shape"] == "axis");
    CHECK(json["axis"] == 1);
    CHECK(json["remaining"] == std::vector<int>{2, 4});
    CHECK(json["groups"] == 8);
    CHECK(json["n"] == 3);
    CHECK(json["values"].size() == 8);
    CHECK(json["guarantee"] == "order");
    for (const char* op : {"argmin", "count_nonzero", "count_unique"})
        CHECK(run_program({"reduce", file, "--axis", "1", "--op", op}).out == expected(op, "exact", {2, 3, 4}, 1));
    CHECK(run_program({"reduce", file, "--axis", "1", "--op", "dot", "--with", file}).out ==
          run_program({"reduce", file, "--axis", "1", "--op", "sumsq"}).out);
}

TEST_CASE("no dimensions, or more than two, as a whole", "[program]") {
    const TemporaryDirectory directory;
    const std::string scalar = directory.write("s.npy", npy_file(npy_header("<f8", "()"), bytes_of<double>({2.5}))),
                      cube = directory.write("c.npy",
                                             npy_file(npy_header("<f8", "(2, 1, 2)"), bytes_of<double>({1, 2, 3, 4})));
    for (const char* method : {"exact", "tree"}) {
        CHECK(run_program({"reduce", scalar, "--method", method}).out == "2.5\n");
        CHECK(run_program({"reduce", cube, "--method", method}).out == "10\n");
    }
    const Outcome o = run_program({"reduce", scalar, "--axis", "0"});
    CHECK(is_clean_failure(o));
    CHECK(o.err.find("has no axes, as its shape is ()") != std::string::npos);
}

TEST_CASE("--axis of hostile shapes", "[program]") {
    const std::uint64_t large = std::uint64_t{1} << 40;
    CHECK(find_axis("x", {{0, large}, false}, 0).results() == large);
    CHECK_THROWS_AS(find_axis("x", {{0, large, large}, false}, 0), Failure); // 2^80 results of no numbers
    CHECK_THROWS_AS(find_axis("x", {{large, 0, large}, true}, 1), Failure);
    CHECK_THROWS_AS(find_axis("x", {{~std::uint64_t{0}, 3}, false}, 1), Failure);
    CHECK_THROWS_AS(find_axis("x", {{2, 3}, false}, 2), Failure);
    CHECK_THROWS_AS(find_axis("x", {{2, 3}, false}, -3), Failure);
    CHECK_THROWS_AS(find_axis("x", {{}, false}, 0), Failure);
    const Axis middle = find_axis("x", {{2, 3, 4, 5}, true}, -3);
    CHECK((middle.outer == 20 && middle.n == 3 && middle.inner == 2 && middle.index == 1));
    const TemporaryDirectory directory;
    const std::string file =
        directory.write("x.npy", npy_file(npy_header("<f8", "(1099511627776, 0, 1099511627776)"), ""));
    const Outcome o = run_program({"reduce", file, "--axis", "1"});
    CHECK(is_clean_failure(o));
    CHECK(o.err.find("too many results along this axis") != std::string::npos);
    CHECK(run_program({"reduce", directory.write("e.npy", npy_file(npy_header("<f8", "(2, 0, 2)"), "")), "--axis", "1"})
              .out == "0\n0\n0\n0\n");
}
