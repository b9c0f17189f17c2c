#include "numpy_peer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "failure.hpp"
#include "output.hpp"
#include "peers.hpp"

namespace detreduce::report {
namespace {

using program::Failure;

// Isolated (-I), Python neither looks where we happen to be nor does what its environment says. It
// then leaves out what `pip install --user` put into the user's own folder, too: that is named
// here. Answers begin with "= ", so that whatever else Python says is no answer. 2^20 elements over
// and over, as in cpu_timing.hpp.
constexpr const char* script = R"py(
import os, site, sys, time
site.addsitedir(site.getusersitepackages())
os.environ["NUMPY_MADVISE_HUGEPAGE"] = "0" # in pages of the size that the others' data has
import numpy
def answer(text):
    print("=", text, flush=True)
answer(numpy.__version__)
for line in iter(sys.stdin.readline, ""):
    word = line.split()
    if word[0] == "data":
        pattern = numpy.random.RandomState(1).standard_normal(1 << 20)
        x = numpy.resize(pattern.astype(word[1]), int(word[2]))
        answer("ready")
    else:
        start = time.perf_counter()
        for _ in range(int(word[1])):
            numpy.sum(x)
        answer(repr(time.perf_counter() - start))
)py";

const char* numpy_dtype(DType dtype) {
    switch (dtype) {
    case DType::f16:
        return "float16";
    case DType::f32:
        return "float32";
    case DType::f64:
        return "float64";
    default:
        break;
    }
    return nullptr;
}

constexpr std::size_t most_said = 1 << 16; // bytes that are no answer

// The first whole line that is an answer; what is before it no longer matters.
std::optional<std::string> take_answer(std::string& said) {
    std::size_t at = said.starts_with("= ") ? 0 : said.find("\n= ");
    if (at == std::string::npos) return std::nullopt;
    if (at > 0 || said.front() == '\n') ++at;
    const std::size_t end = said.find('\n', at);
    if (end == std::string::npos) return std::nullopt;
    std::string answer = said.substr(at + 2, end - at - 2);
    said.erase(0, end + 1);
    return answer;
}

// What a program says of why it failed: an exception's name stands at the end.
std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return program::excerpt(text.substr(text.rfind('\n') + 1));
}

} // namespace

bool NumpyPeer::prepare(DType dtype, std::uint64_t n) {
    const char* const type = numpy_dtype(dtype);
    if (!type || given_up_) return false;
    try {
        if (!python_) start();
        const std::string said = answer_to(fmt::format("data {} {}\n", type, n));
        if (said != "ready") throw Failure(fmt::format("python3 said {}", program::excerpt(said)));
        return true;
    } catch (const Failure& error) {
        give_up(error.what());
        return false;
    }
}

Metric NumpyPeer::seconds(int times) {
    if (given_up_) return {};
    try {
        const std::string said = answer_to(fmt::format("sum {}\n", times));
        double value = 0;
        const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), value);
        if (error != std::errc{} || end != said.data() + said.size() || !(value > 0) || !std::isfinite(value))
            throw Failure(fmt::format("python3 said {}, which is no time", program::excerpt(said)));
        return value;
    } catch (const Failure& error) {
        give_up(error.what());
        return {};
    }
}

void NumpyPeer::start() {
    const FoundProgram python = find_program("python3");
    if (python.path.empty()) throw Failure("python3 " + python.why_not);
    python_ = std::make_unique<ChildProcess>(std::vector<std::string>{python.path, "-I", "-c", script});
    version_ = answer();
}

std::string NumpyPeer::answer_to(const std::string& request) {
    (void)python_->write(request); // one that is gone has no answer
    return answer();
}

std::string NumpyPeer::answer() {
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    for (bool more = true; more;) {
        more = python_->read(said_);
        progress_.check_interrupt(); // a terminal sends Ctrl-C to both
        if (auto line = take_answer(said_)) return *line;
        said_.erase(0, said_.size() - std::min(said_.size(), most_said));
        if (std::chrono::steady_clock::now() > deadline)
            throw Failure(
                fmt::format("python3 said nothing for {} s", std::chrono::duration<double>(patience_).count()));
    }
    const int status = python_->wait();
    throw Failure(fmt::format("python3 ended ({}): {}", status < 0 ? "by a signal" : fmt::format("exit {}", status),
                              last_line(said_)));
}

void NumpyPeer::give_up(const std::string& why) {
    const char* const hint =
        version_.empty() ? ". “apt-get install python3-numpy” or “pip install numpy” installs it" : "";
    notes_.push_back(fmt::format("{} was not timed: {}{}.", numpy_name, why, hint));
    given_up_ = true;
    python_.reset();
}

} // namespace detreduce::report
