// Reductions by all ranks of an NCCL communicator: each has some of the elements on its GPU, or
// none, and the bits are those of one GPU that has all. Header-only, over states.hpp, nccl.h and
// the CUDA runtime; CMake: find_package(detreduce COMPONENTS nccl) and link detreduce::nccl.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/fingerprint.hpp>
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

/// As a root: every rank has the results.
inline constexpr int everywhere = -1;

/// Reduces the elements of all ranks, and writes the results to `out` on each of them, or on the
/// one of rank `root`. All must call it. begin() sends, and end(), without a word to the others,
/// finishes: a thread that works for several ranks calls begin() for each of them between
/// ncclGroupStart() and ncclGroupEnd(), and end() behind.
///
/// in, out      as in run(), in memory of the GPU; `out` of another rank than `root` means nothing
/// guarantee    order: neither how elements are dealt out to ranks, nor how many there are, nor
///              what NCCL does with the messages, means anything to the bits. Of argmin and argmax,
///              device: the index is the lowest, if first_index says where each rank's elements
///              begin
/// messages     one ncclAllReduce or ncclReduce of ncclInt64 for all groups: ncclSum of sums and
///              counts, ncclMax of what is compared; of pairs for argmin and argmax one
///              ncclAllGather, whatever the root
/// communicators  also those that do not block, but for begin() in a group, which would have to
///                wait
/// stream       everything is enqueued on `stream`, which is not waited for; nothing is allocated;
///              it may be captured in a graph, which the plan must outlive
/// errors       what run() says of this rank's arguments: the others, which cannot know, get NaN,
///              or no_index for an index or a count (of up to 2048 such ranks). invalid_argument
///              for `root`. cuda_error with the name of the call that NCCL or CUDA refused; what
///              goes wrong later is what check() and wait() say
Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream = nullptr) noexcept;
Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream = nullptr) noexcept;
Status begin(Plan& plan, Inputs in, Stream stream = nullptr, int root = everywhere) noexcept;
Status end(Plan& plan, void* out, Stream stream = nullptr) noexcept;

/// The same of states that this rank has already, of plan.states(), in memory of the GPU: merged
/// from those of parts that came one after the other, say (states.hpp).
///
/// errors       as above; invalid_argument for `states` where it is null. Of states that
///              normalize() would refuse every rank gets NaN, or no_index
Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream = nullptr) noexcept;
Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream = nullptr) noexcept;
Status begin_states(Plan& plan, const std::int64_t* states, Stream stream = nullptr, int root = everywhere) noexcept;

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

/// What a rank has of the tensors whose norm, taken as one vector, is to be clipped: some of them,
/// or shards of them. replicated: null, or a flag for each: every rank has it, or a copy of it, and
/// it counts once, as rank 0 has it.
struct ClipList {
    const Tensor* list = nullptr; ///< of arrays in memory of the GPU; itself in host memory
    std::uint64_t tensors = 0;
    const unsigned char* replicated = nullptr;
};
struct ClipOptions {
    double max_norm = 1, epsilon = 1e-6; ///< as in ClipRequest; the same on every rank
    DType norm = DType::f64;             ///< of what is written to norm_out: f64 or f32
    Launch launch = {};                  ///< of the norm
};
/// The plan of clipping such a list, with the lengths and dtypes that it has, by all ranks.
///
/// status       the same on every rank: invalid_argument for `max_norm`, `epsilon` or `norm` that
///              are not the same everywhere, and for `list` if that of another rank was refused;
///              else as make_plan() of above, and what run() of a detreduce::ClipPlan says of this
///              rank's arguments
class ClipPlan;
[[nodiscard]] ClipPlan make_clip_plan(const ClipList& own, ncclComm_t comm, const ClipOptions& options = {}) noexcept;
[[nodiscard]] std::vector<ClipPlan> make_clip_plans(std::span<const ClipList> own, std::span<const ncclComm_t> comms,
                                                    const ClipOptions& options = {});

/// Writes the norm of the tensors of all ranks as one vector to `norm_out`, and scales those of
/// this rank if it is too large. All must call it; begin() and end() as above.
///
/// list         of the lengths and dtypes of the plan's; read before this returns
/// norm_out     one element, in memory of the GPU
/// guarantee    order: norm and elements are those of one GPU with all tensors, each replicated one
///              once
/// messages     one ncclAllReduce of 142 integers of 64 bits
/// stream       everything is enqueued on `stream`, which is not waited for; nothing is allocated;
///              it may be captured in a graph
/// errors       what run() of a detreduce::ClipPlan says of this rank's arguments: the others,
///              which cannot know, get NaN for the norm, and no tensor of theirs is written.
///              cuda_error as above
Status clip_grad_norm(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream = nullptr) noexcept;
Status begin(ClipPlan& plan, const Tensor* list, Stream stream = nullptr) noexcept;
Status end(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream = nullptr) noexcept;
/// All of that at once, and waits, as wait() does. Nothing is written after an error, which all
/// ranks have.
Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated, ncclComm_t comm,
                      void* norm_out, const ClipOptions& options = {}, Stream stream = nullptr) noexcept;

