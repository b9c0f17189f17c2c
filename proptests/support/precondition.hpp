// What a test program may check before any test runs.
#pragma once

namespace detreduce::proptests {

/// Returns 0 to go on, or the program's exit status. The default goes on; a program replaces it by
/// defining its own (77: skipped).
int precondition();

} // namespace detreduce::proptests
