// What dispatch.cpp calls for `exact`.
#pragma once

#include <algorithm>
#include <bit>

#include "multiset/exact/maps.hpp"
#include "sequence/launch.hpp"
#include "groups/groups.hpp"
#include "groups/parts.hpp"
#include "policies.hpp"

#include <detreduce/exact_state.hpp>
#include <detreduce/row_ops.hpp>

namespace detreduce::cuda {

/// Threads of a block that adds; what its kernel is written for. And of one that only works on a
/// state.
inline constexpr std::uint32_t exact_block_threads = policy::exact.threads, state_block_threads = 96;
static_assert(state_block_threads > ExactState::word_count);

/// Bytes of workspace: a state, or three for terms, or four for mean and variance, and what blocks
/// tell each other.
inline constexpr std::size_t exact_workspace_bytes = 1024, exact_terms_workspace_bytes = 2048,
                             exact_moments_workspace_bytes = 2560;
static_assert(sizeof(ExactState) + 2 * sizeof(std::uint32_t) <= exact_workspace_bytes);

/// Blocks for `tiles`, a warp each: `wanted`, unless 0. At least one, at most `most`.
[[nodiscard]] inline std::uint32_t exact_blocks(std::uint64_t tiles, std::uint32_t wanted, std::uint32_t resident,
                                                std::uint32_t most) {
    constexpr std::uint32_t warps = exact_block_threads / 32;
    const std::uint64_t chosen =
        wanted != 0 ? wanted : policy::blocks_for(tiles / warps, resident, policy::enough_exact_iterations);
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((tiles + warps - 1) / warps, 1, std::min<std::uint64_t>(chosen, most)));
}

/// Elements that make a work item of a large group.
[[nodiscard]] inline std::uint32_t exact_item_elements(const Request& r) {
    constexpr std::uint32_t enough = policy::work_item_elements;
    if (info(r.op).kind == Kind::moments)
        return std::max(enough, static_cast<std::uint32_t>(spec::tiles(r.n, policy::most_moment_work_items)));
    const bool short_sums = info(r.op).transform == Transform::element || info(r.op).transform == Transform::magnitude;
    if (r.shape == Shape::rows && r.n * size_of(r.dtype) > policy::most_exact_row_bytes &&
        r.groups <= policy::few_row_items && r.groups * spec::tiles(r.n, enough) <= policy::few_row_items)
        return policy::few_row_item;
    return short_sums ? item_elements(r) : enough;
}

/// Words of what is added up: of so many states.
[[nodiscard]] inline int exact_words(const Request& r) {
    const auto states = [&]<class Map>(Map) {
        return r.dtype == DType::f64 ? exact::states_of<double, Map> : exact::states_of<float, Map>;
    };
    return exact::with_map(r.op, states) * acc::exact::words;
}

/// Short flat inputs and rows (multiset/exact/small.cuh): blocks of so many threads, each of which
/// loads a few times 16 bytes of each input. For each op's sum, and for each of the two of mean and
/// variance, a block leaves at most so many words, and the words of a state.
inline constexpr std::uint32_t exact_small_threads = policy::exact_small.threads;
/// Threads of a block that has twice as much alone: a sum or mean of elements.
inline constexpr std::uint32_t exact_double_block = 2 * exact_small_threads;
inline constexpr int exact_small_part_words = 9;