namespace detail {

using detreduce::detail::DeviceScope;
using detreduce::detail::status_of;

/// What every rank tells all others.
struct Card {
    std::array<std::int64_t, detreduce::detail::rank_fields> fields;
    std::array<std::int64_t, 3> options; ///< of clipping
    enum Found : std::int64_t { good, bad_request, bad_device, bad_list, no_memory } found;
    Request request;
};
static_assert(std::is_trivially_copyable_v<Card>);

[[nodiscard]] inline Status status_of(const char* call, ncclResult_t result) noexcept {
    if (result == ncclSuccess) return {};
    return {StatusCode::cuda_error, call, ncclGetErrorString(result)};
}
inline constexpr std::array option_names{"max_norm", "epsilon", "norm"};
[[nodiscard]] constexpr Status other_list() {
    return {StatusCode::invalid_argument, "list", "that of another rank was refused, which knows why"};
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
    using detail::Card;
    const detail::DeviceScope device(device_);
    status_ = detail::settled("ncclAllGather", ncclInProgress, comm_);
    if (status_.ok()) status_ = wait(*this, Stream(cudaStreamPerThread));
    if (!status_.ok()) return;
    try {
        std::vector<Card> cards(static_cast<std::size_t>(size_));
        const void* const all = static_cast<const char*>(cards_.get()) + sizeof card_;
        status_ = detail::status_of("cudaMemcpy",
                                    cudaMemcpy(cards.data(), all, cards.size() * sizeof card_, cudaMemcpyDeviceToHost));
        if (!status_.ok()) return;
        const auto fields = detreduce::detail::fields_of(plan_.request(), 0);
        for (std::size_t i = 0; i < fields.size(); ++i) {
            for (std::size_t r = 1; r < cards.size(); ++r) {
                if (cards[r].fields[i] == cards[0].fields[i]) continue;
                status_ = detreduce::detail::differs(fields[i].name, r);
                return;
            }
        }
        for (std::size_t i = 0; i < detail::option_names.size(); ++i) {
            const auto other = std::find_if(cards.begin(), cards.end(),
                                            [&](const Card& card) { return card.options[i] != cards[0].options[i]; });
            if (other == cards.end()) continue;
            status_ = {StatusCode::invalid_argument, detail::option_names[i], "must be the same on every rank"};
            return;
        }
        for (const Card::Found found : {Card::bad_device, Card::bad_request, Card::bad_list, Card::no_memory}) {
            const auto first =
                std::find_if(cards.begin(), cards.end(), [&](const Card& card) { return card.found == found; });
            if (first == cards.end()) continue;
            if (found == Card::no_memory) {
                status_ = detreduce::detail::no_room_somewhere();
            } else if (found == Card::bad_list) {
                status_ = own_.ok() ? detail::other_list() : own_;
            } else if (found == Card::bad_device) {
                status_ = {StatusCode::invalid_argument, "device", "must be the communicator's GPU, or current_gpu"};
            } else { // the request that is bad says the same everywhere
                Request bad = first->request;
                bad.device = {Backend::cuda, device_};
                status_ = detreduce::make_plan(bad).status();
                if (status_.ok())
                    status_ = {StatusCode::unsupported, "launch", "a rank cannot run this: its GPU lacks it"};
            }
            return;
        }
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

/// What this rank has, to all others.
inline Status Plan::send(Stream stream) noexcept {
    const std::uint64_t n = count();
    if (n == 0) return {};
    const auto to = static_cast<cudaStream_t>(stream);
    if (gathers())
        return detail::settled("ncclAllGather", ncclAllGather(words_, gathered_, n, ncclInt64, comm_, to), comm_);
    const ncclRedOp_t op = state_merge(plan_) == StateMerge::sum ? ncclSum : ncclMax;
    if (root_ != everywhere)
        return detail::settled("ncclReduce", ncclReduce(words_, words_, n, ncclInt64, op, root_, comm_, to), comm_);
    return detail::settled("ncclAllReduce", ncclAllReduce(words_, words_, n, ncclInt64, op, comm_, to), comm_);
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

inline Status Plan::spoil(Stream stream) noexcept {
    return detail::status_of("cudaMemcpyAsync",
                             cudaMemcpyAsync(words_, spoiled_.data(), spoiled_.size() * sizeof(std::int64_t),
                                             cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream)));
}

/// `put` enqueues this rank's words, or says why there are none.
template <class Put, class Send>
Status Plan::begin_with(const Put& put, const Send& send, Stream stream) noexcept {
    if (!status_.ok()) return status_;
    const detail::DeviceScope device(device_);
    if (!device.status().ok()) return device.status();
    own_ = put();
    if (!own_.ok()) (void)spoil(stream); // others wait for this rank in any case
    const Status sent = send();
    return own_.ok() ? sent : own_;
}
template <class Put>
Status Plan::begin_to(const Put& put, Stream stream, int root) noexcept {
    if (!status_.ok()) return status_;
    if (root < everywhere || root >= size_) return detreduce::detail::no_such_root();
    root_ = root;
    return begin_with(
        put, [&] { return send(stream); }, stream);
}

inline Status begin(Plan& plan, Inputs in, Stream stream, int root) noexcept {
    return plan.begin_to([&] { return run(plan.plan_, in, plan.words_, plan.workspace_, stream); }, stream, root);
}
inline Status begin_states(Plan& plan, const std::int64_t* states, Stream stream, int root) noexcept {
    const auto put = [&] {
        if (plan.count() == 0) return Status{};
        if (states == nullptr) return Status{StatusCode::invalid_argument, "states", "must not be null"};
        const cudaError_t copied = cudaMemcpyAsync(plan.words_, states, plan.count() * sizeof(std::int64_t),
                                                   cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream));
        const Status status = detail::status_of("cudaMemcpyAsync", copied);
        return status.ok() ? normalize(plan.plan_, plan.words_, stream) : status;
    };
    return plan.begin_to(put, stream, root);
}

inline Status end(Plan& plan, void* out, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    if (plan.root_ != everywhere && plan.root_ != plan.rank_) return {};
    const detail::DeviceScope device(plan.device_);
    if (!device.status().ok()) return device.status();
    const std::int64_t* states = plan.words_;
    if (plan.gathers()) {
        for (int r = 1; r < plan.size_; ++r) {
            const Status merged =
                merge(plan.plan_, plan.gathered_, plan.gathered_ + static_cast<unsigned>(r) * plan.count(), stream);
            if (!merged.ok()) return merged;
        }
        states = plan.gathered_;
    }
    return finish(plan.plan_, states, out, stream);
}

inline Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream) noexcept {
    const Status sent = begin(plan, in, stream);
    return sent.ok() ? end(plan, out, stream) : sent;
}
inline Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    const Status sent = begin(plan, in, stream, root);
    return sent.ok() ? end(plan, out, stream) : sent;
}
inline Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream) noexcept {
    const Status sent = begin_states(plan, states, stream);
    return sent.ok() ? end(plan, out, stream) : sent;
}
inline Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    const Status sent = begin_states(plan, states, stream, root);
    return sent.ok() ? end(plan, out, stream) : sent;
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
        if (status_.code == StatusCode::out_of_memory) status_.allowed = "a rank has no room for so many fingerprints";
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
    if (maximum[2 * plan.tensors_] != 0) return plan.own_.ok() ? detail::other_list() : plan.own_;
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

