// The mean of a loss of one's own on the CPU: the loss and its sum in one pass, and the same bits
// for every number of threads.
#include "loss.hpp"

namespace dr = detreduce;

int main() {
    const std::vector<float> prediction = some_numbers(1), target = some_numbers(2);
    bool same = true;
    for (const dr::Method method : methods) {
        const auto mean = [&](std::uint32_t threads) {
            return dr::transform_reduce(
                loss, prediction, target,
                {.method = method, .finalize = dr::Finalize::mean, .launch = {.threads = threads}});
        };
        const std::uint32_t one = show(method, "1 thread", mean(1)), four = show(method, "4 threads", mean(4));
        same = same && one == four;
    }
    std::puts(same ? "the same bits" : "DIFFERENT BITS");
    return same ? 0 : 1;
}
