// Do all ranks of an NCCL communicator hold the same bits?
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <detreduce/fingerprint.hpp>
#include <detreduce/nccl/calls.hpp>

namespace detreduce::nccl {

/// Do all ranks hold the same bits? The plan of a list of as many arrays on every rank, with memory
/// for their fingerprints (fingerprint.hpp). It is made as other plans are: by all ranks.
///
/// status       the same on every rank: invalid_argument for `tensors` if not all have as many;
///              else as make_plan() of above
class EqualPlan;
[[nodiscard]] EqualPlan make_equal_plan(std::uint64_t tensors, ncclComm_t comm) noexcept;
[[nodiscard]] std::vector<EqualPlan> make_equal_plans(std::span<const std::uint64_t> tensors,
                                                      std::span<const ncclComm_t> comms);

/// Compares the arrays of all ranks. All must call it: a thread that works for several ranks
/// between ncclGroupStart() and ncclGroupEnd().
///
/// list         arrays in memory of the GPU; the list is in host memory, and read before this
///              returns
/// messages     two of ncclInt64 in one group, by ncclMax and by ncclMin, 16 bytes an array
/// stream       everything is enqueued on `stream`, which is not waited for; nothing is allocated;
///              it may be captured in a graph
/// errors       what fingerprint() says of this rank's list; cuda_error as above
Status all_equal(EqualPlan& plan, const Tensor* list, Stream stream = nullptr) noexcept;
/// Waits for that, as wait() does, and writes to `first` the index of the first array that has not
/// the same dtype, length and bits on all ranks, or no_index if there is none.
///
/// errors       the same on every rank: invalid_argument for `list` if that of a rank was refused;
///              and those of wait(). `first` is not written then
Status find_first(EqualPlan& plan, std::uint64_t& first, Stream stream = nullptr,
                  std::chrono::milliseconds limit = no_limit) noexcept;
/// All of that at once.
Status all_equal(const Tensor* list, std::uint64_t tensors, ncclComm_t comm, std::uint64_t& first,
                 Stream stream = nullptr) noexcept;

/// What is sent are the words of fingerprints, as states of many groups, and one that is not 0
/// where a rank's list was refused: room for this rank's, for the maximum and for the minimum of
/// all.
class EqualPlan : public Plan {
    friend EqualPlan make_equal_plan(std::uint64_t tensors, ncclComm_t comm) noexcept;
    friend std::vector<EqualPlan> make_equal_plans(std::span<const std::uint64_t> tensors,
                                                   std::span<const ncclComm_t> comms);
    friend Status all_equal(EqualPlan& plan, const Tensor* list, Stream stream) noexcept;
    friend Status find_first(EqualPlan& plan, std::uint64_t& first, Stream stream,
                             std::chrono::milliseconds limit) noexcept;

    EqualPlan(std::uint64_t tensors, ncclComm_t comm) noexcept : tensors_(tensors) {
        open(comm);
        const std::uint64_t too_many = max_groups / 3;
        ask({.op = Op::max, .dtype = DType::f64, .shape = Shape::rows, .groups = 3 * std::min(words(), too_many)});
        if (status_.ok() && card_.found == detail::Card::good) {
            const detail::DeviceScope device(device_);
            void* memory = nullptr;
            const Status got = detail::status_of("cudaMallocHost", cudaMallocHost(&memory, 2 * bytes()));
            if (got.ok()) {
                host_.reset(memory);
            } else {
                card_.found = detail::Card::no_memory;
            }
        }
        put_card();
    }
    /// As they are called here.
    void rename() noexcept {
        if (std::strcmp(status_.argument, "groups") != 0) return;
        status_.argument = "tensors";
        if (status_.code == StatusCode::out_of_memory) status_ = detreduce::detail::no_room_for_fingerprints();
    }
    [[nodiscard]] std::uint64_t words() const noexcept { return 2 * std::min(tensors_, max_groups) + 1; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return words() * sizeof(std::int64_t); }
    [[nodiscard]] Status send(Stream stream) noexcept {
        const std::uint64_t n = words();
        const auto to = static_cast<cudaStream_t>(stream);
        Status status = detail::status_of("ncclGroupStart", ncclGroupStart());
        if (!status.ok()) return status;
        const ncclResult_t maximum = ncclAllReduce(words_, words_ + n, n, ncclInt64, ncclMax, comm_, to),
                           minimum = ncclAllReduce(words_, words_ + 2 * n, n, ncclInt64, ncclMin, comm_, to);
        status = detail::settled("ncclGroupEnd", ncclGroupEnd(), comm_);
        for (const ncclResult_t result : {maximum, minimum})
            if (result != ncclSuccess && result != ncclInProgress) return detail::status_of("ncclAllReduce", result);
        return status;
    }