class ClipPlan : public Plan {
    friend ClipPlan make_clip_plan(const ClipList& own, ncclComm_t comm, const ClipOptions& options) noexcept;
    friend std::vector<ClipPlan> make_clip_plans(std::span<const ClipList> own, std::span<const ncclComm_t> comms,
                                                 const ClipOptions& options);
    friend Status begin(ClipPlan& plan, const Tensor* list, Stream stream) noexcept;
    friend Status end(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream) noexcept;
    friend Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated,
                                 ncclComm_t comm, void* norm_out, const ClipOptions& options, Stream stream) noexcept;

    /// norm_out: null, or where the address is at which the one call writes the norm.
    ClipPlan(const ClipList& own, ncclComm_t comm, const ClipOptions& options, void* const* norm_out) noexcept {
        open(comm);
        if (!status_.ok()) return;
        own_ = look_at(own, options, norm_out);
        Request norm{.op = Op::nrm2, .dtype = DType::f64, .shape = Shape::tensors, .groups = 0};
        if (own_.ok()) {
            norm.launch = options.launch;
            norm.groups = counted_.size();
            for (const std::uint64_t i : counted_)
                norm.n += own.list[i].n;
        }
        ask(norm);
        card_.options = {std::bit_cast<std::int64_t>(options.max_norm), std::bit_cast<std::int64_t>(options.epsilon),
                         static_cast<std::int64_t>(options.norm)};
        if (!own_.ok() && card_.found == detail::Card::good)
            card_.found = own_.code == StatusCode::out_of_memory ? detail::Card::no_memory : detail::Card::bad_list;
        put_card();
    }
    [[nodiscard]] Status look_at(const ClipList& own, const ClipOptions& options, void* const* norm_out) noexcept {
        if (own.list == nullptr && own.tensors > 0)
            return {StatusCode::invalid_argument, "list", "must point to the list of tensors"};
        const detail::DeviceScope device(device_);
        if (!device.status().ok()) return device.status();
        ClipRequest request{.tensors = own.tensors,
                            .max_norm = options.max_norm,
                            .epsilon = options.epsilon,
                            .norm = options.norm,
                            .device = {Backend::cuda, device_},
                            .launch = options.launch};
        const Status no_room{StatusCode::out_of_memory, "tensors", "there is no room for a list of so many"};
        try {
            for (std::uint64_t i = 0; i < own.tensors; ++i) {
                request.n += own.list[i].n;
                if (rank_ == 0 || own.replicated == nullptr || own.replicated[i] == 0) counted_.push_back(i);
            }
            list_.resize(counted_.size());
        } catch (const std::exception&) {
            return no_room;
        }
        clip_ = detreduce::make_clip_plan(request);
        if (!clip_.status().ok()) return clip_.status();
        void* memory = nullptr;
        if (!detail::status_of("cudaMalloc", cudaMalloc(&memory, clip_.workspace_bytes() + sizeof(double))).ok())
            return no_room;
        factor_.reset(memory);
        return check(own.list, norm_out != nullptr ? *norm_out : some_norm());
    }
    /// Takes the place of one that is not known yet.
    [[nodiscard]] void* some_norm() const noexcept {
        return static_cast<char*>(factor_.get()) + clip_.workspace_bytes();
    }
    [[nodiscard]] Status check(const Tensor* list, void* norm_out) const noexcept {
        return clip_by_state(clip_, nullptr, list, norm_out, factor_.get());
    }

    detreduce::ClipPlan clip_;
    std::vector<std::uint64_t> counted_;   ///< indices of the tensors that this rank counts
    std::vector<Tensor> list_;             ///< these
    detreduce::detail::CudaMemory factor_; ///< the workspace of clip_
};

