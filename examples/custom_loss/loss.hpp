// A loss of one's own: Huber's, with its threshold, and errors above the target weighted more than
// errors below it. One source for both machines. It has the same bits on both since it is made of
// IEEE operations and compiled without contraction (detreduce::reproducible_fp).
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include <detreduce/detreduce.hpp>

struct WeightedHuber {
    float delta, weight_above;

    DETREDUCE_HD float operator()(float prediction, float target) const {
        const float d = prediction - target, m = d < 0 ? -d : d;
        const float loss = m < delta ? 0.5f * d * d : delta * (m - 0.5f * delta);
        return d > 0 ? weight_above * loss : loss;
    }
};

inline constexpr WeightedHuber loss{0.75f, 1.3f};
inline constexpr detreduce::Method methods[] = {detreduce::Method::exact, detreduce::Method::compensated,
                                                detreduce::Method::kahan, detreduce::Method::tree};

inline std::vector<float> some_numbers(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> x(1'000'000);
    for (float& v : x)
        v = static_cast<float>(random()) * 0x1p-31f - 1; // the same with every standard library
    return x;
}

inline std::uint32_t show(detreduce::Method method, const char* how, float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::string_view name = detreduce::name(method);
    std::printf("%-12.*s %-10s %.9g  bits 0x%08x\n", static_cast<int>(name.size()), name.data(), how,
                static_cast<double>(value), bits);
    return bits;
}
