#include <detreduce/status.hpp>

namespace detreduce {

std::string_view name(StatusCode code) noexcept {
    switch (code) {
    case StatusCode::ok:
        return "ok";
    case StatusCode::invalid_argument:
        return "invalid argument";
    case StatusCode::unsupported:
        return "unsupported";
    case StatusCode::no_device:
        return "no device";
    case StatusCode::cuda_error:
        return "CUDA error";
    case StatusCode::out_of_memory:
        return "out of memory";
    }
    return "unknown status";
}

std::string to_string(const Status& status) {
    std::string text(name(status.code));
    if (status.ok()) return text;
    if (status.code == StatusCode::cuda_error) {
        return text + " " + std::to_string(status.cuda_code) + " in " + status.argument + ": " + status.allowed;
    }
    text += " '";
    text += status.argument;
    if (status.index != Status::no_element) text += '[' + std::to_string(status.index) + ']';
    return text + "': " + status.allowed;
}

} // namespace detreduce
