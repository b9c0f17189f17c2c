// Training on the GPU, with the bits of the CPU (training.cpp), whose output this program's is,
// byte for byte. By `atomic`, for comparison, threads add floats in memory as they come: two runs
// differ.
//     training_gpu [--method exact|atomic] [--micro-batches N]
// Exit: 0 the model has learned, 1 it has not or a call failed, 77 there is no GPU here.
#include "gpu.cuh"

namespace {

struct OneGpu : Gpu {
    using Gpu::Gpu;
    Step end() {
        round();
        return update_parameters();
    }
};

} // namespace

int main(int argc, char** argv) try {
    const Options options = parse(argc, argv);
    std::string why;
    if (dr::cuda::devices(&why).empty()) {
        std::printf("*** SKIPPED: no usable GPU here (%s); nothing was computed ***\n", why.c_str());
        return 77;
    }
    OneGpu machine(options);
    return train(machine, options);
} catch (const dr::Error& error) {
    std::fprintf(stderr, "detreduce: %s\n", error.what());
    return 1;
}
