// Where the figures come from: what the machine, the build and the caller say about themselves.
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sys/utsname.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "detreduce_build_info.hpp"
#include "gpu.hpp"
#include "measure.hpp"

namespace detreduce::report {
namespace {

// Now, or the moment that reproducible builds ask for
// (https://reproducible-builds.org/specs/source-date-epoch/).
std::string timestamp() {
    std::time_t moment = std::time(nullptr);
    if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH"); epoch && *epoch) {
        char* end = nullptr;
        const long long value = std::strtoll(epoch, &end, 10);
        if (*end == '\0' && value >= 0 && value < 253402300800)
            moment = static_cast<std::time_t>(value); // before the year 10000
    }
    std::tm utc{};
    ::gmtime_r(&moment, &utc);
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", utc);
}

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown CPU";
}

std::string system_name() {
    utsname names{};
    if (::uname(&names) != 0) return "unknown";
    return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

} // namespace

Provenance provenance_of(const Options& options) {
    Provenance p;
    p.created = timestamp();
    p.command = options.command;
    p.mode = options.quick ? "quick" : "full";
    p.seed = options.seed;
    p.version = detreduce::version;
    p.spec_version = spec_version;
    p.commit = build_info::commit;
    p.dirty = build_info::dirty;
    p.compiler = build_info::compiler;
    if (const std::string cuda = gpu::compiler(); !cuda.empty()) p.compiler += ", " + cuda;
    p.flags = build_info::flags;
    p.cpu = cpu_model();
    p.cpu_threads = cpu_threads();
    p.isa = name(available_isas().back());
    p.system = system_name();
    p.device = name_of(options.device);
    p.device_choice = options.device_choice;
    if (options.device.backend == Backend::cuda) p.gpu = gpu::describe(options.device.index);
    return p;
}

} // namespace detreduce::report
