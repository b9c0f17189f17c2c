#include "own.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::report {
namespace {

bool on_gpu(const OwnReduction& own) {
    return own.launch != nullptr;
}

bool is_here(const OwnReduction& own, const Options& options) {
    return !on_gpu(own) || options.device.backend == Backend::cuda;
}

// "a loop (f32, f64), a tree (f32)": those that `wanted` is true of.
template <class Wanted>
std::string list_of(const Options& options, Wanted wanted) {
    std::vector<std::pair<std::string, std::string>> names; // and their dtypes
    for (const OwnReduction& own : options.own) {
        if (!wanted(own)) continue;
        const auto at = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == own.name; });
        if (at == names.end())
            names.emplace_back(own.name, name(own.dtype));
        else if (at->second.find(name(own.dtype)) == std::string::npos)
            at->second += fmt::format(", {}", name(own.dtype));
    }
    std::string text;
    for (const auto& [own_name, dtypes] : names)
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", own_name, dtypes);
    return text;
}

// part(), a part of that reduction: what it throws becomes a Failure with its name.
template <class Part>
auto named(const OwnReduction& own, std::uint64_t n, const char* what, Part part) {
    try {
        return part();
    } catch (const std::exception& error) {
        throw program::Failure(fmt::format("{}: {} threw an exception: {}", words_of(own, n), what, error.what()));
    } catch (...) {
        throw program::Failure(
            fmt::format("{}: {} threw something that is not a std::exception", words_of(own, n), what));
    }
}

} // namespace

std::vector<MethodInfo> measured_methods(const Options& options) {
    std::vector<MethodInfo> list;
    for (const MethodInfo& m : methods())
        if (options.own.empty() || m.method == Method::tree || m.method == Method::exact) list.push_back(m);
    return list;
}

bool is_measured(const Options& options, DType dtype) {
    return options.own.empty() || std::any_of(options.own.begin(), options.own.end(),
                                              [&](const OwnReduction& own) { return own.dtype == dtype; });
}

std::vector<DType> measured_dtypes(const Options& options) {
    std::vector<DType> list;
    for (const DType dtype : dtypes())
        if (is_measured(options, dtype) && !has_8_bits(dtype)) list.push_back(dtype);
    return list;
}

std::vector<const OwnReduction*> own_here(const Options& options, DType dtype) {
    std::vector<const OwnReduction*> list;
    for (const OwnReduction& own : options.own)
        if (own.dtype == dtype && is_here(own, options)) list.push_back(&own);
    std::stable_partition(list.begin(), list.end(), [](const OwnReduction* own) { return on_gpu(*own); });
    return list;
}

Device device_of(const OwnReduction& own, const Options& options) {
    return on_gpu(own) ? options.device : Device{};
}

std::string words_of(const OwnReduction& own, std::uint64_t n) {
    return fmt::format("'{}' of {} {} elements on {}", own.name, n, name(own.dtype), on_gpu(own) ? "a GPU" : "the CPU");
}

void run_on_host(const OwnReduction& own, const void* x, std::uint64_t n, void* result) {
    named(own, n, "it", [&] { own.host(x, n, result); });
}

accuracy::ErrorBound bound_of(const OwnReduction& own, std::uint64_t n) {
    return named(own, n, "its bound", [&] { return own.claims.bound(n); });
}

std::size_t workspace_of(const OwnReduction& own, std::uint64_t n) {
    return named(own, n, "its workspace_bytes", [&] { return own.workspace_bytes(n); });
}

std::vector<OwnRow> own_rows(const Options& options) {
    std::vector<OwnRow> rows;
    for (const OwnReduction& own : options.own)
        if (is_here(own, options))
            rows.push_back({own.name, std::string(name(own.dtype)), name_of(device_of(own, options)),
                            std::string(name(own.claims.guarantee))});
    return rows;
}

std::vector<std::string> own_notes(const Options& options) {
    std::vector<std::string> notes;
    const auto add = [&](const char* begin, const std::string& list, const char* end) {
        if (!list.empty()) notes.push_back(begin + list + end);
    };
    add("Reductions that are not detreduce's: ",
        list_of(options, [&](const OwnReduction& own) { return is_here(own, options); }), ".");
    add("SKIPPED, because they need a GPU and this run has none: ",
        list_of(options, [&](const OwnReduction& own) { return !is_here(own, options); }), ".");
    const std::vector<Device> devices = devices_of(options);
    const bool times_cpu =
        std::any_of(devices.begin(), devices.end(), [](const Device& d) { return d.backend == Backend::cpu; });
    if (!times_cpu)
        add("Without a cost, because this run times the GPU (--device cpu times them): ",
            list_of(options, [](const OwnReduction& own) { return !on_gpu(own); }), ".");
    return notes;
}

} // namespace detreduce::report
