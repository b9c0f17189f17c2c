// Keeps the host's launch latency out of the times: the stream waits at a gate until everything
// that is timed has been queued.
#pragma once

#include "cuda_check.hpp"

namespace detreduce::report::gpu {

class Gate {
  public:
    Gate();
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// Queues a kernel that waits for open(), but never longer than 20 ms.
    void close(cudaStream_t stream);
    void open();
    /// Ask when the stream is idle: did the kernel wait until open()? If it gave up before, the
    /// times behind it are not usable.
    [[nodiscard]] bool held() const;

  private:
    struct Flags {
        volatile unsigned open, gave_up;
    };
    Flags* host_ = nullptr; // host memory that the device reads and writes
    Flags* device_ = nullptr;
};

} // namespace detreduce::report::gpu
