// Status: what a call that cannot throw says about what went wrong.
#pragma once

#include <detreduce/config.hpp> // first: it says what a compiler lacks

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace detreduce {

enum class StatusCode : int {
    ok = 0,
    invalid_argument, ///< an argument is out of its range; `argument` names it, `allowed` says what is accepted
    unsupported,      ///< each argument is valid, their combination is not offered here
    no_device,        ///< the CUDA backend was asked for and there is no usable device (or the build has no CUDA)
    cuda_error,       ///< a CUDA call failed; `cuda_code` is its cudaError_t and `allowed` its description
    out_of_memory,    ///< the CPU backend could not get the memory for its buffers
};

/// Result of a call. Holds only pointers to string literals, so it can be copied and returned from
/// anywhere.
struct [[nodiscard]] Status {
    static constexpr std::uint64_t no_element = ~std::uint64_t{0};

    StatusCode code = StatusCode::ok;
    const char* argument = ""; ///< name of the offending argument, or of the CUDA call that failed
    const char* allowed = "";  ///< what is allowed, or the CUDA error's description
    int cuda_code = 0;
    std::uint64_t index = no_element; ///< of the first bad element where `argument` is an array; else no_element

    [[nodiscard]] constexpr bool ok() const noexcept { return code == StatusCode::ok; }
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return ok(); }
};

[[nodiscard]] std::string_view name(StatusCode code) noexcept;

/// One line for people, e.g. "invalid argument 'launch.block': allowed are 128 and 256, or 0 for
/// the library's choice" or "invalid argument 'offsets[7]': must not descend".
[[nodiscard]] std::string to_string(const Status& status);

/// What the throwing wrappers throw.
class Error : public std::runtime_error {
  public:
    explicit Error(const Status& status) : std::runtime_error(to_string(status)), status_(status) {}
    [[nodiscard]] const Status& status() const noexcept { return status_; }

  private:
    Status status_;
};

/// Throws Error unless `status` is ok.
inline void throw_if_error(const Status& status) {
    if (!status.ok()) throw Error(status);
}

} // namespace detreduce
#pragma GCC visibility pop
