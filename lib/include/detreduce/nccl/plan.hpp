// The plan of one rank of an NCCL communicator, and waiting for the others.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include <detreduce/nccl/agree.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/ranks.hpp>
#include <detreduce/ranks_cuda.hpp>
#include <detreduce/states.hpp>

namespace detreduce::nccl {

/// The plan of one rank, and the memory on its GPU that it needs: the states and the workspace. Not
/// to be copied; for one call at a time.
class Plan;

/// The plan of a reduction by all ranks of `comm`, all of which must call it, each from a thread or
/// process of its own, and not between ncclGroupStart() and ncclGroupEnd(). `request` is that of
/// the elements that this rank has: n, stride, launch and first_index may differ, and n may be 0;
/// op, method, dtype, output, shape, groups (of a list of tensors with each), nan, each and ddof
/// are what all must ask for; the device is the communicator's GPU, or current_gpu, which means it.
///
/// status       the same on every rank: what make_plan() says of the request of the first rank that
///              has a bad one; invalid_argument for a field that is not the same everywhere, with
///              the rank of the first where it is another than on rank 0 as the index;
///              out_of_memory if one lacks the memory for its states; cuda_error for the
///              communicator, or a call of CUDA, which a rank may be alone in
/// waits        until all ranks have called it
[[nodiscard]] Plan make_plan(const Request& request, ncclComm_t comm) noexcept;
/// The same for several ranks of one communicator that a single thread works for: as many plans as
/// there are in both.
[[nodiscard]] std::vector<Plan> make_plans(std::span<const Request> requests, std::span<const ncclComm_t> comms);

/// What the communicator has met with since, on any rank that it knows of; and the same when
/// `stream` is done, or cannot be any more: then the communicator is of no use, and abort() lets go
/// of the kernels that wait for ranks that are gone. All other plans of the communicator must be
/// gone, or be aborted by abandon(). wait() returns after `limit`, too: with cuda_error and the
/// cuda_code cudaErrorNotReady if the stream is not done then.
inline constexpr std::chrono::milliseconds no_limit = std::chrono::milliseconds::max();
[[nodiscard]] Status check(const Plan& plan) noexcept;
[[nodiscard]] Status wait(const Plan& plan, Stream stream = nullptr,
                          std::chrono::milliseconds limit = no_limit) noexcept;
/// ncclCommAbort(). Every later call of this plan has the status that is given.
Status abort(Plan& plan) noexcept;
/// The same for a plan of a communicator that was aborted.
Status abandon(Plan& plan) noexcept;

/// As a root: every rank has the results.
inline constexpr int everywhere = -1;

namespace detail {

using detreduce::detail::DeviceScope;
using detreduce::detail::status_of;

[[nodiscard]] inline Status status_of(const char* call, ncclResult_t result) noexcept {
    if (result == ncclSuccess) return {};
    return {StatusCode::cuda_error, call, ncclGetErrorString(result)};
}
[[nodiscard]] inline Status aborted() noexcept {
    return {StatusCode::cuda_error, "ncclCommAbort", "the communicator was aborted"};
}
/// Of a communicator that does not block: when it has done what it was told.
[[nodiscard]] inline Status settled(const char* call, ncclResult_t result, ncclComm_t comm) noexcept {
    while (result == ncclInProgress) {
        if (const ncclResult_t asked = ncclCommGetAsyncError(comm, &result); asked != ncclSuccess) result = asked;
        if (result == ncclInProgress) std::this_thread::yield();
    }
    return status_of(call, result);
}

} // namespace detail

class Plan : public detreduce::detail::RankPlan<ncclComm_t> {
  public:
    Plan(Plan&&) = default;
    Plan& operator=(Plan&&) = default;

  protected:
    friend Plan make_plan(const Request& request, ncclComm_t comm) noexcept;
    friend std::vector<Plan> make_plans(std::span<const Request> requests, std::span<const ncclComm_t> comms);
    friend Status begin(Plan& plan, Inputs in, Stream stream, int root) noexcept;
    friend Status begin_states(Plan& plan, const std::int64_t* states, Stream stream, int root) noexcept;
    friend Status end(Plan& plan, void* out, Stream stream) noexcept;
    friend Status check(const Plan& plan) noexcept;
    friend Status wait(const Plan& plan, Stream stream, std::chrono::milliseconds limit) noexcept;
    friend Status abort(Plan& plan) noexcept;
    friend Status abandon(Plan& plan) noexcept;
    Plan() : RankPlan(nullptr) {}

