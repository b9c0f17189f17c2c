#include "rank_sums.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "child_process.hpp"
#include "determinism_axes.hpp"
#include "failure.hpp"
#include "output.hpp"

namespace detreduce::report {
namespace {

using program::Failure;

constexpr std::chrono::minutes patience{3};
constexpr int too_few_gpus = 77;

// Open MPI's leave to run as root and with more processes than cores; another MPI needs none. No
// word from others into what is printed.
constexpr const char* mpi_environment[] = {
    "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "OMPI_MCA_mpi_yield_when_idle=1"};

// A program beside this one; empty where there is none.
std::string beside_us(const char* name) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::filesystem::path path = self.parent_path() / name;
    return !error && std::filesystem::is_regular_file(path, error) ? path.string() : std::string();
}

std::vector<std::string> data_of(const Options& options) {
    const std::uint64_t n = std::min(determinism_elements(options.quick), options.largest_n);
    return {"--n", std::to_string(n), "--seed", std::to_string(options.seed)};
}

// What it prints; nothing where it says that there are too few GPUs.
std::optional<std::string> printed_by(std::vector<std::string> words, const Progress& progress) {
    const std::string what = words[0];
    ChildProcess process(std::move(words));
    std::optional<std::string> text = process.read_all(patience, [&] { progress.check_interrupt(); });
    if (!text) throw Failure(fmt::format("{} did not end within 3 minutes", what));
    const int status = process.wait();
    progress.check_interrupt(); // a terminal sends Ctrl-C to both
    if (status == too_few_gpus) return std::nullopt;
    if (status != 0) throw Failure(fmt::format("{} failed: {}", what, program::one_line(*text)));
    return text;
}

} // namespace

std::vector<std::string> mpi_sums(const Options& options, const Progress& progress) {
    const std::string sums = beside_us("detreduce_mpi_sums");
    const FoundProgram mpiexec = find_program("mpiexec"), env = find_program("env");
    std::vector<std::string> texts;
    if (sums.empty() || mpiexec.path.empty() || env.path.empty()) return texts;
    for (const int ranks : rank_counts) {
        std::vector<std::string> words{env.path};
        words.insert(words.end(), std::begin(mpi_environment), std::end(mpi_environment));
        for (const std::string& word : {mpiexec.path, std::string("-n"), std::to_string(ranks), sums})
            words.push_back(word);
        for (const std::string& word : data_of(options))
            words.push_back(word);
        if (auto text = printed_by(std::move(words), progress)) texts.push_back(std::move(*text));
    }
    return texts;
}

std::vector<std::string> nccl_sums(const Options& options, const Progress& progress) {
    const std::string sums = beside_us("detreduce_nccl_sums");
    std::vector<std::string> texts;
    if (sums.empty()) return texts;
    for (const int ranks : rank_counts) {
        std::vector<std::string> words{sums, "--ranks", std::to_string(ranks)};
        for (const std::string& word : data_of(options))
            words.push_back(word);
        auto text = printed_by(std::move(words), progress);
        if (!text) break;
        texts.push_back(std::move(*text));
    }
    return texts;
}

} // namespace detreduce::report
