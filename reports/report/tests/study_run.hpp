// A study of reductions of one's own as its author would run it (detreduce/accuracy/study.hpp).
#pragma once

#include <support/catch.hpp>

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <detreduce/accuracy/study.hpp>

#include "files.hpp"
#include "json.hpp"
#include "sample.hpp"

namespace report_test {

template <class T>
T loop(const T* x, std::uint64_t n) {
    T sum = 0;
    for (std::uint64_t i = 0; i < n; ++i)
        sum += x[i];
    return sum;
}

/// A descriptor of this process goes to a file, for as long as this lives.
class Redirected {
  public:
    Redirected(int descriptor, const std::filesystem::path& file)
        : descriptor_(descriptor), before_(::dup(descriptor)) {
        std::fflush(nullptr);
        const int log = ::creat(file.c_str(), 0600);
        ::dup2(log, descriptor_);
        ::close(log);
    }
    ~Redirected() {
        std::fflush(nullptr);
        ::dup2(before_, descriptor_);
        ::close(before_);
    }
    Redirected(const Redirected&) = delete;
    Redirected& operator=(const Redirected&) = delete;

  private:
    int descriptor_, before_;
};

/// What write_report() says, and its status.
class Run {
  public:
    explicit Run(const detreduce::accuracy::Study& study, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments{"some/folder/mine", "--device", "cpu", "--quick", "--max-n", "256"};
        arguments.insert(arguments.end(), {"--out", file("out").string(), "--measure-only"});
        arguments.insert(arguments.end(), more.begin(), more.end());
        std::vector<const char*> argv;
        for (const std::string& argument : arguments)
            argv.push_back(argument.c_str());
        {
            const Redirected out(STDOUT_FILENO, file("stdout")), err(STDERR_FILENO, file("stderr"));
            status = study.write_report(static_cast<int>(argv.size()), argv.data());
        }
        output = contents(file("stdout"));
        errors = contents(file("stderr"));
    }
    [[nodiscard]] std::filesystem::path file(const char* name) const { return dir_.path() / name; }

  private:
    detreduce::report::TemporaryDirectory dir_;

  public:
    int status = -1;
    std::string output, errors;
};

inline detreduce::report::Results measured(const detreduce::accuracy::Study& study) {
    const Run run(study);
    INFO(run.errors);
    REQUIRE(run.status == 0);
    return detreduce::report::load_results(run.file("out") / "results.json");
}

} // namespace report_test
