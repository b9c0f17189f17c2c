#include "build_figures.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "failure.hpp"

namespace detreduce::readme {
namespace {

// CMake's words: 90 is code and PTX, 90-real is code, 90-virtual is PTX.
std::string architectures_of(const BuildFigure& f) {
    if (f.architectures.empty()) return "for the CPU alone";
    std::string code, ptx;
    const auto add = [](std::string& list, const std::string& one) { list += (list.empty() ? "" : ", ") + one; };
    for (std::size_t at = 0; at < f.architectures.size();) {
        const std::size_t end = std::min(f.architectures.find(';', at), f.architectures.size());
        const std::string one = f.architectures.substr(at, end - at), number = one.substr(0, one.find('-'));
        if (!one.ends_with("-virtual")) add(code, number);
        if (!one.ends_with("-real")) add(ptx, number);
        at = end + 1;
    }
    const std::string of_ptx = ptx.empty() ? "" : (code.empty() ? "PTX of " : " and PTX of ") + ptx;
    return "for GPUs of architecture " + code + of_ptx;
}

std::string size_of(std::uint64_t bytes) {
    const double mb = static_cast<double>(bytes) / 1e6;
    return fmt::format("{:.{}f} MB", mb, mb < 10 ? 1 : 0);
}

std::string time_of(std::uint64_t seconds) {
    if (seconds < 120) return fmt::format("{} s", seconds);
    const double minutes = static_cast<double>(seconds) / 60;
    return minutes < 120 ? fmt::format("{:.0f} min", minutes) : fmt::format("{:.1f} h", minutes / 60);
}

// What all of them have, or each thing once.
std::string joined(const std::vector<BuildFigure>& list, std::string BuildFigure::*part) {
    std::set<std::string> values;
    for (const BuildFigure& f : list)
        if (!(f.*part).empty()) values.insert(f.*part);
    return fmt::format("{}", fmt::join(values, " and "));
}

} // namespace

BuildFigure build_figure(const std::string& text, const std::string& source) {
    try {
        const nlohmann::json json = nlohmann::json::parse(text);
        if (json.at("schema") != "detreduce-build" || json.at("schema_version") != 1)
            throw program::Failure(source + ": schema: allowed is detreduce-build, version 1");
        BuildFigure f;
        json.at("architectures").get_to(f.architectures);
        json.at("compiler").get_to(f.compiler);
        json.at("nvcc").get_to(f.nvcc);
        json.at("cpu").get_to(f.cpu);
        json.at("commit").get_to(f.commit);
        json.at("date").get_to(f.date);
        json.at("bytes").get_to(f.bytes);
        json.at("processor_seconds").get_to(f.processor_seconds);
        const std::size_t blank = std::min(f.commit.find(' '), f.commit.size()); // "… (with changes)"
        f.commit = f.commit.substr(0, std::min<std::size_t>(9, blank)) + f.commit.substr(blank);
        if (f.bytes == 0) throw program::Failure(source + ": bytes: 0; allowed are 1 and more");
        return f;
    } catch (const nlohmann::json::exception& error) {
        throw program::Failure(fmt::format("{}: {}; ./dev build-figures writes it", source, error.what()));
    }
}

std::string build_text(std::vector<BuildFigure> list, const std::string& link) {
    if (list.empty())
        return "`./dev build-figures` measures size and compile time of the library; there are no figures of this "
               "version yet.\n";
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    const auto what = [](const BuildFigure& f) {
        return fmt::format("{}, {} {}", size_of(f.bytes), time_of(f.processor_seconds), architectures_of(f));
    };
    const auto origin = [](const BuildFigure& f, const std::string& nvcc) {
        return fmt::format("{}{}, {}, commit {}, {}", f.compiler, nvcc.empty() ? "" : ", nvcc " + nvcc, f.cpu, f.commit,
                           f.date);
    };
    const bool one = std::all_of(list.begin(), list.end(),
                                 [&](const BuildFigure& f) { return origin(f, "") == origin(list.front(), ""); });
    std::vector<std::string> parts;
    for (const BuildFigure& f : list)
        parts.push_back(one ? what(f) : fmt::format("{} ({})", what(f), origin(f, f.nvcc)));
    return fmt::format(
        "`libdetreduce.a`, static, and the processor time that compiling it takes: {}. From [build]({}){}.\n",
        fmt::join(parts, "; "), link, one ? ": " + origin(list.front(), joined(list, &BuildFigure::nvcc)) : "");
}

} // namespace detreduce::readme
