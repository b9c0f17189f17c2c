// Man pages and completion, which the build takes from the program.
#include <support/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <detreduce/detreduce.hpp>

#include "files.hpp"
#include "program.hpp"

using namespace program_test;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// What bash offers for the last of `words`.
std::set<std::string> completions(const std::vector<std::string>& words) {
    const detreduce::report::TemporaryDirectory dir;
    const std::string script = (dir.path() / "script").string(), out = (dir.path() / "out").string();
    detreduce::report::write_file(dir.path() / "completion", run_program({"documentation", "bash"}).out);
    std::string text = "source '" + (dir.path() / "completion").string() + "'\nCOMP_WORDS=(";
    for (const std::string& word : words)
        text += "'" + word + "' ";
    text += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\n_detreduce\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    detreduce::report::write_file(script, text);
    if (std::system(("bash '" + script + "' >'" + out + "'").c_str()) != 0) return {"bash failed"};
    std::set<std::string> found;
    std::ifstream lines(out);
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) found.insert(line);
    return found;
}

} // namespace

TEST_CASE("every command has a man page, of all its options, that is nothing but known requests and text") {
    for (const std::string command : {"", "reduce", "list", "devices", "verify", "report", "render", "ladder"}) {
        INFO(command);
        const Outcome o =
            command.empty() ? run_program({"documentation", "man"}) : run_program({"documentation", "man", command});
        REQUIRE(o.code == 0);
        CHECK(o.out.starts_with(command.empty() ? ".TH detreduce 1 " : ".TH detreduce\\-" + command + " 1 "));
        std::istringstream lines(o.out);
        for (std::string line; std::getline(lines, line);) {
            INFO(line);
            CHECK_FALSE(line.starts_with('\''));
            if (line.starts_with('.')) {
                const std::string request = line.substr(0, line.find(' '));
                CHECK(std::set<std::string>{".TH", ".SH", ".TP", ".B", ".BR", ".nf", ".fi"}.count(request) == 1);
            }
        }
    }
    CHECK(contains(run_program({"documentation", "man", "reduce"}).out, "\n.B \\-\\-offsets FILE\n"));
    CHECK(contains(run_program({"documentation", "man", "reduce"}).out, "1e400 is refused"));
    CHECK(run_program({"documentation", "man", "nothing"}).code == 2);
    CHECK(run_program({"documentation", "fish"}).code == 2);
}

TEST_CASE("bash completes commands, options and their values") {
    CHECK(completions({"detreduce", "re"}) == std::set<std::string>{"reduce", "report", "render"});
    CHECK(completions({"detreduce", "reduce", "--op", "nrm"}) == std::set<std::string>{"nrm2", "nrminf"});
    CHECK(completions({"detreduce", "reduce", "--add"}) == std::set<std::string>{"--add-state"});
    CHECK(completions({"detreduce", "verify", "--op"}).empty());
    CHECK(completions({"detreduce", "reduce", "--method", ""}).size() == detreduce::methods().size() + 1);
}

TEST_CASE("zsh's completion has every command and option") {
    const Outcome o = run_program({"documentation", "zsh"});
    REQUIRE(o.code == 0);
    CHECK(o.out.starts_with("#compdef detreduce\n"));
    for (const char* part : {"'reduce:", "'verify:", "--offsets[", "--op[", "(sum mean ", "--compare["})
        CHECK(contains(o.out, part));
}
