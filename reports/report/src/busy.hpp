// Do other programs compute here? Times taken meanwhile are wrong by whatever they do.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace detreduce::report {

/// Of the processors' time between two texts of /proc/stat the share that was not idle, 0 … 1, of
/// those that `is_ours` names. Nothing where the texts do not say.
[[nodiscard]] std::optional<double> busy_share(const std::string& before, const std::string& after,
                                               const std::function<bool(int)>& is_ours);

/// The share of the time of the processors that this process may use, that others take while it
/// sleeps for `span`. Nothing where the system does not say.
[[nodiscard]] std::optional<double> share_of_others(std::chrono::milliseconds span);

} // namespace detreduce::report
