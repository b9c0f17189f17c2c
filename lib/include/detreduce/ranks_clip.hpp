// What a rank has of the tensors that many clip, whoever brings them together. mpi.hpp and nccl.hpp
// include this.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <vector>

#include <detreduce/clip_grad_norm.hpp>

namespace detreduce::detail {

/// What must be the same everywhere, and its values.
inline constexpr std::array clip_options{"max_norm", "epsilon", "norm"};
template <class Options>
[[nodiscard]] std::array<std::int64_t, clip_options.size()> values_of(const Options& options) {
    return {std::bit_cast<std::int64_t>(options.max_norm), std::bit_cast<std::int64_t>(options.epsilon),
            static_cast<std::int64_t>(options.norm)};
}
[[nodiscard]] constexpr Status no_room_for_list() {
    return {StatusCode::out_of_memory, "tensors", "there is no room for a list of so many"};
}

/// The tensors that a rank scales, and those of them that it counts: of replicated ones rank 0
/// does.
class RankTensors {
  public:
    template <class Options>
    RankTensors(std::uint64_t tensors, const Options& options, Device device, Launch launch)
        : request_{.tensors = tensors,
                   .max_norm = options.max_norm,
                   .epsilon = options.epsilon,
                   .norm = options.norm,
                   .device = device,
                   .launch = launch} {}
    RankTensors() = default;

    /// `replicated`: null, or a flag for each.
    [[nodiscard]] Status count(const Tensor* list, const unsigned char* replicated, int rank) noexcept {
        if (list == nullptr && request_.tensors > 0)
            return {StatusCode::invalid_argument, "list", "must point to the list of tensors"};
        try {
            for (std::uint64_t i = 0; i < request_.tensors; ++i) {
                request_.n += list[i].n;
                if (rank == 0 || replicated == nullptr || replicated[i] == 0) indices_.push_back(i);
            }
            counted_.resize(indices_.size());
        } catch (const std::exception&) {
            return no_room_for_list();
        }
        (void)counted(list);
        return {};
    }
    /// Those that it counts, of a list with the same lengths and dtypes.
    [[nodiscard]] const Tensor* counted(const Tensor* list) noexcept {
        for (std::size_t i = 0; i < indices_.size(); ++i)
            counted_[i] = list[indices_[i]];
        return counted_.data();
    }

    /// Of all that it scales.
    [[nodiscard]] const ClipRequest& request() const noexcept { return request_; }
    /// Of the norm of those that it counts; where they were refused, of none: no rank refuses that,
    /// as others wait.
    [[nodiscard]] Request norm(bool refused) const noexcept {
        Request norm{.op = Op::nrm2, .dtype = DType::f64, .shape = Shape::tensors, .groups = 0};
        norm.device = request_.device;
        if (refused) return norm;
        norm.launch = request_.launch;
        norm.groups = counted_.size();
        for (const Tensor& tensor : counted_)
            norm.n += tensor.n;
        return norm;
    }

  private:
    ClipRequest request_;
    std::vector<std::uint64_t> indices_; ///< of those that it counts
    std::vector<Tensor> counted_;
};

} // namespace detreduce::detail
