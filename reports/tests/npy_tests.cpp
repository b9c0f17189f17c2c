// .npy files: what is read, and each way in which one can be wrong.
#include <support/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>

#include <detreduce/types.hpp>

#include "program.hpp"

using namespace program_test;

namespace {

/// Both ways of reading: block after block, and mapped or in memory as a whole.
const std::vector<std::string> both_ways{"exact", "tree"};

Outcome reduce_bytes(const std::string& bytes, std::vector<std::string> more = {}) {
    const TemporaryDirectory directory;
    more.insert(more.begin(), {"reduce", directory.write("data.npy", bytes)});
    return run_program(more);
}

/// `bytes` must be refused with these words.
void check_refused(const std::string& bytes, const std::string& says, const std::vector<std::string>& more = {}) {
    for (const std::string& method : both_ways) {
        std::vector<std::string> arguments = more;
        arguments.insert(arguments.end(), {"--method", method});
        const Outcome o = reduce_bytes(bytes, arguments);
        INFO(method << ": " << o.err);
        CHECK(is_clean_failure(o));
        CHECK(o.err.find("data.npy") != std::string::npos);
        CHECK(o.err.find(says) != std::string::npos);
    }
}

const std::vector<double> three{1.5, -2.25, 1024};
const std::string three_bytes = bytes_of(three);
const std::string good_header = npy_header("<f8", "(3,)");

} // namespace

TEST_CASE("npy: versions 1, 2 and 3, f2, f4 and f8") {
    for (const int major : {1, 2, 3}) {
        CHECK(reduce_bytes(npy_of(three, major)).out == "1023.25\n");
        CHECK(reduce_bytes(npy_of(std::vector<float>{0.1f}, major)).out == "0.1\n");
        CHECK(reduce_bytes(npy_of(std::vector{detreduce::float16(1.0f), detreduce::float16(2.5f)}, major)).out ==
              "3.5\n");
    }
    CHECK(reduce_bytes(npy_of(three), {"--dtype", "f64"}).out == "1023.25\n");
    CHECK(reduce_bytes(npy_of(std::vector<double>{})).out == "0\n");
}

TEST_CASE("npy: headers in every spelling that Python reads") {
    for (const char* header : {
             "{'shape': (3,), 'fortran_order': False, 'descr': '<f8'}",
             "{ \"descr\" : \"<f8\" , \"fortran_order\" : False , \"shape\" : ( 3 , ) , } ",
             "{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }",
             "{'descr':'<f8','fortran_order':False,'shape':(3,)}",
         }) {
        INFO(header);
        CHECK(reduce_bytes(npy_file(header, three_bytes)).out == "1023.25\n");
    }
}

TEST_CASE("npy: data that are not aligned in the file give the same sum") {
    for (std::size_t padding = 0; padding < 8; ++padding) {
        const std::string header = good_header + std::string(padding, ' ');
        std::string file("\x93NUMPY\x01\x00", 8);
        file += static_cast<char>(header.size());
        file += '\0';
        for (const std::string& method : both_ways)
            CHECK(reduce_bytes(file + header + three_bytes, {"--method", method}).out == "1023.25\n");
    }
}

TEST_CASE("npy: float8 is read as what --dtype says, since the file does not") {
    const std::string bytes = {0x38, 0x3c, 0x41}; // 1, 1.5 and 2.25; or 0.5, 1 and 2.5
    for (const char* descr : {"|V1", "<V1", "<f1", "|f1"}) {
        const std::string file = npy_file(npy_header(descr, "(3,)"), bytes);
        CHECK(reduce_bytes(file, {"--dtype", "f8e4m3", "--output", "f64"}).out == "4.75\n");
        CHECK(reduce_bytes(file, {"--dtype", "f8e5m2", "--output", "f64"}).out == "4\n");
        CHECK(reduce_bytes(file, {"--dtype", "f8e4m3"}).out == "5\n"); // 4.75 is a tie of 4.5 and 5
        check_refused(file, "does not say which float8 it holds: --dtype is needed; allowed are f8e4m3, f8e5m2");
        check_refused(file, "does not say which float8 it holds", {"--dtype", "f32"});
    }
}

