// `detreduce documentation`, for the build: man pages and completion, from the commands and options
// themselves.
#include <map>
#include <memory>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "failure.hpp"
#include "help.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

using Options = std::vector<const CLI::Option*>;

std::vector<CLI::App*> commands_of(CLI::App& app) {
    std::vector<CLI::App*> commands;
    for (CLI::App* command : app.get_subcommands(nullptr))
        if (!command->get_group().empty()) commands.push_back(command);
    return commands;
}

Options options_of(const CLI::App& command, bool positional) {
    return command.get_options([positional](const CLI::Option* option) {
        return !option->get_group().empty() && option->get_positional() == positional;
    });
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

// ---- man ----------------------------------------------------------------------------------------

/// As text of a page: no line is a request, and dashes and backslashes are themselves.
std::string troff(const std::string& text) {
    std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
    out = replaced(replaced(replaced(out, "\n.", "\n\\&."), "\n'", "\n\\&'"), "\"", "\\(dq");
    return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string as_it_stands(const std::string& text) {
    return fmt::format(".nf\n{}\n.fi\n", troff(text));
}

std::string man_options(const Options& options, const CLI::App& command) {
    std::string text;
    for (const CLI::Option* option : options) {
        const std::string name = help_of(command).make_option_name(option, option->get_positional());
        const std::string value = help_of(command).make_option_opts(option);
        text += fmt::format(".TP\n.B {}{}\n{}\n", troff(name), troff(value), troff(option->get_description()));
    }
    return text;
}

std::string man_page(CLI::App& app, CLI::App& command) {
    const bool is_app = &app == &command;
    const std::string title = is_app ? "detreduce" : "detreduce-" + command.get_name(),
                      call = is_app ? "detreduce" : "detreduce " + command.get_name();
    std::string description = command.get_description();
    std::string page = fmt::format(".TH {} 1 \"\" \"detreduce {}\"\n.SH NAME\n{} \\- {}\n", replaced(title, "-", "\\-"),
                                   version, troff(title), troff(replaced(description, "\n", " ")));
    page += fmt::format(".SH SYNOPSIS\n.B {}\n[OPTIONS]", troff(call));
    for (const CLI::Option* positional : options_of(command, true))
        page += " " + troff(help_of(command).make_option_name(positional, true));
    if (is_app) page += " COMMAND";
    page += "\n.SH OPTIONS\n" + man_options(options_of(command, true), command) +
            man_options(options_of(command, false), command);
    if (is_app) {
        page += ".SH COMMANDS\n";
        for (const CLI::App* one : commands_of(app))
            page += fmt::format(".TP\n.BR detreduce\\-{} (1)\n{}\n", one->get_name(), troff(one->get_description()));
    }
    page += ".SH NOTES\n";
    const std::string explanation = help_of(app).explanation(command);
    if (!explanation.empty()) page += as_it_stands(explanation);
    if (explanation.empty()) page += as_it_stands(with_short_lines(command.get_footer()));
    return page;
}

// ---- completion ---------------------------------------------------------------------------------

template <class Infos>
std::string names_of(const Infos& infos) {
    std::string names;
    for (const auto& one : infos)
        names += fmt::format("{}{}", names.empty() ? "" : " ", one.name);
    return names;
}

/// Values that an option may have, apart by blanks; none: files.
std::string values_of(const std::string& option) {
    std::string formats;
    for (const DType dtype : dtypes())
        formats += fmt::format("{}{}", formats.empty() ? "" : " ", name(dtype));
    const std::map<std::string, std::string> values{
        {"--op", names_of(ops())},
        {"--method", "automatic " + names_of(methods())},
        {"--dtype", formats},
        {"--output", formats},
        {"--device", "cpu cuda cuda:0"},
        {"--nan", "propagate ignore"},
        {"--format", "npy npz raw text csv"},
    };
    const auto at = values.find(option);
    return at == values.end() ? "" : at->second;
}

std::string long_name(const CLI::Option* option) {
    return option->get_lnames().empty() ? "" : "--" + option->get_lnames().front();
}

std::string bash_completion(CLI::App& app) {
    std::string values, words, names;
    for (const CLI::App* command : commands_of(app)) {
        std::string options;
        for (const CLI::Option* option : options_of(*command, false)) {
            const std::string name = long_name(option), allowed = values_of(name);
            options += " " + name;
            const std::string line =
                fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n", name, allowed);
            if (!allowed.empty() && values.find(line) == std::string::npos) values += line;
        }
        words += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), options.substr(options.empty() ? 0 : 1));
        names += (names.empty() ? "" : " ") + command->get_name();
    }
    return fmt::format("# Completion of detreduce for bash; written by the build.\n"
                       "_detreduce() {{\n"
                       "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words=\n"
                       "  COMPREPLY=()\n"
                       "  if ((COMP_CWORD == 1)); then\n"
                       "    COMPREPLY=($(compgen -W \"{} --help --help-all --version\" -- \"$cur\"))\n"
                       "    return\n"
                       "  fi\n"
                       "  case $prev in\n{}  esac\n"
                       "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
                       "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); fi\n"
                       "}}\n"
                       "complete -o default -F _detreduce detreduce\n",
                       names, values, words);
}

