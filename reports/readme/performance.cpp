#include "performance.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "build_figures.hpp"
#include "choice_tables.hpp"
#include "cpu_tables.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "folder.hpp"
#include "json.hpp"
#include "markdown_table.hpp"
#include "op_tables.hpp"
#include "origin.hpp"
#include "peers.hpp"
#include "printed.hpp"
#include "python_tables.hpp"
#include "read_csv.hpp"
#include "sum_tables.hpp"
#include "several_machines.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

constexpr const char *ladder_file = "ladder.json", *edge_folder = "edge-cases", *build_folder = "build";

std::string about_choices(const std::vector<Choice>& list, const std::string& which) {
    std::uint64_t most = 0; // bytes of the largest size, which is whose speed the table has
    for (const Choice& c : list)
        if (c.cost) most = std::max(most, c.cost->bytes);
    return fmt::format(
        "What each method gives and costs{}. Errors are in ulp of the result{}: one ulp is the distance between "
        "neighbouring numbers of its format, and the nearest number is at most 0.5 ulp away. The condition number "
        "Σ|x| / |Σx| is 1 where all numbers have one sign, and large where they cancel. Bit patterns: results with "
        "different bits that were seen along what the method's guarantee covers. Speed is that on {}; “× read” is "
        "relative to a kernel that only reads the same bytes.\n",
        which, which.empty() ? " (16-bit elements: of a result in f32)" : "", bytes_of(most));
}

std::string choices(const Folder& folder) {
    const Results results = folder.results();
    const std::vector<Choice> list = choices_of(results);
    return about_choices(list, "") + folder.from(results_file) +
           markdown(summary_table(list, results.provenance.device != "cpu"));
}

// The speed of `exact` on the worst data that a search found. A run that has not searched has no
// such file.
std::string worst_data(const Folder& folder) {
    if (!folder.has(adversaries_file)) return "";
    std::string sums, products;
    for (const CostRow& r : folder.rows(adversaries_file)) {
        if (r.candidate == "read") continue;
        std::string& all = r.candidate == "exact" ? sums : products;
        all += fmt::format("{}{} {}", all.empty() ? "" : ", ", r.dtype, fixed(r.ratio_to_read, 2));
    }
    return fmt::format(
        "\nThe worst data that a search found for `exact` ([{0}]({1}/{0})), × read: sums {2}; `dot` {3}.\n",
        adversaries_file, folder.link, sums, products);
}

std::string choices_of_f32(const Folder& folder) {
    const Results results = folder.results();
    std::vector<Choice> list = choices_of(results);
    std::erase_if(list, [](const Choice& c) { return c.dtype != "f32"; });
    return about_choices(list, ", sums of f32") + folder.from(results_file) +
           markdown(summary_table(list, results.provenance.device != "cpu")) + worst_data(folder);
}

std::string chooser(const Folder& folder) {
    const Results gpu = folder.results(), cpu = folder.cpu_results();
    return markdown(chooser_table(gpu, cpu)) +
           fmt::format(
               "\nSums of f32. GPU: speed on {}, relative to a kernel that only reads the same bytes ({}: {}). CPU, "
               "one thread: ns per element (`std::accumulate`: {}, `std::reduce`: {}; {}).\n",
               chooser_size(gpu), folder.link_to(results_file), folder.origin(results_file),
               cpu_cost(cpu, accumulate_name), cpu_cost(cpu, reduce_name), folder.cpu_origin(cpu.provenance));
}

std::string ladder(const Folder& folder) {
    return "The kernels by which reductions are taught (`kernels/ladder/`), f32, beside libraries and these methods: "
           "bandwidth, bit patterns in 1000 runs, and error of the last of them.\n" +
           folder.from(ladder_file) + markdown(ladder_summary_table(folder.results(ladder_file)));
}

