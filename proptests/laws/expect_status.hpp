// A status as a test expects it.
#pragma once

#include <cstring>

#include <detreduce/status.hpp>

#include <support/catch.hpp>

namespace detreduce::proptests {

inline void expect(const Status& status, StatusCode code, const char* argument) {
    INFO(to_string(status));
    REQUIRE(status.code == code);
    REQUIRE(std::strcmp(status.argument, argument) == 0);
    REQUIRE(std::strlen(status.allowed) > 0);
    REQUIRE_FALSE(status.ok());
}

} // namespace detreduce::proptests
