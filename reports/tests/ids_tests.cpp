// `detreduce reduce --ids`: segments by id are what --offsets has of the same segments.
#include <algorithm>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace program_test;

namespace {

std::vector<float> numbers(std::size_t n) {
    std::vector<float> all(n);
    for (std::size_t i = 0; i < n; ++i)
        all[i] =
            (i % 7 == 3 ? -1.0f : 1.0f) * (0.1f + static_cast<float>(i * 7919 % 1013)) * (i % 11 == 0 ? 1e5f : 1.0f);
    return all;
}

std::string npy_of_integers(const std::string& descr, const std::vector<std::int64_t>& values) {
    const std::vector<std::int32_t> narrow(values.begin(), values.end());
    return npy_file(npy_header(descr, "(" + std::to_string(values.size()) + ",)"),
                    descr.ends_with('4') ? bytes_of(narrow) : bytes_of(values));
}

bool says(const Outcome& o, const std::string& text) {
    INFO(o.err);
    CHECK(o.err.find(text) != std::string::npos);
    return o.err.find(text) != std::string::npos;
}

struct Case {
    const char *op, *method;
};
constexpr Case cases[] = {
    {"sum", "exact"}, {"mean", "compensated"}, {"nrm2", "tree"}, {"min", "exact"}, {"argmax", "tree"}};

} // namespace

TEST_CASE("--ids: what --offsets has of the same segments, from text and from .npy", "[program]") {
    const TemporaryDirectory files;
    const auto x = numbers(9000);
    const std::string file = files.write("x.npy", npy_of(x));
    const std::vector<std::int64_t> cuts{0, 0, 3, 3, 5000, 9000, 9000}; // an empty one at each end, and one within
    std::vector<std::int64_t> ids;
    std::string text = "# segments\n\n", offsets;
    for (std::size_t g = 0; g + 1 < cuts.size(); ++g)
        ids.insert(ids.end(), static_cast<std::size_t>(cuts[g + 1] - cuts[g]), static_cast<std::int64_t>(g));
    for (const auto id : ids)
        text += std::to_string(id) + "\r\n";
    for (const auto cut : cuts)
        offsets += std::to_string(cut) + "\n";
    const std::string offsets_file = files.write("o.txt", offsets);
    for (const std::string& of_ids :
         {files.write("ids.txt", text), files.write("u8.npy", npy_of_integers("<u8", ids)),
          files.write("i8.npy", npy_of_integers("<i8", ids)), files.write("u4.npy", npy_of_integers("<u4", ids)),
          files.write("i4.npy", npy_of_integers("<i4", ids))}) {
        for (const Case& c : cases) {
            INFO(of_ids << ": " << c.op << " " << c.method);
            const auto reduce = [&](std::vector<std::string> how) {
                how.insert(how.begin(), {"reduce", file, "--op", c.op, "--method", c.method});
                return run_program(how);
            };
            const std::string expected = reduce({"--offsets", offsets_file}).out;
            const Outcome six = reduce({"--ids", of_ids, "--groups", "6"});
            CHECK(six.err.empty());
            CHECK(six.out == expected);
            const Outcome five = reduce({"--ids", of_ids}); // the last that has numbers is number 4
            CHECK(five.err.empty());
            CHECK(expected.starts_with(five.out));
            CHECK(std::count(five.out.begin(), five.out.end(), '\n') == 5);
        }
    }
}

TEST_CASE("--ids of text, two files, standard input and nothing", "[program]") {
    const TemporaryDirectory files;
    const std::string ids = files.write("ids.txt", "0\n0\n1\n1\n3"), text = files.write("x.txt", "1\n2\n3\n4\n5\n"),
                      empty = files.write("none.txt", "# nothing\n");
    CHECK(run_program({"reduce", text, "--ids", ids}).out == "3\n7\n0\n5\n");
    CHECK(run_program({"reduce", text, "--ids", ids, "--groups", "05"}).out == "3\n7\n0\n5\n0\n");
    CHECK(run_program({"reduce", text, "--with", text, "--op", "dot", "--ids", ids}).out == "5\n25\n0\n25\n");
    CHECK(reduce_text("1\n2\n3\n4\n5\n", {"--ids", ids}).out == "3\n7\n0\n5\n");
    CHECK(run_program({"reduce", text, "--ids", "-"}, {.input = "2\n2\n2\n2\n2\n"}).out == "0\n0\n15\n");
    CHECK(reduce_text("", {"--ids", empty, "--groups", "2"}).out == "0\n0\n");
    for (const auto& more : {std::vector<std::string>{}, {"--groups", "0"}}) {
        std::vector<std::string> arguments{"--ids", empty};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome none = reduce_text("", arguments);
        CHECK(none.code == 0);
        CHECK(none.out.empty());
    }
    const auto json =
        nlohmann::json::parse(run_program({"reduce", text, "--ids", ids, "--json", "--op", "argmax"}).out);
    CHECK(json["shape"] == "segments");
    CHECK(json["groups"] == 4);
    CHECK(json["n"] == 5);
    CHECK(json["indices"] == nlohmann::json({1, 1, nullptr, 0}));
}