TEST_CASE("npy: what is not floats, integers or booleans, and Fortran order, is refused") {
    check_refused(npy_file(npy_header("<f8", "(3,)", true), three_bytes),
                  "Fortran order (fortran_order is True); allowed is C order");
    check_refused(npy_file(npy_header("<f8", "(3, 1)", true), three_bytes), "Fortran order");
    for (const char* descr : {"<V2", "|O", "<c8", "", "f8", "<i3", "|i2", "<f16", "|b2", "<b8", "=f8", "<U1", "<f:"}) {
        check_refused(npy_file(npy_header(descr, "(3,)"), three_bytes),
                      "dtype '" + std::string(descr) +
                          "'; allowed are floats f2, f4 and f8, float8 as V1 or f1, integers i1 to i8 and u1 to "
                          "u8, and bool");
    }
    std::string many = "(";
    for (int i = 0; i < 65; ++i)
        many += "1, ";
    check_refused(npy_file(npy_header("<f8", many + ")"), bytes_of<double>({1})),
                  "has 65 dimensions; allowed are at most 64");
    check_refused(npy_file("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (3,), }", three_bytes),
                  "dtype '[('x', '<f8')]'");
}

namespace {

/// The bytes of `values`, each of them the other way round.
template <class T>
std::string swapped(const std::vector<T>& values) {
    std::string bytes = bytes_of(values);
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
        std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                     bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
    return bytes;
}

/// What a file of these numbers gives, in either byte order and by both ways of reading: one
/// result, which is returned.
template <class T>
std::string result_of(const std::string& type, const std::vector<T>& values, std::vector<std::string> more = {}) {
    const std::string shape = "(" + std::to_string(values.size()) + ",)";
    std::string first;
    for (const bool big : {false, true}) {
        const std::string file =
            npy_file(npy_header((big ? ">" : "<") + type, shape), big ? swapped(values) : bytes_of(values));
        for (const char* op : {"mean", "minmax"}) {
            std::vector<std::string> arguments = more;
            arguments.insert(arguments.end(), {"--op", op, "--method", std::string(op) == "mean" ? "exact" : "tree"});
            first += reduce_bytes(file, arguments).out;
        }
    }
    CHECK(first.substr(0, first.size() / 2) == first.substr(first.size() / 2));
    return first.substr(0, first.size() / 2);
}

} // namespace

TEST_CASE("npy: either byte order, integers and booleans, without a rounding") {
    CHECK(result_of<double>("f8", {1.5, -2.25, 1024}) == "341.0833333333333\n-2.25 1024\n");
    CHECK(result_of<float>("f4", {0.1f, 0.1f}) == "0.1\n0.1 0.1\n");
    CHECK(result_of<std::uint16_t>("f2", {0x3c00, 0x4100}) == "1.75\n1 2.5\n");
    CHECK(result_of<std::int8_t>("i1", {-128, 127}) == "-0.5\n-128 127\n");
    CHECK(result_of<std::uint8_t>("u1", {0, 255}) == "127.5\n0 255\n");
    CHECK(result_of<std::int16_t>("i2", {-32768, 32767}) == "-0.5\n-32768 32767\n");
    CHECK(result_of<std::uint16_t>("u2", {0, 65535}) == "32767.5\n0 65535\n");
    CHECK(result_of<std::int32_t>("i4", {-2147483647 - 1, 2147483647}) == "-0.5\n-2147483648 2147483647\n");
    CHECK(result_of<std::uint32_t>("u4", {0, 4294967295}) == "2147483647.5\n0 4294967295\n");
    const std::int64_t most = std::int64_t{1} << 53;
    CHECK(result_of<std::int64_t>("i8", {-most, most - 2}) == "-1\n-9007199254740992 9007199254740990\n");
    CHECK(result_of<std::int64_t>("i8", {std::numeric_limits<std::int64_t>::min(), 0}) ==
          "-4611686018427387904\n-9223372036854775808 0\n");
    CHECK(result_of<std::uint64_t>("u8", {0, std::uint64_t{1} << 63}) ==
          "4611686018427387904\n0 9223372036854775808\n");
    CHECK(reduce_bytes(npy_file(npy_header("|b1", "(5,)"), std::string("\1\0\1\2\0", 5))).out == "3\n");
    const std::string json = reduce_bytes(npy_file(npy_header("|u1", "(2,)"), "ab"), {"--json"}).out;
    CHECK(json.find("\"dtype\":\"f32\"") != std::string::npos);
    CHECK(reduce_bytes(npy_file(npy_header("<i4", "(2,)"), bytes_of<std::int32_t>({1, 2})), {"--json"})
              .out.find("\"dtype\":\"f64\"") != std::string::npos);
    CHECK(result_of<std::int8_t>("i1", {-128, 127}, {"--dtype", "bf16", "--output", "f64"}) == "-0.5\n-128 127\n");
}

