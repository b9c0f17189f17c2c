#include "op_names.hpp"

#include <sstream>

namespace detreduce::report {
namespace {

/// The next word; empty at the end.
std::string word_of(std::istringstream& words) {
    std::string word;
    words >> word;
    return word;
}

std::string rest_of(std::istringstream& words) {
    std::string rest;
    std::getline(words >> std::ws, rest);
    return rest;
}

} // namespace

bool is_peer(std::string_view candidate) {
    return candidate.find("::") != std::string_view::npos || candidate.starts_with("cublas");
}

TimedName timed_name(const std::string& candidate, const std::string& variant) {
    const bool peer = is_peer(candidate);
    const bool alone = variant.empty() || variant == "automatic";
    std::istringstream words(peer ? variant : alone ? candidate : candidate + " " + variant);
    TimedName name{word_of(words), "", candidate};
    if (!peer) name.candidate = word_of(words);
    name.shape = rest_of(words);
    if (!peer && name.candidate.empty()) std::swap(name.op, name.candidate);
    if (name.op.empty()) name.op = "sum";
    if (name.shape.empty()) name.shape = flat_shape;
    return name;
}

} // namespace detreduce::report
