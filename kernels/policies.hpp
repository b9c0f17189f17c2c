// The tuning table: how kernels are launched. A value changes speed and never a bit.
//
// All values were measured on sm_90, an H200 (reports/results/nvidia-h200, counters.md there), and
// other architectures run them, too, unless a line says otherwise. Figures are shares of the speed
// of a kernel that only reads, of 4 GiB.
#pragma once

#include <algorithm>
#include <cstdint>

#include <detreduce/types.hpp>

namespace detreduce::cuda::policy {

/// Threads of a block, and blocks that a multiprocessor is to hold: a thread then has 65536 /
/// (threads · blocks) registers.
struct Kernel {
    int threads, blocks;
};

// ---- The sequence engine ------------------------------------------------------------------------

/// Flat sums by `tree`: what a caller who says nothing has. At 4 GiB last_block is .959 and
/// cooperative .981, two_pass .991 (launches.csv).
inline constexpr Schedule tree_schedule = Schedule::two_pass;
/// 64 registers: a chunk's eight loads, which take 32, are in flight at once.
inline constexpr Kernel tree{256, 4};
/// Accumulators of two words: 80 registers. bf16 by `kahan` .87; 128 registers .66 to .78, and 64
/// spill.
inline constexpr Kernel tree_of_two_words{256, 3};
/// Moments of f32, and of 16-bit elements that are aligned: 64 registers. bf16 .93 to .98; in three
/// blocks bf16 .88, f32 .86 to .90.
inline constexpr Kernel aligned_moments{256, 4};
/// Two inputs take twice the room: dot of bf16 .96.
inline constexpr Kernel tree_of_two_inputs{256, 2};
/// A caller's function takes nobody knows how many registers, and of 16-bit elements the terms take
/// twice their room.
inline constexpr Kernel computed_terms{256, 2};
/// Results of tiles in so many rows of lanes, or fewer, are a warp's. Up to eight rows by one
/// version: prod of 1 MiB 12.3 to 9.0 µs; four 7.6.
inline constexpr int most_short_rows = 4;

/// Groups by a warp each.
inline constexpr Kernel groups{256, 2};
/// Where loads are of words more are needed for as much memory: segments of bf16 .88, by two blocks
/// .78.
inline constexpr Kernel groups_by_words{256, 3};
/// Multiples of multiprocessors that batches of groups are made for. What is read by words leaves
/// time: with fewer batches offsets are waited for less often (.98 to 1.00).
inline constexpr std::uint64_t group_batches = 64, group_batches_by_words = 16;

/// Columns: 128 registers. 4096 columns of bf16 .94. Of 16-bit elements whose accumulators are more
/// than a sum, 80: columns of 4096, variance of f16 .61 to .69, prod .57 to .61. Sums would lose,
/// .96 to .69, and keep 128.
inline constexpr Kernel columns{256, 2}, columns_of_more{256, 3};

/// Short rows that are known to be aligned: bf16 rows of 32 .87.
inline constexpr Kernel short_rows{256, 4};
/// Of 16 bits, in more than one step: bf16 rows of 512 .95.
inline constexpr Kernel short_rows_in_steps{256, 3};
/// Not known to be aligned, or of accumulators of two words.
inline constexpr Kernel short_rows_of_any{256, 2};

/// Blocks a multiprocessor of `atomic`, which is there for comparison.
inline constexpr std::uint64_t atomic_blocks = 16;

/// Blocks with a share of the work items of large segments, a multiprocessor.
inline constexpr std::uint64_t work_item_blocks = 32;

// ---- The multiset engine ------------------------------------------------------------------------

/// So many blocks at once, or as many as the oldest GPUs hold, whose multiprocessors have 1024
/// threads.
[[nodiscard]] constexpr int blocks_that_fit(int blocks, [[maybe_unused]] int threads = 256) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return std::min(blocks, 1024 / threads);
#else
    return blocks;
#endif
}