TEST_CASE("npy: integers that the dtype does not hold are refused, the first of them named") {
    const auto file = [](const char* descr, const auto& values) {
        return npy_file(npy_header(descr, "(" + std::to_string(values.size()) + ",)"), bytes_of(values));
    };
    const std::int64_t odd = (std::int64_t{1} << 53) + 1;
    check_refused(file("<i8", std::vector<std::int64_t>{1, -odd, odd}),
                  "element 1: -9007199254740993 is not exact as f64; allowed are integers that f64 holds, as all up to "
                  "2^53 are");
    check_refused(file("<u8", std::vector<std::uint64_t>{~std::uint64_t{0}}),
                  "element 0: 18446744073709551615 is not exact as f64");
    std::vector<std::int32_t> many(100000, 7);
    many[70001] = 16777217;
    check_refused(file("<i4", many), "element 70001: 16777217 is not exact as f32; allowed is a wider --dtype",
                  {"--dtype", "f32"});
    check_refused(file("<u2", std::vector<std::uint16_t>{65504, 65535}), "element 1: 65535 is not exact as f16",
                  {"--dtype", "f16"});
    check_refused(file("<i4", std::vector<std::int32_t>{65536}), "element 0: 65536 is not exact as f16",
                  {"--dtype", "f16"});
    check_refused(file("<i2", std::vector<std::int16_t>{256, 257}), "element 1: 257 is not exact as bf16",
                  {"--dtype", "bf16"});
}

TEST_CASE("npy: integers and big-endian numbers that are truncated, or too many") {
    for (const char* descr : {"<i4", ">i4", ">f4", "|u1", "<u2", "|b1"}) {
        const std::size_t size = static_cast<std::size_t>(descr[2] - '0');
        const std::string whole = npy_file(npy_header(descr, "(5,)"), std::string(5 * size, '\0'));
        CHECK(reduce_bytes(whole).out == "0\n");
        for (std::size_t cut = 1; cut <= 5 * size; ++cut)
            check_refused(whole.substr(0, whole.size() - cut), "is truncated: its header promises 5 elements of " +
                                                                   std::to_string(size) + " bytes, and " +
                                                                   std::to_string(5 * size - cut) + " bytes follow");
        check_refused(whole + "x", "holds 1 bytes more than the 5 elements");
        Streams streams{.input = whole.substr(0, whole.size() - 1)};
        streams.input_is_pipe = true;
        for (const char* op : {"sum", "max", "count_unique"}) { // in a state, in parts, at once
            const Outcome o = run_program({"reduce", "-", "--format", "npy", "--op", op}, streams);
            CHECK(is_clean_failure(o));
            CHECK(o.err.find("is truncated") != std::string::npos);
        }
    }
}

