// What went wrong, in its own words.
#pragma once

#include <string>

#include "failure.hpp"

namespace report_test {

/// What the Failure says that f() throws.
template <class F>
std::string message_of(const F& f) {
    try {
        f();
    } catch (const detreduce::program::Failure& failure) {
        return failure.what();
    }
    return "nothing was thrown";
}

} // namespace report_test
