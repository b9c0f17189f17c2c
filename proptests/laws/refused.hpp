// Which argument a call refuses.
#pragma once

#include <string>

#include <detreduce/status.hpp>

namespace detreduce::proptests {

/// The argument that the Error names which call() throws; "" if it throws none.
template <class Call>
[[nodiscard]] std::string refused(const Call& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.status().argument;
    }
    return "";
}

} // namespace detreduce::proptests
