#include "golden/calls.hpp"

#include <ostream>

#include "golden/table.hpp"

namespace detreduce::golden {

std::string name_of(const CallResult& result) {
    const std::size_t family = result.call.find('\t'), op = result.call.find('\t', family + 1);
    return result.call.substr(0, family) + ' ' + result.call.substr(family + 1, op - family - 1);
}

bool is_call(std::string_view line) {
    const std::string_view kind = line.substr(0, line.find('\t'));
    return kind == row_op_table().kind || kind == loss_table().kind;
}

std::string line_of(const CallResult& result) {
    return joined({result.call, hexadecimal(result.bits, sizeof result.bits)});
}

std::vector<CallResult> call_results(const Memory& memory, std::uint64_t longest) {
    std::vector<CallResult> results = row_op_results(memory, longest);
    for (CallResult& r : loss_results(memory, longest))
        results.push_back(std::move(r));
    return results;
}

void write_table(std::ostream& out, const std::string& device, const CallTable& table, const Memory& memory) {
    out << first_lines(table.spec_version, device, table.columns);
    for (const CallResult& r : table.results(memory, all_lengths))
        out << line_of(r) << '\n';
}

} // namespace detreduce::golden
