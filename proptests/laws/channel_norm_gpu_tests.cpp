// group_norm and batch_norm on the GPU.
#include "laws/device_memory.hpp"

namespace detreduce::proptests {
namespace {

struct NormBackend {
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

#include "laws/channel_norm_laws.hpp"
