#include "verify_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <detreduce/version.hpp>

#include "failure.hpp"

namespace detreduce::program {
namespace {

using golden::Difference;
using golden::Tally;

const char* word_for(const Tally& tally) {
    return tally.different == 0 ? "ok" : "DIFFERENT";
}

std::string fingerprint(const Tally& tally) {
    return fmt::format("0x{:016x}", tally.fingerprint);
}

std::string line(std::string_view what, const Tally& tally) {
    return fmt::format("{:<36} {:>5} results {:>5} differ   fingerprint {}   {}\n", what, tally.results,
                       tally.different, fingerprint(tally), word_for(tally));
}

/// `dot`, `dot rows`.
std::string line(const golden::OpTally& o) {
    const bool flat = o.shape == Shape::flat;
    return line(flat ? std::string(name(o.op)) : fmt::format("{} {}", name(o.op), name(o.shape)), o.tally);
}

/// Of what beside a flat sum.
std::string op_words(const golden::Case& c) {
    if (golden::is_flat_sum(c)) return "";
    const std::string words = fmt::format("{} {} ", name(c.op), name(c.shape)), option = golden::option_text(c);
    return option == "-" ? words : words + option + ' ';
}

std::string groups_words(const golden::Case& c) {
    if (c.shape == Shape::flat) return "";
    return c.stride == 0 ? fmt::format(" groups {}", c.groups)
                         : fmt::format(" groups {} stride {}", c.groups, c.stride);
}

std::string line(const Difference& d) {
    const golden::Case& c = d.expected.of;
    return fmt::format("  {} {}{} to {}, {} n {}{} seed {}: expected {}, got {}\n", name(c.method), op_words(c),
                       name(c.dtype), golden::output_text(c), accuracy::name(c.family), c.n, groups_words(c), c.seed,
                       golden::bits_text(c, d.expected.bits), golden::bits_text(c, d.got));
}

/// The words of the table's line.
std::string words_of(const golden::CallResult& call) {
    std::string words = call.call;
    std::replace(words.begin(), words.end(), '\t', ' ');
    return words;
}

std::string line(const golden::CallDifference& d) {
    return fmt::format("  {}: expected {}, got {}\n", words_of(d.expected),
                       golden::hexadecimal(d.expected.bits, sizeof d.got), golden::hexadecimal(d.got, sizeof d.got));
}

nlohmann::ordered_json json_of(const Tally& tally) {
    return {{"results", tally.results},
            {"different", tally.different},
            {"fingerprint", fingerprint(tally)},
            {"ok", tally.different == 0}};
}

nlohmann::ordered_json json_of(const golden::OpTally& o) {
    nlohmann::ordered_json json{{"op", name(o.op)}, {"shape", name(o.shape)}};
    json.update(json_of(o.tally));
    return json;
}

nlohmann::ordered_json json_of(const golden::CallTally& c) {
    nlohmann::ordered_json json{{"call", c.name}};
    json.update(json_of(c.tally));
    return json;
}

nlohmann::ordered_json json_of(const golden::CallDifference& d) {
    return {{"call", words_of(d.expected)},
            {"expected", golden::hexadecimal(d.expected.bits, sizeof d.got)},
            {"got", golden::hexadecimal(d.got, sizeof d.got)}};
}

/// A flat sum has the columns of its table, and so has everything else.
nlohmann::ordered_json json_of(const Difference& d) {
    const golden::Case& c = d.expected.of;
    nlohmann::ordered_json json{{"method", name(c.method)}};
    if (!golden::is_flat_sum(c)) json.update({{"op", name(c.op)}, {"shape", name(c.shape)}});
    json.update(nlohmann::ordered_json{{"dtype", name(c.dtype)},
                                       {"output", golden::output_text(c)},
                                       {"family", accuracy::name(c.family)},
                                       {"n", c.n}});
    if (!golden::is_flat_sum(c))
        json.update({{"groups", c.groups}, {"stride", c.stride}, {"option", golden::option_text(c)}});
    json["seed"] = c.seed;
    if (!golden::is_flat_sum(c)) json["results"] = golden::results_of(c);
    json["expected"] = golden::bits_text(c, d.expected.bits);
    json["got"] = golden::bits_text(c, d.got);
    return json;
}

} // namespace

std::string verify_lines(const Verified& v) {
    std::string text = fmt::format("device {}; table of {}\n", v.device, v.table);
    for (const golden::MethodTally& m : v.verdict.methods)
        text += line(fmt::format("sum {}", name(m.method)), m.tally);
    for (const golden::OpTally& o : v.verdict.ops)
        text += line(o);
    for (const golden::CallTally& c : v.verdict.calls)
        text += line(c.name, c.tally);
    text += line("all", v.verdict.all);
    text += fmt::format("spec_version {}, of row ops {}, of losses {}\n", spec_version, spec_version_of(RowOp{}),
                        spec_version_of(Loss{}));
    if (!v.verdict.first.empty() || !v.verdict.first_calls.empty()) text += "The first that differ:\n";
    for (const Difference& d : v.verdict.first)
        text += line(d);
    for (const golden::CallDifference& d : v.verdict.first_calls)
        text += line(d);
    return text;
}

std::string verify_json(const Verified& v) {
    nlohmann::ordered_json json{{"device", v.device}, {"table", v.table}};
    json["methods"] = nlohmann::ordered_json::array();
    for (const golden::MethodTally& m : v.verdict.methods) {
        nlohmann::ordered_json method{{"method", name(m.method)}};
        method.update(json_of(m.tally));
        json["methods"].push_back(method);
    }
    json["ops"] = nlohmann::ordered_json::array();
    for (const golden::OpTally& o : v.verdict.ops)
        json["ops"].push_back(json_of(o));
    json["calls"] = nlohmann::ordered_json::array();
    for (const golden::CallTally& c : v.verdict.calls)
        json["calls"].push_back(json_of(c));
    json["all"] = json_of(v.verdict.all);
    json["first_different"] = nlohmann::ordered_json::array();
    for (const Difference& d : v.verdict.first)
        json["first_different"].push_back(json_of(d));
    for (const golden::CallDifference& d : v.verdict.first_calls)
        json["first_different"].push_back(json_of(d));
    json["spec_version"] = spec_version;
    json["spec_version_of_row_ops"] = spec_version_of(RowOp{});
    json["spec_version_of_losses"] = spec_version_of(Loss{});
    json["version"] = version;
    return json.dump() + "\n";
}

void verify(const Verified& v, bool json, const std::function<void(const std::string&)>& say) {
    say(json ? verify_json(v) : verify_lines(v));
    const Tally& all = v.verdict.all;
    if (all.different == 0) return;
    throw Failure(
        fmt::format("{} of {} results on {} are not those of the table", all.different, all.results, v.device));
}

} // namespace detreduce::program
