// Sums on the CPU: how many threads add, and which instruction set they use, never changes a bit of
// Method::tree.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <detreduce/detreduce.hpp>

namespace dr = detreduce;

static void show(const char* how, float value) {
    std::printf("%-28s %.9g  bits 0x%08x\n", how, static_cast<double>(value), std::bit_cast<std::uint32_t>(value));
}

int main() {
    std::mt19937 random(1);
    std::vector<float> x(1'000'000);
    for (float& v : x)
        v = static_cast<float>(random()) * 0x1p-32f - 0.5f; // the same numbers with every standard library

    // Ordinary summation: another order, other bits.
    show("std::accumulate", std::accumulate(x.begin(), x.end(), 0.0f));
    show("std::accumulate, reversed", std::accumulate(x.rbegin(), x.rend(), 0.0f));
    float halves = 0; // what two threads would do
    halves += std::accumulate(x.begin(), x.begin() + x.size() / 2, 0.0f);
    halves += std::accumulate(x.begin() + x.size() / 2, x.end(), 0.0f);
    show("std::accumulate, two halves", halves);

    // tree: one order, whoever does the work.
    std::vector<std::uint32_t> bits;
    for (std::uint32_t threads : {1u, 2u, 4u}) {
        const float sum = dr::sum(x, dr::Method::tree, {.threads = threads});
        char how[40];
        std::snprintf(how, sizeof how, "detreduce tree, %u thread%s", threads, threads == 1 ? "" : "s");
        show(how, sum);
        bits.push_back(std::bit_cast<std::uint32_t>(sum));
    }
    for (dr::Isa isa : dr::available_isas()) {
        const float sum = dr::sum(x, dr::Method::tree, {.isa = isa});
        show(("detreduce tree, " + std::string(dr::name(isa))).c_str(), sum);
        bits.push_back(std::bit_cast<std::uint32_t>(sum));
    }
    const bool same = std::all_of(bits.begin(), bits.end(), [&](std::uint32_t b) { return b == bits.front(); });
    std::puts(same ? "tree: the same bits every time" : "tree: DIFFERENT BITS");
    return same ? 0 : 1;
}