/// Ops that compare, of flat arrays: 16-byte loads of a thread in flight, and blocks at most, each
/// of which has room for what it finds.
inline constexpr Kernel compare{256, 6};
/// Of both ends: with fewer registers loads wait for each other (f64 .95, in six .78).
inline constexpr Kernel compare_ends{256, 4};
inline constexpr std::uint32_t compare_loads = 4, most_compare_blocks = 8192;
/// Threads that look at a row of so many bytes: one, some of a warp, or all. argmax of a first
/// version, in this order by 2, 4, 8 and 16 threads: rows of 64 bytes .40 .25 .12 .06, of 128 .65
/// .54 .37 .18, of 256 .48 .62 .42 .25, of 512 .51 .65 .79 .60, of 1024 .50 .64 .82 .67. By one
/// thread only rows of 64 bytes were measured: .65.
[[nodiscard]] constexpr int compare_team(std::uint64_t row_bytes) {
    return row_bytes <= 64 ? 1 : row_bytes <= 128 ? 2 : row_bytes <= 256 ? 4 : row_bytes <= 1024 ? 8 : 32;
}
/// 16-byte loads of such a thread, at most.
template <int Threads>
inline constexpr int compare_team_loads = Threads == 8 ? 8 : 4;
/// Blocks that look at columns, on a multiprocessor.
inline constexpr int compare_columns = 5, compare_columns_16_bits = 4;
/// Multiples of multiprocessors: batches of groups, and blocks at most.
inline constexpr std::uint64_t compare_batches = 64, compare_group_blocks = 32;

/// Patterns of 16 bits, marked in 8 KiB of shared memory.
inline constexpr Kernel mark_patterns{256, 4};

/// `exact` of elements: 128 registers, as many as a tile of eight loads takes with the next one in
/// flight. Slower: half the loads with more blocks, other sizes of blocks, no loads ahead, and
/// tiles given out by a counter.
inline constexpr Kernel exact{128, 4};
inline constexpr int exact_loads = 8;
/// Windows that do not hold a tile before a warp goes on to a wider one.
inline constexpr int exact_misses = 4;
/// `exact` of differences. Products take the room of `exact` (dot f16 .95 of reading, in three
/// blocks .92).
inline constexpr Kernel exact_of_differences{128, 3};
/// Groups: as many blocks as have registers for a tile, the bins and what is to round (of elements
/// and f64 not measured); of one input's squares, and of mean and variance, also for the next tile.
/// Variance of rows of 4096 of bf16 / f32: .61 / .56 without that in five blocks and in six, .64 /
/// .60 with it in five, .68 / .68 in four; of f64, whose blocks are the last, .49 and .50.
inline constexpr Kernel exact_groups{128, 7}, exact_groups_of_f64{128, 6}, exact_groups_of_squares{128, 4},
    exact_groups_of_more{128, 4};
/// Groups as two doubles: so many warps that memory is read at its speed. Not where there are fewer
/// bytes in all, of which a second kernel would be much (the emulator's tests have fewer), nor
/// where a group has fewer bytes (f32 rows of 32, of reading, .55 for .59, of 128 .83 for .78;
/// 16-bit rows of 512 .81 for .82, of 4096 .92 for .87) or more (f32 rows of 65536 .82 for .85: few
/// rows are left for many warps), nor for segments of 16 bits (.62 for .64). Batches that a warp
/// leaves after one of which most was left.
inline constexpr Kernel plain_groups{128, 10}, plain_moments{128, 6}, plain_moments_of_16_bits{128, 5};
#ifndef DETREDUCE_PLAIN_BYTES
#define DETREDUCE_PLAIN_BYTES (32u << 20)
#endif
inline constexpr std::uint64_t plain_bytes = DETREDUCE_PLAIN_BYTES, minimum_plain_group = 256,
                               minimum_plain_group_of_16_bits = 2048, maximum_plain_group = 128u << 10;
