#include "exact_sum.hpp"

#include <cstring>
#include <vector>

#include "failure.hpp"

namespace detreduce::program {
namespace {

class CpuExactSum : public ExactSum {
  public:
    CpuExactSum(const ExactState& start, const Launch& launch) : state_(start), launch_(launch), block_(block_bytes) {}

    [[nodiscard]] std::byte* buffer() override { return block_.data(); }

    void add(DType dtype, std::uint64_t n) override {
        const Status status = state_.add(dtype, block_.data(), n, launch_);
        if (!status.ok() && !state_.is_beyond()) throw Failure(to_string(status)); // that is for who knows the files
    }

    [[nodiscard]] ExactState state() override { return state_; }

    [[nodiscard]] Value round(DType output) override {
        Value value{output};
        with_dtype(output, [&]<class T>(T) {
            const T rounded = state_.round<T>();
            std::memcpy(value.bytes, &rounded, sizeof rounded);
        });
        return value;
    }

  private:
    ExactState state_;
    Launch launch_;
    std::vector<std::byte> block_;
};

} // namespace

std::unique_ptr<ExactSum> exact_sum_on_cpu(const ExactState& start, const Launch& launch) {
    return std::make_unique<CpuExactSum>(start, launch);
}

} // namespace detreduce::program
