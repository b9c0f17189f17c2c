#include "read_pass.hpp"

#include <algorithm>
#include <cstring>

#include <detreduce/host.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace detreduce::report {
namespace {

constexpr std::size_t page = 4096;

// Loads of 8 bytes at any address; the bytes after the last group of 8 are padded with zeros.
std::uint64_t read_words(const unsigned char* p, std::size_t bytes) {
    std::uint64_t fold[8] = {};
    for (; bytes >= sizeof fold; p += sizeof fold, bytes -= sizeof fold) {
        std::uint64_t block[8];
        std::memcpy(block, p, sizeof block);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i)
            fold[i] ^= block[i];
    }
    std::uint64_t all = 0;
    for (const std::uint64_t f : fold)
        all ^= f;
    while (bytes > 0) {
        const std::size_t part = std::min<std::size_t>(bytes, 8);
        std::uint64_t word = 0;
        std::memcpy(&word, p, part);
        all ^= word;
        p += part, bytes -= part;
    }
    return all;
}

#if defined(__x86_64__)
// Eight loads an iteration, `stride` bytes apart, each into a fold of its own so that no load waits
// for an earlier one. A block is eight strides long and read in `block / (8 · load)` iterations;
// the unrolled loops keep the folds in registers.
__attribute__((target("avx2"))) std::uint64_t read_avx2(const unsigned char* p, std::size_t bytes, std::size_t stride) {
    __m256i fold[8] = {};
    for (; bytes >= 8 * stride; p += 8 * stride, bytes -= 8 * stride)
        for (std::size_t at = 0; at < stride; at += 32)
#pragma GCC unroll 8
            for (std::size_t i = 0; i < 8; ++i)
                fold[i] = _mm256_xor_si256(fold[i],
                                           _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i * stride + at)));
    unsigned char rest[sizeof fold];
    std::memcpy(rest, fold, sizeof fold);
    return read_words(rest, sizeof fold) ^ read_words(p, bytes);
}

__attribute__((target("avx512f"))) std::uint64_t read_avx512(const unsigned char* p, std::size_t bytes,
                                                             std::size_t stride) {
    __m512i fold[8] = {};
    for (; bytes >= 8 * stride; p += 8 * stride, bytes -= 8 * stride)
        for (std::size_t at = 0; at < stride; at += 64)
#pragma GCC unroll 8
            for (std::size_t i = 0; i < 8; ++i)
                fold[i] = _mm512_xor_si512(fold[i], _mm512_loadu_si512(p + i * stride + at));
    unsigned char rest[sizeof fold];
    std::memcpy(rest, fold, sizeof fold);
    return read_words(rest, sizeof fold) ^ read_words(p, bytes);
}
#endif

std::uint64_t read_part(const unsigned char* p, std::size_t bytes, ReadWay way) {
#if defined(__x86_64__)
    if (way.isa == Isa::avx512) return read_avx512(p, bytes, way.pages ? page : 64);
    if (way.isa == Isa::avx2) return read_avx2(p, bytes, way.pages ? page : 32);
#endif
    return read_words(p, bytes);
}

} // namespace

std::vector<ReadWay> read_ways() {
    std::vector<ReadWay> ways;
    for (const Isa isa : available_isas()) {
        ways.push_back({isa, false});
        if (isa != Isa::baseline) ways.push_back({isa, true});
    }
    return ways;
}

std::uint64_t read_pass(const void* data, std::size_t bytes, ReadWay way, int threads) {
    const auto* p = static_cast<const unsigned char*>(data);
    const int team = static_cast<int>(std::clamp<std::size_t>(bytes >> 19, 1, static_cast<std::size_t>(threads)));
    if (team == 1) return read_part(p, bytes, way);
    const std::size_t pages = (bytes + page - 1) / page; // parts begin at multiples of a page, so of eight bytes
    const auto part_begin = [&](int part) {
        return std::min(bytes, pages * static_cast<std::size_t>(part) / static_cast<std::size_t>(team) * page);
    };
    std::uint64_t all = 0;
#pragma omp parallel for num_threads(team) reduction(^ : all) schedule(static, 1)
    for (int i = 0; i < team; ++i)
        all ^= read_part(p + part_begin(i), part_begin(i + 1) - part_begin(i), way);
    return all;
}

} // namespace detreduce::report
