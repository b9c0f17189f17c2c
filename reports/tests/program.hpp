// Runs the built program as a user would, and the files it is given.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace program_test {

struct Outcome {
    int code = -1; ///< exit code; 128 + the signal's number if one ended it
    std::string out, err;
    std::uint64_t peak_bytes = 0; ///< the most memory it held when a pipe had given it all
};

/// Where the program's standard streams go when not to the test.
struct Streams {
    std::vector<std::string> launcher = {}; ///< a program and its first arguments, which starts this one; empty: none
    std::string input = {};                 ///< given on standard input, through a file
    std::string output_file = {};           ///< standard output goes there instead, e.g. /dev/full
    bool output_closed = false;
    bool output_is_broken_pipe = false; ///< a pipe whose reader is gone
    bool input_is_pipe = false;
    std::string input_head = {};    ///< a pipe gives this first
    int input_repeats = 1;          ///< a pipe gives the input so many times, one after the other
    std::uint64_t memory_limit = 0; ///< bytes of address space; 0: no limit
};

/// The address sanitizer reserves terabytes of address space, so that Streams::memory_limit cannot
/// be tested with it.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_space_is_limitable = false;
#else
inline constexpr bool address_space_is_limitable = true;
#endif

/// Runs `detreduce arguments…`.
Outcome run_program(const std::vector<std::string>& arguments, const Streams& streams = {});

/// The bytes of a file; none if there is no such file.
std::string read_file(const std::string& path);

/// Runs `detreduce reduce arguments…` with `text` on standard input.
Outcome reduce_text(const std::string& text, std::vector<std::string> arguments = {});

/// A failure: nothing on stdout, exactly one line on stderr that begins with `detreduce: `, exit
/// code 1.
bool is_clean_failure(const Outcome& outcome);

/// Exit code 2, nothing on stdout, two lines on stderr: what is wrong, and where to read on.
bool is_usage_error(const Outcome& outcome);

/// A directory that goes away with its files.
class TemporaryDirectory {
  public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
    /// Writes a file and returns its path.
    std::string write(const std::string& name, std::string_view bytes) const;

  private:
    std::string path_;
};

/// The program under test: DETREDUCE_PROGRAM from the environment (tests that were built on another
/// machine), or as built.
std::string program_path();

/// The bytes of `values` as they lie in memory.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// A .npy file of version `major`.0 with this header (padded as NumPy does) and these bytes of
/// data.
std::string npy_file(const std::string& header, const std::string& data, int major = 1);

/// The header NumPy would write.
std::string npy_header(const std::string& descr, const std::string& shape, bool fortran = false);

/// A whole one-dimensional file.
template <class T>
std::string npy_of(const std::vector<T>& values, int major = 1) {
    const std::string shape = "(" + std::to_string(values.size()) + ",)";
    return npy_file(npy_header("<f" + std::to_string(sizeof(T)), shape), bytes_of(values), major);
}

} // namespace program_test