// Of a dtype and an op, which data that was.
std::string adversaries(const Folder& folder) {
    const char* const file = adversaries_file;
    if (!folder.has(file)) return "";
    Table table;
    table.columns = {{"of 4 GiB", false}, {"data", false}, {"parameters", false}, {"speed"}};
    for (const CostRow& r : folder.rows(file)) {
        if (r.candidate == "read") continue;
        table.rows.push_back({{(r.candidate == "exact" ? "sum, " : "dot, ") + r.dtype},
                              {code(r.data)},
                              {r.variant},
                              {fixed(r.ratio_to_read, 3)}});
    }
    return "\nThe worst data for `exact` that a search found (`detreduce_gpu_bench --adversaries`), and its speed "
           "relative "
           "to reading.\n" +
           folder.from(file) + markdown(table);
}

std::string sums(const Folder& folder) {
    return "Sums of normal data: medians in µs of one run; the last columns are the speed relative to a kernel that "
           "only reads the same bytes.\n" +
           folder.from(sums_file) + markdown(sizes_table(folder.rows(sums_file)));
}

std::string data(const Folder& folder) {
    return "The time of `exact` depends on what the numbers are (its bits depend on nothing else).\n" +
           folder.from(sums_file) + markdown(data_table(folder.rows(sums_file))) + adversaries(folder);
}

std::string ops(const Folder& folder) {
    return "Ops over the same bytes: those of two inputs read half as x and half as y. Those that compare or count are "
           "the same by every method.\n" +
           folder.from(ops_file) + markdown(ops_table(folder.rows(ops_file), code));
}

/// The same of the other folders that have such a file.
template <class MakeTable>
std::string beside(const Folder& folder, const char* file, const char* what, const MakeTable& table) {
    std::string all;
    for (const Folder& other : folder.all_beside()) {
        if (other.path.filename() == folder.path.filename() || !other.has(file)) continue;
        all +=
            (all.empty() ? "" : "\n") +
            fmt::format("The same on another GPU. From {}: {}.\n\n", other.link_with_folder(file), other.origin(file)) +
            markdown(table(other.rows(file), code));
    }
    return all.empty() ? fmt::format("{} were measured on no other GPU.\n", what) : all;
}
std::string ops_beside(const Folder& folder) {
    return beside(folder, ops_file, "Ops", ops_table);
}
std::string shapes_beside(const Folder& folder) {
    return beside(folder, shapes_file, "Rows, columns, segments and lists", shapes_table);
}
std::string small_ops(const Folder& folder) {
    return "Ops on little data, where starting and finishing count: their time as a multiple of that of CUB's "
           "nearest algorithm, without what follows it (a root, a division); below 1 is faster.\n" +
           folder.from(small_ops_file) + markdown(ops_and_cub_table(folder.rows(small_ops_file), code));
}

std::string small_ops_beside(const Folder& folder) {
    return beside(folder, small_ops_file, "Ops on little data", ops_and_cub_table);
}

std::string shapes(const Folder& folder) {
    return "Groups of the same elements. Many small tensors are fewer bytes, so that their time is given.\n" +
           folder.from(shapes_file) + markdown(shapes_table(folder.rows(shapes_file), code));
}

std::string shapes_and_cub(const Folder& folder) {
    return "Beside CUB's segmented algorithms: above 1 ours are faster.\n" + folder.from(shapes_file) +
           markdown(shapes_and_cub_table(folder.rows(shapes_file), code));
}

// In two tables: of row ops there is no `exact`.
std::string row_ops(const Folder& folder) {
    std::vector<CostRow> rows = folder.rows(row_ops_file), means = rows;
    const auto is_mean = [](const CostRow& r) { return r.candidate.ends_with(" mean"); };
    std::erase_if(means, std::not_fn(is_mean));
    std::erase_if(rows, is_mean);
    std::string text = "Row ops by `tree`. Those that write as much as they read are beside a copy of the same bytes "
                       "(c).\n" +
                       folder.from(row_ops_file) + markdown(row_ops_table(rows, code));
    if (!means.empty())
        text +=
            "\nMeans of losses, of which one half of the bytes is the target.\n\n" + markdown(ops_table(means, code));
    return text;
}

// Of others what was printed: its file, and which columns are shown.
struct PeerFile {
    const char *file, *whose;
    const char* wanted; ///< part of a column's head
};
constexpr PeerFile edge_peers[] = {{"cub.txt", "CUB", "gpu_to_gpu"}, {"nccl.txt", "NCCL", ""}};

