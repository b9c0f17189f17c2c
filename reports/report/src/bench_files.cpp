#include "bench_files.hpp"

#include "files.hpp"
#include "origin.hpp"
#include "read_csv.hpp"

namespace detreduce::report {
namespace fs = std::filesystem;
namespace {

// A bench that was run by hand leaves no provenance.txt.
std::string origin_words(const fs::path& folder, const std::string& name) {
    const fs::path provenance = folder / "provenance.txt";
    if (!program::may_exist(provenance)) return "there is no provenance.txt to say where it comes from";
    return words_of(origin_of(name, read_file(provenance), provenance.string()));
}

} // namespace

std::vector<BenchFile> load_bench_files(const fs::path& folder) {
    std::vector<BenchFile> files;
    for (const char* name : {ops_file, small_ops_file, shapes_file, row_ops_file})
        if (program::may_exist(folder / name))
            files.push_back({name, origin_words(folder, name), load_cost(folder / name)});
    return files;
}

} // namespace detreduce::report