inline constexpr int plain_batches_left = 31;
/// Rows of 64 · 2^k bytes up to 4 KiB, and, up to maximum_plain_group, of f32 and f64, of multiples
/// of 512 bytes from 2.5 KiB on.
inline constexpr Kernel plain_rows{128, 7};
inline constexpr std::uint64_t longest_short_plain_row = 4096;
constexpr bool is_short_plain_row(std::uint64_t bytes) {
    return bytes >= 64 && bytes <= longest_short_plain_row && (bytes & (bytes - 1)) == 0;
}
constexpr bool is_plain_row(std::uint64_t bytes, bool of_16_bits) {
    return is_short_plain_row(bytes) ||
           (!of_16_bits && bytes % 512 == 0 && bytes > 2048 && bytes <= maximum_plain_group);
}
/// Loads of 16 bytes of a tile of terms: few of small groups, so that little of a tile is empty;
/// where there is much to read as many as registers hold. Of one input 8 are up to 4 % faster than
/// 4 (sumsq of bf16 .93 to .97); elements as they are must be looked at for −0, and have no room
/// for that, nor have doubles with their squares beside them.
inline constexpr int exact_short_tile = 4, exact_long_tile = 8;
/// Lists of tensors of bf16 by long tiles: with what a block keeps from one tensor to the next
/// there are no registers for four blocks. .93; in four .80. f16 .83, in four .87.
inline constexpr Kernel exact_list_of_bf16{128, 3};
/// Flat inputs of up to 1024 blocks: sums of 2^15 to 2^20 take .89 to 1.07 of CUB's time. A block
/// has 16 KiB, four loads a thread. Two loads: as fast at 2^15, 5 to 10 % slower at 2^20. Eight,
/// for sums of 16-bit elements from 16 to 32 MiB: 32 MiB in a graph 10.9 µs, by 2048 blocks of four
/// loads 12.3, as any longer input 13.1; 512 KiB by eight 4.1, by four 3.5. Such a block has 38 KiB
/// of shared memory, which leaves GPUs of less than 152 KiB fewer of them (not measured).
inline constexpr Kernel exact_small{256, 4}, exact_small_of_two_inputs{256, 3};
inline constexpr int exact_small_loads = 4, exact_small_more_loads = 8;
inline constexpr std::uint32_t most_exact_small_blocks = 1024;
/// Rows that have a block each, and not a warp: 2 of 4096 floats in 2.8 µs for 7.0 (H200).
inline constexpr std::uint64_t most_exact_row_blocks = 256;
/// Bytes of such a row at most: a block of twice as many threads, each with its loads.
inline constexpr std::uint64_t most_exact_row_bytes = 2 * exact_small.threads * exact_small_loads * 16;

/// Elements that make a work item of a large group: enough to be worth the words of a state. Mean
/// and variance have more words, and so at most that many work items in a group.
inline constexpr std::uint32_t work_item_elements = 1u << 15, most_moment_work_items = 8192;
/// Longer rows are cut into work items of so many elements where of the others there would be so
/// few: 2 rows of 16384 floats in 10.4 µs for 20 (H200).
inline constexpr std::uint32_t few_row_items = 64, few_row_item = 1u << 12;
/// So many rows, each of up to two work items, keep warps busy without being cut.
inline constexpr std::uint64_t many_rows = 1u << 13;
/// Columns, or parts of them, a thread each.
inline constexpr std::uint64_t longest_part = 1u << 15;
/// By `exact`. A longer group has a state, for the parts that no window held.
inline constexpr std::uint64_t longest_exact_part = 1u << 13;
/// Groups of a batch that no window held, or for which there was none, and that their warp adds one
/// by one; of more, each of so few elements is added by a thread in a wide window. All groups such,
/// shares of reading by a thread each: rows of 32 f32 .080, of 128 .097, of 512 .096; one by one
/// they were .008, .030 and .106, in narrower bins. 3 was not compared.
inline constexpr int few_groups_by_words = 3;
inline constexpr std::uint64_t longest_group_of_thread = 512;
static_assert(longest_group_of_thread <= longest_exact_part); // which a wide window has room for
/// Parts of a warp's threads that their windows did not hold, and that the warp adds one by one; of
/// more each thread adds its own, in a wide window. 4096 long columns that nearly all are such, by
/// one and by the other: sums of f64 .15 and .31 of reading (log-normal .16 with 12, .30 with 4),
/// nrm2 of f32 .04 and .24. Where few are: sums of bf16 .82 and .52, of f64 .96 and .73, with 4 of
/// f64 .96.
template <bool Linear, bool F64>
inline constexpr int few_misfits = !Linear ? 6
                                   : F64   ? 4
                                           : 12;
/// Bins of the wide window of a group: of sums, and of products of numbers as far apart.
template <bool Linear>
inline constexpr int wide_bins = Linear ? 4 : 6;
/// Parts of all columns, of two columns of 16 bits together; of f32 and f64 by `exact` half of them
/// are enough to read with. By `exact` more where there is more to do, as long as each has so many
/// rows. Shorter parts fill the device to the end (sums of columns of 2^18 bf16: .67 in 2^18
/// threads, .71 in 2^19, .74 in 2^20; f16 .89, .88, .86, as it is bound by reading), and more of
/// them are held by a window (variance of f32 .35 in 2^17, .49 in 2^19, .49 in 2^20; of f64 .26,
/// .39, .39).
inline constexpr std::uint64_t part_threads = 1u << 18, exact_part_threads = 1u << 17,
                               most_part_threads_bf16 = 1u << 20, most_part_threads_of_products = 1u << 19,
                               most_part_threads_of_scale = 1u << 19, rows_for_more_part_threads = 512;
