#include "laws/cpu_backend.hpp"

namespace detreduce::proptests {
using TestBackend = CpuBackend;
}

#include "laws/exact_laws.hpp"
#include "laws/state_laws.hpp"
