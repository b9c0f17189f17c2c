// Logistic regression, and data to learn it from: what the program computes, for CPU and GPU alike.
// Every function here gives the same bits on both, since it is made of IEEE operations in a fixed
// order and of detreduce::math, and compiled without contraction (detreduce::reproducible_fp).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/math.hpp>

inline constexpr int features = 32, parameters = features + 1; ///< the last parameter is the bias
inline constexpr std::uint64_t samples = 8192, batch = 1024, steps = 64;
inline constexpr float learning_rate = 8, mean_factor = 1.0f / batch; ///< batch is a power of two: no rounding
inline constexpr double max_norm = 0.05;
static_assert((batch & (batch - 1)) == 0 && samples % batch == 0);

/// log(1 + e^z) − z·t: the loss of a score z where the label t is 0 or 1.
struct BceWithLogits {
    DETREDUCE_HD float operator()(float z, float t) const { return detreduce::math::softplus(z) - z * t; }
};

/// A score: one sample's own sum, in the order of its features, whatever the batch around it.
DETREDUCE_HD float score(const float* parameter, const float* x) {
    float z = parameter[features];
    for (int j = 0; j < features; ++j)
        z = z + parameter[j] * x[j];
    return z;
}

/// The derivative of the loss of one sample by its score.
DETREDUCE_HD float residual(float z, float t) {
    return detreduce::math::sigmoid(z) - t;
}

/// By parameter j: the product of two floats, which is exact as a double.
DETREDUCE_HD double gradient_term(float r, const float* x, int j) {
    return j < features ? static_cast<double>(r) * static_cast<double>(x[j]) : static_cast<double>(r);
}

/// Features in [−1, 1), sample by sample, and labels.
struct Data {
    std::vector<float> x, t;
};

/// Random numbers that every standard library has: its own distributions differ.
class Random {
  public:
    /// Splitmix64. The upper 17 bits, from −2^16 on.
    std::int64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return static_cast<std::int64_t>((z ^ z >> 31) >> 47) - 65536;
    }

  private:
    std::uint64_t state_ = 2026;
};

/// Labels follow a hidden vector of weights, and some noise, in integers.
inline Data make_data() {
    Data data;
    Random random;
    std::int64_t hidden[features];
    for (std::int64_t& w : hidden)
        w = random.next();
    for (std::uint64_t i = 0; i < samples; ++i) {
        std::int64_t sum = random.next() * 32768; // the noise
        for (const std::int64_t w : hidden) {
            const std::int64_t x = random.next();
            data.x.push_back(static_cast<float>(x) * 0x1p-16f);
            sum += w * x;
        }
        data.t.push_back(sum > 0 ? 1.0f : 0.0f);
    }
    return data;
}