TEST_CASE("npy: --dtype that contradicts the file") {
    check_refused(npy_of(three), "holds f64, but --dtype says f32; leave --dtype out", {"--dtype", "f32"});
    check_refused(npy_of(std::vector<float>{1}), "holds f32, but --dtype says f64", {"--dtype", "f64"});
}

TEST_CASE("npy: truncated anywhere, or followed by more") {
    const std::string whole = npy_of(three);
    CHECK(reduce_bytes(whole).code == 0);
    for (std::size_t size = 0; size < whole.size(); size += size < 16 ? 1 : 7) {
        check_refused(whole.substr(0, size), size == 0 ? "is empty" : "is truncated");
    }
    check_refused(whole.substr(0, whole.size() - 1), "its header promises 3 elements of 8 bytes, and 23 bytes follow");
    check_refused(whole + "x", "holds 1 bytes more than the 3 elements of 8 bytes that its header promises");
    check_refused(whole + whole, "bytes more than the 3 elements");
    check_refused(npy_file(npy_header("<f8", "(2305843009213693952,)"), three_bytes),
                  "allowed are 0 to 2^40"); // 2^61 · 8 = 2^64
    check_refused(npy_file(npy_header("<f8", "(1099511627776,)"), three_bytes), "is truncated");
    check_refused(npy_file(npy_header("<f8", "(1099511627777,)"), three_bytes), "invalid argument 'n': ");
    check_refused(npy_file(npy_header("<f8", "(18446744073709551615,)"), three_bytes), "allowed are 0 to 2^40");
    check_refused(npy_file(npy_header("<f8", "(1, 4)"), three_bytes), "is truncated: its header promises 4 elements");
    check_refused(npy_file(npy_header("<f8", "(4294967296, 4294967296)"), three_bytes), // 2^64
                  "promises 4294967296 x 4294967296 elements; allowed are 0 to 2^40");
}

TEST_CASE("npy: not such a file at all") {
    check_refused("1\n2\n3\n", "is not a .npy file: it does not begin with \\x93NUMPY");
    check_refused(bytes_of(three), "is not a .npy file");
    check_refused("x", "is not a .npy file");
    std::string file = npy_of(three);
    file[6] = 4;
    check_refused(file, "has .npy version 4.0; allowed are 1.0, 2.0 and 3.0");
    file[6] = 0;
    check_refused(file, "has .npy version 0.0");
    file[6] = 1, file[7] = 1;
    check_refused(file, "has .npy version 1.1");
}

TEST_CASE("npy: malformed headers") {
    const std::string start = "{'descr': '<f8', 'fortran_order': False, 'shape': ";
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "expected {"},
        {"(3,)", "expected {"},
        {"{}", "one of the keys descr, fortran_order and shape is missing"},
        {"{'descr': '<f8', 'fortran_order': False}", "one of the keys"},
        {good_header + " x", "expected nothing more"},
        {good_header + good_header, "expected nothing more"},
        {start + "3}", "expected ("},
        {start + "(3)}", "expected , in (n,)"},
        {start + "(3 3)}", "expected , or )"},
        {start + "(-3,)}", "expected a dimension"},
        {start + "(3.0,)}", "expected , or )"},
        {start + "(,)}", "expected a dimension"},
        {start + "(99999999999999999999,)}", "a dimension beyond 64 bits"},
        {start + "(3,)", "expected }"},
        {start + "(3,) 'x': 1}", "expected }"},
        {start + "(3,), 'x': 1}", "unknown key 'x'"},
        {start + "(3,), '" + std::string(70, 'k') + "': 1}", "unknown key '" + std::string(60, 'k') + "…'"},
        {start + "(3,), 'shape': (3,)}", "a key given twice"},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}", "expected True or False"},
        {"{'descr': '<f8, }", "expected '"},
        {"{'descr': <f8, }", "expected \""},
        {"{'descr' '<f8', }", "expected :"},
    };
    for (const auto& [header, says] : cases) {
        INFO(header);
        check_refused(npy_file(header, three_bytes), "has a malformed .npy header: " + says);
    }
}

