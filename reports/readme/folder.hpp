// A folder of committed results, as tables read it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "files.hpp"
#include "json.hpp"
#include "origin.hpp"
#include "printed.hpp"
#include "read_csv.hpp"

namespace detreduce::readme {

inline constexpr const char *results_file = "results.json", *cpu_folder = "xeon-cpu";

/// `link` is how the document names it.
struct Folder {
    std::filesystem::path path;
    std::string link;

    [[nodiscard]] report::Results results(const char* file = results_file) const {
        return report::load_results(path / file);
    }
    [[nodiscard]] report::Results cpu_results() const {
        return report::load_results(path.parent_path() / cpu_folder / results_file);
    }
    [[nodiscard]] std::vector<report::CostRow> rows(const std::string& file) const {
        return report::load_cost(path / file);
    }

    [[nodiscard]] std::string link_to(const std::string& file) const {
        return fmt::format("[{}]({}/{})", file, link, file);
    }
    [[nodiscard]] std::string origin(const std::string& file) const {
        const std::string source = (path / "provenance.txt").string();
        return report::words_of(report::origin_of(file, report::read_file(source), source));
    }
    [[nodiscard]] std::string from(const std::string& file) const {
        return fmt::format("From {}: {}.\n\n", link_to(file), origin(file));
    }
    /// Of the CPU beside this folder, whose results say themselves where they come from.
    [[nodiscard]] std::string cpu_origin(const report::Provenance& p) const {
        return fmt::format("{}: {}, {}, commit {}, {}", cpu_link(), p.cpu, p.isa, p.commit.substr(0, 9),
                           p.created.substr(0, 10));
    }
    [[nodiscard]] std::string cpu_link() const { return beside(cpu_folder).link_with_folder(results_file); }
    [[nodiscard]] std::string link_with_folder(const std::string& file) const {
        return fmt::format("[{}/{}]({}/{})", path.filename().string(), file, link, file);
    }
    [[nodiscard]] bool has(const char* file) const { return std::filesystem::exists(path / file); }
    [[nodiscard]] Printed printed_in(const char* file) const {
        return printed(report::read_file(path / file), (path / file).string());
    }
    /// Another folder of results, beside this.
    [[nodiscard]] Folder beside(const std::string& name) const {
        return {path.parent_path() / name, (std::filesystem::path(link).parent_path() / name).generic_string()};
    }
    /// All folders of results, and this is one, by name.
    [[nodiscard]] std::vector<Folder> all_beside() const {
        std::set<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path.parent_path()))
            if (entry.is_directory()) names.insert(entry.path().filename().string());
        std::vector<Folder> list;
        for (const std::string& name : names)
            list.push_back(beside(name));
        return list;
    }
    [[nodiscard]] std::string origin_commit(const std::string& file) const {
        const std::string source = (path / "provenance.txt").string();
        return report::origin_of(file, report::read_file(source), source).commit;
    }
};

} // namespace detreduce::readme
