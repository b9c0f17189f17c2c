// Catch2, v2 (Debian 12) or v3, whichever CMake has found: headers of another may lie beside it.
#pragma once

#if DETREDUCE_CATCH2 >= 3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace detreduce::proptests {

/// For a test that this machine cannot run: main() fails a test that has checked nothing and has
/// not said why.
inline void skipped(const std::string& why) {
    WARN("SKIPPED: " << why);
    SUCCEED();
}

} // namespace detreduce::proptests
