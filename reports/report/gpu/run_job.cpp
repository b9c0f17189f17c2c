// Runs a job on a GPU: data up, every run queued, results down.
#include "gpu.hpp"

#include <functional>
#include <memory>

#include "contenders.hpp"
#include "cuda_check.hpp"
#include "own.hpp"

namespace detreduce::report::gpu {
namespace {

// What is queued for one run.
struct Launcher {
    std::size_t workspace_bytes;
    std::function<void(const void* x, void* out, void* workspace, cudaStream_t stream)> launch;
    std::string name; // when it fails later
};

Launcher launcher_of(const Job& job, const Input& input, DType output) {
    if (const OwnReduction* const own = job.own)
        return {workspace_of(*own, input.n),
                [own, n = input.n](const void* x, void* out, void* workspace, cudaStream_t stream) {
                    launch_own(*own, x, n, out, workspace, stream);
                },
                words_of(*own, input.n)};
    const Plan plan = plan_of(job, input, output);
    check(plan.status(), "make_plan");
    return {plan.workspace_bytes(),
            [plan](const void* x, void* out, void* workspace, cudaStream_t stream) {
                check(run(plan, x, out, workspace, stream), "run");
            },
            "cudaDeviceSynchronize"};
}

// Sums of other data, over and over, so that blocks of the runs wait for those of others.
class Load {
  public:
    explicit Load(const Device& device)
        : plan_(
              make_plan({.method = Method::tree, .dtype = DType::f32, .n = bytes / sizeof(float), .device = device})) {
        check(plan_.status(), "make_plan");
        check(cudaMemset(x_.get(), 0, bytes), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    void queue_one() { check(run(plan_, x_.get(), out_.get(), workspace_.get(), stream_.get()), "run"); }

  private:
    static constexpr std::size_t bytes = std::size_t{64} << 20;
    Plan plan_;
    DeviceMemory x_{bytes}, out_{sizeof(float)}, workspace_{plan_.workspace_bytes()};
    OwnStream stream_;
};

// What a function queues on a stream, to be queued again at once.
class Graph {
  public:
    Graph(cudaStream_t stream, const std::function<void()>& queue) {
        // Thread-local: what other threads of the program do must not end the capture.
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        queue();
        check(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
        const cudaError_t error = cudaGraphInstantiate(&executable_, graph_, 0);
        cudaGraphDestroy(graph_);
        check(error, "cudaGraphInstantiate");
    }
    ~Graph() { cudaGraphExecDestroy(executable_); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

  private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

// The device memory of a job, and what is queued there.
class Runs {
  public:
    Runs(const Job& job, const Launcher& launcher, const void* x, std::size_t bytes, std::byte* out)
        : job_(job), launcher_(launcher), x_(x), bytes_(bytes), out_(out) {}

    void queue_all() {
        std::vector<OwnStream> streams(static_cast<std::size_t>(job_.streams));
        std::vector<DeviceMemory> workspaces; // one a stream: runs of one stream follow each other
        for (int i = 0; i < job_.streams; ++i)
            workspaces.emplace_back(launcher_.workspace_bytes);
        std::unique_ptr<Load> load;
        if (job_.loaded) load = std::make_unique<Load>(job_.device);
        for (std::size_t i = 0; i < runs(); ++i) {
            const std::size_t s = i % streams.size();
            if (load && s == 0) load->queue_one();
            queue(out_ + i * bytes_, workspaces[s], streams[s]);
        }
        check(cudaDeviceSynchronize(), launcher_.name.c_str());
    }

    // The first run as it is, which also loads the kernels; then that captured, and a copy of what
    // each replay gave.
    void replay_graph() {
        const OwnStream stream;
        const DeviceMemory workspace(launcher_.workspace_bytes), result(bytes_);
        queue(out_, workspace, stream);
        check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
        const Graph graph(stream.get(), [&] { queue(result.get(), workspace, stream); });
        for (std::size_t i = 1; i < runs(); ++i) {
            graph.launch(stream.get());
            check(cudaMemcpyAsync(out_ + i * bytes_, result.get(), bytes_, cudaMemcpyDeviceToDevice, stream.get()),
                  "cudaMemcpyAsync");
        }
        check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    }

  private:
    [[nodiscard]] std::size_t runs() const { return static_cast<std::size_t>(job_.runs); }
    void queue(void* out, const DeviceMemory& workspace, const OwnStream& stream) const {
        launcher_.launch(x_, out, workspace.get(), stream.get());
    }

    const Job& job_;
    const Launcher& launcher_;
    const void* x_;
    std::size_t bytes_; // a run's results
    std::byte* out_;
};

} // namespace

void run_job(const Job& job, const Input& input, DType output, void* results) {
    check(cudaSetDevice(job.device.index), "cudaSetDevice");
    const Launcher launcher = launcher_of(job, input, output);
    const std::size_t bytes = input.n * size_of(input.dtype), offset = job.misalignment * size_of(input.dtype);
    const DeviceMemory memory(bytes + offset);
    std::byte* x = static_cast<std::byte*>(memory.get()) + offset;
    check(cudaMemcpy(x, input.data, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    // A copy from pageable memory may return before it has arrived, and the streams below do not
    // wait for the default one.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const std::size_t bytes_a_run = job.results_a_run() * size_of(output);
    const std::size_t all = static_cast<std::size_t>(job.runs) * bytes_a_run;
    const DeviceMemory out(all);
    Runs runs(job, launcher, x, bytes_a_run, static_cast<std::byte*>(out.get()));
    job.graph ? runs.replay_graph() : runs.queue_all();
    check(cudaMemcpy(results, out.get(), all, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void run_split(const Device& device, const Split& split, const Input& input, DType output, void* result) {
    check(cudaSetDevice(device.index), "cudaSetDevice");
    const std::size_t element = size_of(input.dtype), pieces = split.cuts.size() - 1;
    const DeviceMemory x(input.n * element), states(pieces * sizeof(ExactState)), out(size_of(output));
    check(cudaMemcpy(x.get(), input.data, input.n * element, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemset(states.get(), 0, pieces * sizeof(ExactState)), "cudaMemset"); // empty sums
    auto* state = static_cast<ExactState*>(states.get());
    for (std::size_t i = 0; i < pieces; ++i)
        check(cuda::add(state + i, input.dtype, static_cast<const std::byte*>(x.get()) + split.cuts[i] * element,
                        split.cuts[i + 1] - split.cuts[i]),
              "cuda::add");
    for (const auto& [to, from] : split.merges)
        check(cuda::merge(state + to, state + from), "cuda::merge");
    check(cuda::round(state + split.last, output, out.get()), "cuda::round");
    check(cudaMemcpy(result, out.get(), size_of(output), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void run_on(const Device& device, std::span<const HostArray> in, void* result, std::size_t result_bytes,
            std::size_t workspace_bytes, const Launched& launch) {
    check(cudaSetDevice(device.index), "cudaSetDevice");
    std::vector<DeviceMemory> memory;
    std::vector<const void*> arrays;
    for (const HostArray& a : in) {
        memory.emplace_back(a.bytes);
        check(cudaMemcpy(memory.back().get(), a.data, a.bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        arrays.push_back(memory.back().get());
    }
    const DeviceMemory out(result_bytes), workspace(workspace_bytes);
    check(launch(arrays, out.get(), workspace.get()), "run"); // on the default stream, after the copies
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(result, out.get(), result_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

} // namespace detreduce::report::gpu
