// detreduce/nccl.hpp with as many ranks as there are GPUs: detreduce_nccl_tests [--time] [RANKS…],
// by default 1, 2, 4 and 8 of them. All ranks are this process's, by ncclCommInitAll. Each has its
// share of the elements on its GPU; what comes out is what the CPU makes of all. What is wrong ends
// the program.
#include <detreduce/nccl.hpp> // first: it must need nothing before it

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
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

/// Fingerprints on a GPU are those of the CPU, wherever arrays begin, of more of them than one
/// launch has parameters for, and of a long one.
void check_fingerprints() {
    const World world(1);
    world.use(0);
    const Device gpu{Backend::cuda, 0};
    const std::size_t all = emulated ? 200'000 : 100'000'000;
    std::vector<std::uint64_t> random(all / 8);
    for (std::size_t i = 0; i < random.size(); ++i)
        random[i] = accuracy::hash(7, i);
    const OnDevice<std::uint64_t> on_gpu(random, 0);
    std::vector<Tensor> here, there;
    const auto add = [&](DType dtype, std::uint64_t at, std::uint64_t n) {
        here.push_back({reinterpret_cast<const char*>(random.data()) + at * size_of(dtype), n, dtype});
        there.push_back({reinterpret_cast<const char*>(on_gpu.data) + at * size_of(dtype), n, dtype});
    };
    for (std::uint64_t i = 0; i < 2100; ++i) {
        const std::uint64_t most = i % 20 == 0 ? 9000 : 40;
        add(dtypes()[i % dtypes().size()], accuracy::hash(i, 1) % 64, accuracy::hash(i, 2) % most);
    }
    for (const DType dtype : dtypes())
        add(dtype, 3, all / size_of(dtype) - 5);
    std::vector<Fingerprint> expected(here.size()), found(here.size());
    require_ok(fingerprint(here.data(), here.size(), expected.data()), "fingerprints of the CPU");
    const DeviceBuffer out(found.size() * sizeof found[0]);
    for (int time = 0; time < 2; ++time) {
        out.fill(0x5a, found.size() * sizeof found[0]);
        require_ok(
            fingerprint(there.data(), there.size(), reinterpret_cast<Fingerprint*>(out.data()), gpu, world.stream(0)),
            "fingerprints of a GPU");
        CUDA_CHECK(cudaDeviceSynchronize());
        CUDA_CHECK(cudaMemcpy(found.data(), out.data(), found.size() * sizeof found[0], cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < found.size(); ++i)
            require(found[i] == expected[i], "fingerprint " + std::to_string(i) + ", time " + std::to_string(time));
        require(out.guards_intact(), "fingerprints: stray writes");
    }
    const auto said = [&](const Tensor* list, void* to, Device device) {
        return std::string(fingerprint(list, 1, static_cast<Fingerprint*>(to), device).argument);
    };
    const Tensor bad{on_gpu.data, max_n + 1, DType::f32};
    require(said(&bad, out.data(), gpu) == "list" && said(there.data(), nullptr, gpu) == "fingerprints" &&
                said(there.data(), out.data() + 4, gpu) == "fingerprints" &&
                (emulated || said(there.data(), out.data(), {Backend::cuda, 99}) == "device.index"),
            "fingerprints: bad arguments are refused");
}

/// Where ranks part is found, whatever differs: one bit, a length, a dtype.
void check_all_equal(const World& world) {
    constexpr std::size_t sizes[] = {0, 1, 2, 3, 1000, 100'001};
    std::vector<std::vector<std::unique_ptr<OnDevice<float>>>> x(world.size());
    std::vector<std::vector<Tensor>> lists(world.size());
    for (std::size_t r = 0; r < world.size(); ++r) {
        world.use(r);
        for (const std::size_t n : sizes) {
            x[r].push_back(
                std::make_unique<OnDevice<float>>(elements_from<float>(n, n, 0), static_cast<unsigned>(r % 3)));
            lists[r].push_back({x[r].back()->data, n, DType::f32});
        }
    }
    auto plans = nccl::make_equal_plans(std::vector<std::uint64_t>(world.size(), std::size(sizes)), world.comms);
    for (const nccl::EqualPlan& plan : plans)
        require_ok(plan.status(), "all_equal");
    const auto check = [&](std::uint64_t expected, const std::string& what, bool refused = false) {
        require(ncclGroupStart() == ncclSuccess, "ncclGroupStart");
        for (std::size_t r = 0; r < plans.size(); ++r) {
            const Status status = nccl::all_equal(plans[r], lists[r].data(), world.stream(r));
            require(status.ok() || (refused && r + 1 == plans.size()), what + ": " + to_string(status));
        }
        require(ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
        for (std::size_t r = 0; r < plans.size(); ++r) {
            std::uint64_t first = 42;
            const Status status = nccl::find_first(plans[r], first, world.stream(r), std::chrono::minutes(1));
            require(refused ? std::string(status.argument) == "list" : status.ok(), what + ": " + to_string(status));
            require(first == (refused ? 42 : expected), what + ": found " + std::to_string(first));
        }
    };
    check(no_index, "equal lists are equal");
    auto& last = lists.back();
    last[3].data = nullptr;
    check(0, "a list that is refused", true);
    last[3].data = x.back()[3]->data;
    check(no_index, "equal lists, after one that was refused");
    auto nothing = nccl::make_equal_plans(std::vector<std::uint64_t>(world.size(), 0), world.comms);
    plans.swap(nothing);
    check(no_index, "nothing is equal");
    plans.swap(nothing);
    if (world.size() == 1) {
        std::uint64_t first = 42;
        require_ok(nccl::all_equal(last.data(), last.size(), world.comms[0], first, world.stream(0)), "at once");
        require(first == no_index, "at once");
        first = 42;
        require(std::string(nccl::all_equal(nullptr, 1, world.comms[0], first).argument) == "list" && first == 42,
                "a list that is null");
        require(std::string(nccl::make_equal_plan(1, nullptr).status().argument) == "comm", "there is a communicator");
        return;
    }
    for (std::uint64_t word = 0; word < (emulated ? 6 : 40); ++word) {
        const std::size_t which = 1 + accuracy::hash(word, 1) % 5, r = accuracy::hash(word, 3) % world.size();
        float* const at = x[r][which]->data + accuracy::hash(word, 2) % sizes[which];
        world.use(r);
        const float kept = download<float>(at),
                    other = fp::from_bits<float>(fp::to_bits(kept) ^ 1u << accuracy::hash(word, 4) % 32);
        CUDA_CHECK(cudaMemcpy(at, &other, sizeof other, cudaMemcpyHostToDevice));
        check(which, "a bit of " + std::to_string(which));
        CUDA_CHECK(cudaMemcpy(at, &kept, sizeof kept, cudaMemcpyHostToDevice));
    }
    last[2].n = 1;
    check(2, "a length");
    last[0].dtype = DType::f64;
    check(0, "a dtype");
    std::vector<std::uint64_t> counts(world.size(), std::size(sizes));
    --counts.back();
    for (const nccl::EqualPlan& plan : nccl::make_equal_plans(counts, world.comms))
        require(std::string(plan.status().argument) == "tensors", "other lists");
}

/// Tensors of all ranks, some of which every rank has, clipped as by one GPU.
void check_clip(const World& world) {
    const std::size_t ranks = world.size();
    const auto bytes_of = [](const auto& x) { return x.size() * sizeof x[0]; };
    for (std::uint64_t word = 0; word < (emulated ? 4 : 30); ++word) {
        const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
        const std::string what = "clip_grad_norm, draw " + std::to_string(word) + ": ";
        std::vector<std::vector<double>> doubles;
        std::vector<std::vector<float16>> halves;
        std::vector<int> owners; // -1: every rank has it
        for (std::uint64_t i = 0; i < 6; ++i) {
            doubles.push_back(vector_from<double>(static_cast<Style>(draw(i) % styles), draw(10 + i) % 300,
                                                  draw(20 + i),
                                                  draw(6) % 4 == 0 ? any_bits<double> : no_overflow<double>));
            owners.push_back(draw(30 + i) % 3 == 0 ? -1 : static_cast<int>(draw(40 + i) % ranks));
        }
        for (std::uint64_t i = 0; i < 3; ++i)
            halves.push_back(vector_from<float16>(static_cast<Style>(draw(50 + i) % styles), draw(60 + i) % 200,
                                                  draw(70 + i), finite_bits<float16>));
        std::vector<std::vector<std::unique_ptr<OnDevice<double>>>> own_doubles(ranks);
        std::vector<std::vector<std::unique_ptr<OnDevice<float16>>>> own_halves(ranks);
        std::vector<std::vector<Tensor>> lists(ranks);
        std::vector<std::vector<unsigned char>> replicated(ranks);
        std::vector<nccl::ClipList> own(ranks);
        std::vector<std::unique_ptr<DeviceBuffer>> norms;
        for (std::size_t r = 0; r < ranks; ++r) {
            world.use(r);
            for (std::size_t i = 0; i < doubles.size(); ++i) {
                if (owners[i] >= 0 && owners[i] != static_cast<int>(r)) continue;
                own_doubles[r].push_back(std::make_unique<OnDevice<double>>(doubles[i], i % 2));
                lists[r].push_back({own_doubles[r].back()->data, doubles[i].size(), DType::f64});
                replicated[r].push_back(owners[i] < 0);
            }
            for (std::size_t i = r; i < halves.size(); i += ranks) {
                own_halves[r].push_back(std::make_unique<OnDevice<float16>>(halves[i], i % 2));
                lists[r].push_back({own_halves[r].back()->data, halves[i].size(), DType::f16});
                replicated[r].push_back(0);
            }
            own[r] = {lists[r].data(), lists[r].size(), replicated[r].data()};
            norms.push_back(std::make_unique<DeviceBuffer>(8));
        }
        auto clipped = doubles;
        auto clipped_halves = halves;
        std::vector<Tensor> all;
        std::uint64_t n = 0;
        for (const auto& x : clipped)
            all.push_back({x.data(), x.size(), DType::f64}), n += x.size();
        for (const auto& x : clipped_halves)
            all.push_back({x.data(), x.size(), DType::f16}), n += x.size();
        const nccl::ClipOptions options{.max_norm = draw(7) % 2 ? 1e-3 : 1e300,
                                        .norm = draw(8) % 2 ? DType::f64 : DType::f32};
        std::array<std::byte, 8> norm{}, found{};
        const ClipPlan of_all = make_clip_plan(
            {.n = n, .tensors = all.size(), .max_norm = options.max_norm, .norm = options.norm, .device = cpu});
        throw_if_error(run(of_all, all.data(), norm.data()));
        auto plans = nccl::make_clip_plans(own, world.comms, options);
        require(ncclGroupStart() == ncclSuccess, "ncclGroupStart");
        for (std::size_t r = 0; r < ranks; ++r)
            require_ok(nccl::begin(plans[r], lists[r].data(), world.stream(r)), what);
        require(ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
        for (std::size_t r = 0; r < ranks; ++r)
            require_ok(nccl::end(plans[r], lists[r].data(), norms[r]->data(), world.stream(r)), what);
        for (std::size_t r = 0; r < ranks; ++r) {
            require_ok(nccl::wait(plans[r], world.stream(r), std::chrono::minutes(1)), what);
            world.use(r);
            CUDA_CHECK(cudaMemcpy(found.data(), norms[r]->data(), size_of(options.norm), cudaMemcpyDeviceToHost));
            require(found == norm, what + "norm, rank " + std::to_string(r));
            const auto same = [&](const auto& on_device, const auto& expected) {
                const auto x = on_device.fetched();
                return x.empty() || std::memcmp(x.data(), expected.data(), bytes_of(x)) == 0;
            };
            std::size_t k = 0;
            for (std::size_t i = 0; i < doubles.size(); ++i)
                require((owners[i] >= 0 && owners[i] != static_cast<int>(r)) || same(*own_doubles[r][k++], clipped[i]),
                        what + "a tensor of f64, rank " + std::to_string(r));
            for (std::size_t i = r; i < halves.size(); i += ranks)
                require(same(*own_halves[r][i / ranks], clipped_halves[i]),
                        what + "one of f16, rank " + std::to_string(r));
        }
    }
    std::vector<std::unique_ptr<OnDevice<double>>> x;
    std::vector<std::unique_ptr<DeviceBuffer>> norms;
    std::vector<Tensor> tensors;
    for (std::size_t r = 0; r < ranks; ++r) {
        world.use(r);
        x.push_back(std::make_unique<OnDevice<double>>(std::vector<double>{3, 4}, 0));
        norms.push_back(std::make_unique<DeviceBuffer>(8));
        tensors.push_back({x[r]->data, 2, DType::f64});
    }
    std::vector<nccl::ClipList> own;
    for (const Tensor& tensor : tensors)
        own.push_back({&tensor, 1});
    const auto said = [&](const nccl::ClipOptions& options) {
        const auto plans = nccl::make_clip_plans(own, world.comms, options);
        for (const nccl::ClipPlan& plan : plans)
            require(std::string(plan.status().argument) == plans[0].status().argument, "all ranks say the same");
        return std::string(plans[0].status().argument);
    };
    require(said({.max_norm = -1}) == "max_norm", "a bad max_norm");
    Tensor& last = tensors.back();
    own.back().list = nullptr;
    require(said({}) == "list", "a bad list");
    own.back().list = &last;
    last.dtype = DType::f8e4m3;
    require(said({}) == "list", "a list with a tensor that cannot be clipped");
    last.dtype = DType::f64;
    // A list that is refused later: no norm, and nothing is scaled.
    auto plans = nccl::make_clip_plans(own, world.comms, {.max_norm = 1});
    for (const bool refused : {true, false}) {
        last.data = refused ? nullptr : x.back()->data;
        require(ncclGroupStart() == ncclSuccess, "ncclGroupStart");
        for (std::size_t r = 0; r < ranks; ++r) {
            const Status status = nccl::begin(plans[r], own[r].list, world.stream(r));
            require(refused && r + 1 == ranks ? std::string(status.argument) == "list" : status.ok(), "a list, later");
        }
        require(ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
        for (std::size_t r = 0; r + (refused ? 1 : 0) < ranks; ++r) {
            world.use(r);
            require_ok(nccl::end(plans[r], own[r].list, norms[r]->data(), world.stream(r)), "a list, later");
            require_ok(nccl::wait(plans[r], world.stream(r), std::chrono::minutes(1)), "a list, later");
            const double norm = download<double>(norms[r]->data());
            require(refused ? norm != norm : norm == std::sqrt(25.0 * static_cast<double>(ranks)),
                    "the norm behind a list that was refused");
            require((x[r]->fetched()[0] == 3) == refused, "a tensor behind a list that was refused");
        }
    }
    if (ranks > 1) return;
    const auto at_once = [&](const nccl::ClipOptions& options, void* norm) {
        return std::string(
            nccl::clip_grad_norm(&last, 1, nullptr, world.comms[0], norm, options, world.stream(0)).argument);
    };
    require(at_once({.epsilon = -1}, norms[0]->data()) == "epsilon" && at_once({}, nullptr) == "norm_out",
            "bad arguments, at once");
    require(at_once({}, norms[0]->data()).empty() && std::fabs(download<double>(norms[0]->data()) - 1) < 1e-5,
            "at once");
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

/// all_equal() and clip_grad_norm() in a graph, which a thread each captures and replays.
void check_other_graphs(const World& world) {
    const float x[] = {3, 4}, y[] = {3, -4};
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < world.size(); ++r) {
        threads.emplace_back([&, r] {
            world.use(r);
            const OnDevice<float> own(std::vector<float>(x, x + 2), 0);
            const Tensor tensor{own.data, 2, DType::f32};
            const DeviceBuffer norm(8);
            nccl::EqualPlan equal = nccl::make_equal_plan(1, world.comms[r]);
            nccl::ClipPlan clip = nccl::make_clip_plan({&tensor, 1}, world.comms[r], {.max_norm = 1, .epsilon = 0});
            require_ok(equal.status(), "all_equal in a graph");
            require_ok(clip.status(), "clip_grad_norm in a graph");
            const cudaStream_t stream = world.stream(r);
            cudaGraph_t graph = nullptr;
            cudaGraphExec_t executable = nullptr;
            CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            const Status compared = nccl::all_equal(equal, &tensor, stream),
                         clipped = nccl::clip_grad_norm(clip, &tensor, norm.data(), stream);
            CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
            require_ok(compared, "all_equal in a graph");
            require_ok(clipped, "clip_grad_norm in a graph");
            CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
            for (int time = 0; time < 3; ++time) {
                const bool other = time == 1 && r > 0;
                CUDA_CHECK(cudaMemcpyAsync(own.data, other ? y : x, sizeof x, cudaMemcpyHostToDevice, stream));
                CUDA_CHECK(cudaStreamSynchronize(stream));
                CUDA_CHECK(cudaGraphLaunch(executable, stream));
                std::uint64_t first = 42;
                require_ok(nccl::find_first(equal, first, stream, std::chrono::minutes(1)), "all_equal in a graph");
                require(first == (time == 1 && world.size() > 1 ? 0 : no_index), "all_equal in a graph");
                const double expected = std::sqrt(25.0 * static_cast<double>(world.size()));
                require(download<double>(norm.data()) == expected, "the norm in a graph");
                require(std::fabs(own.fetched()[0] - 3 / expected) < 1e-6, "a tensor clipped in a graph");
            }
            CUDA_CHECK(cudaGraphExecDestroy(executable));
            CUDA_CHECK(cudaGraphDestroy(graph));
        });
    }
    for (std::thread& thread : threads)
        thread.join();
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

/// Microseconds of work(rank), which each rank's own thread enqueues again and again, as the
/// process of a GPU does: of the slowest rank, the minimum of several means.
template <class Work>
double time_of_ranks(const World& world, int log_n, const Work& work) {
    constexpr int rounds = 6;
    std::vector<std::array<double, rounds>> took(world.size());
    std::barrier start(static_cast<std::ptrdiff_t>(world.size()));
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < world.size(); ++r) {
        threads.emplace_back([&, r] {
            world.use(r);
            for (int round = 0; round < rounds; ++round) {
                const int times = log_n >= 32 ? 5 : round == 0 ? 10 : log_n >= 28 ? 50 : 300;
                start.arrive_and_wait();
                const auto began = std::chrono::steady_clock::now();
                for (int i = 0; i < times; ++i)
                    work(r);
                CUDA_CHECK(cudaStreamSynchronize(world.stream(r)));
                const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - began;
                took[r][static_cast<std::size_t>(round)] = all.count() / times;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    double minimum = 1e30;
    for (std::size_t round = 1; round < rounds; ++round) { // the first is to warm up
        double slowest = 0;
        for (const auto& of_rank : took)
            slowest = std::max(slowest, of_rank[round]);
        minimum = std::min(minimum, slowest);
    }
    return minimum;
}

/// What a sum by all costs above that of one, and above a bare message.
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
        const double alone = time_of_ranks(world, log_n, [&](std::size_t r) {
            require_ok(run(local[r], x[r]->data(), out[r]->data(), workspace[r]->data(), world.stream(r)),
                       "a sum of one");
        });
        const double message = time_of_ranks(world, log_n, [&](std::size_t r) {
            (void)ncclAllReduce(words[r]->data(), words[r]->data(), 74, ncclInt64, ncclSum, world.comms[r],
                                world.stream(r));
        });
        const double all = time_of_ranks(world, log_n, [&](std::size_t r) {
            require_ok(nccl::all_reduce(plans[r], x[r]->data(), out[r]->data(), world.stream(r)), "a sum of all");
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
            check_all_equal(world);
            check_clip(world);
            check_all_ops(world, emulated ? 1 : 3);
            if (!emulated) {
                check_graph(world);
                check_other_graphs(world);
                check_threads(world);
                if (times) measure(world);
            }
            std::printf("%d ranks have the bits of one\n", ranks);
        }
        check_fingerprints();
        check_one_rank();
        if (!emulated) check_limit();
        check_abort();
    } catch (const std::exception& error) {
        require(false, error.what());
    }
}