TEST_CASE("npy: bytes on standard input and names that say nothing, with --format") {
    Streams streams;
    streams.input = npy_of(three);
    CHECK(run_program({"reduce", "-", "--format", "npy"}, streams).out == "1023.25\n");
    streams.input_is_pipe = true;
    CHECK(run_program({"reduce", "-", "--format", "npy"}, streams).out == "1023.25\n");
    CHECK(run_program({"reduce", "/dev/stdin", "--format", "npy"}, streams).out == "1023.25\n");
    const TemporaryDirectory directory;
    CHECK(run_program({"reduce", directory.write("DATA.NPY", npy_of(three))}).out == "1023.25\n");
    CHECK(run_program({"reduce", directory.write("data", npy_of(three)), "--format", "npy"}).out == "1023.25\n");
}

TEST_CASE("files that are missing, directories, unreadable") {
    const TemporaryDirectory directory;
    Outcome o = run_program({"reduce", directory.path("no.npy")});
    CHECK(is_clean_failure(o));
    CHECK(o.err == "detreduce: cannot read '" + directory.path("no.npy") + "': No such file or directory\n");
    const std::string long_name = directory.path(std::string(100, 'x') + ".npy");
    CHECK(run_program({"reduce", long_name}).err ==
          "detreduce: cannot read '" + long_name + "': No such file or directory\n");
    for (const char* name : {"d.npy", "d.bin", "d.txt"}) {
        std::filesystem::create_directory(directory.path(name));
        o = run_program({"reduce", directory.path(name), "--dtype", "f64"});
        CHECK(is_clean_failure(o));
        CHECK(o.err.find("Is a directory\n") != std::string::npos);
    }
    const std::string secret = directory.write("secret.npy", npy_of(three));
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    o = run_program({"reduce", secret});
    if (o.code != 0) { // root may read everything
        CHECK(is_clean_failure(o));
        CHECK(o.err.find("Permission denied\n") != std::string::npos);
    }
}

TEST_CASE("unusual file names") {
    const TemporaryDirectory directory;
    for (const char* name :
         {"with space.npy", "ümlaut.npy", "quote'\".npy", "-dash.npy", "new\nline.npy", ".npy.npy", "a.b.npy"}) {
        INFO(name);
        CHECK(run_program({"reduce", directory.write(name, npy_of(three))}).out == "1023.25\n");
    }
}

TEST_CASE("npy: of a stream no more is read than its header promises") {
    const std::string method = GENERATE(std::string("exact"), std::string("tree"));
    const auto says = [&](const std::string& bytes) {
        Streams streams;
        streams.input = bytes;
        streams.input_is_pipe = true;
        const Outcome o = run_program({"reduce", "-", "--format", "npy", "--method", method}, streams);
        CHECK(is_clean_failure(o));
        return o.err;
    };
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    CHECK(has(says(npy_of(three) + std::string(100, 'x')), "holds bytes more than the 3 elements of 8 bytes"));
    CHECK(has(says(npy_of(three).substr(0, 140)), "is truncated: its header promises 3 elements"));
    CHECK(has(says(npy_file(npy_header("<f8", "(1099511627777,)"), "")), "invalid argument 'n': standard input"));
    CHECK(has(says(std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12)), "allowed are at most 67108864"));
    CHECK(has(says(std::string("\x93NUMPY\x02\x00\x01\x00\x00\x04", 12)), "header of 67108865 bytes; allowed are at"));
    CHECK(has(says(std::string("\x93NUMPY\x02\x00\x00\x00\x00\x04", 12)), "it ends within its .npy header"));
    const TemporaryDirectory directory;
    std::filesystem::create_symlink("/dev/zero", directory.path("endless.npy"));
    const Outcome o = run_program({"reduce", directory.path("endless.npy")});
    CHECK(is_clean_failure(o));
    CHECK(has(o.err, "is not a .npy file"));
}
