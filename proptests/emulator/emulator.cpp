// Fibers, and who waits for whom.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "emulator.hpp"

#if !defined(__x86_64__)
#error "the emulator switches between fibers on x86-64 alone"
#endif

extern "C" {
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

/// Stores where the caller is, and goes on at `to`.
void detreduce_emulator_switch(void** from, void* to);
}
asm(".text\n.globl detreduce_emulator_switch\ndetreduce_emulator_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");

namespace detreduce::emulator {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr unsigned warp_threads = 32;

enum class State { ready, at_block, at_team, at_warp, at_grid, ended };

struct Block;
struct Fiber {
    void* stack_pointer = nullptr;
    Block* block = nullptr;
    uint3 thread{};
    unsigned number = 0;
    State state = State::ready;
    std::vector<std::vector<std::pair<void*, const void*>>> copies{1}; ///< not waited for, by groups; the last is open
};
struct Warp {
    unsigned threads = 0, arrived = 0, round = 0;
    const char* what = nullptr;
    std::array<std::array<std::uint64_t, warp_threads>, 2>
        values{}; // of this round and of the one before, which some have still to read
};
struct Block {
    uint3 index{};
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<std::max_align_t> shared;
    std::vector<unsigned> arrived_of_team;
    unsigned arrived = 0, votes = 0, outcome = 0, ended = 0;
    bool expects = false; ///< results of its cluster
};

struct Grid {
    const char* kernel = nullptr;
    const std::function<void()>* body = nullptr;
    std::vector<std::unique_ptr<Block>> blocks; // those that are there at once
    unsigned at_grid = 0, cluster = 1, in_cluster = 0;
    void* scheduler = nullptr;
    Fiber* running = nullptr;
} grid;

std::mutex one_launch;
std::vector<std::unique_ptr<std::byte[]>> stacks;

std::uint64_t random_number() {
    static std::uint64_t x = [] {
        const char* seed = std::getenv("DETREDUCE_EMULATOR_SEED");
        return seed ? std::strtoull(seed, nullptr, 10) * 2 + 1 : 20240229;
    }();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

void wait(State state) {
    grid.running->state = state;
    detreduce_emulator_switch(&grid.running->stack_pointer, grid.scheduler);
}

[[noreturn]] void fiber_main() {
    (*grid.body)();
    ++grid.running->block->ended;
    wait(State::ended);
    std::abort();
}

void begin(Fiber& f, std::byte* stack) {
    auto* top = reinterpret_cast<void**>(stack + stack_bytes) - 1; // 8 bytes below 16 aligned ones: as after a call
    *top = nullptr;
    *--top = reinterpret_cast<void*>(fiber_main);
    f.stack_pointer = top - 6;
}

void release(Block& block, State state) {
    for (Fiber& f : block.fibers)
        if (f.state == state) f.state = State::ready;
}

void run(Fiber& f) {
    grid.running = &f;
    threadIdx = f.thread;
    blockIdx = f.block->index;
    detreduce_emulator_switch(&grid.scheduler, f.stack_pointer);
}

/// All fibers that can run, beginning anywhere, in either direction. Did any?
bool run_some(Block& block) {
    const auto n = static_cast<unsigned>(block.fibers.size());
    const auto first = static_cast<unsigned>(random_number() % n);
    const bool down = random_number() % 2 != 0;
    bool any = false;
    for (unsigned i = 0; i < n; ++i) {
        Fiber& f = block.fibers[(first + (down ? n - i : i)) % n];
        if (f.state != State::ready) continue;
        run(f);
        any = true;
    }
    return any;
}

void run_to_the_end() {
    for (;;) {
        bool any = false, left = false;
        for (const auto& block : grid.blocks) {
            if (block->ended == block->fibers.size()) continue;
            left = true;
            const bool stays = grid.blocks.size() > 1 && random_number() % 4 == 0; // so that others get ahead of it
            any = stays || run_some(*block) || any;
        }
        if (!left) return;
        if (!any) fail("threads wait for others that do not come");
    }
}

std::unique_ptr<Block> make_block(uint3 index, dim3 threads, std::size_t shared, std::size_t stack) {
    auto block = std::make_unique<Block>();
    block->index = index;
    const unsigned n = threads.x * threads.y * threads.z;
    block->fibers.resize(n);
    block->warps.resize((n + warp_threads - 1) / warp_threads);
    block->arrived_of_team.resize(threads.y);
    block->shared.resize(shared / sizeof(std::max_align_t) + 1);
    std::memset(block->shared.data(), 0xff, block->shared.size() * sizeof(std::max_align_t));
    while (stacks.size() < stack + n)
        stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(stack_bytes));
    for (unsigned i = 0; i < n; ++i) {
        Fiber& f = block->fibers[i];
        f.block = block.get();
        f.thread = {i % threads.x, i / threads.x % threads.y, i / threads.x / threads.y};
        f.number = i;
        ++block->warps[i / warp_threads].threads;
        begin(f, stacks[stack + i].get());
    }
    return block;
}

} // namespace