inline ClipPlan make_clip_plan(const ClipList& own, ncclComm_t comm, const ClipOptions& options) noexcept {
    ClipPlan plan(own, comm, options, nullptr);
    Plan::agree(std::span(&plan, 1));
    return plan;
}
inline std::vector<ClipPlan> make_clip_plans(std::span<const ClipList> own, std::span<const ncclComm_t> comms,
                                             const ClipOptions& options) {
    std::vector<ClipPlan> plans;
    for (std::size_t i = 0; i < std::min(own.size(), comms.size()); ++i)
        plans.push_back(ClipPlan(own[i], comms[i], options, nullptr));
    Plan::agree(std::span(plans));
    return plans;
}

inline Status begin(ClipPlan& plan, const Tensor* list, Stream stream) noexcept {
    const auto put = [&] {
        if (const Status bad = plan.check(list, plan.some_norm()); !bad.ok()) return bad;
        for (std::size_t i = 0; i < plan.list_.size(); ++i)
            plan.list_[i] = list[plan.counted_[i]];
        return run(plan.plan_, plan.list_.data(), plan.words_, plan.workspace_, stream);
    };
    return plan.begin_with(
        put, [&] { return plan.Plan::send(stream); }, stream);
}
inline Status end(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    const detail::DeviceScope device(plan.device_);
    if (!device.status().ok()) return device.status();
    return clip_by_state(plan.clip_, plan.words_, list, norm_out, plan.factor_.get(), stream);
}
inline Status clip_grad_norm(ClipPlan& plan, const Tensor* list, void* norm_out, Stream stream) noexcept {
    const Status sent = begin(plan, list, stream);
    return sent.ok() ? end(plan, list, norm_out, stream) : sent;
}
inline Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated,
                             ncclComm_t comm, void* norm_out, const ClipOptions& options, Stream stream) noexcept {
    ClipPlan plan({list, tensors, replicated}, comm, options, &norm_out);
    Plan::agree(std::span(&plan, 1));
    if (!plan.status().ok()) return plan.status();
    const Status done = clip_grad_norm(plan, list, norm_out, stream);
    return done.ok() ? wait(plan, stream) : done;
}

} // namespace detreduce::nccl
