// detreduce/nccl.hpp with as many ranks as there are GPUs: detreduce_nccl_tests [--time] [RANKS…],
// by default 1, 2, 4 and 8 of them. All ranks are this process's, by ncclCommInitAll. Each has its
// share of the elements on its GPU; what comes out is what the CPU makes of all. What is wrong ends
// the program.
#include <detreduce/nccl.hpp> // first: it must need nothing before it

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "laws/rank_device.hpp"

namespace detreduce::proptests {
namespace {

#ifdef DETREDUCE_EMULATED_NCCL
constexpr bool emulated = true;
#else
constexpr bool emulated = false;
#endif

void require(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(EXIT_FAILURE);
}
void require_ok(const Status& status, const std::string& what) {
    require(status.ok(), what + ": " + to_string(status));
}

/// The ranks, one a GPU.
struct World {
    std::vector<ncclComm_t> comms;
    std::vector<std::unique_ptr<StreamOwner>> streams;

    explicit World(int ranks) : comms(static_cast<std::size_t>(ranks)) {
        require(ncclCommInitAll(comms.data(), ranks, nullptr) == ncclSuccess, "ncclCommInitAll");
        for (std::size_t r = 0; r < size(); ++r) {
            use(r);
            streams.push_back(std::make_unique<StreamOwner>());
        }
    }
    ~World() {
        for (std::size_t r = 0; r < size(); ++r) {
            use(r);
            streams[r].reset();
            if (comms[r] != nullptr) (void)ncclCommDestroy(comms[r]);
        }
    }
    World(const World&) = delete;
    [[nodiscard]] std::size_t size() const { return comms.size(); }
    /// Makes the GPU of a rank the current one.
    void use(std::size_t rank) const { CUDA_CHECK(cudaSetDevice(emulated ? 0 : static_cast<int>(rank))); }
    [[nodiscard]] cudaStream_t stream(std::size_t rank) const { return streams[rank]->stream; }
};

/// All ranks by one thread, each of which begins so.
template <class Begin>
Status by_all(const World& world, std::vector<nccl::Plan>& plans, const Begin& begin, const std::vector<void*>& out) {
    Status first;
    const auto keep = [&](const Status& status) {
        if (first.ok()) first = status;
    };
    require(ncclGroupStart() == ncclSuccess, "ncclGroupStart");
    for (std::size_t r = 0; r < plans.size(); ++r)
        keep(begin(r));
    require(ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
    for (std::size_t r = 0; r < plans.size(); ++r)
        keep(nccl::end(plans[r], out[r], world.stream(r)));
    for (std::size_t r = 0; r < plans.size(); ++r)
        keep(nccl::wait(plans[r], world.stream(r), std::chrono::minutes(1)));
    return first;
}
Status all_reduce(const World& world, std::vector<nccl::Plan>& plans, const std::vector<Inputs>& in,
                  const std::vector<void*>& out) {
    return by_all(
        world, plans, [&](std::size_t r) { return nccl::begin(plans[r], in[r], world.stream(r)); }, out);
}

std::vector<nccl::Plan> plans_of(const World& world, const std::vector<Request>& requests) {
    return nccl::make_plans(requests, world.comms);
}

template <class T>
void check_dealt(const World& world, const Dealt<T>& d, const std::string& what, int root) {
    const Bytes with_tail = finished(plan_of_states(d.request, d.all), states_of(d.request, d.all));
    const Bytes expected(with_tail.begin(), with_tail.end() - 8);
    std::vector<Request> requests;
    std::vector<std::unique_ptr<OnRank<T>>> ranks;
    std::vector<Inputs> in;
    std::vector<void*> out;
    std::vector<std::unique_ptr<OnDevice<std::int64_t>>> states;
    for (std::size_t r = 0; r < world.size(); ++r) {
        world.use(r);
        states.push_back(std::make_unique<OnDevice<std::int64_t>>(states_of(d.request, d.ranks[r]), 0));
        Request own = d.ranks[r].request(d.request);
        own.device = current_gpu;
        own.launch = {};
        own.first_index = gives_index(own.op) ? d.ranks[r].first_index : 0;
        requests.push_back(own);
        ranks.push_back(std::make_unique<OnRank<T>>(d.ranks[r], expected.size()));
        in.push_back(ranks[r]->inputs(own));
        out.push_back(ranks[r]->out.data());
    }
    auto plans = plans_of(world, requests);
    for (const nccl::Plan& plan : plans)
        require_ok(plan.status(), what);
    // From elements and from states, to a root and to all ranks, elements twice.
    const Bytes untouched(expected.size(), std::byte{0x5a});
    struct Way {
        std::string name;
        bool from_states;
        int root;
    };
    const Way ways[] = {{"all_reduce", false, nccl::everywhere},
                        {"reduce", false, root},
                        {"all_reduce_states", true, nccl::everywhere},
                        {"reduce_states", true, root},
                        {"all_reduce, again", false, nccl::everywhere}};
    for (const Way& way : ways) {
        const auto begin = [&](std::size_t r) {
            return way.from_states ? nccl::begin_states(plans[r], states[r]->data, world.stream(r), way.root)
                                   : nccl::begin(plans[r], in[r], world.stream(r), way.root);
        };
        require_ok(by_all(world, plans, begin, out), what + ": " + way.name);
        for (std::size_t r = 0; r < world.size(); ++r) {
            world.use(r);
            const bool has = way.root == nccl::everywhere || way.root == static_cast<int>(r);
            require(ranks[r]->results(expected.size()) == (has ? expected : untouched),
                    what + ": " + way.name + ", rank " + std::to_string(r));
            ranks[r]->out.fill(0x5a, expected.size());
        }
    }
}

void check_all_ops(const World& world, int times) {
    for_all_ops(
        world.size(), times, [](DType dtype, Shape shape) { return !has_8_bits(dtype) || shape != Shape::tensors; },
        [&](const auto& dealt, const std::string& what, std::uint64_t word) {
            check_dealt(world, dealt, what, static_cast<int>(word % world.size()));
        });
}

void check_disagreement(const World& world) {
    const Request good{.op = Op::nrm2, .dtype = DType::f32, .shape = Shape::rows, .n = 0, .groups = 2};
    const auto with_last = [&](const auto& change, const std::string& expected) {
        std::vector<Request> requests(world.size(), good);
        change(requests.back());
        for (const nccl::Plan& plan : plans_of(world, requests))
            require(to_string(plan.status()).find(expected) != std::string::npos,
                    "said " + to_string(plan.status()) + ", not " + expected);
    };
    if (world.size() > 1) {
        const std::string where = '[' + std::to_string(world.size() - 1) + ']';
        with_last([](Request& r) { r.op = Op::sum; }, "'op" + where + "': must be the same");
        with_last([](Request& r) { r.dtype = DType::f64; }, "'dtype" + where);
        with_last([](Request& r) { r.groups = 3; }, "'groups" + where);
    }
    with_last([](Request& r) { r.n = max_n + 1; }, "'n'"); // bad on one of them
    with_last([](Request& r) { r.launch.block = 7; }, "'launch.block'");
    with_last([](Request& r) { r.device = cpu; }, "'device'");
    with_last([](Request& r) { r.device.index = 99; }, "'device'");
    with_last([](Request& r) { r.n = 5, r.stride = 7; }, "ok");
    require(std::string(nccl::make_plan(good, nullptr).status().argument) == "comm", "there is a communicator");
}

/// The last ranks have arguments that are refused: they know why, nobody waits for them, and nobody
/// has a number.
void check_bad_arguments(const World& world, std::size_t bad) {
    const std::size_t good = world.size() - bad;
    for (const Op op : {Op::sum, Op::nrm2, Op::moments, Op::max, Op::minmax, Op::argmin, Op::count_nonzero}) {
        const std::string what = "bad arguments of " + std::string(name(op));
        std::vector<std::unique_ptr<OnDevice<double>>> x;
        std::vector<std::unique_ptr<DeviceBuffer>> results;
        std::vector<Inputs> in;
        std::vector<void*> out;
        for (std::size_t r = 0; r < world.size(); ++r) {
            world.use(r);
            x.push_back(std::make_unique<OnDevice<double>>(std::vector<double>{3, 4}, 0));
            results.push_back(std::make_unique<DeviceBuffer>(2 * sizeof(double)));
            results[r]->fill(0, 2 * sizeof(double));
            in.emplace_back(r >= good ? nullptr : x[r]->data);
            out.push_back(results[r]->data());
        }
        auto plans = plans_of(world, std::vector<Request>(world.size(), {.op = op, .dtype = DType::f64, .n = 2}));
        require_ok(plans[0].status(), what);
        require(std::string(all_reduce(world, plans, in, out).argument) == "x", what);
        for (std::size_t r = 0; r < good; ++r) {
            world.use(r);
            for (int k = 0; k < info(op).results; ++k) {
                const void* const result = results[r]->data() + k * sizeof(double);
                const double number = download<double>(result);
                require(info(op).gives_integer ? download<std::uint64_t>(result) == no_index : number != number,
                        what + ": there is a number");
            }
        }
        for (std::size_t r = good; r < world.size(); ++r)
            in[r] = x[r]->data;
        require_ok(all_reduce(world, plans, in, out), what + ", the next time");
    }
}

/// A root that is none, states that are none, and a plan that was moved from. One rank, which calls
/// reduce() itself.
void check_one_rank() {
    const World world(1);
    world.use(0);
    nccl::Plan plan = nccl::make_plan({.op = Op::sum, .dtype = DType::f64, .n = 2}, world.comms[0]);
    require_ok(plan.status(), "one rank");
    const OnDevice<double> x({3, 4}, 0);
    const OnDevice<std::int64_t> bad(std::vector<std::int64_t>(74, -1), 0);
    const DeviceBuffer out(sizeof(double));
    const cudaStream_t stream = world.stream(0);
    const auto found = [&] {
        require_ok(nccl::wait(plan, stream), "one rank");
        return download<double>(out.data());
    };
    for (const int root : {-1, 1}) {
        require(std::string(nccl::reduce(plan, x.data, out.data(), root, stream).argument) == "root", "such a rank");
        require(std::string(nccl::reduce_states(plan, bad.data, out.data(), root, stream).argument) == "root",
                "such a rank");
    }
    require(std::string(nccl::begin(plan, x.data, stream, -2).argument) == "root", "such a rank");
    require_ok(nccl::reduce(plan, x.data, out.data(), 0, stream), "reduce");
    require(found() == 7, "reduce");
    require_ok(nccl::all_reduce_states(plan, bad.data, out.data(), stream), "states that are none");
    require(found() != found(), "states that are none are no number");
    require(std::string(nccl::all_reduce_states(plan, nullptr, out.data(), stream).argument) == "states", "no states");
    nccl::Plan moved = std::move(plan);
    for (const Status& status : {plan.status(), nccl::all_reduce(plan, x.data, out.data(), stream), nccl::wait(plan)})
        require(std::string(status.argument) == "plan", "a plan that was moved from says so");
    plan = std::move(moved);
    require_ok(nccl::all_reduce(plan, x.data, out.data(), stream), "a plan that was moved");
    require(found() == 7, "a plan that was moved");
}

/// What ranks say of a sum of numbers of which each has as many.
struct Sums {
    static constexpr std::size_t n = 100'000;
    std::vector<float> all;
    std::vector<std::unique_ptr<OnDevice<float>>> x;
    std::vector<std::unique_ptr<DeviceBuffer>> out;
    float expected = 0;

    explicit Sums(const World& world) {
        all = vector_from<float>(Style::stratified, n * world.size(), 5, no_overflow<float>);
        const Request r{.dtype = DType::f32, .n = all.size(), .device = cpu};
        throw_if_error(run(make_plan(r), all.data(), &expected));
        for (std::size_t rank = 0; rank < world.size(); ++rank) {
            world.use(rank);
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * n);
            x.push_back(std::make_unique<OnDevice<float>>(std::vector<float>(begin, begin + n), 0));
            out.push_back(std::make_unique<DeviceBuffer>(sizeof(float)));
        }
    }
    static Request request() { return {.dtype = DType::f32, .n = n}; }
    void check(const World& world, const std::string& what) const {
        for (std::size_t rank = 0; rank < world.size(); ++rank) {
            world.use(rank);
            CUDA_CHECK(cudaDeviceSynchronize());
            const float found = download<float>(out[rank]->data());
            require(std::memcmp(&found, &expected, sizeof found) == 0, what + ", rank " + std::to_string(rank));
            out[rank]->fill(0, sizeof(float));
        }
    }
};

void check_graph(const World& world) {
    const Sums sums(world);
    auto plans = plans_of(world, std::vector<Request>(world.size(), Sums::request()));
    std::vector<cudaGraphExec_t> graphs(world.size());
    for (std::size_t r = 0; r < world.size(); ++r) {
        world.use(r);
        CUDA_CHECK(cudaStreamBeginCapture(world.stream(r), cudaStreamCaptureModeRelaxed));
    }
    require(ncclGroupStart() == ncclSuccess, "ncclGroupStart");
    for (std::size_t r = 0; r < world.size(); ++r)
        require_ok(nccl::begin(plans[r], sums.x[r]->data, world.stream(r)), "begin in a graph");
    require(ncclGroupEnd() == ncclSuccess, "ncclGroupEnd in a graph");
    for (std::size_t r = 0; r < world.size(); ++r) {
        world.use(r);
        require_ok(nccl::end(plans[r], sums.out[r]->data(), world.stream(r)), "end in a graph");
        cudaGraph_t graph = nullptr;
        CUDA_CHECK(cudaStreamEndCapture(world.stream(r), &graph));
        CUDA_CHECK(cudaGraphInstantiate(&graphs[r], graph, 0));
        CUDA_CHECK(cudaGraphDestroy(graph));
    }
    for (int time = 0; time < 3; ++time) {
        for (std::size_t r = 0; r < world.size(); ++r) {
            world.use(r);
            CUDA_CHECK(cudaGraphLaunch(graphs[r], world.stream(r)));
        }
        sums.check(world, "in a graph");
    }
    for (const cudaGraphExec_t graph : graphs)
        CUDA_CHECK(cudaGraphExecDestroy(graph));
}

/// A thread each.
void check_threads(const World& world) {
    const Sums sums(world);
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < world.size(); ++r) {
        threads.emplace_back([&, r] {
            world.use(r);
            nccl::Plan plan = nccl::make_plan(Sums::request(), world.comms[r]);
            require_ok(plan.status(), "a thread each");
            for (int time = 0; time < 20; ++time)
                require_ok(nccl::all_reduce(plan, sums.x[r]->data, sums.out[r]->data(), world.stream(r)),
                           "a thread each");
            require_ok(nccl::wait(plan, world.stream(r)), "a thread each");
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    sums.check(world, "a thread each");
}

/// A stream that is not done within the limit.
void check_limit() {
    const World world(1);
    world.use(0);
    const nccl::Plan plan = nccl::make_plan(Sums::request(), world.comms[0]);
    const auto rest = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(500)); };
    CUDA_CHECK(cudaLaunchHostFunc(world.stream(0), rest, nullptr));
    const Status status = nccl::wait(plan, world.stream(0), std::chrono::milliseconds(20));
    require(status.code == StatusCode::cuda_error && status.cuda_code == cudaErrorNotReady,
            "a stream that is not done: " + to_string(status));
    require_ok(nccl::wait(plan, world.stream(0)), "one that is done later");
}

void check_abort() {
    World world(1);
    nccl::Plan plan = nccl::make_plan(Sums::request(), world.comms[0]),
               other = nccl::make_plan(Sums::request(), world.comms[0]);
    require_ok(nccl::check(plan), "nothing is wrong");
    require(std::string(nccl::abort(plan).argument) == "ncclCommAbort", "abort says so");
    world.comms[0] = nullptr;
    (void)nccl::abandon(other);
    for (nccl::Plan* const p : {&plan, &other}) {
        const Status status = nccl::all_reduce(*p, nullptr, nullptr);
        require(status.code == StatusCode::cuda_error && std::string(status.argument) == "ncclCommAbort",
                "an aborted communicator says so");
        require(!nccl::check(*p).ok() && !nccl::wait(*p).ok(), "and so it does later");
    }
}

/// What a sum by all costs above that of one, and above a bare message: microseconds, the minimum
/// of several means.
void measure(const World& world) {
    for (const int log_n : {10, 20, 24, 28, 32}) { // up to 16 GiB a rank
        const std::size_t n = std::size_t{1} << log_n;
        std::vector<std::unique_ptr<DeviceBuffer>> x, out, words, workspace;
        std::vector<Request> requests(world.size(), {.dtype = DType::f32, .n = n});
        for (std::size_t r = 0; r < world.size(); ++r) {
            world.use(r);
            x.push_back(std::make_unique<DeviceBuffer>(n * sizeof(float)));
            x[r]->fill(0x3f, n * sizeof(float));
            out.push_back(std::make_unique<DeviceBuffer>(256));
            words.push_back(std::make_unique<DeviceBuffer>(74 * 8));
            words[r]->fill(0, 74 * 8);
        }
        auto plans = plans_of(world, requests);
        std::vector<Plan> local;
        for (std::size_t r = 0; r < world.size(); ++r) {
            Request own = requests[0];
            own.device.index = static_cast<int>(r);
            world.use(r);
            local.push_back(make_plan(own));
            workspace.push_back(std::make_unique<DeviceBuffer>(std::max<std::size_t>(local[r].workspace_bytes(), 256)));
        }
        const auto time = [&](const auto& work) {
            double least = 1e30;
            for (int round = 0; round < 6; ++round) {
                const int times = log_n >= 32 ? 5 : round == 0 ? 10 : log_n >= 28 ? 50 : 300;
                const auto start = std::chrono::steady_clock::now();
                for (int i = 0; i < times; ++i)
                    work();
                for (std::size_t r = 0; r < world.size(); ++r)
                    CUDA_CHECK(cudaStreamSynchronize(world.stream(r)));
                const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
                if (round > 0) least = std::min(least, took.count() / times);
            }
            return least;
        };
        const double alone = time([&] {
            for (std::size_t r = 0; r < world.size(); ++r) {
                world.use(r);
                require_ok(run(local[r], x[r]->data(), out[r]->data(), workspace[r]->data(), world.stream(r)),
                           "a sum of one");
            }
        });
        const auto message = time([&] {
            (void)ncclGroupStart();
            for (std::size_t r = 0; r < world.size(); ++r)
                (void)ncclAllReduce(words[r]->data(), words[r]->data(), 74, ncclInt64, ncclSum, world.comms[r],
                                    world.stream(r));
            (void)ncclGroupEnd();
        });
        const double all = time([&] {
            (void)ncclGroupStart();
            for (std::size_t r = 0; r < world.size(); ++r)
                require_ok(nccl::begin(plans[r], x[r]->data(), world.stream(r)), "begin");
            (void)ncclGroupEnd();
            for (std::size_t r = 0; r < world.size(); ++r)
                require_ok(nccl::end(plans[r], out[r]->data(), world.stream(r)), "end");
        });
        std::printf("ranks %zu, f32 exact sum of 2^%d each: alone %.2f us, bare all-reduce of 74 words %.2f us, by all "
                    "%.2f us, that is %.2f us more; all read %.0f GB/s\n",
                    world.size(), log_n, alone, message, all, all - alone - message,
                    static_cast<double>(world.size() * n * sizeof(float)) / all * 1e-3);
    }
}

} // namespace
} // namespace detreduce::proptests

int main(int argc, char** argv) {
    using namespace detreduce::proptests;
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        std::fprintf(stderr, "skipped: there is no GPU\n");
        return 77;
    }
    bool times = false;
    std::vector<int> counts;
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]) == "--time") {
            times = true;
        } else {
            counts.push_back(std::atoi(argv[i]));
        }
    }
    if (counts.empty()) {
        for (const int ranks : {1, 2, 4, 8})
            if (emulated || ranks <= gpus) counts.push_back(ranks);
    }
    try {
        for (const int ranks : counts) {
            const World world(ranks);
            check_disagreement(world);
            for (std::size_t bad = 1; bad <= std::min<std::size_t>(world.size(), 3); ++bad)
                check_bad_arguments(world, bad);
            check_all_ops(world, emulated ? 1 : 3);
            if (!emulated) {
                check_graph(world);
                check_threads(world);
                if (times) measure(world);
            }
            std::printf("%d ranks have the bits of one\n", ranks);
        }
        check_one_rank();
        if (!emulated) check_limit();
        check_abort();
    } catch (const std::exception& error) {
        require(false, error.what());
    }
}
