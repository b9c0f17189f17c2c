// Reductions by all processes of an MPI communicator: each has some of the elements, or none, and
// the bits are those of one process that has all. Header-only, over states.hpp and mpi.h; CMake:
// find_package(detreduce COMPONENTS mpi) and link detreduce::mpi. Where elements are on GPUs,
// include mpi_cuda.hpp.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1 // the C++ bindings that MPI had once are of no use here
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/fingerprint.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/ranks.hpp>
#include <detreduce/states.hpp>

namespace detreduce::mpi {

/// The plan of one process, and the words that it sends. Not to be copied; for one call at a time.
/// One whose call has begun waits for the others, as end() does, before it is destroyed or assigned
/// to, unless MPI has been finalized. One that was moved from has a status that is not ok.
class Plan;
namespace detail {
class Operation;
class Gpu;
} // namespace detail

/// The plan of a reduction by all processes of `comm`, all of which must call it. `request` is that
/// of the elements that this process has: n, stride, launch and first_index may differ, and n may
/// be 0; op, method, dtype, output, shape, groups (of a list of tensors with each), nan, each and
/// ddof are what all must ask for.
///
/// device       the CPU; with mpi_cuda.hpp a GPU too, which may be another on every process
/// status       the same on every process: what make_plan() says of the request of the first
///              process that has a bad one; invalid_argument for a field that is not the same
///              everywhere, with the rank of the first process where it is another than on rank 0
///              as the index; out_of_memory if one lacks the memory for its states; unsupported for
///              a GPU without mpi_cuda.hpp; cuda_error if a call of CUDA failed on one, which knows
///              more; invalid_argument for `comm` if MPI is not initialized, or if it says that a
///              call has failed
/// most_words   of one message, so that no count is beyond what MPI takes; the same on every
///              process
/// memory       8 · state_words() bytes for each group; of a GPU as many on both sides, and the
///              workspace
[[nodiscard]] Plan make_plan(const Request& request, MPI_Comm comm,
                             std::uint64_t most_words = std::uint64_t{1} << 28) noexcept;

/// Reduces the elements of all processes, and writes the results to `out` on all of them, or on the
/// one of rank `root`. All must call it.
///
/// in, out      as in run(), in memory of the plan's device; `out` of another process than `root`
///              means nothing
/// stream       of a GPU: the work is enqueued on it, and waited for
/// guarantee    order: neither how elements are dealt out to processes, nor how many there are, nor
///              what MPI does with the messages, means anything to the bits. Of argmin and argmax,
///              device: the index is the lowest, if first_index says where each process's elements
///              begin
/// messages     one MPI_Allreduce, or MPI_Reduce, of integers (of more than most_words several):
///              MPI_SUM of sums and counts, MPI_MAX of what is compared; of pairs by an operation
///              of their own for argmin and argmax
/// errors       what run() says of this process's arguments; invalid_argument for `in` on all
///              others that know of it (all_reduce(): all, reduce(): the root), for `root`, and for
///              `comm` as above; what finish() says. `out` is not written then
Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream = nullptr) noexcept;
Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream = nullptr) noexcept;

/// The same of states that this process has already, of plan.states(): merged from those of parts
/// that came one after the other, say (states.hpp).
///
/// errors       as above; invalid_argument for `states` where it is null, misaligned, or what
///              normalize() refuses
Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream = nullptr) noexcept;
Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream = nullptr) noexcept;

/// all_reduce() in two: begin() reduces this process's elements and sends what it has, by
/// MPI_Iallreduce; end() waits for the others and writes the results. What lies between is the
/// caller's: `in` is not looked at any more.
///
/// errors       as all_reduce(); invalid_argument for `plan` where a call has begun already, or
///              none has. What begin() says end() says again, and must be called for in any case,
///              as others wait
Status begin(Plan& plan, Inputs in, Stream stream = nullptr) noexcept;
Status end(Plan& plan, void* out, Stream stream = nullptr) noexcept;