/// In a specification of _arguments, between quotes.
std::string zsh_text(const std::string& text) {
    std::string out = replaced(replaced(text, "\\", "\\\\"), "'", "'\\''");
    for (const char* sign : {"[", "]", ":"})
        out = replaced(out, sign, std::string("\\") + sign);
    return out;
}

std::string zsh_completion(CLI::App& app) {
    std::string names, cases;
    for (const CLI::App* command : commands_of(app)) {
        names += fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
        cases += fmt::format("    {}) _arguments \\\n", command->get_name());
        for (const CLI::Option* option : options_of(*command, false)) {
            const std::string name = long_name(option), allowed = values_of(name);
            const bool takes_value = option->get_type_size() != 0;
            const std::string action = !takes_value      ? ""
                                       : allowed.empty() ? ":value:_files"
                                                         : fmt::format(":value:({})", replaced(allowed, ":", "\\:"));
            cases += fmt::format("      '*{}[{}]{}' \\\n", name, zsh_text(option->get_description()), action);
        }
        cases += "      '*:file:_files' ;;\n";
    }
    return fmt::format("#compdef detreduce\n# Completion of detreduce for zsh; written by the build.\n"
                       "_detreduce() {{\n"
                       "  local -a commands\n"
                       "  commands=(\n{}  )\n"
                       "  if ((CURRENT == 2)); then\n"
                       "    _describe command commands\n"
                       "    return\n"
                       "  fi\n"
                       "  local command=$words[2]\n"
                       "  shift words\n"
                       "  ((CURRENT--))\n"
                       "  case $command in\n{}  esac\n"
                       "}}\n"
                       "_detreduce \"$@\"\n",
                       names, cases);
}

std::string documentation(CLI::App& app, const std::string& kind, const std::string& name) {
    if (kind == "bash") return bash_completion(app);
    if (kind == "zsh") return zsh_completion(app);
    if (kind != "man") throw UsageError("KIND: allowed are man, bash and zsh");
    if (name.empty()) return man_page(app, app);
    for (CLI::App* command : commands_of(app))
        if (command->get_name() == name) return man_page(app, *command);
    throw UsageError(fmt::format("COMMAND: {} is none", in_quotes(name)));
}

} // namespace

void add_documentation(CLI::App& app) {
    struct Words {
        std::string kind, command;
    };
    const auto words = std::make_shared<Words>();
    CLI::App* const hidden = app.add_subcommand("documentation", "Man pages and completion, for the build");
    hidden->group("");
    hidden->add_option("KIND", words->kind)->required();
    hidden->add_option("COMMAND", words->command);
    hidden->callback([words, &app] { print(documentation(app, words->kind, words->command)); });
}

} // namespace detreduce::program
