// Starts this program again and reads what it prints.
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "child_process.hpp"
#include "determinism_axes.hpp"
#include "failure.hpp"
#include "fresh_sums.hpp"
#include "output.hpp"

namespace detreduce::report {
namespace {

using program::Failure;

constexpr std::chrono::minutes patience{3}; // CUDA takes a second to begin; a machine under load, longer

std::vector<std::string> arguments_of(const Options& options) {
    std::string devices;
    for (const Device& device : devices_of(options))
        devices += (devices.empty() ? "" : ",") + name_of(device);
    std::vector<std::string> words{"fresh-sums", "--devices", devices, "--seed", std::to_string(options.seed)};
    if (options.quick) words.emplace_back("--quick");
    if (options.largest_n < determinism_elements(options.quick)) {
        words.emplace_back("--max-n");
        words.push_back(std::to_string(options.largest_n));
    }
    return words;
}

} // namespace

std::string run_fresh_process(const Options& options, const Progress& progress) {
    ChildProcess process = ChildProcess::of_ourselves(arguments_of(options));
    std::optional<std::string> printed = process.read_all(patience, [&] { progress.check_interrupt(); });
    if (!printed) throw Failure("a fresh process did not end within 3 minutes");
    std::string& text = *printed;
    const int status = process.wait();
    progress.check_interrupt(); // a terminal sends Ctrl-C to both
    if (status != 0) {
        while (text.ends_with('\n'))
            text.pop_back();
        throw Failure(fmt::format("a fresh process failed ({}): {}",
                                  status < 0 ? "by a signal" : fmt::format("exit {}", status),
                                  program::one_line(text)));
    }
    return text;
}

std::uint64_t fresh_bits(std::string_view text, DType dtype, Method method, std::string_view where) {
    const std::string wanted = fmt::format("{} {} {} 0x", name(dtype), name(method), where);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        at = end + 1;
        if (!line.starts_with(wanted)) continue;
        std::uint64_t bits = 0;
        const char* const last = line.data() + line.size();
        const auto [stop, error] = std::from_chars(line.data() + wanted.size(), last, bits, 16);
        if (error == std::errc{} && stop == last) return bits;
    }
    throw Failure(fmt::format("a fresh process said nothing about '{}'", wanted));
}

} // namespace detreduce::report