TEST_CASE("ids that are wrong are refused, with the line or entry", "[program]") {
    const TemporaryDirectory files;
    const std::string file = files.write("x.npy", npy_of(std::vector<double>{1, 2, 3}));
    const auto check = [&](const char* name, const std::string& bytes, const std::string& why,
                           const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"reduce", file, "--ids", files.write(name, bytes)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome o = run_program(arguments);
        CHECK(is_clean_failure(o));
        CHECK(says(o, why));
    };
    check("i.txt", "0\n\n2\n1\n", "i.txt', line 4: the id 1 is less than the one before it, 2; ids must not descend");
    check("i.txt", "0\n1\n2\n",
          "line 3: the id 2 is past the end; allowed are those less than 2, the number of segments", {"--groups", "2"});
    check("i.txt", "0\n0\n0\n", "line 1: the id 0 is past the end; allowed are those less than 0", {"--groups", "0"});
    check("i.txt", "0\n0\n1099511627776\n", "allowed are those less than 1099511627776");
    check("i.txt", "0\n0\n", "i.txt' has 2 ids, but there are 3 numbers; each number must have one");
    check("i.txt", "0\n0\n0\n1\n", "i.txt' has 4 ids, but there are 3 numbers");
    check("i.txt", "", "i.txt' has 0 ids");
    for (const char* const bad : {"-1", "1.0", "x", "18446744073709551616"})
        check("i.txt", "0\n" + std::string(bad) + "\n", "line 2: '" + std::string(bad) + "' is not an id");
    check("i.npy", npy_of_integers("<i4", {0, 2, 1}), "i.npy', entry [2]: the id 1 is less than");
    check("i.npy", npy_of_integers("<i4", {0, -1, 1}), "i.npy', entry [1]: -1 is not an id; allowed are 0 and more");
    check("i.npy", npy_of_integers("<i8", {-7, 1, 1}), "i.npy', entry [0]: -7 is not an id");
    check("i.npy", npy_of_integers("<u4", {0, 1, -1}), "entry [2]: the id 4294967295 is past the end",
          {"--groups", "9"});
    check("i.npy", npy_of(std::vector<float>{0, 1, 2}), "allowed for ids are '<u8', '<i8', '<u4' and '<i4'");
    check("i.npy", npy_of_integers("<i4", {0, 0, 0}) + "x", "holds 1 bytes more");
    CHECK(says(run_program({"reduce", file, "--ids", files.path("no.txt")}), "No such file"));
}

TEST_CASE("--ids and --groups where they have no meaning", "[program]") {
    const TemporaryDirectory files;
    const std::string matrix = files.write("m.npy", npy_file(npy_header("<f8", "(1, 2)"), bytes_of<double>({1, 2}))),
                      ids = files.write("i.txt", "0\n0\n"), state = files.path("s.state");
    const auto check = [&](const std::vector<std::string>& more, const std::string& why) {
        std::vector<std::string> arguments{"reduce", matrix};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome o = run_program(arguments);
        CHECK(is_usage_error(o));
        CHECK(says(o, why));
    };
    check({"--ids", ids, "--axis", "1"}, "allowed is one of them");
    check({"--ids", ids, "--offsets", ids}, "allowed is one of them");
    check({"--groups", "2"}, "--groups: offsets and matrices say how many groups they have; allowed with --ids");
    check({"--groups", "2", "--offsets", ids}, "allowed with --ids");
    check({"--ids", ids, "--save-state", state}, "allowed without --axis, --offsets and --ids");
    check({"--ids", ids, "--add-state", state}, "allowed without --axis, --offsets and --ids");
    for (const char* const bad : {"-1", "x", "1099511627777", "1.5"})
        check({"--ids", ids, "--groups=" + std::string(bad)}, "is not a number of segments; allowed are 0 to 2^40");
    CHECK(run_program({"reduce", matrix, "--ids", ids}).out == "3\n");
    CHECK(is_usage_error(reduce_text("1\n", {"--ids", "-"})));
}
