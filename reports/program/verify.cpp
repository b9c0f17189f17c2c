// `detreduce verify`: does this machine give the bits that are promised?
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "golden/compute.hpp"
#include "output.hpp"
#include "reduce_cuda.hpp"
#include "verify_text.hpp"

namespace detreduce::program {
namespace {

struct Options {
    std::string device = "cpu";
    bool json = false;
};

golden::Reduce reduce_on(const Device& device) {
    if (device.backend == Backend::cpu)
        return [](const auto& c, const auto& in) { return golden::reduce_on_cpu(c, in); };
    return [device](const golden::Case& c, const golden::Input& in) {
        std::vector<std::byte> results(golden::results_of(c) * golden::result_bytes_of(c));
        reduce_on_cuda(golden::request_of(c, device), golden::inputs_of(c, in), results.data());
        return golden::bits_of(c, results.data());
    };
}

void run_verify(const Options& o) {
    const Device device = parse_device(o.device);
    const Status status = make_plan({.n = 0, .device = device}).status();
    if (status.code == StatusCode::no_device) throw no_such_gpu(o.device);
    if (!status.ok()) throw Failure(to_string(status));
    const golden::Table table = golden::parse_table(golden::embedded_table());
    const auto memory = device.backend == Backend::cpu ? golden::cpu_memory() : cuda_memory(device.index);
    const golden::Verdict verdict = golden::compare(table, golden::compute(golden::cases_of(table), reduce_on(device)),
                                                    golden::call_results(*memory));
    verify({o.device == "cuda" ? "cuda:0" : o.device, table.source, verdict}, o.json, [](const std::string& text) {
        print(text);
        finish_output(); // before what goes to standard error
    });
}

} // namespace

void add_verify(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("verify", "Check that this machine gives the bits that every machine should give");
    command->add_option("--device", o->device, "cpu, cuda or cuda:INDEX")->type_name("")->capture_default_str();
    command->add_flag("--json", o->json, "print one JSON object instead of lines")->disable_flag_override();
    command->footer(
        "Reduces generated inputs, of up to 2^27 elements, with every method whose bits are guaranteed, calls every "
        "row op and every loss of elements with its gradients, and compares each result with a table inside this "
        "program. It "
        "takes seconds, and up to 300 MiB of memory.\n"
        "For sums by each method, for each other op and shape, and for each row op and loss: how many results there "
        "were, how many differ, and a fingerprint of all their bits: two machines with the same fingerprint gave the "
        "same bits (FNV-1a, 64 bits, over the results' bytes in the table's order). Where a call gives many values, as "
        "a reduction of the rows of a matrix does, its result is the fingerprint of them all.\n"
        "Exit status: 0 all are equal, 1 some differ, and the first of them are shown.\n"
        "\n"
        "--json has: device, table (where its bits are from), methods (of sums: method), ops (op, shape), calls (of "
        "row ops and losses: call), all, each with results, different, fingerprint and ok; first_different, a list of "
        "at most 10 reductions and 10 calls with what was expected and got; spec_version, spec_version_of_row_ops, "
        "spec_version_of_losses, version.\n"
        "\n"
        "Examples:\n"
        "  detreduce verify                      the CPU\n"
        "  detreduce verify --device cuda:1      the second GPU\n"
        "  detreduce verify --json               the same for other programs");
    command->callback([o] { run_verify(*o); });
}

} // namespace detreduce::program
