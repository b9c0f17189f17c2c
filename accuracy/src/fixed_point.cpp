#include <detreduce/accuracy/fixed_point.hpp>

namespace detreduce::accuracy {

boost::multiprecision::cpp_int from_digits(std::span<const std::uint64_t> digits) {
    boost::multiprecision::cpp_int value;
    import_bits(value, digits.begin(), digits.end(), 32, false);
    return value;
}

} // namespace detreduce::accuracy
