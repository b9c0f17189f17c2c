#include <detreduce/accuracy/fixed_point.hpp>

namespace detreduce::accuracy {

boost::multiprecision::cpp_int from_limbs(std::span<const std::uint64_t> limbs) {
    boost::multiprecision::cpp_int value;
    import_bits(value, limbs.begin(), limbs.end(), 32, false);
    return value;
}

} // namespace detreduce::accuracy
