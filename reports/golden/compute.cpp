#include "golden/compute.hpp"

#include <bit>
#include <cstring>
#include <ostream>

#include <detreduce/version.hpp>

#include "golden/fingerprint.hpp"

namespace detreduce::golden {

static_assert(std::endian::native == std::endian::little, "a result is written to the lowest bytes of an integer");

Request request_of(const Case& c, const Device& device) {
    Request request{.op = c.op, .method = c.method, .dtype = c.dtype};
    if (!info(c.op).gives_integer) request.output = c.output;
    request.shape = c.shape;
    request.n = c.n;
    request.groups = c.groups;
    request.stride = c.stride;
    request.device = device;
    request.nan = c.nan;
    request.each = c.each;
    request.ddof = c.ddof;
    return request;
}

std::uint64_t bits_of(const Case& c, const void* results) {
    const std::uint64_t count = results_of(c);
    const std::size_t bytes = result_bytes_of(c);
    std::uint64_t bits = 0;
    if (count == 1) {
        std::memcpy(&bits, results, bytes);
        return bits;
    }
    std::uint64_t fingerprint = empty_fingerprint;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(&bits, static_cast<const char*>(results) + i * bytes, bytes);
        fingerprint = fingerprint_with(fingerprint, bits, bytes);
    }
    return fingerprint;
}

std::uint64_t reduce_on_cpu(const Case& c, const Input& in, const Launch& launch) {
    Request request = request_of(c, cpu);
    request.launch = launch;
    const Plan plan = make_plan(request);
    std::vector<std::uint64_t> out((plan.results() * plan.result_bytes() + 7) / 8),
        workspace((plan.workspace_bytes() + 7) / 8);
    throw_if_error(run(plan, inputs_of(c, in), out.data(), workspace.data()));
    return bits_of(c, out.data());
}

std::vector<std::uint64_t> compute(const std::vector<Case>& cases, const Reduce& reduce) {
    std::vector<std::uint64_t> results;
    Input input;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (i == 0 || !same_input(cases[i - 1], cases[i])) {
            input = {}; // two of the large ones at once would be one too many
            input = input_of(cases[i]);
        }
        results.push_back(reduce(cases[i], input));
    }
    return results;
}

void write_table(std::ostream& out, const std::string& device, const std::vector<Case>& cases, const Reduce& reduce) {
    const std::vector<std::uint64_t> results = compute(cases, reduce);
    out << first_lines(spec_version, device, columns_of(cases.front()));
    for (std::size_t i = 0; i < cases.size(); ++i)
        out << line_of({cases[i], results[i]}) << '\n';
}

} // namespace detreduce::golden
