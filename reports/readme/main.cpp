// detreduce_readme [--check] FILE… FOLDER: writes the tables of documents from a folder of results,
// or says whether they are up to date (exit 1 when not).
#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "block.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "performance.hpp"

namespace detreduce::readme {
namespace {

namespace fs = std::filesystem;

void update(const fs::path& file, const fs::path& folder, bool only_check) {
    const std::string link = fs::absolute(folder)
                                 .lexically_normal()
                                 .lexically_relative(fs::absolute(file).lexically_normal().parent_path())
                                 .generic_string();
    const std::string is = report::read_file(file);
    const std::string should_be = with_blocks(
        is, [&](const std::string& name) { return table(name, folder, link); }, file.filename().string());
    const auto difference = first_difference(is, should_be);
    if (!difference) return;
    if (only_check)
        throw program::Failure(
            fmt::format("{} is not what {} says; ./dev readme writes it anew\nline {} is:  {}\nshould be:  {}",
                        file.filename().string(), link, difference->line, difference->is, difference->should_be));
    report::write_file(file, should_be);
    fmt::print("wrote {}\n", file.string());
}

} // namespace
} // namespace detreduce::readme

int main(int argc, char** argv) {
    const bool only_check = argc > 1 && std::string_view(argv[1]) == "--check";
    const int first = only_check ? 2 : 1;
    if (argc < first + 2) {
        std::fputs("usage: detreduce_readme [--check] FILE… FOLDER\n", stderr);
        return 2;
    }
    try {
        for (int i = first; i < argc - 1; ++i)
            detreduce::readme::update(argv[i], argv[argc - 1], only_check);
    } catch (const std::exception& error) {
        std::fputs(fmt::format("detreduce_readme: {}\n", error.what()).c_str(), stderr);
        return 1;
    }
    return 0;
}