/// May a thread have eight 16-byte loads in the place of four?
template <class T, class Map>
inline constexpr bool exact_small_may_load_more = fp::has_16_bits<T>&& exact::may_be_plain<T, Map>;
/// Loads of a thread: eight where the input is too long to be short with four.
[[nodiscard]] inline int exact_small_vectors(const Request& r) {
    constexpr int few = policy::exact_small_loads, more = policy::exact_small_more_loads;
    constexpr std::uint64_t bytes = std::uint64_t{policy::most_exact_small_blocks} * exact_small_threads * few * 16;
    const auto may = []<class Map>(Map) { return exact_small_may_load_more<float16, Map>; };
    return is_narrow(r.dtype) && exact::with_map(r.op, may) && r.n * size_of(r.dtype) > bytes ? more : few;
}
/// Elements of a block.
[[nodiscard]] inline std::uint64_t exact_small_elements(const Request& r) {
    return std::uint64_t{exact_small_threads} * exact_small_vectors(r) * 16 / size_of(r.dtype);
}
/// As many blocks as there are tiles for; none where the input is not short.
[[nodiscard]] inline std::uint32_t exact_small_blocks(const Request& r) {
    const std::uint64_t blocks = spec::tiles(r.n, exact_small_elements(r));
    return r.shape == Shape::flat && blocks <= policy::most_exact_small_blocks ? static_cast<std::uint32_t>(blocks) : 0;
}
/// Threads of one block that takes all of the input, or of few rows each; 0 if there is no such
/// block, or the caller asks for another launch.
[[nodiscard]] inline std::uint32_t exact_alone_threads(const Request& r, const Launch& asked) {
    const OpInfo& op = info(r.op);
    if (op.kind == Kind::moments) return 0;
    const bool of_elements = op.kind == Kind::sum && op.transform == Transform::element,
               may = asked.block == 0 || asked.block == exact_double_block;
    if (r.shape == Shape::rows) {
        const bool few = r.groups > 0 && r.groups <= policy::most_exact_row_blocks && r.n > 0 &&
                         r.n * size_of(r.dtype) <= policy::most_exact_row_bytes;
        return few && of_elements && may && !r.state ? exact_double_block : 0;
    }
    const std::uint32_t blocks = exact_small_blocks(r);
    if (blocks == 1) return exact_small_threads;
    return blocks == 2 && of_elements && may && asked.schedule != Schedule::two_pass ? exact_double_block : 0;
}
[[nodiscard]] inline std::size_t exact_small_workspace_bytes(const Request& r) {
    const int sums = info(r.op).kind == Kind::moments ? 2 : 1;
    return exact_small_blocks(r) * static_cast<std::size_t>(sums * exact_small_part_words + exact_words(r)) *
           sizeof(std::int64_t);
}

/// For rows and segments.
[[nodiscard]] inline WorkLayout exact_group_layout(const Request& r) {
    const std::size_t bytes = static_cast<std::size_t>(exact_words(r)) * sizeof(std::int64_t);
    return WorkLayout::of(r, exact_item_elements(r), bytes);
}

/// Bytes of a group: of segments as many as there are of each.
[[nodiscard]] inline std::uint64_t exact_group_bytes(const Request& r) {
    return (r.shape == Shape::segments ? r.n / std::max<std::uint64_t>(r.groups, 1) : r.n) * size_of(r.dtype);
}
/// Groups that a warp takes at a time, at least.
[[nodiscard]] inline std::uint32_t exact_batch(const Request& r) {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(policy::exact_batch_bytes / (exact_group_bytes(r) + 1), 1, 32));
}
/// May the sums of groups be doubles from which results are rounded once?
[[nodiscard]] inline bool exact_may_be_plain(const Request& r) {
    const OpInfo& op = info(r.op);
    const bool of_elements = op.transform == Transform::element || op.transform == Transform::magnitude;
    return of_elements && !has_8_bits(r.dtype) && !r.state &&
           (op.finalize != Finalize::mean || r.output != DType::f64) &&
           r.groups * exact_group_bytes(r) >= policy::plain_bytes;
}
/// Does plain.cuh look at them first? All moments, and sums where that is faster.
[[nodiscard]] inline bool exact_takes_plain(const Request& r) {
    const bool of_16_bits = size_of(r.dtype) == 2, moments = info(r.op).kind == Kind::moments;
    const std::uint64_t bytes = exact_group_bytes(r),
                        minimum = of_16_bits ? policy::minimum_plain_group_of_16_bits : policy::minimum_plain_group;
    const bool faster = r.dtype != DType::f64 && !(of_16_bits && r.shape == Shape::segments) && bytes >= minimum;
    return exact_may_be_plain(r) && (moments || faster) && bytes <= policy::maximum_plain_group &&
           (r.shape != Shape::rows || r.n <= exact_item_elements(r));
}
/// Does plain_rows.cuh, where they are aligned?
[[nodiscard]] inline bool exact_takes_plain_rows(const Request& r) {
    return r.shape == Shape::rows && exact_may_be_plain(r) && info(r.op).kind != Kind::moments &&
           detail::strides_of(r).group == r.n && policy::is_plain_row(exact_group_bytes(r), size_of(r.dtype) == 2) &&
           r.n <= exact_item_elements(r);
}
/// Batches of such groups. Each has a word in the workspace, behind the rest.
[[nodiscard]] inline std::uint64_t exact_plain_batches(const Request& r) {
    const bool fits = exact_takes_plain(r) || exact_takes_plain_rows(r);
    return fits ? spec::tiles(r.groups, std::bit_floor(exact_batch(r))) : 0;
}
struct ExactGroupWorkspace {
    std::size_t left, bytes; ///< where those words are, and all of it
};
[[nodiscard]] inline ExactGroupWorkspace exact_group_workspace(const Request& r) {
    const WorkLayout layout = exact_group_layout(r);
    const std::size_t before = layout.room == 0 ? 0 : layout.bytes;
    return {before, before + exact_plain_batches(r) * sizeof(std::uint32_t)};
}

