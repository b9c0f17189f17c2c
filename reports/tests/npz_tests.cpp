// .npz files: stored and deflated members, and what can be wrong with an archive.
#include <support/catch.hpp>

#include <cstring>
#include <span>

#include <zip.h>

#include "failure.hpp"
#include "npz.hpp"
#include "program.hpp"

using namespace program_test;

namespace {

struct MemberFile {
    std::string name, bytes;
};

/// An archive that libzip writes.
std::string npz_of(const std::vector<MemberFile>& members, int method = ZIP_CM_DEFLATE) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("a.npz");
    zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
    REQUIRE(archive != nullptr);
    for (const MemberFile& m : members) {
        zip_source_t* const source = zip_source_buffer(archive, m.bytes.data(), m.bytes.size(), 0);
        const zip_int64_t at = zip_file_add(archive, m.name.c_str(), source, 0);
        REQUIRE(at >= 0);
        REQUIRE(zip_set_file_compression(archive, static_cast<zip_uint64_t>(at), method, 1) == 0);
    }
    REQUIRE(zip_close(archive) == 0);
    return read_file(path);
}

Outcome reduce_archive(const std::string& bytes, const std::string& member = "", std::vector<std::string> more = {}) {
    const TemporaryDirectory directory;
    more.insert(more.begin(), {"reduce", directory.write("a.npz", bytes) + (member.empty() ? "" : ":" + member)});
    return run_program(more);
}

bool says(const Outcome& o, const std::string& text) {
    INFO(o.err);
    CHECK(o.err.find(text) != std::string::npos);
    return is_clean_failure(o);
}

std::vector<double> ramp(std::size_t n) {
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = static_cast<double>(i);
    return x;
}

} // namespace

TEST_CASE("npz: members that are stored or deflated, by name or alone", "[program]") {
    const std::vector<double> x = ramp(100000), y{1.5, 2.5};
    for (const int method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
        const std::string one = npz_of({{"x.npy", npy_of(x)}}, method),
                          two = npz_of({{"x.npy", npy_of(x)}, {"y.npy", npy_of(y)}, {"plain", npy_of(y)}}, method);
        for (const char* op : {"sum", "asum", "prod"}) { // a state, parts, at once
            const std::string sum = std::string(op) == "prod" ? "0\n" : "4999950000\n";
            CHECK(reduce_archive(one, "", {"--op", op}).out == sum);
            CHECK(reduce_archive(one, "x", {"--op", op}).out == sum);
            CHECK(reduce_archive(two, "x.npy", {"--op", op}).out == sum);
        }
        CHECK(reduce_archive(two, "y").out == "4\n");
        CHECK(reduce_archive(two, "plain").out == "4\n");
        CHECK(
            says(reduce_archive(two), "has 3 members; say which, as in data.npz:NAME; allowed are 'x', 'y', 'plain'"));
        CHECK(says(reduce_archive(two, "z"), "has no member 'z'; allowed are 'x', 'y', 'plain'"));
        for (const bool pipe : {false, true}) {
            Streams streams{.input = one};
            streams.input_is_pipe = pipe;
            CHECK(run_program({"reduce", "-", "--format", "npz"}, streams).out == "4999950000\n");
        }
        const TemporaryDirectory directory;
        const std::string path = directory.write("B.NPZ", two);
        CHECK(run_program({"reduce", path + ":y", "--op", "dot", "--with", path + ":plain"}).out == "8.5\n");
    }
    const std::string matrix = npy_file(npy_header("<i2", "(2, 2)"), bytes_of<std::int16_t>({1, 2, 3, 4}));
    CHECK(reduce_archive(npz_of({{"m.npy", matrix}}), "m", {"--axis", "0"}).out == "4\n6\n");
}

TEST_CASE("npz: a name is tried as it is before NAME.npy, and two members of a name are refused", "[program]") {
    const std::vector<double> one{1}, two{2}, four{4};
    const std::string both = npz_of({{"x.npy", npy_of(one)}, {"x", npy_of(two)}, {"x.npy.npy", npy_of(four)}});
    CHECK(reduce_archive(both, "x").out == "2\n");
    CHECK(reduce_archive(both, "x.npy").out == "1\n");
    CHECK(reduce_archive(both, "x.npy.npy").out == "4\n");
    std::string twice = npz_of({{"x.npy", npy_of(one)}, {"z.npy", npy_of(two)}, {"w.npy", npy_of(four)}});
    for (std::size_t at = twice.find("z.npy"); at != std::string::npos; at = twice.find("z.npy"))
        twice[at] = 'x'; // libzip writes no such archive
    CHECK(says(reduce_archive(twice, "x"), "a.npz' has 2 members named 'x.npy'; allowed is one of a name"));
    CHECK(says(reduce_archive(twice, "x.npy"), "has 2 members named 'x.npy'"));
    CHECK(reduce_archive(twice, "w").out == "4\n");
}

