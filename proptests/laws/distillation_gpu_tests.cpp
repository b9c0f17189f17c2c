// Distillation on the GPU.
#include "laws/device_memory.hpp"

namespace detreduce::proptests {
namespace {

struct DistillationBackend {
    static constexpr Device device = current_gpu;
    template <class T>
    using Array = DeviceArray<T>;
    static std::unique_ptr<DeviceBuffer> memory(std::size_t bytes) {
        auto room = std::make_unique<DeviceBuffer>(bytes);
        room->fill(0xff, bytes);
        return room;
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/distillation_laws.hpp"
