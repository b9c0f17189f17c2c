#include <detreduce/accuracy/study.hpp>
// For users it has to stay light.
#if defined(CUDART_VERSION) || defined(NLOHMANN_JSON_VERSION_MAJOR) || defined(CLI11_VERSION) || defined(BOOST_VERSION)
#error "study.hpp includes what its users need not have"
#endif

#include <algorithm>
#include <stdexcept>

#include "own_report.hpp"
#include "peers.hpp"

namespace detreduce::accuracy {
namespace {

// Names that rows of the report have already.
bool is_taken(const std::string& name) {
    return std::find(std::begin(report::peer_names), std::end(report::peer_names), name) !=
               std::end(report::peer_names) ||
           std::any_of(methods().begin(), methods().end(), [&](const MethodInfo& m) { return m.name == name; });
}

bool has_control_characters(const std::string& name) {
    return std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

} // namespace

Study& Study::add(OwnReduction own) {
    const auto refuse = [&](const std::string& why) {
        throw std::invalid_argument("Study: the name '" + own.name + "' " + why);
    };
    if (own.name.empty() || has_control_characters(own.name))
        refuse("is not allowed; allowed is any text on one line that is not empty");
    if (is_taken(own.name)) refuse("is that of something that the report measures by itself; choose another");
    for (const OwnReduction& other : reductions_)
        if (other.name == own.name && other.dtype == own.dtype && !other.host == !own.host)
            refuse("was given before for " + std::string(detreduce::name(own.dtype)) + "; choose another");
    reductions_.push_back(std::move(own));
    return *this;
}

int Study::write_report(int argc, const char* const* argv) const noexcept {
    return program::own_report(argc, argv, reductions_);
}

} // namespace detreduce::accuracy
