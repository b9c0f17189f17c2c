// The sum of a file of float32 that may be larger than memory: read in pieces, added to an exact
// state, rounded once.
//     large_file FILE [BYTES-A-PIECE]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <vector>

#include <detreduce/detreduce.hpp>
#include <detreduce/exact_state.hpp>

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: large_file FILE [BYTES-A-PIECE]\n", stderr);
        return 2;
    }
    const std::size_t piece = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1 << 24;
    std::ifstream file(argv[1], std::ios::binary);
    std::vector<float> numbers(piece / sizeof(float) + (piece < sizeof(float)));
    detreduce::ExactState state; // 592 bytes, however long the file is
    while (file) {
        file.read(reinterpret_cast<char*>(numbers.data()),
                  static_cast<std::streamsize>(numbers.size() * sizeof(float)));
        const std::span<const float> read(numbers.data(), static_cast<std::size_t>(file.gcount()) / sizeof(float));
        detreduce::throw_if_error(state.add(read));
    }
    if (!file.eof()) {
        std::fprintf(stderr, "large_file: cannot read '%s'\n", argv[1]);
        return 1;
    }
    const float sum = state.round<float>();
    std::printf("%.9g\n", static_cast<double>(sum));
}
