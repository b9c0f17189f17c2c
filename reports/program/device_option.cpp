#include "device_option.hpp"

#include <charconv>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "output.hpp"

namespace detreduce::program {

Device parse_device(const std::string& text, const char* also) {
    if (text == "cpu") return {Backend::cpu};
    if (text == "cuda") return {Backend::cuda, 0};
    int index = -1;
    const char* const end = text.data() + text.size();
    if (text.starts_with("cuda:")) {
        const auto result = std::from_chars(text.data() + 5, end, index);
        if (result.ec != std::errc{} || result.ptr != end) index = -1;
    }
    if (index < 0) {
        throw UsageError(fmt::format("--device: {} is not a device; allowed are {}cpu, cuda, cuda:0, cuda:1, …",
                                     in_quotes(text), also));
    }
    return {Backend::cuda, index};
}

Failure no_such_gpu(const std::string& asked) {
    std::string why;
    if (cuda::devices(&why).empty()) {
        return Failure(fmt::format("--device {}: no usable GPU ({}); allowed here is cpu", asked,
                                   why.empty() ? "none found" : why));
    }
    return Failure(fmt::format("--device {}: there is no such GPU; `detreduce devices` lists those there are", asked));
}

void require_gpu(const std::string& asked, const Device& device) {
    for (const cuda::DeviceInfo& there : cuda::devices())
        if (there.index == device.index) return;
    throw no_such_gpu(asked);
}

std::string take_decimal(std::string& text, std::uint64_t largest, const std::string& refusal) {
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size() || value > largest)
        return fmt::format("{} {}", in_quotes(text), refusal);
    text = fmt::format("{}", value);
    return {};
}

} // namespace detreduce::program
