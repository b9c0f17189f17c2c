#include "laws/cpu_backend.hpp"

namespace detreduce::proptests {
using TestBackend = CpuBackend;
}

#include "laws/op_laws.hpp"
#include "laws/group_laws.hpp"
#include "laws/order_group_laws.hpp"
#include "laws/tensor_laws.hpp"
