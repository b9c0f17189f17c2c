#include <cstdio>
#include <detreduce/detreduce.hpp>
#include <vector>

int main() {
    const std::vector<float> x(1000, 0.5f);
    std::printf("detreduce %s: %g\n", detreduce::version, static_cast<double>(detreduce::sum(x)));
    return detreduce::sum(x) == 500 ? 0 : 1;
}