/// Writes to `first` the index of the first array of the list that has not the same dtype, length
/// and bits on all processes of `comm`, or no_index if there is none: what tells where two
/// processes part. All must call it.
///
/// list         arrays in host memory, as many on every process; they are compared by their
///              fingerprints (fingerprint.hpp)
/// messages     two MPI_Allreduce by MPI_MIN, the second of 32 bytes an array
/// errors       the same on every process: invalid_argument for `tensors` if not all have as many,
///              for `list` if that of a process is refused by fingerprint(), and for `comm`;
///              out_of_memory. `first` is not written then
Status all_equal(const Tensor* list, std::uint64_t tensors, MPI_Comm comm, std::uint64_t& first) noexcept;

/// clip_grad_norm() of the tensors of all processes as one vector: each has some of them, or shards
/// of them, and scales those that it has. All must call it.
struct ClipOptions {
    double max_norm = 1, epsilon = 1e-6; ///< as in ClipRequest; the same on every process
    DType norm = DType::f64;             ///< of what is written to norm_out: f64 or f32
    std::uint32_t threads = 0;           ///< 0: the library's choice
};
/// list         arrays in host memory that this process has; how many there are, and of what sizes,
///              is its own affair
/// replicated   null, or a flag for each of them: every process has it, or a copy of it, and it
///              counts once, as rank 0 has it
/// guarantee    order: norm and elements are those of one process with all tensors, each replicated
///              one once
/// messages     an MPI_Allreduce of 144 integers of 64 bits, and three small messages: an MPI_Bcast
///              and two MPI_Allreduce
/// errors       what run() of a ClipPlan says of this process's arguments, and invalid_argument for
///              `list` on all others; invalid_argument for `max_norm`, `epsilon` or `norm` that are
///              not the same everywhere. Nothing is written then
Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated, MPI_Comm comm,
                      void* norm_out, const ClipOptions& options = {}) noexcept;

class Plan : public detreduce::detail::RankPlan<MPI_Comm> {
  public:
    Plan(Plan&&) noexcept = default;
    Plan& operator=(Plan&& other) noexcept {
        if (this == &other) return *this;
        std::destroy_at(this);
        return *std::construct_at(this, std::move(other));
    }
    ~Plan() { (void)wait(); }

  private:
    friend Plan make_plan(const Request& request, MPI_Comm comm, std::uint64_t most_words) noexcept;
    friend Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream) noexcept;
    friend Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream) noexcept;
    friend Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream) noexcept;
    friend Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream) noexcept;
    friend Status begin(Plan& plan, Inputs in, Stream stream) noexcept;
    friend Status end(Plan& plan, void* out, Stream stream) noexcept;
    friend Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated,
                                 MPI_Comm comm, void* norm_out, const ClipOptions& options) noexcept;
    Plan() : RankPlan(MPI_COMM_NULL) {}

    [[nodiscard]] bool agree(std::uint64_t most_words) noexcept;
    template <class Put>
    [[nodiscard]] Status reduce_to(const Put& put, void* out, int root, Stream stream) noexcept;
    [[nodiscard]] Status put(Inputs in, Stream stream) noexcept;
    [[nodiscard]] Status put_states(const std::int64_t* states, Stream stream) noexcept;
    [[nodiscard]] int send(std::int64_t* message, int root) noexcept;
    [[nodiscard]] int wait() noexcept;
    [[nodiscard]] std::int64_t* message_of(Status own, bool waits, Stream stream) noexcept;
    [[nodiscard]] Status close(const std::int64_t* message, void* out, Stream stream) noexcept;

    std::uint64_t most_words_ = 0;
    std::vector<std::int64_t> memory_; ///< of the words, unless a GPU has them
    std::shared_ptr<detail::Gpu> gpu_; ///< null: the CPU
    std::span<std::int64_t> words_;    ///< the states, and behind them two that say whether they are any
    std::vector<MPI_Request> sent_;    ///< what begin() has begun
    std::shared_ptr<const detail::Operation> operation_;
    Status own_; ///< of this process's arguments
};

