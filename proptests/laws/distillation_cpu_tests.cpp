// Distillation on the CPU.
#include <memory>

#include "laws/askew.hpp"

#include <detreduce/types.hpp>

namespace detreduce::proptests {
namespace {

struct DistillationBackend {
    static constexpr Device device = cpu;
    template <class T>
    using Array = Askew<T>;
    static std::unique_ptr<std::vector<double>> memory(std::size_t bytes) {
        return std::make_unique<std::vector<double>>(bytes / sizeof(double) + 1);
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/distillation_laws.hpp"
