// A loss that differs between two runs, and one that does not: the same predictions and targets,
// added up again and again.
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <detreduce/detreduce.hpp>

namespace dr = detreduce;

namespace {

constexpr int runs = 50;
constexpr unsigned threads = 8;

std::vector<float> some_numbers(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> x(1'000'000);
    for (float& v : x)
        v = static_cast<float>(random()) * 0x1p-31f - 1;
    return x;
}

// As it is usually done: each thread takes a chunk, adds it up, adds that to the total, and takes
// the next.
float by_atomics(const std::vector<float>& prediction, const std::vector<float>& target) {
    constexpr std::size_t chunk = 10;
    std::atomic<float> total = 0;
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t)
        workers.emplace_back([&] {
            for (std::size_t first; (first = next.fetch_add(chunk)) < prediction.size();) {
                float part = 0;
                for (std::size_t i = first; i < first + chunk; ++i) {
                    const float d = prediction[i] - target[i];
                    part += d * d;
                }
                total.fetch_add(part);
            }
        });
    workers.clear(); // which waits for them
    return total / static_cast<float>(prediction.size());
}

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

} // namespace

int main() {
    const std::vector<float> prediction = some_numbers(1), target = some_numbers(2);
    std::set<std::uint32_t> atomics, exact;
    for (int run = 0; run < runs; ++run) {
        atomics.insert(bits_of(by_atomics(prediction, target)));
        const dr::Launch launch{.threads = 1 + static_cast<unsigned>(run) % threads}; // which changes the speed only
        exact.insert(bits_of(dr::mse(prediction, target, dr::Method::exact, launch)));
    }
    std::printf("atomics: %zu different losses in %d runs\n", atomics.size(), runs);
    std::printf("exact:   %zu\n", exact.size());
    return exact.size() == 1 ? 0 : 1;
}
