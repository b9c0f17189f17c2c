// The training loop, its options and what it prints, for any machine:
//     void begin();                                         a new batch: nothing has been added
//     void add(std::uint64_t first, std::uint64_t count);   the losses and gradients of some of its samples
//     Step end();                                           the mean loss, the gradient clipped, the parameters updated
//     Evaluation evaluate();                                of all samples
//     std::vector<float> parameter();
#pragma once

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "model.hpp"

struct Options {
    bool exact = true;
    std::uint64_t micro_batches = 1;
    std::uint32_t threads = 4;
};
struct Step {
    float loss;
    double norm; ///< of the gradient, before it is clipped
};
struct Evaluation {
    float loss;
    std::uint64_t right; ///< samples on the right side
};

/// FNV-1a of every bit that was computed.
class Fingerprint {
  public:
    void add(std::uint64_t bits) {
        for (int i = 0; i < 64; i += 8)
            hash_ = (hash_ ^ (bits >> i & 255)) * 0x100000001b3;
    }
    [[nodiscard]] unsigned long long value() const { return hash_; }

  private:
    std::uint64_t hash_ = 0xcbf29ce484222325;
};

template <class Machine>
int train(Machine& machine, const Options& options) {
    Fingerprint fingerprint;
    float first_loss = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
        const std::uint64_t begin = step * batch % samples;
        machine.begin();
        for (std::uint64_t i = 0; i < options.micro_batches; ++i) {
            const std::uint64_t from = batch * i / options.micro_batches, to = batch * (i + 1) / options.micro_batches;
            if (to > from) machine.add(begin + from, to - from);
        }
        const Step done = machine.end();
        if (step == 0) first_loss = done.loss;
        const std::uint32_t loss_bits = std::bit_cast<std::uint32_t>(done.loss);
        const std::uint64_t norm_bits = std::bit_cast<std::uint64_t>(done.norm);
        std::printf("step %2d  loss %.6f %08x  norm %.6f %016llx%s\n", static_cast<int>(step),
                    static_cast<double>(done.loss), static_cast<unsigned>(loss_bits), done.norm,
                    static_cast<unsigned long long>(norm_bits), done.norm > max_norm ? "  clipped" : "");
        fingerprint.add(loss_bits);
        fingerprint.add(norm_bits);
    }
    for (const float p : machine.parameter())
        fingerprint.add(std::bit_cast<std::uint32_t>(p));
    const Evaluation all = machine.evaluate();
    fingerprint.add(std::bit_cast<std::uint32_t>(all.loss));
    const double accuracy = static_cast<double>(all.right) / static_cast<double>(samples);
    std::printf("all samples: loss %.6f %08x  accuracy %.4f\nfingerprint %016llx\n", static_cast<double>(all.loss),
                static_cast<unsigned>(std::bit_cast<std::uint32_t>(all.loss)), accuracy, fingerprint.value());
    const bool learned = all.loss < 0.6f * first_loss && accuracy > 0.9;
    if (!learned) std::fprintf(stderr, "nothing was learned\n");
    return learned ? 0 : 1;
}

[[noreturn]] inline void usage() {
    std::fprintf(stderr, "usage: training [--method exact|atomic] [--micro-batches N] [--threads N]\n");
    std::exit(2);
}

inline std::uint64_t whole_number(const char* text, std::uint64_t most) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || value == 0 || value > most) usage();
    return value;
}

inline Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string word = argv[i], value = argv[i + 1];
        if (word == "--method" && (value == "exact" || value == "atomic")) {
            options.exact = value == "exact";
        } else if (word == "--micro-batches") {
            options.micro_batches = whole_number(argv[i + 1], batch);
        } else if (word == "--threads") {
            options.threads = static_cast<std::uint32_t>(whole_number(argv[i + 1], 64));
        } else {
            usage();
        }
    }
    if (argc % 2 == 0) usage();
    return options;
}
