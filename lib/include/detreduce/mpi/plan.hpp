// The plan of one process of an MPI communicator, and what all its processes agree on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <detreduce/mpi/operation.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/ranks.hpp>
#include <detreduce/states.hpp>

namespace detreduce::mpi {

/// The plan of one process, and the words that it sends. Not to be copied; for one call at a time.
/// One whose call has begun waits for the others, as end() does, before it is destroyed or assigned
/// to, unless MPI has been finalized. One that was moved from has a status that is not ok.
class Plan;

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

namespace detail {

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

} // namespace detail

struct ClipOptions;

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
    if (wrong[count] != 0) {
        static_assert(std::is_trivially_copyable_v<Request>);
        Request bad = plan_.request();
        const int sent = MPI_Bcast(&bad, sizeof bad, MPI_BYTE, static_cast<int>(size_ - wrong[count]), comm_);
        status_ = sent == MPI_SUCCESS
                      ? detreduce::detail::refused(bad, "a rank cannot run this: its processor lacks it")
                      : detail::failed();
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

/// For what begin() has begun.
inline int Plan::wait() noexcept {
    if (sent_.empty() || detail::is_finalized()) return MPI_SUCCESS;
    const int error = MPI_Waitall(static_cast<int>(sent_.size()), sent_.data(), MPI_STATUSES_IGNORE);
    sent_.clear();
    return error;
}

} // namespace detreduce::mpi
