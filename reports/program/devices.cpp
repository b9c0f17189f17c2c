// `detreduce devices`: what this machine and this build can reduce on.
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

/// "model name" of /proc/cpuinfo; other systems and processors do not tell.
std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
        if (start != std::string::npos) return line.substr(start);
    }
    return "unknown model";
}

std::vector<std::string> isa_names() {
    std::vector<std::string> names;
    for (const Isa isa : available_isas())
        names.emplace_back(name(isa));
    return names;
}

/// The threads that a plan of many elements gets when none are asked for.
std::uint32_t default_threads() {
    return make_plan({.n = max_n, .device = cpu}).launch().threads;
}

std::string cuda_version(int version_number) {
    return fmt::format("{}.{}", version_number / 1000, version_number % 1000 / 10);
}

std::string cuda_line(const cuda::DeviceInfo& d) {
    constexpr double gib = 1024.0 * 1024 * 1024;
    std::string line =
        fmt::format("cuda:{}  {}; compute capability {}.{}; {} multiprocessors; {:.1f} GiB; L2 {:.0f} MiB", d.index,
                    d.name, d.major, d.minor, d.multiprocessors, d.memory_bytes / gib, d.l2_bytes * 1024 / gib);
    if (d.peak_bytes_per_s > 0) line += fmt::format("; peak {:.0f} GB/s", d.peak_bytes_per_s / 1e9);
    return line;
}

void print_lines() {
    print(fmt::format("cpu     {}; instruction sets {}; {} threads\n", cpu_model(), fmt::join(isa_names(), ", "),
                      default_threads()));
    std::string why;
    const auto devices = cuda::devices(&why);
    for (const cuda::DeviceInfo& d : devices)
        print(cuda_line(d) + "\n");
    if (devices.empty()) {
        print(fmt::format("cuda    none: {}\n", why));
    } else {
        print(fmt::format("CUDA driver {}, runtime {}\n", cuda_version(cuda::driver_version()),
                          cuda_version(cuda::runtime_version())));
    }
}

nlohmann::ordered_json cuda_json(const cuda::DeviceInfo& d) {
    return {{"device", fmt::format("cuda:{}", d.index)},
            {"name", d.name},
            {"compute_capability", fmt::format("{}.{}", d.major, d.minor)},
            {"multiprocessors", d.multiprocessors},
            {"memory_bytes", d.memory_bytes},
            {"l2_bytes", d.l2_bytes},
            {"peak_bytes_per_s", d.peak_bytes_per_s}};
}

void print_json() {
    std::string why;
    nlohmann::ordered_json json;
    json["cpu"] = {{"model", cpu_model()}, {"isas", isa_names()}, {"threads", default_threads()}};
    json["cuda"] = nlohmann::ordered_json::array();
    for (const cuda::DeviceInfo& d : cuda::devices(&why))
        json["cuda"].push_back(cuda_json(d));
    if (json["cuda"].empty()) json["cuda_none_because"] = why;
    json["cuda_driver"] = cuda::driver_version();
    json["cuda_runtime"] = cuda::runtime_version();
    json["version"] = version;
    print(json.dump() + "\n");
}

} // namespace

void add_devices(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    CLI::App* const command =
        app.add_subcommand("devices", "List the processors and GPUs that a reduction can run on here");
    command->add_flag("--json", *json, "print one JSON object instead of lines")->disable_flag_override();
    command->footer("Examples:\n"
                    "  detreduce devices            one line a device\n"
                    "  detreduce devices --json     the same for other programs");
    command->callback([json] { *json ? print_json() : print_lines(); });
}

} // namespace detreduce::program
