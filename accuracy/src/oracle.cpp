#include <detreduce/accuracy/oracle.hpp>

namespace detreduce::accuracy {

cpp_int scaled_value(const Parts& x) {
    cpp_int value = x.mantissa;
    value <<= static_cast<unsigned>(x.exponent - ExactSum::lowest_exponent);
    if (x.negative) value = -value;
    return value;
}

cpp_int ExactSum::scaled() const {
    return side_[0].scaled() - side_[1].scaled();
}

cpp_int ExactSum::scaled_abs() const {
    return side_[0].scaled() + side_[1].scaled();
}

} // namespace detreduce::accuracy
