#include <algorithm>

#include <fmt/format.h>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {

std::vector<std::string> own_names(const Results& results) {
    std::vector<std::string> names;
    for (const OwnRow& own : results.own)
        if (std::find(names.begin(), names.end(), own.name) == names.end()) names.push_back(own.name);
    return names;
}

std::string method_label(const Subject& subject, const Results& results) {
    return subject.device == results.provenance.device ? subject.method
                                                       : fmt::format("{} ({})", subject.method, subject.device);
}

std::string type_of(const Subject& s) {
    return s.output == s.dtype ? s.dtype : fmt::format("{} to {}", s.dtype, s.output);
}

Table provenance_table(const Provenance& p) {
    Table table{"provenance-table", "Where these figures come from", {{"what", false}, {"value", false}}, {}};
    const auto row = [&](const char* what, const std::string& value) {
        table.rows.push_back({{what}, value.empty() ? Cell{dash, "", Mood::absent} : Cell{value}});
    };
    row("command", p.command);
    row("date (UTC)", p.created);
    row("seed", fmt::format("{}", p.seed));
    row("version", fmt::format("detreduce {}, spec_version {}", p.version, p.spec_version));
    row("commit", p.commit + (p.dirty ? " with uncommitted changes" : ""));
    row("device", fmt::format("{} ({})", p.device, p.device_choice));
    if (p.gpu) {
        const Gpu& g = *p.gpu;
        row("GPU",
            fmt::format("{}, compute capability {}, {} multiprocessors, {} memory, {} L2", g.name, g.compute_capability,
                        g.multiprocessors, bytes_of(g.memory_bytes), bytes_of(g.l2_bytes)));
        row("GPU memory peak",
            g.peak_gb_per_s ? gigabytes_per_second(g.peak_gb_per_s) + " GB/s (by the device's properties)" : "");
        row("CUDA", fmt::format("driver runs up to {}, runtime {}, CUB {}", g.driver, g.toolkit, g.cub));
    }
    row("CPU", fmt::format("{}, {} threads, {}", p.cpu, p.cpu_threads, p.isa));
    row("system", p.system);
    row("compiler", p.compiler);
    row("flags", p.flags);
    for (const std::string& note : p.notes)
        row("note", note);
    return table;
}

} // namespace detreduce::report
