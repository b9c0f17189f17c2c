#include <support/property.hpp>

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace detreduce::proptests {
namespace {

using namespace rc::detail;

/// Shows progress where RC_PARAMS asks for it (verbose_progress, verbose_shrinking).
class Progress : public TestListener {
  public:
    explicit Progress(const Configuration& config)
        : cases_(config.verboseProgress), shrinks_(config.verboseShrinking) {}
    void onTestCaseFinished(const CaseDescription& description) override {
        if (cases_) std::cerr << (description.result.type == CaseResult::Type::Success ? '.' : '!');
    }
    void onShrinkTried(const CaseDescription&, bool accepted) override {
        if (shrinks_) std::cerr << (accepted ? '!' : '.');
    }
    void onTestFinished(const TestMetadata&, const TestResult&) override {
        if (cases_ || shrinks_) std::cerr << '\n';
    }

  private:
    bool cases_, shrinks_;
};

std::string reproduce_params(const std::string& id, const Reproduce& reproduce, Configuration config) {
    config.reproduce = {{id, reproduce}};
    return configToMinimalString(config);
}

Outcome outcome_of(const TestResult& result, const std::string& id, const Configuration& config) {
    Outcome outcome;
    std::ostringstream message;
    printResultMessage(result, message);
    if (result.is<SuccessResult>()) {
        outcome.cases = result.get<SuccessResult>().numSuccess;
        outcome.passed = outcome.cases > 0;
        if (!outcome.passed) message << "No case ran, so nothing was tested: failed.";
    }
    message << "\nseed=" << config.testParams.seed;
    if (result.is<FailureResult>()) {
        outcome.cases = result.get<FailureResult>().numSuccess;
        message << "\nTo reproduce: RC_PARAMS=\"" << reproduce_params(id, result.get<FailureResult>().reproduce, config)
                << '"';
    }
    outcome.message = message.str();
    return outcome;
}

} // namespace

Configuration default_configuration() {
    Configuration config;
    config.testParams.seed = 20240229; // any fixed number: a run without RC_PARAMS is the same run everywhere
    config.testParams.maxSuccess = 1000;
    return config;
}

const Configuration& configuration() {
    static const Configuration config = [] {
        const char* params = std::getenv("RC_PARAMS");
        Configuration read = configFromString(params != nullptr ? params : "", default_configuration());
        std::cerr << "properties: seed=" << read.testParams.seed << " max_success=" << read.testParams.maxSuccess
                  << " (set RC_PARAMS to change)\n";
        return read;
    }();
    return config;
}

Outcome run_property(const std::string& id, const Property& property, const Configuration& config) {
    TestMetadata metadata;
    metadata.id = id;
    metadata.description = id;
    Progress progress(config);
    // RapidCheck skips every property that a non-empty map does not name, and calls that success.
    const auto named = config.reproduce.count(id) != 0 ? config.reproduce : decltype(config.reproduce){};
    if (!named.empty()) std::cerr << "reproducing one case of '" << id << "'\n";
    return outcome_of(checkProperty(property, metadata, config.testParams, progress, named), id, config);
}

std::string property_id(const std::string& description) {
    return Catch::getResultCapture().getCurrentTestName() + "/" + description;
}

} // namespace detreduce::proptests