/// Elements of the parts that are added to one sum.
inline constexpr std::uint64_t longest_exact_sum = 1u << 15;
/// Blocks of 256 threads a multiprocessor; the second of moments and of products of doubles, the
/// third of the gradients of scale and shift.
inline constexpr int exact_columns = 4, exact_columns_of_more = 3, scale_gradient_blocks = 2;
/// Large groups, joined from their work items by a block each, of so many a multiprocessor.
inline constexpr int large_group_threads = 512;
inline constexpr std::uint64_t large_group_blocks = 4;
/// Multiples of the blocks that the device holds: batches of groups by `exact`. To round a variance
/// takes a thread some thousand instructions, and 32 threads take no longer for one each.
inline constexpr std::uint64_t exact_batches = 16, exact_batches_of_moments = 4;
/// A batch of short groups has so many bytes, or 32 groups.
inline constexpr std::uint64_t exact_batch_bytes = 8192;
/// Blocks a multiprocessor that round states.
inline constexpr std::uint64_t finish_blocks = 16;

/// Elements of 8 bits as they are (f8/bytes.cu): loads of 16 bytes of a thread, and what a warp
/// loads at once. Parts of rows for all warps, twice, unless they would be so short; none is so
/// long that what a thread keeps of it does not fit. Of shorter rows a warp has too little.
inline constexpr Kernel bytes{256, 4};
inline constexpr int byte_loads = 4;
inline constexpr std::uint32_t byte_batch = byte_loads * 512, shortest_byte_part = 4 * byte_batch,
                               longest_byte_part = 1u << 26;
inline constexpr std::uint64_t shortest_byte_row = 256, warps_of_bytes = 2 * bytes.threads / 32 * bytes.blocks,
                               most_byte_blocks = 1u << 20;

// ---- Row ops, losses, lists ---------------------------------------------------------------------

/// Blocks of 256 threads, or as many threads in smaller ones. softmax f32 .86 to 1.00 of a copy
/// when 24 warps fitted.
inline constexpr int exp_row_blocks_f32 = 3, exp_row_blocks = 2;
/// Of sums alone, and of log_softmax in clusters but of f32. H200, against one less: bf16 logsumexp
/// of 16384 and 50000 .94 and .91 of the time, log_softmax of 50000 .91, of f64 .78. log_softmax of
/// f32 rows of 16384 would take 1.14.
inline constexpr int exp_sum_blocks = 4, exp_sum_blocks_f64 = 3;
/// logsumexp and cross entropy of rows of at most a tile, of several chunks: with so many chunks in
/// all a warp has a chunk, and a second kernel finishes the rows. With fewer a team has a row.
inline constexpr std::uint64_t fewest_chunks_apart = 1u << 16;
/// With so many, chunks that a warp has one after the other: it loads the next one while it adds up
/// the one before. H200, share of reading, cross entropy of rows of 16384, f32: 1 chunk .92, 3 .99,
/// 4 1.00, 8 .99, 16 .98, as many warps as fit .87. Others, 1 chunk and more: bf16 .74 and .76 (4),
/// rows of 50257 .61 and .57 (4); f16 .75 and .74 (8); f64 .81 and .74 (8).
template <class T>
inline constexpr std::uint32_t chunks_of_warp = fp::is_f32<T> ? 4 : 1;
/// Rows of 16-bit elements, with terms in shared memory, where it holds so many. H100, against
/// terms in registers: gradient of cross entropy 1.07 to 1.26 times as fast (4096 … 262144),
/// softmax of more than a tile 1.08 to 1.18, of less .88. And of softmax of aligned rows:
/// H200, against 3, bf16 of 50000 .89 of the time, of 65536 to 262144 .97 to 1.03.
inline constexpr int sharing_row_blocks = 3, sharing_softmax_blocks = 4;
/// Of eight rows of lanes, so many whose terms are there. Of more L1 has too little: with all of
/// them softmax of bf16 took 1.03 to 1.05 of the time, the gradient of cross entropy 1.06 to 1.08.
inline constexpr int shared_term_rows = 5;
/// Rows of half a chunk, with terms in registers, and with sums alone. bf16 rows of 1024: gradient
/// of cross entropy .29 of reading, logsumexp .57; as rows of a whole chunk .21 and .45.
inline constexpr int half_term_row_blocks = 3, half_exp_row_blocks = 5;
/// Rows whose sums are known: aligned, or not, of f64, and of half a chunk. Gradient of cross
/// entropy, of a copy: bf16 rows of 4096 .95 (with 3 blocks .86, with 6 .64), f32 rows of 50257 .96
/// (with 4 .87), f64 .92 to .96 (with 3 .86 to .93), bf16 rows of 1024 .82 (with 4 .70, with 6
/// .78).
inline constexpr int known_row_blocks = 4, moved_known_row_blocks = 3, known_row_blocks_f64 = 2,
                     half_known_row_blocks = 5;
