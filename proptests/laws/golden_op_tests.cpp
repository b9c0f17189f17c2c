// What the golden table of ops and shapes holds: everything that both backends offer, and
// fingerprints that are what they are said to be.
#include <algorithm>
#include <cstring>
#include <set>

#include <detreduce/detreduce.hpp>
#include <detreduce/fp/convert.hpp>

#include <support/catch.hpp>

#include "golden/compare.hpp"
#include "golden/compute.hpp"
#include "golden/fingerprint.hpp"

namespace detreduce::golden {
namespace {

const Table& table() {
    static const Table parsed = parse_table(embedded_table());
    return parsed;
}

template <class Wanted>
std::vector<Entry> entries(const Wanted& wanted) {
    std::vector<Entry> found;
    std::copy_if(table().entries.begin(), table().entries.end(), std::back_inserter(found),
                 [&](const Entry& e) { return wanted(e.of); });
    return found;
}

/// By both backends.
bool is_offered(Op op, Shape shape, Method method, DType dtype) {
    if (has_8_bits(dtype) && shape == Shape::tensors) return false;
    return make_plan({.op = op, .method = method, .dtype = dtype, .shape = shape, .n = 8, .device = cpu}).status().ok();
}

/// Group g of a case that has groups: its elements alone, as a flat case.
Input group_of(const Case& c, const Input& in, std::uint64_t g) {
    const bool columns = c.shape == Shape::columns, segments = c.shape == Shape::segments;
    const std::uint64_t stride = c.stride != 0 ? c.stride : columns ? c.groups : c.n;
    const std::uint64_t begin = segments ? in.offsets[g] : columns ? g : g * stride, step = columns ? stride : 1;
    const std::size_t size = size_of(c.dtype);
    Input group{.elements = segments ? in.offsets[g + 1] - begin : c.n};
    const auto part = [&](const std::shared_ptr<const void>& from) {
        const auto bytes = std::make_shared<std::vector<std::uint64_t>>(group.elements * size / 8 + 1);
        for (std::uint64_t i = 0; i < group.elements; ++i) {
            std::memcpy(reinterpret_cast<char*>(bytes->data()) + i * size,
                        static_cast<const char*>(from.get()) + (begin + i * step) * size, size);
        }
        return std::shared_ptr<const void>(bytes, bytes->data());
    };
    group.x = part(in.x);
    if (in.y != nullptr) group.y = part(in.y);
    return group;
}

std::uint64_t fingerprint_of_groups(const Case& c, const Input& in) {
    std::uint64_t fingerprint = empty_fingerprint;
    for (std::uint64_t g = 0; g < c.groups; ++g) {
        const Input group = group_of(c, in, g);
        Case alone = c;
        alone.shape = Shape::flat;
        alone.n = group.elements;
        alone.groups = 1;
        alone.stride = 0;
        fingerprint = fingerprint_with(fingerprint, reduce_on_cpu(alone, group), result_bytes_of(c));
    }
    return fingerprint;
}

} // namespace

TEST_CASE("golden ops: every op, shape, method and dtype is there", "[golden]") {
    for (const OpInfo& op : ops()) {
        for (const Shape shape : {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors}) {
            for (const DType dtype : dtypes()) {
                for (const Method method : golden_methods()) {
                    if (!is_offered(op.op, shape, method, dtype)) continue;
                    const bool one_method = op.kind == Kind::order || op.kind == Kind::count;
                    INFO(op.name << ' ' << name(shape) << ' ' << name(method) << ' ' << name(dtype));
                    CHECK(entries([&](const Case& c) {
                              return c.op == op.op && c.shape == shape && c.dtype == dtype &&
                                     (one_method || c.method == method);
                          }).size() >= 2);
                }
            }
        }
    }
}

TEST_CASE("golden ops: ops that compare or count are there by each method, and with each policy for NaN", "[golden]") {
    for (const OpInfo& op : ops()) {
        if (op.kind != Kind::order && op.kind != Kind::count) continue;
        std::set<Method> methods;
        std::set<NanPolicy> policies;
        for (const Entry& e : entries([&](const Case& c) { return c.op == op.op; })) {
            methods.insert(e.of.method);
            policies.insert(e.of.nan);
        }
        INFO(op.name);
        CHECK(methods.size() == golden_methods().size());
        CHECK(policies.size() == (op.kind == Kind::order ? 2 : 1));
    }
}

TEST_CASE("golden ops: the fingerprint of groups is that of each alone, one after the other", "[golden]") {
    for (const Shape shape : {Shape::rows, Shape::columns, Shape::segments}) {
        const bool empty_ones = shape == Shape::segments; // which flat arrays cannot be in means
        std::vector<Entry> some = entries([&](const Case& c) {
            const bool is_order = info(c.op).kind == Kind::order && c.op != Op::nrminf;
            const bool flat_can =
                !empty_ones || !(is_order || info(c.op).finalize == Finalize::mean || info(c.op).kind == Kind::moments);
            return c.shape == shape && c.dtype != DType::f64 && flat_can;
        });
        REQUIRE(some.size() > 30);
        for (std::size_t i = 0; i < some.size(); i += some.size() / 15) {
            INFO(line_of(some[i]));
            if (info(some[i].of.op).results != 1) continue;
            CHECK(fingerprint_of_groups(some[i].of, input_of(some[i].of)) == some[i].bits);
        }
    }
}

TEST_CASE("golden ops: segments are empty, short, beside boundaries, and one is large", "[golden]") {
    for (const DType dtype : dtypes()) {
        for (const Entry& e : entries([&](const Case& c) { return c.shape == Shape::segments && c.dtype == dtype; })) {
            const auto offsets = offsets_of(e.of);
            std::vector<std::uint64_t> lengths;
            for (std::size_t g = 0; g < e.of.groups; ++g)
                lengths.push_back(offsets[g + 1] - offsets[g]);
            CHECK(std::is_sorted(offsets.begin(), offsets.end()));
            CHECK(offsets.back() <= e.of.n);
            CHECK(std::count(lengths.begin(), lengths.end(), 0) > 0);
            CHECK(*std::max_element(lengths.begin(), lengths.end()) > e.of.n / 5);
        }
    }
}

TEST_CASE("golden ops: products are numbers, different ones", "[golden]") {
    for (const DType dtype : dtypes()) {
        for (const Method method : {Method::tree, Method::compensated}) {
            std::set<std::string> numbers;
            for (const Entry& e : entries([&](const Case& c) {
                     return c.op == Op::prod && c.shape == Shape::flat && c.dtype == dtype && c.method == method;
                 })) {
                with_dtype(e.of.output, [&]<class T>(T) {
                    const double value = fp::widen(fp::from_bits<T>(static_cast<fp::Bits<T>>(e.bits)));
                    if (value - value == 0 && value != 0 && value != 1) numbers.insert(bits_text(e.of, e.bits));
                });
            }
            INFO(name(dtype) << ' ' << name(method));
            CHECK(numbers.size() >= (has_8_bits(dtype) ? 3 : 4)); // most are beyond 8 bits
        }
    }
}

TEST_CASE("golden table: lines of ops can be read, and what is malformed cannot", "[golden]") {
    const std::string good = "tree\tdot\trows\tf16\tf32\tnormal\t3\t4\t5\t-\t6\t4\t0x0123456789abcdef";
    const Entry e = parse_table(good).entries.front();
    CHECK(e.of ==
          Case{Method::tree, DType::f16, DType::f32, accuracy::Family::normal, 3, 6, Op::dot, Shape::rows, 4, 5});
    CHECK(e.bits == 0x0123456789abcdefu);
    CHECK(parse_table("exact\targmax\tflat\tf16\tu64\tnormal\t3\t1\t0\tnan=ignore\t6\t1\t0x0000000000000002")
              .entries.front()
              .of.nan == NanPolicy::ignore);
    CHECK(parse_table("exact\tmoments\ttensors\tf16\tf16\tnormal\t3\t1\t0\teach,ddof=2\t6\t4\t0x0000000000000002")
              .entries.at(0)
              .of.ddof == 2);
    CHECK(parse_table("exact\tmoments\tflat\tf16\tf16\tnormal\t3\t1\t0\tddof=2\t6\t2\t0x0000000000000002")
              .entries.front()
              .of.ddof == 2);
    CHECK(parse_table("exact\tsum\ttensors\tf16\tf16\tnormal\t3\t9\t0\teach\t6\t10\t0x0000000000000002")
              .entries.front()
              .of.each);
    for (const std::string bad :
         {"tree\tdot\trows\tf16\tf32\tnormal\t3\t4\t5\t-\t6\t5\t0x0123456789abcdef",      // five results of four rows
          "tree\tdot\trows\tf16\tu64\tnormal\t3\t4\t5\t-\t6\t4\t0x0123456789abcdef",      // no integer
          "tree\tdot\trows\tf16\tf32\tnormal\t3\t4\t5\tddof=0\t6\t4\t0x0123456789abcdef", // must be -
          "tree\tdot\trows\tf16\tf32\tnormal\t3\t4\t5\tall\t6\t4\t0x0123456789abcdef",    // no such option
          "tree\tdot\trows\tf16\tf32\tnormal\t3\t4\t5\t-\t6\t4\t0x01234567",              // a fingerprint has 16 digits
          "tree\tdot\trows\tf16\tf32\tnormal\t3\t1\t5\t-\t6\t1\t0x0123456789abcdef",      // one result of f32 has 8
          "tree\tsum\tflat\tf16\tf32\tnormal\t3\t1\t0\t-\t6\t1\t0x01234567",              // has a table of its own
          "tree\tdot\tring\tf16\tf32\tnormal\t3\t4\t5\t-\t6\t4\t0x0123456789abcdef"}) {
        INFO(bad);
        CHECK_THROWS_AS(parse_table(bad), std::runtime_error);
    }
}

TEST_CASE("golden table: it says where each file is from", "[golden]") {
    const std::string sums = "# spec_version 1, from A\ntree\tf16\tf32\tnormal\t3\t4\t0x3f800000\n";
    const std::string ops = "exact\tsum\ttensors\tf16\tf16\tnormal\t3\t9\t0\teach\t6\t10\t0x0000000000000002\n";
    CHECK(parse_table(sums + "# spec_version 1, from A\n" + ops).source == "spec_version 1, from A");
    CHECK(parse_table(sums + "# spec_version 1, from B\n" + ops).source ==
          "spec_version 1, from A; spec_version 1, from B");
}

} // namespace detreduce::golden
