// SHA-256 (FIPS 180-4), for the page's policy of what it may run.
#pragma once

#include <string>
#include <string_view>

namespace detreduce::report {

/// In base64, as a Content-Security-Policy has it.
[[nodiscard]] std::string sha256_base64(std::string_view text);

} // namespace detreduce::report