namespace detail {

inline constexpr int everywhere = -1; ///< as a root
#ifdef MPICH_VERSION                  // 4.0.2 crashes in MPI_Reduce where a root but rank 0 says MPI_IN_PLACE
inline constexpr bool reduces_to_any_root = false;
#else
inline constexpr bool reduces_to_any_root = true;
#endif

[[nodiscard]] constexpr Status failed() {
    return {StatusCode::invalid_argument, "comm",
            "MPI must be initialized, and the communicator one whose calls do not fail"};
}

/// What a GPU does for a plan: mpi_cuda.hpp has it, so that this header needs no CUDA. Every call
/// waits for what it enqueues, except put() and put_states().
class Gpu {
  public:
    virtual ~Gpu() = default;
    /// As many as asked for, in host memory.
    [[nodiscard]] virtual std::int64_t* words() noexcept = 0;
    /// Writes this process's states to the GPU's memory.
    [[nodiscard]] virtual Status put(const detreduce::Plan& plan, Inputs in, Stream stream) noexcept = 0;
    [[nodiscard]] virtual Status put_states(const detreduce::Plan& plan, const std::int64_t* states,
                                            Stream stream) noexcept = 0;
    /// Sets `message` to where they, and two zeros behind them, are: words(), or the GPU's memory
    /// if MPI takes that.
    [[nodiscard]] virtual Status send(bool may_be_gpu, Stream stream, std::int64_t*& message) noexcept = 0;
    /// Brings what is at `message` then to the GPU's memory, and the last two of it to words().
    [[nodiscard]] virtual Status receive(const std::int64_t* message, Stream stream) noexcept = 0;
    [[nodiscard]] virtual Status finish(const detreduce::Plan& plan, void* out, Stream stream) noexcept = 0;
};
/// For so many words; null until a source includes mpi_cuda.hpp.
inline Status (*make_gpu)(const detreduce::Plan& plan, std::uint64_t words,
                          std::shared_ptr<Gpu>& gpu) noexcept = nullptr;

/// What a process may find that hinders all, and what they say of it then.
inline constexpr std::array hindrances{
    detreduce::detail::no_room_somewhere(),
    Status{StatusCode::unsupported, "device", "allowed is the CPU; detreduce/mpi_cuda.hpp allows GPUs"},
    Status{StatusCode::cuda_error, "device", "the GPU of a rank has failed, which knows why"}, failed()};

/// Has MPI gone, with all that it had?
[[nodiscard]] inline bool is_finalized() {
    int finalized = 0;
    return MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0;
}

/// Can calls be made?
[[nodiscard]] inline bool usable(MPI_Comm comm) {
    int initialized = 0;
    return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 && !is_finalized() && comm != MPI_COMM_NULL;
}

/// The greater of pairs, the first of which counts before the second.
inline void greater_pairs(void* in, void* in_out, int* count, MPI_Datatype*) {
    const auto* const from = static_cast<const std::int64_t*>(in);
    auto* const to = static_cast<std::int64_t*>(in_out);
    for (std::int64_t i = 0; i < 2 * std::int64_t{*count}; i += 2) {
        if (from[i] > to[i] || (from[i] == to[i] && from[i + 1] > to[i + 1])) std::copy_n(from + i, 2, to + i);
    }
}

/// The type of words, or of pairs of them, and the operation.
class Operation {
  public:
    explicit Operation(StateMerge merge)
        : op_(merge == StateMerge::max ? MPI_MAX : MPI_SUM), pairs_(merge == StateMerge::pair) {
        if (!pairs_) return;
        error_ = MPI_Type_contiguous(2, MPI_INT64_T, &type_);
        if (error_ == MPI_SUCCESS) error_ = MPI_Type_commit(&type_);
        if (error_ == MPI_SUCCESS) error_ = MPI_Op_create(greater_pairs, 1, &op_);
    }
    ~Operation() {
        if (!pairs_ || !ok() || is_finalized()) return;
        MPI_Op_free(&op_);
        MPI_Type_free(&type_);
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    [[nodiscard]] bool ok() const { return error_ == MPI_SUCCESS; }
    /// Of `n` words at `words`, on all processes, or on the one of rank `root`.
    [[nodiscard]] int run(std::int64_t* words, std::uint64_t n, int root, int rank, MPI_Comm comm) const {
        const int count = static_cast<int>(n / (pairs_ ? 2 : 1));
        if (root == everywhere || (root != 0 && !reduces_to_any_root))
            return MPI_Allreduce(MPI_IN_PLACE, words, count, type_, op_, comm);
        if (rank == root) return MPI_Reduce(MPI_IN_PLACE, words, count, type_, op_, root, comm);
        return MPI_Reduce(words, nullptr, count, type_, op_, root, comm);
    }
    /// The same on all processes, some time.
    [[nodiscard]] int start(std::int64_t* words, std::uint64_t n, MPI_Comm comm, MPI_Request& request) const {
        return MPI_Iallreduce(MPI_IN_PLACE, words, static_cast<int>(n / (pairs_ ? 2 : 1)), type_, op_, comm, &request);
    }

  private:
    MPI_Datatype type_ = MPI_INT64_T;
    MPI_Op op_;
    bool pairs_;
    int error_ = MPI_SUCCESS;
};

} // namespace detail

/// Brings what each process found to all of them; false, and the status says why, if there is no
/// plan then.
inline bool Plan::agree(std::uint64_t most_words) noexcept {
    constexpr std::size_t count = detreduce::detail::rank_fields;
    const auto fields = detreduce::detail::fields_of(plan_.request(), most_words);
    const std::int64_t last = size_ - rank_; // the largest of it is that of the first process
    std::array<std::int64_t, count> first{};
    for (std::size_t i = 0; i < count; ++i)
        first[i] = fields[i].value;
    if (MPI_Bcast(first.data(), count, MPI_INT64_T, 0, comm_) != MPI_SUCCESS) {
        status_ = detail::failed();
        return false;
    }
    constexpr std::size_t all = count + 1 + detail::hindrances.size();
    std::array<std::int64_t, all> wrong{};
    for (std::size_t i = 0; i < count; ++i)
        wrong[i] = first[i] == fields[i].value ? 0 : last;
    wrong[count] = plan_.status().ok() ? 0 : last;
    for (std::size_t i = 0; i < detail::hindrances.size(); ++i)
        wrong[count + 1 + i] = status_.code == detail::hindrances[i].code ? last : 0;
    if (MPI_Allreduce(MPI_IN_PLACE, wrong.data(), all, MPI_INT64_T, MPI_MAX, comm_) != MPI_SUCCESS) {
        status_ = detail::failed();
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (wrong[i] == 0) continue;
        status_ = detreduce::detail::differs(fields[i].name, static_cast<std::uint64_t>(size_ - wrong[i]));
        return false;
    }
    if (wrong[count] != 0) { // the request that is bad says the same everywhere
        static_assert(std::is_trivially_copyable_v<Request>);
        Request bad = plan_.request();
        status_ = {StatusCode::unsupported, "launch", "a rank cannot run this: its processor lacks it"};
        if (MPI_Bcast(&bad, sizeof bad, MPI_BYTE, static_cast<int>(size_ - wrong[count]), comm_) != MPI_SUCCESS) {
            status_ = detail::failed();
        } else if (const Status said = detreduce::make_plan(bad).status(); !said.ok()) {
            status_ = said;
        }
        return false;
    }
    for (std::size_t i = 0; i < detail::hindrances.size(); ++i) {
        if (wrong[count + 1 + i] == 0) continue;
        if (status_.code != detail::hindrances[i].code) status_ = detail::hindrances[i]; // who has it itself knows more
        return false;
    }
    return true;
}

inline Plan make_plan(const Request& request, MPI_Comm comm, std::uint64_t most_words) noexcept {
    Plan made;
    if (!detail::usable(comm) || MPI_Comm_rank(comm, &made.rank_) != MPI_SUCCESS ||
        MPI_Comm_size(comm, &made.size_) != MPI_SUCCESS) {
        made.status_ = detail::failed();
        return made;
    }
    Request own = request;
    own.state = true;
    made.plan_ = detreduce::make_plan(own);
    made.comm_ = comm;
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    made.most_words_ = std::clamp(most_words, std::uint64_t{2}, most) / 2 * 2; // whole pairs
    if (made.plan_.status().ok()) {
        try {
            const std::uint64_t words = made.plan_.groups() * made.plan_.state_words() + 2;
            made.sent_.reserve((words + made.most_words_ - 1) / made.most_words_);
            made.operation_ = std::make_shared<const detail::Operation>(state_merge(made.plan_));
            if (!made.operation_->ok()) {
                made.status_ = detail::failed();
            } else if (made.plan_.request().device.backend == Backend::cpu) {
                made.memory_.resize(words);
                made.words_ = made.memory_;
            } else if (detail::make_gpu == nullptr) {
                made.status_ = detail::hindrances[1];
            } else {
                made.status_ = detail::make_gpu(made.plan_, words, made.gpu_);
                if (made.status_.ok()) made.words_ = {made.gpu_->words(), words};
            }
        } catch (const std::exception&) {
            made.status_ = detail::hindrances[0];
        }
    }
    if (!made.agree(most_words)) {
        made.memory_ = {};
        made.gpu_ = nullptr;
    }
    return made;
}

inline int Plan::send(std::int64_t* message, int root) noexcept {
    for (std::uint64_t begin = 0; begin < words_.size(); begin += most_words_) {
        const std::uint64_t n = std::min<std::uint64_t>(most_words_, words_.size() - begin);
        const int error = operation_->run(message + begin, n, root, rank_, comm_);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

/// For what begin() has begun.
inline int Plan::wait() noexcept {
    if (sent_.empty() || detail::is_finalized()) return MPI_SUCCESS;
    const int error = MPI_Waitall(static_cast<int>(sent_.size()), sent_.data(), MPI_STATUSES_IGNORE);
    sent_.clear();
    return error;
}

/// Where what this process sends is: its states, unless its arguments were refused. `waits`: for
/// the messages, too.
inline std::int64_t* Plan::message_of(Status own, bool waits, Stream stream) noexcept {
    own_ = own;
    std::int64_t* message = words_.data();
    // What MPI does by a function of ours, or while the caller does something else, is done in host
    // memory.
    if (own_.ok() && gpu_ != nullptr)
        own_ = gpu_->send(waits && state_merge(plan_) != StateMerge::pair, stream, message);
    if (!own_.ok()) {
        message = words_.data();
        std::fill(words_.begin(), words_.end(), 0); // anything that can be added up
    }
    words_[words_.size() - 2] = own_.ok() ? 0 : 1;
    words_.back() = 0;
    return message;
}

/// What comes of the words of all.
inline Status Plan::close(const std::int64_t* message, void* out, Stream stream) noexcept {
    if (!own_.ok()) return own_;
    if (gpu_ != nullptr) {
        if (const Status bad = gpu_->receive(message, stream); !bad.ok()) return bad;
    }
    if (words_[words_.size() - 2] != 0)
        return {StatusCode::invalid_argument, "in", "the arguments of another rank were refused, which knows why"};
    return gpu_ != nullptr ? gpu_->finish(plan_, out, stream) : finish(plan_, words_.data(), out);
}

inline Status Plan::put(Inputs in, Stream stream) noexcept {
    return gpu_ != nullptr ? gpu_->put(plan_, in, stream) : run(plan_, in, words_.data());
}
inline Status Plan::put_states(const std::int64_t* states, Stream stream) noexcept {
    if (states == nullptr && words_.size() > 2) return {StatusCode::invalid_argument, "states", "must not be null"};
    if (gpu_ != nullptr) return gpu_->put_states(plan_, states, stream);
    if (std::bit_cast<std::uintptr_t>(states) % alignof(std::int64_t) != 0)
        return {StatusCode::invalid_argument, "states", "must be aligned to 8 bytes"};
    std::copy_n(states, words_.size() - 2, words_.data());
    return normalize(plan_, words_.data());
}

/// `put` writes this process's states to the words, or says why it has none.
template <class Put>
Status Plan::reduce_to(const Put& put, void* out, int root, Stream stream) noexcept {
    if (!status_.ok()) return status_;
    if (root >= size_) return detreduce::detail::no_such_root();
    if (!sent_.empty()) return {StatusCode::invalid_argument, "plan", "must not have begun a call that has not ended"};
    const bool writes = root == detail::everywhere || root == rank_;
    Status own = put();
    if (own.ok() && writes && out == nullptr && plan_.results() > 0)
        own = {StatusCode::invalid_argument, "out", "must not be null"};
    std::int64_t* const message = message_of(own, true, stream);
    if (send(message, root) != MPI_SUCCESS) return detail::failed();
    return writes ? close(message, out, stream) : own_;
}

inline Status begin(Plan& plan, Inputs in, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    if (!plan.sent_.empty())
        return {StatusCode::invalid_argument, "plan", "must not have begun a call that has not ended"};
    (void)plan.message_of(plan.put(in, stream), false, stream); // the words
    const std::uint64_t all = plan.words_.size(), most = plan.most_words_;
    plan.sent_.assign((all + most - 1) / most, MPI_REQUEST_NULL); // make_plan() has reserved as many
    for (std::uint64_t i = 0; i < plan.sent_.size(); ++i) {
        const int error = plan.operation_->start(plan.words_.data() + i * most, std::min(most, all - i * most),
                                                 plan.comm_, plan.sent_[i]);
        if (error == MPI_SUCCESS) continue;
        plan.own_ = detail::failed(); // which end() says again
        break;
    }
    return plan.own_;
}

inline Status end(Plan& plan, void* out, Stream stream) noexcept {
    if (!plan.status_.ok()) return plan.status_;
    if (plan.sent_.empty()) return {StatusCode::invalid_argument, "plan", "must have begun a call"};
    if (detail::is_finalized() || plan.wait() != MPI_SUCCESS) return detail::failed();
    if (plan.own_.ok() && out == nullptr && plan.plan_.results() > 0)
        return {StatusCode::invalid_argument, "out", "must not be null"};
    return plan.close(plan.words_.data(), out, stream);
}

inline Status all_reduce(Plan& plan, Inputs in, void* out, Stream stream) noexcept {
    return plan.reduce_to([&] { return plan.put(in, stream); }, out, detail::everywhere, stream);
}
inline Status reduce(Plan& plan, Inputs in, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    return plan.reduce_to([&] { return plan.put(in, stream); }, out, root, stream);
}
inline Status all_reduce_states(Plan& plan, const std::int64_t* states, void* out, Stream stream) noexcept {
    return plan.reduce_to([&] { return plan.put_states(states, stream); }, out, detail::everywhere, stream);
}
inline Status reduce_states(Plan& plan, const std::int64_t* states, void* out, int root, Stream stream) noexcept {
    if (root < 0) return detreduce::detail::no_such_root();
    return plan.reduce_to([&] { return plan.put_states(states, stream); }, out, root, stream);
}

/// A bit pattern and its complement: by MPI_MIN both the smallest and the largest are known.
inline Status all_equal(const Tensor* list, std::uint64_t tensors, MPI_Comm comm, std::uint64_t& first) noexcept {
    if (!detail::usable(comm)) return detail::failed();
    Status own;
    std::vector<Fingerprint> found;
    std::vector<std::uint64_t> words;
    try {
        found.resize(tensors);
        words.resize(4 * tensors);
        own = fingerprint(list, tensors, found.data());
    } catch (const std::exception&) {
        own = {StatusCode::out_of_memory, "tensors", "there is no room for the fingerprints of so many tensors"};
    }
    const std::uint64_t code = own.ok() ? 2 : own.code == StatusCode::out_of_memory ? 1 : 0;
    std::array<std::uint64_t, 3> minimum{tensors, ~tensors, code};
    if (MPI_Allreduce(MPI_IN_PLACE, minimum.data(), 3, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS)
        return detail::failed();
    if (minimum[0] != ~minimum[1]) return {StatusCode::invalid_argument, "tensors", "must be the same on every rank"};
    if (minimum[2] == 1) return {StatusCode::out_of_memory, "tensors", "a rank has no room for so many fingerprints"};
    if (minimum[2] == 0)
        return own.ok()
                   ? Status{StatusCode::invalid_argument, "list", "that of another rank was refused, which knows why"}
                   : own;
    for (std::uint64_t i = 0; i < tensors; ++i) {
        for (int k = 0; k < 2; ++k) {
            words[4 * i + 2 * k] = found[i].words[k];
            words[4 * i + 2 * k + 1] = ~found[i].words[k];
        }
    }
    constexpr std::uint64_t most = std::uint64_t{1} << 28;
    for (std::uint64_t begin = 0; begin < words.size(); begin += most) {
        const int count = static_cast<int>(std::min<std::uint64_t>(most, words.size() - begin));
        if (MPI_Allreduce(MPI_IN_PLACE, words.data() + begin, count, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS)
            return detail::failed();
    }
    first = no_index;
    for (std::uint64_t i = 0; i < words.size() && first == no_index; i += 2)
        if (words[i] != ~words[i + 1]) first = i / 4;
    return {};
}

namespace detail {
/// `first` is the first value that is not the same on all processes, or `count`: by MPI_MIN of each
/// value and of its complement.
template <std::size_t count>
[[nodiscard]] int all_same(const std::array<std::uint64_t, count>& values, MPI_Comm comm, std::size_t& first) {
    std::array<std::uint64_t, 2 * count> minimum{};
    for (std::size_t i = 0; i < count; ++i) {
        minimum[2 * i] = values[i];
        minimum[2 * i + 1] = ~values[i];
    }
    const int error =
        MPI_Allreduce(MPI_IN_PLACE, minimum.data(), static_cast<int>(minimum.size()), MPI_UINT64_T, MPI_MIN, comm);
    for (first = 0; first < count && minimum[2 * first] == ~minimum[2 * first + 1];)
        ++first;
    return error;
}
} // namespace detail

inline Status clip_grad_norm(const Tensor* list, std::uint64_t tensors, const unsigned char* replicated, MPI_Comm comm,
                             void* norm_out, const ClipOptions& options) noexcept {
    int rank = 0;
    if (!detail::usable(comm) || MPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return detail::failed();
    constexpr std::array names{"max_norm", "epsilon", "norm"};
    std::size_t other = 0;
    if (detail::all_same<3>({std::bit_cast<std::uint64_t>(options.max_norm),
                             std::bit_cast<std::uint64_t>(options.epsilon), static_cast<std::uint64_t>(options.norm)},
                            comm, other) != MPI_SUCCESS)
        return detail::failed();
    if (other < names.size()) return {StatusCode::invalid_argument, names[other], "must be the same on every rank"};
    ClipRequest request{.tensors = tensors,
                        .max_norm = options.max_norm,
                        .epsilon = options.epsilon,
                        .norm = options.norm,
                        .device = cpu,
                        .launch = {.threads = options.threads}};
    Request norm{.op = Op::nrm2, .dtype = DType::f64, .shape = Shape::tensors, .device = cpu};
    Status own;
    std::vector<Tensor> counted; // here
    if (list == nullptr && tensors > 0)
        own = {StatusCode::invalid_argument, "list", "must point to the list of tensors"};
    try {
        for (std::uint64_t i = 0; own.ok() && i < tensors; ++i) {
            request.n += list[i].n;
            if (rank != 0 && replicated != nullptr && replicated[i] != 0) continue;
            counted.push_back(list[i]);
            norm.n += list[i].n;
        }
    } catch (const std::exception&) {
        own = {StatusCode::out_of_memory, "tensors", "there is no room for a list of so many"};
    }
    const ClipPlan clip = make_clip_plan(request);
    if (own.ok()) own = clip.status();
    if (own.ok()) own = clip_by_state(clip, nullptr, list, norm_out);
    if (own.ok()) {
        norm.launch = request.launch;
    } else { // a plan that cannot be refused, as others wait
        counted.clear();
        norm.n = 0;
    }
    norm.groups = counted.size();
    Plan plan = make_plan(norm, comm);
    if (!plan.status().ok()) return plan.status();
    if (own.ok()) own = plan.put(counted.data(), nullptr);
    if (plan.send(plan.message_of(own, true, nullptr), detail::everywhere) != MPI_SUCCESS) return detail::failed();
    if (!plan.own_.ok()) return plan.own_;
    if (plan.words_[plan.words_.size() - 2] != 0)
        return {StatusCode::invalid_argument, "list", "that of another rank was refused, which knows why"};
    return clip_by_state(clip, plan.words_.data(), list, norm_out);
}

} // namespace detreduce::mpi