std::string edges(const Folder& folder) {
    const Results results = folder.results();
    Table table = edge_table(results);
    for (Column& column : table.columns) // a narrow head: the text above the table says what it is
        if (column.title == code("cub::DeviceReduce::Sum")) column.title = "CUB " + code("Sum");
    std::string from = fmt::format("From {}: {}", folder.link_to(results_file), folder.origin(results_file));
    const Folder edges_folder = folder.beside(edge_folder);
    for (const PeerFile& peer : edge_peers) {
        if (!std::filesystem::exists(edges_folder.path / peer.file)) continue;
        const Printed p = edges_folder.printed_in(peer.file);
        for (std::size_t column = 2; column < p.heads.size(); ++column) {
            if (p.heads[column].find(peer.wanted) == std::string::npos) continue;
            table.columns.push_back({fmt::format("{} {}", peer.whose, code(p.heads[column]))});
            for (std::vector<Cell>& row : table.rows)
                row.push_back({p.at(row[0].text, row[1].text, column)});
        }
        from += fmt::format("; of {} from {}: {}", peer.whose, edges_folder.link_to(peer.file), p.origin);
    }
    return from + ".\n\n" + markdown(table);
}

std::string cpu_edges(const Folder& folder) {
    const char* const file = "python.txt";
    const Folder edges_folder = folder.beside(edge_folder);
    return printed_table(edges_folder.printed_in(file), edges_folder.link_to(file));
}

// That the machine was busy, which these figures suffer from; what was not timed is in no table.
std::string load_of(const Provenance& p) {
    const std::string note = busy_note_of(p);
    return note.empty() ? "" : "\n" + note + "\n";
}

std::string cpu_sums(const Folder& folder) {
    const Results results = folder.cpu_results();
    return fmt::format("Sums on a CPU, normal data of the largest size, ns an element by one thread, the best "
                       "instruction set.\nFrom {}.\n\n",
                       folder.cpu_origin(results.provenance)) +
           markdown(cpu_sums_table(results)) + load_of(results.provenance);
}

std::string cpu_ops(const Folder& folder) {
    const Results results = folder.cpu_results();
    return fmt::format("Ops on a CPU, f32, ns an element by one thread, beside the nearest of the C++ standard "
                       "library.\nFrom {}.\n\n",
                       folder.cpu_origin(results.provenance)) +
           markdown(cpu_ops_table(results));
}

// The Python package: a table of python.json under what it shows.
template <class MakeTable>
std::string python(const Folder& folder, const char* about, const MakeTable& table, bool of_cpu = false,
                   const char* file = "python.json") {
    const PythonRun run = python_run(read_file(folder.path / file), (folder.path / file).string());
    const std::string& machine = of_cpu || run.gpu.empty() ? run.cpu : run.gpu;
    return fmt::format("{}\nFrom {}: {}, {}.\n\n", about, folder.link_to(file), machine, run.origin) +
           markdown(table(run));
}

/// The folder with a file: this one, or the first beside it that has it.
Folder folder_with(const char* file, const Folder& folder) {
    if (folder.has(file)) return folder;
    for (const Folder& other : folder.all_beside())
        if (other.has(file)) return other;
    return folder;
}

// In two tables: of flat arrays, and of rows and columns.
std::string eight_bits(const Folder& all) {
    const char *const file = "f8.csv", *const of_shapes = "f8_shapes.csv";
    const Folder folder = folder_with(file, all);
    return "Elements of 8 bits. Flat or in rows of 256 or more those of sums and norms by `exact`, and of `min`, "
           "`max`, `nrminf` and `minmax`, are read as they are; others are converted to f16 first.\n" +
           folder.from(file) + markdown(ops_table(folder.rows(file), code)) + "\n" + folder.from(of_shapes) +
           markdown(shapes_table(folder.rows(of_shapes), code));
}

constexpr const char* peers_file = "peers.json";

