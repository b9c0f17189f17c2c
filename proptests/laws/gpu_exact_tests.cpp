#include "laws/cuda_backend.hpp"

namespace detreduce::proptests {
using TestBackend = CudaBackend;
}

#include "laws/exact_laws.hpp"
#include "laws/state_laws.hpp"