    std::uint64_t tensors_;
    detreduce::detail::CudaHostMemory host_; ///< the maximum and the minimum of all
};

inline EqualPlan make_equal_plan(std::uint64_t tensors, ncclComm_t comm) noexcept {
    EqualPlan plan(tensors, comm);
    Plan::agree(std::span(&plan, 1));
    plan.rename();
    return plan;
}
inline std::vector<EqualPlan> make_equal_plans(std::span<const std::uint64_t> tensors,
                                               std::span<const ncclComm_t> comms) {
    std::vector<EqualPlan> plans;
    for (std::size_t i = 0; i < std::min(tensors.size(), comms.size()); ++i)
        plans.push_back(EqualPlan(tensors[i], comms[i]));
    Plan::agree(std::span(plans));
    for (EqualPlan& plan : plans)
        plan.rename();
    return plans;
}

inline Status all_equal(EqualPlan& plan, const Tensor* list, Stream stream) noexcept {
    const auto put = [&] {
        const Status status = fingerprint(list, plan.tensors_, reinterpret_cast<Fingerprint*>(plan.words_),
                                          {Backend::cuda, plan.device_}, stream);
        return status.ok() ? detail::status_of("cudaMemsetAsync",
                                               cudaMemsetAsync(plan.words_ + 2 * plan.tensors_, 0, sizeof(std::int64_t),
                                                               static_cast<cudaStream_t>(stream)))
                           : status;
    };
    return plan.begin_with(
        put, [&] { return plan.send(stream); }, stream);
}
inline Status find_first(EqualPlan& plan, std::uint64_t& first, Stream stream,
                         std::chrono::milliseconds limit) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    const detail::DeviceScope device(plan.device_);
    if (!device.status().ok()) return device.status();
    const Status copied = detail::status_of(
        "cudaMemcpyAsync", cudaMemcpyAsync(plan.host_.get(), plan.words_ + plan.words(), 2 * plan.bytes(),
                                           cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream)));
    if (!copied.ok()) return copied;
    if (const Status status = wait(plan, stream, limit); !status.ok()) return status;
    const auto* const maximum = static_cast<const std::int64_t*>(plan.host_.get());
    const auto* const minimum = maximum + plan.words();
    if (maximum[2 * plan.tensors_] != 0) return plan.own_.ok() ? detreduce::detail::other_list() : plan.own_;
    const auto differs = std::mismatch(maximum, maximum + 2 * plan.tensors_, minimum).first - maximum;
    const auto index = static_cast<std::uint64_t>(differs) / 2;
    first = index < plan.tensors_ ? index : no_index;
    return {};
}
inline Status all_equal(const Tensor* list, std::uint64_t tensors, ncclComm_t comm, std::uint64_t& first,
                        Stream stream) noexcept {
    EqualPlan plan = make_equal_plan(tensors, comm);
    if (!plan.status().ok()) return plan.status();
    const Status sent = all_equal(plan, list, stream);
    if (sent.code == StatusCode::cuda_error) return sent;
    return find_first(plan, first, stream);
}

} // namespace detreduce::nccl