/// Words that threads which reduce groups on their own (groups/parts.hpp) keep of a part
/// (exact::part_words).
[[nodiscard]] inline int exact_part_words(const Request& r) {
    const auto words = [&]<class Map>(Map) {
        return r.dtype == DType::f64 ? exact::part_words<double, Map>
               : is_narrow(r.dtype)  ? exact::part_words<bfloat16, Map>
                                     : exact::part_words<float, Map>;
    };
    return exact::with_map(r.op, words);
}

/// For columns whose elements are read as `dtype`. Where there is much to do they take up to `most`
/// threads.
[[nodiscard]] inline PartLayout exact_part_layout(const Request& r, DType dtype, std::uint64_t most) {
    std::uint64_t threads = size_of(dtype) > 2 ? policy::exact_part_threads : policy::part_threads;
    while (threads < most && r.n * r.groups >= 2 * threads * policy::rows_for_more_part_threads)
        threads *= 2;
    return PartLayout(r, static_cast<std::size_t>(exact_part_words(r)) * sizeof(std::int64_t), threads,
                      static_cast<std::size_t>(exact_words(r)) * sizeof(std::int64_t));
}
[[nodiscard]] inline PartLayout exact_part_layout(const Request& r) {
    using namespace policy;
    const bool linear = exact::with_map(r.op, []<class Map>(Map) { return Map::linear; });
    const std::uint64_t most = !linear                  ? most_part_threads_of_products
                               : r.dtype == DType::bf16 ? most_part_threads_bf16
                                                        : 0;
    return exact_part_layout(r, r.dtype, most);
}
/// For the gradients of a norm with respect to scale and shift: columns of both.
[[nodiscard]] inline PartLayout exact_scale_layout(const RowRequest& r) {
    const Request columns{.dtype = arithmetic_of(r.dtype), .shape = Shape::columns, .n = r.rows, .groups = 2 * r.n};
    return exact_part_layout(columns, r.dtype, policy::most_part_threads_of_scale);
}

template <class T>
[[nodiscard]] Status launch_exact(const Run& run);
/// Ops other than sum and mean; mean and variance too.
template <class T>
[[nodiscard]] Status launch_exact_terms(const Run& run);
/// These and sums, mean and variance, of Scope::tiles; all but moments of Scope::block.
template <class T>
[[nodiscard]] Status launch_exact_small(const Run& run);
/// Rows, columns or segments.
template <class T>
[[nodiscard]] Status launch_exact_groups(const Run& run);

/// Lists of tensors, of a plan that asks for one or more values of them.
[[nodiscard]] Status launch_exact_tensors(const Run& run);
/// Only adds, to states in the workspace, and says where they are.
[[nodiscard]] Status launch_exact_tensors_sums(const Run& run, const acc::exact::Word*& states);
[[nodiscard]] std::size_t exact_tensors_workspace_bytes(const Request& r);

/// Adds to a state of the caller's.
template <class T>
[[nodiscard]] Status launch_exact_add(const Run& run, ExactState* state);

} // namespace detreduce::cuda
