// A program of that name, for as long as it lives: a shell script in a folder at the front of PATH.
#pragma once

#include <cstdlib>
#include <string>

#include "files.hpp"

namespace report_test {

class FakeProgram {
  public:
    /// Without a script there is none of that name, nor any other program.
    FakeProgram(const std::string& name, const std::string& script) : before_(std::getenv("PATH")) {
        const auto file = dir_.path() / name;
        if (!script.empty()) {
            detreduce::report::write_file(file, "#!/bin/sh\n" + script);
            std::filesystem::permissions(file, std::filesystem::perms::owner_all);
        }
        const std::string path = dir_.path().string() + (script.empty() ? "" : ":" + before_);
        ::setenv("PATH", path.c_str(), 1);
    }
    ~FakeProgram() { ::setenv("PATH", before_.c_str(), 1); }
    FakeProgram(const FakeProgram&) = delete;
    FakeProgram& operator=(const FakeProgram&) = delete;
    [[nodiscard]] const std::filesystem::path& folder() const { return dir_.path(); }

  private:
    detreduce::report::TemporaryDirectory dir_;
    std::string before_;
};

} // namespace report_test
