// What --help says: a screen of what is needed first. --help-all has the rest, and so have the man
// pages.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace detreduce::program {

/// The group of options that only --help-all shows.
inline constexpr const char* more_options = "More options";

class Help : public CLI::Formatter {
  public:
    Help();
    /// Text that --help-all has behind the footer of `command`.
    void explain(const CLI::App& command, std::string text) { texts_[&command] = std::move(text); }
    [[nodiscard]] std::string explanation(const CLI::App& command) const;

    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
    std::string make_group(std::string group, bool is_positional,
                           std::vector<const CLI::Option*> options) const override;
    std::string make_description(const CLI::App* app) const override;
    std::string make_footer(const CLI::App* app) const override;
    std::string make_option_desc(const CLI::Option* option) const override;

  private:
    std::map<const CLI::App*, std::string> texts_;
    mutable bool all_ = false; ///< of the help that is being made
};

/// That of a command of the program.
[[nodiscard]] Help& help_of(const CLI::App& app);

/// `text` in lines of at most `width` characters, cut at blanks.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width);
/// The same of each line of `text` to the width of help. Lines that are indented stand as they are.
[[nodiscard]] std::string with_short_lines(const std::string& text);

} // namespace detreduce::program
