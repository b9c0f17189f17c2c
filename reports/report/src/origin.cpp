#include "origin.hpp"

#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::report {
namespace {

using program::Failure;

constexpr std::size_t commit_digits = 9;
constexpr const char* with_changes = " (with changes)"; // as ./dev says it

// "ops.csv, shapes.csv" names shapes.csv.
bool names(const std::string& list, const std::string& file) {
    return fmt::format(", {},", list).find(fmt::format(", {},", file)) != std::string::npos;
}

std::string short_commit(const std::string& hash, bool changed) {
    return hash.substr(0, commit_digits) + (changed ? with_changes : "");
}

struct Found {
    Origin folder, own; ///< what goes for all files, and for this one
    int lines = 0;      ///< that name the file
};

void read_line(const std::string& line, const std::string& file, Found& found) {
    static const std::regex gpu(R"(gpu\s+([^,]+),.*)"), date(R"(date\s+(\d{4}-\d\d-\d\d).*)"),
        commit(R"((?:prebuilt\s+)?commit\s+([0-9a-f]+|unknown)( \(with changes\))?)"),
        own(R"(([^:]+): commit ([0-9a-f]+)( \(with changes\))?, (\d{4}-\d\d-\d\d).*)");
    std::smatch part;
    if (std::regex_match(line, part, gpu)) {
        found.folder.gpu = part[1];
    } else if (std::regex_match(line, part, date)) {
        found.folder.date = part[1];
    } else if (std::regex_match(line, part, commit)) {
        found.folder.commit = short_commit(part[1], part[2].matched);
    } else if (std::regex_match(line, part, own) && names(part[1], file)) {
        found.own.commit = short_commit(part[2], part[3].matched);
        found.own.date = part[4];
        ++found.lines;
    }
}

} // namespace

Origin origin_of(const std::string& file, const std::string& provenance, const std::string& source) {
    Found found;
    std::istringstream in(provenance);
    for (std::string line; std::getline(in, line);)
        read_line(line, file, found);
    if (found.lines > 1) throw Failure(fmt::format("{}: several lines say where {} comes from", source, file));
    Origin origin = found.lines == 1 ? found.own : found.folder;
    origin.gpu = found.folder.gpu;
    if (origin.gpu.empty() || origin.commit.empty() || origin.date.empty())
        throw Failure(fmt::format("{}: does not say which GPU, commit and date {} comes from", source, file));
    return origin;
}

std::string words_of(const Origin& origin) {
    return fmt::format("{}, commit {}, {}", origin.gpu, origin.commit, origin.date);
}

} // namespace detreduce::report
