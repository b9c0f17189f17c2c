#include "report_inputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "failure.hpp"
#include "json.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

/// load(file) of each, with the option's name before what went wrong.
template <class Load>
auto load_each(const char* option, const std::vector<std::string>& files, Load load) {
    std::vector<decltype(load(files.front()))> loaded;
    for (auto at = files.begin(); at != files.end(); ++at) {
        const std::string& file = *at;
        if (std::find(files.begin(), at, file) != at)
            throw Failure(fmt::format("{}: {} is named twice; once is enough", option, in_quotes(file)));
        try {
            loaded.push_back(load(file));
        } catch (const Failure& failure) {
            throw Failure(fmt::format("{}: {}", option, failure.what()));
        }
    }
    return loaded;
}

} // namespace

std::vector<report::DataFile> load_data(const std::vector<std::string>& files) {
    return load_each("--data", files, [](const std::string& file) -> report::DataFile {
        return {file, open_flat_npy(file)->all()};
    });
}

std::vector<report::OtherRun> load_others(const std::vector<std::string>& files) {
    return load_each("--compare", files, [](const std::string& file) -> report::OtherRun {
        return {file, report::load_results(file)};
    });
}

} // namespace detreduce::program