    void open(ncclComm_t comm) noexcept;
    void ask(Request request) noexcept;
    void prepare(const Request& request, ncclComm_t comm) noexcept;
    void put_card() noexcept;
    void send_card() noexcept;
    void read_cards() noexcept;
    template <class AnyPlan>
    static void agree(std::span<AnyPlan> plans) noexcept;
    template <class Put, class Send>
    [[nodiscard]] Status begin_with(const Put& put, const Send& send, Stream stream) noexcept;
    template <class Put>
    [[nodiscard]] Status begin_to(const Put& put, Stream stream, int root) noexcept;
    [[nodiscard]] Status send(Stream stream) noexcept;
    void make_spoiled();
    [[nodiscard]] Status spoil(Stream stream) noexcept;
    [[nodiscard]] std::uint64_t count() const noexcept { return plan_.groups() * plan_.state_words(); }
    [[nodiscard]] bool gathers() const noexcept { return state_merge(plan_) == StateMerge::pair; }

    int device_ = 0, root_ = everywhere; ///< the root of the last call
    detail::Card card_{};
    detreduce::detail::CudaMemory memory_, cards_;
    std::int64_t *words_ = nullptr,
                 *gathered_ = nullptr; ///< this rank's states; of argmin and argmax those of all ranks
    void* workspace_ = nullptr;
    std::vector<std::int64_t> spoiled_; ///< what others get of a rank whose arguments were refused
    Status own_;                        ///< what was said of this rank's list
};

/// What the communicator says. status_ is not ok if it cannot even tell the others.
inline void Plan::open(ncclComm_t comm) noexcept {
    using detail::status_of;
    comm_ = comm;
    if (comm == nullptr) {
        status_ = {StatusCode::invalid_argument, "comm", "must be a communicator"};
        return;
    }
    status_ = status_of("ncclCommCuDevice", ncclCommCuDevice(comm, &device_));
    if (status_.ok()) status_ = status_of("ncclCommCount", ncclCommCount(comm, &size_));
    if (status_.ok()) status_ = status_of("ncclCommUserRank", ncclCommUserRank(comm, &rank_));
}

/// Words that are no states, and make none of whatever is put together with them. May throw.
inline void Plan::make_spoiled() {
    Request r = plan_.request();
    if (info(r.op).kind == Kind::count) {
        // Added up below zero for up to 2^11 such ranks and 2^52 elements.
        spoiled_.assign(count(), -(std::int64_t{1} << 52));
        return;
    }
    r.device = cpu;
    r.launch = {};
    r.n = 0;
    r.stride = 0;
    spoiled_.assign(count(), INT64_MAX - 1); // which is no state of any op
    (void)normalize(detreduce::make_plan(r), spoiled_.data());
}

/// Everything else that a rank can know by itself.
inline void Plan::ask(Request request) noexcept {
    if (!status_.ok()) return;
    const detail::DeviceScope device(device_);
    status_ = device.status();
    if (!status_.ok()) return;
    const bool right_device =
        request.device.backend == Backend::cuda && (request.device.index == -1 || request.device.index == device_);
    request.state = true;
    request.device = {Backend::cuda, device_};
    plan_ = detreduce::make_plan(request);
    card_.request = plan_.request();
    const auto fields = detreduce::detail::fields_of(plan_.request(), 0);
    for (std::size_t i = 0; i < fields.size(); ++i)
        card_.fields[i] = fields[i].value;
    card_.found = !right_device ? detail::Card::bad_device : detail::Card::bad_request;
    void* memory = nullptr;
    if (right_device && plan_.status().ok()) {
        const auto align = [](std::uint64_t bytes) { return (bytes + 255) / 256 * 256; };
        const std::uint64_t states = align(count() * sizeof(std::int64_t)),
                            all = gathers() ? align(count() * sizeof(std::int64_t) * static_cast<unsigned>(size_)) : 0,
                            bytes = states + all + plan_.workspace_bytes();
        const cudaError_t error = cudaMalloc(&memory, std::max<std::uint64_t>(bytes, 256));
        card_.found = error == cudaSuccess ? detail::Card::good : detail::Card::no_memory;
        if (error != cudaSuccess) (void)cudaGetLastError();
        memory_.reset(error == cudaSuccess ? memory : nullptr);
        if (memory_ != nullptr) {
            words_ = static_cast<std::int64_t*>(memory);
            gathered_ = reinterpret_cast<std::int64_t*>(static_cast<char*>(memory) + states);
            workspace_ = static_cast<char*>(memory) + states + all;
        }
        try {
            make_spoiled();
        } catch (const std::exception&) {
            card_.found = detail::Card::no_memory;
        }
    }
}

inline void Plan::prepare(const Request& request, ncclComm_t comm) noexcept {
    open(comm);
    ask(request);
    put_card();
}

inline void Plan::put_card() noexcept {
    using detail::status_of;
    if (!status_.ok()) return;
    const detail::DeviceScope device(device_);
    void* memory = nullptr;
    status_ = status_of("cudaMalloc", cudaMalloc(&memory, (static_cast<unsigned>(size_) + 1) * sizeof card_));
    if (!status_.ok()) return;
    cards_.reset(memory);
    status_ = status_of("cudaMemcpy", cudaMemcpy(memory, &card_, sizeof card_, cudaMemcpyHostToDevice));
}

/// On the default stream, as nothing else is to be done meanwhile.
inline void Plan::send_card() noexcept {
    const detail::DeviceScope device(device_);
    const auto* const own = static_cast<const char*>(cards_.get());
    const ncclResult_t sent = ncclAllGather(own, static_cast<char*>(cards_.get()) + sizeof card_, sizeof card_,
                                            ncclChar, comm_, cudaStreamPerThread);
    if (sent != ncclInProgress) status_ = detail::status_of("ncclAllGather", sent);
}

inline void Plan::read_cards() noexcept {
    const detail::DeviceScope device(device_);
    status_ = detail::settled("ncclAllGather", ncclInProgress, comm_);
    if (status_.ok()) status_ = wait(*this, Stream(cudaStreamPerThread));
    if (!status_.ok()) return;
    try {
        std::vector<detail::Card> cards(static_cast<std::size_t>(size_));
        const void* const all = static_cast<const char*>(cards_.get()) + sizeof card_;
        status_ = detail::status_of("cudaMemcpy",
                                    cudaMemcpy(cards.data(), all, cards.size() * sizeof card_, cudaMemcpyDeviceToHost));
        if (!status_.ok()) return;
        status_ = detail::agreed(cards, device_, own_);
    } catch (const std::exception&) {
        status_ = {StatusCode::out_of_memory, "comm", "there is no room for what its ranks ask for"};
    }
}

template <class AnyPlan>
void Plan::agree(std::span<AnyPlan> plans) noexcept {
    const auto bad = std::find_if(plans.begin(), plans.end(), [](const Plan& plan) { return !plan.status_.ok(); });
    Status cannot; // tell the others
    if (bad != plans.end()) {
        cannot = bad->status();
    } else {
        cannot = detail::status_of("ncclGroupStart", ncclGroupStart());
    }
    for (Plan& plan : plans) {
        if (!cannot.ok()) plan.status_ = cannot;
    }
    if (!cannot.ok()) return;
    for (Plan& plan : plans)
        plan.send_card();
    const ncclResult_t ended = ncclGroupEnd();
    for (Plan& plan : plans) {
        if (plan.status_.ok() && ended != ncclInProgress) plan.status_ = detail::status_of("ncclGroupEnd", ended);
        if (plan.status_.ok()) plan.read_cards();
    }
}

inline Plan make_plan(const Request& request, ncclComm_t comm) noexcept {
    Plan plan;
    plan.prepare(request, comm);
    Plan::agree(std::span(&plan, 1));
    return plan;
}

inline std::vector<Plan> make_plans(std::span<const Request> requests, std::span<const ncclComm_t> comms) {
    std::vector<Plan> plans;
    for (std::size_t i = 0; i < std::min(requests.size(), comms.size()); ++i) {
        plans.push_back(Plan());
        plans.back().prepare(requests[i], comms[i]);
    }
    Plan::agree(std::span(plans));
    return plans;
}

inline Status check(const Plan& plan) noexcept {
    if (plan.comm_ == nullptr) return plan.status_;
    ncclResult_t met = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(plan.comm_, &met);
    if (asked != ncclSuccess) met = asked;
    return detail::status_of("ncclCommGetAsyncError", met == ncclInProgress ? ncclSuccess : met);
}

inline Status wait(const Plan& plan, Stream stream, std::chrono::milliseconds limit) noexcept {
    using Clock = std::chrono::steady_clock;
    if (!plan.status_.ok()) return plan.status_;
    const Clock::time_point start = Clock::now();
    const detail::DeviceScope device(plan.device_);
    if (!device.status().ok()) return device.status();
    for (;;) {
        const cudaError_t done = cudaStreamQuery(static_cast<cudaStream_t>(stream));
        const Status met = check(plan);
        if (!met.ok() || done == cudaSuccess) return met;
        const bool over = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start) >= limit;
        if (done != cudaErrorNotReady || over) return detail::status_of("cudaStreamQuery", done);
        std::this_thread::yield();
    }
}

inline Status abort(Plan& plan) noexcept {
    if (plan.comm_ == nullptr) return plan.status_;
    const Status done = detail::status_of("ncclCommAbort", ncclCommAbort(plan.comm_));
    (void)abandon(plan);
    return done.ok() ? plan.status_ : done;
}

inline Status abandon(Plan& plan) noexcept {
    plan.comm_ = nullptr;
    return plan.status_ = detail::aborted();
}

} // namespace detreduce::nccl
