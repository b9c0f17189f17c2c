// The shim tested: a property cannot pass by accident, and a failure can be reproduced.
#include <stdexcept>
#include <string>
#include <vector>

#include <support/bits.hpp>
#include <support/property.hpp>

using namespace detreduce;
using namespace detreduce::proptests;

namespace {

rc::detail::Configuration configured(const std::string& params) {
    return rc::detail::configFromString(params, default_configuration());
}

template <class Testable>
Outcome run(const std::string& id, Testable&& testable, const std::string& params = "") {
    return run_property(id, rc::detail::toProperty(std::forward<Testable>(testable)), configured(params));
}

/// What stands between `from` and the next quotation mark.
std::string quoted_after(const std::string& text, const std::string& from) {
    const std::size_t start = text.find(from);
    if (start == std::string::npos) return "";
    const std::size_t first = start + from.size();
    return text.substr(first, text.find('"', first) - first);
}

} // namespace

TEST_CASE("a property of these tests") {
    property("adding commutes", [](const Value<double>& a, const Value<double>& b) {
        RC_ASSERT(fp::to_bits(fp::canonical(a + b)) == fp::to_bits(fp::canonical(b + a)));
    });
}

TEST_CASE("a true property passes with 1000 cases") {
    int calls = 0;
    const Outcome outcome = run("true", [&](const Value<float>&) { ++calls; });
    REQUIRE(outcome.passed);
    REQUIRE(outcome.cases == 1000);
    REQUIRE(calls == 1000);
    REQUIRE(run(
                "true", [](int) {}, "max_success=37")
                .cases == 37);
}

TEST_CASE("a property that ran nothing fails") {
    REQUIRE_FALSE(run(
                      "none", [](int) {}, "max_success=0")
                      .passed);
    REQUIRE_FALSE(run("all discarded", [](int) { RC_PRE(false); }).passed);
}

TEST_CASE("exceptions and false fail") {
    REQUIRE_FALSE(run("throws", [](int) { throw std::runtime_error("no"); }).passed);
    REQUIRE_FALSE(run("false", [](int) { return false; }).passed);
}

TEST_CASE("a failure can be reproduced from its message") {
    const auto law = [](const Value<double>& a) { RC_ASSERT(!(a.x > 1000.0)); };
    const Outcome failed = run("test/law", law);
    INFO(failed.message);
    REQUIRE_FALSE(failed.passed);
    REQUIRE(failed.message.find("seed=") != std::string::npos);
    REQUIRE(failed.message.find("0x1") != std::string::npos); // hexadecimal
    const std::string params = quoted_after(failed.message, "RC_PARAMS=\"");
    REQUIRE(params.find("reproduce=") != std::string::npos);

    int calls = 0;
    double last = 0;
    const auto counted = [&](const Value<double>& x) {
        ++calls;
        last = x.x;
        law(x);
    };
    REQUIRE_FALSE(run("test/law", counted, params).passed);
    REQUIRE(last > 1000.0);
    REQUIRE(last <= 1024.0); // the shrunk counterexample itself
    REQUIRE(calls < 50);     // the way along the shrinks, no search

    // Of a law that has been repaired, RapidCheck says that the reproduced case is no failure any
    // more.
    const auto fine = [](const Value<double>&) {};
    REQUIRE(run("test/law", fine, params).message.find("not a failure") != std::string::npos);
    // Laws that the string does not name run as usual: RapidCheck alone would pass them with no
    // case.
    const Outcome other = run("test/other", fine, params);
    REQUIRE(other.passed);
    REQUIRE(other.cases == 1000);
    const auto wrong = [](int) { return false; };
    REQUIRE_FALSE(run("test/other", wrong, params).passed);
}

TEST_CASE("the same seed gives the same cases, another seed others") {
    const auto draw = [](const std::string& params) {
        std::vector<std::uint64_t> bits;
        REQUIRE(run(
                    "draw", [&](const Value<double>& a) { bits.push_back(fp::to_bits(a.x)); }, params)
                    .passed);
        return bits;
    };
    REQUIRE(draw("") == draw(""));
    REQUIRE(draw("seed=1") == draw("seed=1"));
    REQUIRE(draw("seed=1") != draw("seed=2"));
}

TEST_CASE("property ids are unique to a test") {
    REQUIRE(property_id("x") == "property ids are unique to a test/x");
}