namespace {

/// `together`: blocks that run at once.
void run(const char* kernel, std::uint64_t together, dim3 blocks, dim3 threads, std::size_t shared,
         const std::function<void()>& body) {
    grid.kernel = kernel;
    grid.body = &body;
    gridDim = blocks;
    blockDim = threads;
    const std::uint64_t all = std::uint64_t{blocks.x} * blocks.y * blocks.z;
    const std::uint64_t first = random_number() % (all / together) * together;
    std::size_t stack = 0;
    for (std::uint64_t k = 0; k < all; ++k) {
        const std::uint64_t b = (first + k) % all;
        const uint3 index{static_cast<unsigned>(b % blocks.x), static_cast<unsigned>(b / blocks.x % blocks.y),
                          static_cast<unsigned>(b / blocks.x / blocks.y)};
        grid.blocks.push_back(make_block(index, threads, shared, stack));
        if ((k + 1) % together != 0) {
            stack += threads.x * threads.y * threads.z;
            continue;
        }
        run_to_the_end();
        grid.blocks.clear();
        grid.in_cluster = 0;
        stack = 0;
    }
}

} // namespace

void run_grid(const char* kernel, dim3 blocks, dim3 threads, std::size_t shared, bool cooperative,
              const std::function<void()>& body) {
    const std::lock_guard lock(one_launch);
    grid.cluster = 1;
    run(kernel, cooperative ? std::uint64_t{blocks.x} * blocks.y * blocks.z : 1, blocks, threads, shared, body);
}
void run_clusters(const char* kernel, unsigned cluster, dim3 blocks, dim3 threads, std::size_t shared,
                  const std::function<void()>& body) {
    const std::lock_guard lock(one_launch);
    grid.cluster = cluster;
    run(kernel, cluster, blocks, threads, shared, body);
}

unsigned cluster_blocks() {
    return grid.cluster;
}
void arrive_in_cluster() {
    ++grid.in_cluster;
}
bool all_in_cluster() {
    return grid.in_cluster == grid.cluster * blockDim.x * blockDim.y * blockDim.z;
}
bool has_ended(unsigned rank) {
    return grid.blocks[rank]->ended == grid.blocks[rank]->fibers.size();
}
void expect_once() {
    if (std::exchange(grid.running->block->expects, true)) fail("a block expects results of its cluster again");
}
void copy16_later(void* to, const void* from) {
    grid.running->copies.back().emplace_back(to, from);
    std::memset(to, 0xff, 16);
}
void end_copies() {
    grid.running->copies.emplace_back();
}
void wait_for_copies(std::size_t last) {
    auto& copies = grid.running->copies;
    while (copies.size() - 1 > last) {
        for (const auto& [to, from] : copies.front())
            std::memcpy(to, from, 16);
        copies.erase(copies.begin());
    }
}
void wait_until(const std::function<bool()>& done) {
    for (int rounds = 0; !done(); ++rounds) {
        if (rounds == 100000) fail("a thread waits for what does not come");
        wait(State::ready);
    }
}
void* dynamic_shared() {
    return grid.running->block->shared.data();
}
void* dynamic_shared(unsigned rank) {
    return grid.blocks[rank]->shared.data();
}

int meet_block(Barrier barrier, bool vote) {
    Block& block = *grid.running->block;
    if (vote) ++block.votes;
    if (block.ended != 0) fail("a barrier that some threads of the block have not reached when they ended");
    if (++block.arrived < block.fibers.size()) {
        wait(State::at_block);
    } else {
        block.outcome = block.votes;
        block.votes = block.arrived = 0;
        release(block, State::at_block);
    }
    return barrier == Barrier::all ? block.outcome == block.fibers.size() : block.outcome != 0;
}

void meet_team() {
    Block& block = *grid.running->block;
    const unsigned team = grid.running->thread.y;
    if (++block.arrived_of_team[team] < blockDim.x) return wait(State::at_team);
    block.arrived_of_team[team] = 0;
    for (Fiber& f : block.fibers) {
        if (f.thread.y != team) continue;
        if (f.state == State::ended) fail("a barrier that some threads of the team have not reached when they ended");
        if (f.state == State::at_team) f.state = State::ready;
    }
}

const std::uint64_t* meet_warp(const char* what, std::uint64_t value) {
    Fiber& self = *grid.running;
    Warp& warp = self.block->warps[self.number / warp_threads];
    const unsigned round = warp.round;
    if (warp.arrived == 0) {
        warp.what = what;
        warp.values[round % 2].fill(0xdeadbeefdeadbeef); // of threads that are not there
    }
    if (std::strcmp(warp.what, what) != 0) fail("threads of a warp that meet in different functions");
    warp.values[round % 2][self.number % warp_threads] = value;
    if (++warp.arrived < warp.threads) {
        wait(State::at_warp);
    } else {
        warp.arrived = 0;
        ++warp.round;
        const std::size_t first = self.number / warp_threads * warp_threads;
        for (std::size_t i = first; i < first + warp.threads; ++i) {
            Fiber& f = self.block->fibers[i];
            if (f.state == State::ended) fail("a warp meets without a thread that has ended");
            f.state = State::ready;
        }
    }
    return warp.values[round % 2].data();
}

void meet_grid() {
    std::size_t all = 0;
    for (const auto& block : grid.blocks)
        all += block->fibers.size();
    if (++grid.at_grid < all) return wait(State::at_grid);
    grid.at_grid = 0;
    for (const auto& block : grid.blocks)
        release(*block, State::at_grid);
}

unsigned lane() {
    return grid.running->number % warp_threads;
}

void fail(const char* what) {
    std::fprintf(stderr, "emulator: %s, in %s, block (%u, %u, %u), thread (%u, %u, %u) of (%u, %u, %u)\n", what,
                 grid.kernel ? grid.kernel : "no kernel", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
                 threadIdx.z, blockDim.x, blockDim.y, blockDim.z);
    std::abort();
}

} // namespace detreduce::emulator
