// RapidCheck properties inside Catch2 tests.
//
// rapidcheck/catch.h knows Catch2 v2 only, prints nothing to reproduce a failure with, and passes
// with no case run when RC_PARAMS holds reproduce=…. Here a property passes only when at least one
// case ran.
//
//     TEMPLATE_TEST_CASE("sums", "", float, double) {
//         property("reversing a pair changes nothing", [](const Values<TestType>& xs) { RC_ASSERT(…); });
//     }
//
// Use RC_ASSERT, RC_PRE and RC_TAG inside a property: a Catch2 REQUIRE there would report the wrong
// thing.
// Defaults: 1000 cases and a fixed seed, printed once. RC_PARAMS="seed=1 max_success=5000" and the
// like change that; RC_PARAMS="reproduce=…" (a failure prints it) runs that one case of that one
// property, and the others as usual. Once the law holds again, the reproduced property fails with
// "Reproduced result is not a failure": drop the RC_PARAMS.
#pragma once

#include <iostream>
#include <string>
#include <utility>

#include <rapidcheck.h>

#include <support/catch.hpp>

namespace detreduce::proptests {

/// What became of a property.
struct Outcome {
    bool passed = false;
    int cases = 0;       ///< successful cases; a property that ran none has not passed
    std::string message; ///< on failure: the counterexample, the seed and an RC_PARAMS that reproduces it
};

/// The configuration used when RC_PARAMS says nothing.
[[nodiscard]] rc::detail::Configuration default_configuration();

/// RC_PARAMS over the defaults; prints the seed the first time. Throws
/// rc::detail::ConfigurationException when RC_PARAMS is malformed.
[[nodiscard]] const rc::detail::Configuration& configuration();

/// Runs a property without telling Catch2. `id` names it in a reproduce string, so it must be the
/// same in every run.
[[nodiscard]] Outcome run_property(const std::string& id, const rc::detail::Property& property,
                                   const rc::detail::Configuration& config);

/// "test name/description": unique as long as descriptions within one test are.
[[nodiscard]] std::string property_id(const std::string& description);

/// Runs a property and makes the Catch2 test fail where it fails.
template <class Testable>
void property(const std::string& description, Testable&& testable) {
    const Outcome outcome = run_property(property_id(description),
                                         rc::detail::toProperty(std::forward<Testable>(testable)), configuration());
    // Catch2 breaks long lines, which would tear the string to reproduce with: it goes to stderr
    // whole.
    if (!outcome.passed) std::cerr << "\n- " << description << '\n' << outcome.message << '\n';
    INFO(description << ": the counterexample is on stderr");
    REQUIRE(outcome.passed);
}

} // namespace detreduce::proptests
