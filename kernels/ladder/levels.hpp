// Enqueues rungs whose blocks each make one number of a piece of a row: level by level until one
// remains of each row, or with atomics at once.
#pragma once

#include "ladder.hpp"
#include "platform/launch_kernel.hpp"
#include "piece.cuh"

namespace detreduce::ladder {

/// What a block does.
struct Block {
    std::uint32_t elements;  ///< that it takes
    std::uint32_t additions; ///< the most that one of them goes through
    std::uint32_t scratch;   ///< floats in global memory, of the first level; later ones need less
};

constexpr std::uint32_t log2_of(std::uint32_t power) {
    std::uint32_t log = 0;
    while (power >>= 1)
        ++log;
    return log;
}

/// `elements` a thread, then a binary tree over the block.
constexpr Block tree_block(std::uint32_t threads, std::uint32_t elements, std::uint32_t scratch = 0) {
    return {threads * elements, elements - 1 + log2_of(threads), scratch};
}

inline constexpr std::uint64_t most_blocks = 0x7fffffff; // of a grid

constexpr std::uint64_t pieces_of(std::uint64_t length, const Block& block) {
    return length == 0 ? 1 : (length - 1) / block.elements + 1;
}

constexpr Status check_blocks(const Shape& shape, const Block& block) {
    const std::uint64_t pieces = pieces_of(shape.length, block);
    if (pieces <= most_blocks && shape.rows * pieces <= most_blocks) return {};
    return {StatusCode::invalid_argument, "shape",
            "more than 2^31 - 1 blocks; allowed are fewer elements, or more a block"};
}

/// Partial sums of the first level, behind them those of the second, of which there are fewer; and
/// the scratch of the first level.
struct Room {
    std::uint64_t first, second, scratch; ///< floats
};
constexpr Room room_of(const Shape& shape, const Block& block) {
    constexpr auto aligned = [](std::uint64_t floats) { return (floats + 63) / 64 * 64; };
    const std::uint64_t pieces = pieces_of(shape.length, block), more = pieces_of(pieces, block);
    return {pieces == 1 ? 0 : aligned(shape.rows * pieces), more == 1 ? 0 : aligned(shape.rows * more),
            shape.rows * pieces * block.scratch};
}

inline Needs needs_of_levels(const Shape& shape, const Block& block) {
    Needs needs;
    needs.status = check_blocks(shape, block);
    if (!needs.status.ok()) return needs;
    const Room room = room_of(shape, block);
    needs.workspace = (room.first + room.second + room.scratch) * sizeof(float);
    std::uint64_t length = shape.length;
    do {
        length = pieces_of(length, block);
        ++needs.launches;
        needs.additions += block.additions;
    } while (length > 1);
    return needs;
}

using Kernel = void (*)(Level);

inline Status run_levels(const Call& call, const Block& block, Kernel kernel, std::uint32_t shared_floats,
                         Stream stream) {
    const Room room = room_of(call.shape, block);
    auto* const first = static_cast<float*>(call.workspace);
    float* const partials[] = {first, first + room.first};
    Level level{call.x,
                nullptr,
                first + room.first + room.second,
                call.shape.length,
                0,
                call.settings.per_thread,
                call.settings.coalesced};
    for (int depth = 0;; ++depth) {
        level.pieces = static_cast<std::uint32_t>(pieces_of(level.length, block));
        level.out = level.pieces == 1 ? call.out : partials[depth % 2];
        const auto blocks = static_cast<std::uint32_t>(call.shape.rows * level.pieces);
        const Status status = cuda::launch_kernel(cuda::LaunchKind::plain, kernel, dim3(blocks), call.settings.threads,
                                                  shared_floats * sizeof(float), stream, level);
        if (!status.ok() || level.pieces == 1) return status;
        level.x = level.out;
        level.length = level.pieces;
    }
}

/// With atomics: a memset and one launch. In whatever order, a row's pieces are at worst added one
/// after the other, to zero.
inline Needs needs_of_atomics(const Shape& shape, const Block& block) {
    Needs needs;
    needs.status = check_blocks(shape, block);
    needs.launches = 2;
    needs.additions = block.additions + pieces_of(shape.length, block) - 1;
    return needs;
}

inline Status run_atomics(const Call& call, const Block& block, Kernel kernel, std::uint32_t shared_floats,
                          Stream stream) {
    const Status zeroed =
        cuda::from_cuda("cudaMemsetAsync", cudaMemsetAsync(call.out, 0, call.shape.rows * sizeof(float), stream));
    if (!zeroed.ok()) return zeroed;
    const auto pieces = static_cast<std::uint32_t>(pieces_of(call.shape.length, block));
    const Level level{
        call.x, call.out, nullptr, call.shape.length, pieces, call.settings.per_thread, call.settings.coalesced};
    return cuda::launch_kernel(cuda::LaunchKind::plain, kernel,
                               dim3(static_cast<std::uint32_t>(call.shape.rows * pieces)), call.settings.threads,
                               shared_floats * sizeof(float), stream, level);
}

/// A rung of levels, of which a block is `block_of(settings)` and the kernel `Kernel`; a float of
/// shared memory a thread.
template <Kernel kernel, Block (*block_of)(const Settings&)>
struct ByLevels {
    static Needs needs(const Shape& shape, const Settings& settings) {
        return needs_of_levels(shape, block_of(settings));
    }
    static Status run(const Call& call, const Needs&, Stream stream) {
        return run_levels(call, block_of(call.settings), kernel, call.settings.threads, stream);
    }
};
template <Kernel kernel, Block (*block_of)(const Settings&)>
struct ByAtomics {
    static Needs needs(const Shape& shape, const Settings& settings) {
        return needs_of_atomics(shape, block_of(settings));
    }
    static Status run(const Call& call, const Needs&, Stream stream) {
        return run_atomics(call, block_of(call.settings), kernel, call.settings.threads, stream);
    }
};

inline Block one_a_thread(const Settings& s) {
    return tree_block(s.threads, 1);
}
inline Block two_a_thread(const Settings& s) {
    return tree_block(s.threads, 2);
}
/// And a float of scratch a thread.
inline Block two_with_scratch(const Settings& s) {
    return tree_block(s.threads, 2, s.threads);
}
inline Block coarsened(const Settings& s) {
    return tree_block(s.threads, s.per_thread);
}

} // namespace detreduce::ladder
