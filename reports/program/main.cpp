// The program `detreduce`: puts the commands together and turns whatever goes wrong into one line
// and an exit code.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "help.hpp"
#include "job.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

enum ExitCode { success = 0, failure = 1, usage = 2, interrupted = 130 };

constexpr const char* description = "detreduce adds up floating-point numbers so that the bits of the result can be "
                                    "relied on: the same on every CPU and GPU, "
                                    "for any number of threads, today and after the next update.";

constexpr const char* footer =
    "Examples:\n"
    "  detreduce reduce data.npy                    the sum of a NumPy array\n"
    "  seq 1 100 | detreduce reduce -               the sum of numbers in text\n"
    "  detreduce reduce data.npy --json             value, bits and what is guaranteed about them\n"
    "  detreduce list                               ops, methods, and what is guaranteed\n"
    "  detreduce devices                            what it can run on here\n"
    "  detreduce verify                             does this machine give the promised bits?\n"
    "  detreduce report --out report --quick        how wrong and how fast each method is here\n"
    "  detreduce ladder --out ladder                the kernels of the literature beside these, on a GPU\n"
    "\n"
    "Each command has its own help: detreduce help reduce, or detreduce reduce --help, or --help-all\n"
    "Exit status: 0 done, 1 failed (one line on stderr says why), 2 wrong usage, 130 interrupted by Ctrl-C.";

std::string version_text() {
    std::string isas;
    for (const Isa isa : available_isas())
        isas += fmt::format("{}{}", isas.empty() ? "" : ", ", name(isa));
    const int runtime = cuda::runtime_version();
    const std::string cuda_text =
        cuda::built_with_cuda() ? fmt::format("yes, runtime {}.{}", runtime / 1000, runtime % 1000 / 10) : "no";
    return fmt::format("detreduce {}\nspec_version {}\nbuilt with CUDA: {}\nCPU instruction sets: {}\n", version,
                       spec_version, cuda_text, isas);
}

/// A descriptor that is closed at the start would be reused for the first file opened, and messages
/// would go there.
void keep_standard_descriptors() {
    for (int fd = 0; fd <= 2; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1) continue;
        // The wrong way round: reading from a closed input and writing to a closed output still
        // fail, and are reported.
        [[maybe_unused]] const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int complain(ExitCode code, std::string_view text) {
    print_error(fmt::format("detreduce: {}\n", one_line(text)));
    return code;
}

std::string join_names(const CLI::App& app) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
        if (command->get_group().empty()) continue; // for the program itself
        names += fmt::format("{}{}", names.empty() ? "" : ", ", command->get_name());
    }
    return names;
}

std::string no_command(const CLI::App& app, const std::string& word) {
    return fmt::format("there is no command {}; allowed are {}", in_quotes(word), join_names(app));
}

/// What `command` did not understand; empty if it understood all.
std::string unknown_word(const CLI::App& app, const CLI::App& command) {
    if (command.remaining_size() == 0) return "";
    const std::string word = command.remaining().front();
    if (word.starts_with('-'))
        return fmt::format("there is no option {}; allowed are those that --help shows", in_quotes(word));
    if (&command == &app) return no_command(app, word);
    return fmt::format("{} is one argument too many; allowed are those that --help shows", in_quotes(word));
}

int complain_about_usage(const CLI::App& app, const std::string& text) {
    const auto parsed = app.get_subcommands();
    const CLI::App& command = parsed.empty() ? app : *parsed.back();
    const std::string unknown = unknown_word(app, command);
    complain(usage, unknown.empty() ? text : unknown);
    const bool of_program = parsed.empty() || command.get_group().empty();
    print_error(fmt::format("Try: detreduce {}--help\n", of_program ? "" : command.get_name() + " "));
    return usage;
}

/// That of the command that was named, or of the program and all of its commands.
std::string all_help(const CLI::App& app) {
    std::string text = app.help("", CLI::AppFormatMode::All);
    if (!app.get_subcommands().empty()) return text;
    text = app.help();
    for (const CLI::App* command : app.get_subcommands(nullptr))
        if (!command->get_group().empty())
            text += fmt::format("\n---- {0}\n\n{1}", command->get_name(),
                                command->help(app.get_name(), CLI::AppFormatMode::All));
    return text;
}

/// `detreduce help`, which many type first: what --help says of the program or of a command. It is
/// in no list of commands, as --help is where it is looked for.
void add_help(CLI::App& app) {
    const auto name = std::make_shared<std::string>();
    CLI::App* const hidden = app.add_subcommand("help", "What --help says of the program, or of a command");
    hidden->group("");
    hidden->add_option("COMMAND", *name, "the command");
    hidden->callback([name, &app] {
        if (name->empty()) { // app.help() would be that of `help`
            print(app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
            return;
        }
        for (const CLI::App* command : app.get_subcommands(nullptr))
            if (!command->get_group().empty() && command->get_name() == *name) {
                print(command->help(app.get_name()));
                return;
            }
        throw UsageError(no_command(app, *name));
    });
}

int run(int argc, char** argv) {
    CLI::App app(description, "detreduce");
    app.require_subcommand(0, 1);
    app.formatter(std::make_shared<Help>());
    app.set_help_flag("-h,--help", "What is needed first, on a screen");
    app.set_help_all_flag("--help-all", "All options and explanations, as the man page has them");
    app.set_version_flag("--version", version_text, "Print version, spec_version, and what this build can use");
    add_reduce(app);
    add_list(app);
    add_devices(app);
    add_verify(app);
    add_report(app);
    add_render(app);
    add_ladder(app);
    add_documentation(app);
    add_help(app);
    app.footer(footer); // last: what is added later would inherit it
    try {
        app.parse(argc, argv);
        if (app.get_subcommands().empty()) {
            return complain_about_usage(app, fmt::format("a command is needed; allowed are {}", join_names(app)));
        }
    } catch (const CLI::CallForHelp&) {
        print(app.help());
    } catch (const CLI::CallForAllHelp&) {
        print(all_help(app));
    } catch (const CLI::CallForVersion& version_call) {
        print(version_call.what());
    } catch (const CLI::ParseError& error) {
        return complain_about_usage(app, error.what());
    } catch (const UsageError& error) {
        return complain_about_usage(app, error.what());
    }
    finish_output();
    return success;
}

/// Nothing leaves main() as an exception.
int run_and_report(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        return complain(failure, "not enough memory");
    } catch (const FailedElsewhere& error) {
        return error.usage ? usage : failure; // whoever failed says why
    } catch (const Interrupted& error) {
        return complain(interrupted, error.what());
    } catch (const std::exception& error) {
        return complain(failure, error.what());
    } catch (...) {
        return complain(failure, "unknown error");
    }
}

} // namespace
} // namespace detreduce::program

int main(int argc, char** argv) {
    for (const int failure :
         {SIGPIPE, SIGXFSZ}) // a closed pipe, or a file that may not grow, becomes an error of the write
        std::signal(failure, SIG_IGN);
    detreduce::program::keep_standard_descriptors();
    return detreduce::program::run_and_report(argc, argv);
}
