// detreduce_machine_bits: results as lines that are the same on every processor and by every
// compiler. 1 where they are not even the same by each instruction set of this processor, or not
// those of the golden tables.
#include <exception>

#include "agree.hpp"

int main() try {
    constexpr std::uint64_t largest = 20000; // elements of a golden case: what an emulator does in a minute
    detreduce::machines::Agreement all;
    functions(all);
    row_ops(all);
    losses_and_clipping(all);
    states_and_transforms(all);
    drawn_reductions(all);
    environments(all);
    golden_results(all, largest);
    return all.failed() ? 1 : 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
