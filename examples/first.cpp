#include <cstdio>
#include <detreduce/detreduce.hpp>
#include <vector>

int main() {
    std::vector<float> x(1'000'000, 0.1f);
    float exact = detreduce::sum(x); // the true sum, rounded once
    float again = detreduce::sum(x, detreduce::Method::exact, {.threads = 4});
    std::printf("%.9g %.9g\n", exact, again); // the same bits, on every machine
}