TEST_CASE("npz: archives that are damaged", "[program]") {
    const std::string good = npz_of({{"x.npy", npy_of(ramp(1000))}}, ZIP_CM_STORE);
    CHECK(says(reduce_archive(""), "a.npz' is empty"));
    CHECK(says(reduce_archive("no zip at all"), "a.npz' is not an .npz file: "));
    CHECK(says(reduce_archive(npy_of(ramp(10))), "is not an .npz file"));
    for (const std::size_t kept : {std::size_t{10}, good.size() / 2, good.size() - 1})
        CHECK(says(reduce_archive(good.substr(0, kept)), "is not an .npz file"));
    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1); // one bit of a number
    for (const char* op : {"sum", "max", "count_unique"})
        CHECK(says(reduce_archive(flipped, "", {"--op", op}), "is damaged: CRC error"));
    const std::size_t directory = good.rfind("PK\x01\x02"), end = good.rfind("PK\x05\x06");
    const auto with = [&](std::size_t at, std::initializer_list<int> bytes) {
        std::string changed = good;
        for (const int b : bytes)
            changed[at++] = static_cast<char>(b);
        return changed;
    };
    CHECK(is_clean_failure(reduce_archive(with(directory, {0, 0}))));                        // no entry there
    CHECK(is_clean_failure(reduce_archive(with(directory + 24, {0xff, 0xff, 0xff, 0x7f})))); // the length of the member
    CHECK(is_clean_failure(reduce_archive(with(directory + 20, {0x10, 0}))));                // its compressed length
    CHECK(is_clean_failure(reduce_archive(with(directory + 42, {0xff, 0xff, 0, 0}))));       // where it lies
    CHECK(is_clean_failure(reduce_archive(with(end + 16, {0xff, 0xff, 0xff, 0x7f}))));       // where the directory lies
    CHECK(is_clean_failure(reduce_archive(with(end + 10, {0xff, 0xfe}))));                   // how many members
    CHECK(says(reduce_archive(npz_of({})), "is"));
    CHECK(says(reduce_archive(npz_of({{"x.npy", "1\n2\n"}})), "is not a .npy file"));
    CHECK(says(reduce_archive(npz_of({{"x.npy", npy_of(ramp(3)).substr(0, 140)}})), "is truncated"));
    CHECK(says(reduce_archive(npz_of({{"x.npy", npy_of(ramp(3)) + "x"}})), "holds 1 bytes more"));
    CHECK(says(reduce_archive(npz_of({{"x.npy", npy_of(ramp(3))}}, ZIP_CM_BZIP2)), "compressed by method 12 of zip"));
}

TEST_CASE("npz: deflated zeros take no memory, and a header that lies is found at once", "[program]") {
    if (!address_space_is_limitable) return;
    const std::uint64_t n = std::uint64_t{1} << 25; // f64: 256 MiB that deflate to a MiB
    const std::string header = npy_file(npy_header("<f8", "(" + std::to_string(n) + ",)"), "");
    const std::string bomb = npz_of({{"x.npy", header + std::string(n * 8, '\0')}});
    CHECK(bomb.size() < std::size_t{2} << 20);
    const TemporaryDirectory directory;
    const std::string path = directory.write("a.npz", bomb);
    Streams streams;
    streams.memory_limit = std::uint64_t{256} << 20;
    CHECK(run_program({"reduce", path, "--op", "max", "--threads", "1"}, streams).out == "0\n");
    const Outcome whole = run_program({"reduce", path, "--op", "count_unique", "--threads", "1"}, streams);
    CHECK(says(whole, "not enough memory"));
    const std::string liar = npy_file(npy_header("<f8", "(1099511627776,)"), std::string(80, '\0'));
    CHECK(says(reduce_archive(npz_of({{"x.npy", liar}})), "is truncated: its header promises 1099511627776 elements"));
}

TEST_CASE("npz: readers take archives in memory", "[program]") {
    using namespace detreduce::program;
    const std::string good = npz_of({{"x.npy", npy_of(ramp(10))}});
    const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); };
    auto numbers = open_numbers(open_npz_member("memory", bytes(good), "x"), Format::npz, std::nullopt);
    CHECK(numbers->all().n == 10);
    for (std::size_t size = 0; size < good.size(); ++size) {
        const std::string part = good.substr(0, size);
        CHECK_THROWS_AS(open_npz_member("memory", bytes(part), ""), Failure);
    }
    for (std::size_t at = 0; at < good.size(); ++at) { // any single byte: refused, or not looked at
        std::string changed = good;
        changed[at] = static_cast<char>(changed[at] ^ 0x55);
        try {
            const Numbers all =
                open_numbers(open_npz_member("memory", bytes(changed), ""), Format::npz, std::nullopt)->all();
            CHECK(std::memcmp(all.data, ramp(10).data(), 80) == 0);
        } catch (const Failure&) {
        }
    }
}
