// Who takes which micro-batch, and the options: what distributed.cpp and distributed_nccl.cu have
// in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../training/train.hpp"

struct DistributedOptions {
    Options training;
    bool exact = true; ///< else floats are added up by whatever moves them
    std::uint64_t deal = 1, gpus = 1;
};

/// Random, and the same for all ranks.
class Deal {
  public:
    explicit Deal(std::uint64_t seed) : state_(seed) {}
    /// The rank that takes the next micro-batch.
    std::uint64_t next(std::uint64_t ranks) {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;
        return (state_ >> 33) % ranks;
    }

  private:
    std::uint64_t state_;
};

/// Those of ../training, --method exact|float, --deal N and --gpus N.
inline DistributedOptions parse_distributed(int argc, char** argv) {
    DistributedOptions options;
    std::vector<char*> rest{argv[0]};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--method" && value == "float") {
            options.exact = false;
            ++i;
        } else if (word == "--deal" || word == "--gpus") {
            (word == "--deal" ? options.deal : options.gpus) = whole_number(value.c_str(), 1'000'000);
            ++i;
        } else {
            rest.push_back(argv[i]);
        }
    }
    options.training = parse(static_cast<int>(rest.size()), rest.data());
    return options;
}