std::string shapes_and_torch(const Folder& folder) {
    return python(
        folder_with(peers_file, folder),
        "Beside torch, both called from Python, 4 GiB of normal data: above 1 ours are faster. Ops that compare or "
        "count are the same by every method. torch 2.11 is not asked for products of 2³¹ elements: it writes outside "
        "its results.",
        [](const PythonRun& run) {
            return peers_table(run, "reductions", {"tree", "exact"}, {"torch"});
        },
        false, peers_file);
}

std::string row_ops_and_peers(const Folder& folder) {
    return python(
        folder_with(peers_file, folder),
        "Beside torch, what `torch.compile` makes of it, and Liger Kernel, called from Python, 1 GiB of normal data: "
        "above 1 ours are faster. With gradients: forward and backward, of norms with those of scale and shift.",
        [](const PythonRun& run) {
            return peers_table(run, "row_ops", {"detreduce"}, {"torch", "compiled", "liger"});
        },
        false, peers_file);
}

std::string python_calls(const Folder& folder) {
    return python(folder, "What a call on 16 elements takes the host; f32, medians.", python_calls_table);
}

std::string python_graphs(const Folder& folder) {
    return python(folder, "Sums without what a call takes the host.", python_graphs_table);
}

std::string python_steps(const Folder& folder) {
    return python(
        folder,
        "A step of a transformer of the shape of GPT-2 (bf16, 8 sequences of 2048 tokens): forward, backward, "
        "clipping, AdamW. Bits: how many different ones there were in three runs, of the loss / of the gradients "
        "of the last layer / of all gradients. Below, losses of tokens and gradients of logits of one batch of 8 "
        "sequences, of two of 4 and of eight of 1: how many different ones these three splits have.",
        python_steps_table);
}

std::string python_cpu(const Folder& folder) {
    return python(folder, "2²² elements on a CPU, in rows of 4096.", python_cpu_table, true);
}

std::string python_shapes(const Folder& folder) {
    return python(folder.beside(cpu_folder),
                  "2²⁴ elements on a CPU, ns an element by one thread. Rows and columns of n elements are sums over "
                  "them.",
                  python_shapes_table);
}

// Size and compile time of the library, of each set of architectures that was built.
std::string build(const Folder& folder) {
    const Folder files = folder.beside(build_folder);
    std::vector<BuildFigure> list;
    if (std::filesystem::exists(files.path))
        for (const auto& entry : std::filesystem::directory_iterator(files.path))
            if (entry.path().extension() == ".json")
                list.push_back(build_figure(read_file(entry.path()), entry.path().string()));
    return build_text(std::move(list), files.link);
}

const std::map<std::string, std::string (*)(const Folder&)> tables{
    {"build", build},
    {"chooser", chooser},
    {"choices", choices},
    {"choices-f32", choices_of_f32},
    {"cpu-edges", cpu_edges},
    {"cpu-ops", cpu_ops},
    {"cpu-sums", cpu_sums},
    {"data", data},
    {"edges", edges},
    {"eight-bits", eight_bits},
    {"gpus", gpus},
    {"ladder", ladder},
    {"ops", ops},
    {"ops-beside", ops_beside},
    {"processes", processes},
    {"python-calls", python_calls},
    {"python-cpu", python_cpu},
    {"python-graphs", python_graphs},
    {"python-shapes", python_shapes},
    {"python-steps", python_steps},
    {"ranks", ranks},
    {"row-ops", row_ops},
    {"row-ops-peers", row_ops_and_peers},
    {"shapes", shapes},
    {"shapes-beside", shapes_beside},
    {"shapes-cub", shapes_and_cub},
    {"shapes-torch", shapes_and_torch},
    {"small-ops", small_ops},
    {"small-ops-beside", small_ops_beside},
    {"sums", sums},
    {"verified", verified},
};

} // namespace

std::vector<std::string> table_names() {
    std::vector<std::string> names;
    for (const auto& [name, write] : tables)
        names.push_back(name);
    return names;
}

std::string table(const std::string& name, const std::filesystem::path& folder, const std::string& link) {
    const auto at = tables.find(name);
    if (at == tables.end())
        throw program::Failure(
            fmt::format("there is no table '{}'; allowed are {}", name, fmt::join(table_names(), ", ")));
    return at->second(Folder{folder, link});
}

} // namespace detreduce::readme