/// Rows of f64 of more tiles are read twice by the gradient of cross entropy, for their sums first:
/// of a copy, rows of 50000 .54, by clusters .42; of 16384, which are 4 tiles, .55 and .58. By the
/// sums of 61e690d9 50000 has .61.
inline constexpr std::uint64_t most_grad_tiles_f64 = 4;
/// Rows are kept as they are, and so take fewer registers: layernorm of bf16 79.
inline constexpr int norm_row_blocks = 3, layernorm_row_blocks_f64 = 2;
/// Rows of half a chunk. bf16 rows of 1024, of a copy: layernorm .94 (as rows of a whole chunk
/// .76), rmsnorm .98 (.92), their gradients .98 and .98 (.85, .93).
inline constexpr int half_norm_row_blocks = 4, half_grad_row_blocks = 3;
inline constexpr int long_row_blocks_at_once = 2;
/// Gradients of row ops, which have two tiles in registers: with three blocks those of norms do not
/// fit.
inline constexpr int grad_row_blocks = 2;
/// Tiles of a row that a cluster has at most, and its blocks: as many as an H100's can have. More
/// than eight blocks not every device has.
inline constexpr std::uint32_t most_row_cluster = 16, portable_cluster = 8;
/// Does a block of a cluster wait early, when it has asked for its elements, until the others run?
/// Else it waits when it has something to store there. Each warp that waits makes L1 forget, in
/// which rows that begin anywhere have what is loaded twice. Of softmax and of norms: what else is
/// a cluster's loses up to 7 % so.
constexpr bool waits_early(bool aligned, bool of_f64) {
    return aligned && !of_f64;
}
/// Blocks that work on rows of more than one tile at once, where they are no clusters'.
inline constexpr std::uint32_t long_row_blocks = 1024;

inline constexpr std::uint32_t loss_threads = 256;
/// Scaling the tensors of a list: loads of 16 bytes of a thread, and blocks a multiprocessor.
inline constexpr std::uint32_t scale_threads = 256;
inline constexpr int scale_loads = 4;
inline constexpr double scale_blocks = 16;
inline constexpr std::uint32_t most_tensor_blocks = 8192;
/// Warps that share a list whose fingerprints are wanted (not measured).
inline constexpr double fingerprint_warps = 1 << 14;
/// Blocks that share a list of tensors, as multiples of what the device holds, of ops that compare.
inline constexpr double list_blocks = 3;

// ---- Grids --------------------------------------------------------------------------------------

/// Blocks that read an input in iterations: as many as the device holds (`resident`), or three
/// times that where each of these has `enough` iterations. The GPU then deals them out to whoever
/// is first done, and the end is less ragged: `exact` of 4 GiB .979 to .985. But it begins and ends
/// a block in some 4 µs: 256 MiB take it 72 µs so, and 67 by the blocks that the device holds, 1
/// GiB 247 and 244, 2 GiB the same. Products and lists: not measured.
[[nodiscard]] constexpr std::uint64_t blocks_for(std::uint64_t iterations, std::uint64_t resident,
                                                 std::uint64_t enough = 16) {
    return iterations >= enough * resident ? 3 * resident : resident;
}
inline constexpr std::uint64_t enough_exact_iterations = 192;
/// Blocks of one short iteration each, or a few: at most so many times what the device holds.
inline constexpr std::uint64_t times_resident = 4;

} // namespace detreduce::cuda::policy
