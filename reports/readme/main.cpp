// detreduce_readme [--check] README FOLDER: writes the tables of README from a folder of results, or says whether they
// are up to date (exit 1 when not).
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

void update(const fs::path& readme, const fs::path& folder, bool only_check) {
    const std::string link =
        fs::absolute(folder).lexically_relative(fs::absolute(readme).parent_path()).generic_string();
    const std::string is = report::read_file(readme);
    const std::string should_be = with_block(is, performance(folder, link), readme.filename().string());
    const auto difference = first_difference(is, should_be);
    if (!difference) return;
    if (only_check)
        throw program::Failure(
            fmt::format("{} is not what {} says; ./dev readme writes it anew\nline {} is:  {}\nshould be:  {}",
                        readme.filename().string(), link, difference->line, difference->is, difference->should_be));
    report::write_file(readme, should_be);
    fmt::print("wrote {}\n", readme.string());
}

} // namespace
} // namespace detreduce::readme

int main(int argc, char** argv) {
    const bool only_check = argc == 4 && std::string_view(argv[1]) == "--check";
    if (argc != 3 && !only_check) {
        std::fputs("usage: detreduce_readme [--check] README FOLDER\n", stderr);
        return 2;
    }
    try {
        detreduce::readme::update(argv[argc - 2], argv[argc - 1], only_check);
    } catch (const std::exception& error) {
        std::fputs(fmt::format("detreduce_readme: {}\n", error.what()).c_str(), stderr);
        return 1;
    }
    return 0;
}
