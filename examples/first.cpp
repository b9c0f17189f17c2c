#include <algorithm>
#include <cstdio>
#include <detreduce/detreduce.hpp>
#include <numeric>
#include <vector>

int main() {
    std::vector<float> x(1'000'000);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = 1.0f / static_cast<float>(i + 1);
    for (const char* order : {"largest first ", "smallest first"}) {
        const float usual = std::accumulate(x.begin(), x.end(), 0.0f); // depends on the order
        const float exact = detreduce::sum(x);                         // the true sum, rounded once
        std::printf("%s  std::accumulate %.8g  detreduce %.8g\n", order, usual, exact);
        std::reverse(x.begin(), x.end()); // the same numbers
    }
}
