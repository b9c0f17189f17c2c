// States of losses and of a caller's terms on the GPU: of every part of a batch the words of the
// CPU, and of all parts together the bits of the whole batch.
#include <cstring>

#include <support/property.hpp>

#include "laws/device_memory.hpp"
#include "laws/expect_status.hpp"
#include "laws/loss_state_draws.hpp"
#include "laws/term_function.hpp"
#include "laws/transform_kernels.hpp"

namespace detreduce::proptests {
namespace {

/// run(workspace) with so many bytes, which begin as NaN, until the stream is done.
template <class Run>
Status with_memory(std::size_t bytes, cudaStream_t stream, const Run& run) {
    const DeviceBuffer workspace(bytes);
    workspace.fill(0xff, workspace.bytes());
    const Status status = run(workspace.data());
    CUDA_CHECK(cudaStreamSynchronize(stream));
    RC_ASSERT(workspace.guards_intact());
    return status;
}

/// States that the device writes, those of one part after the other, and merges.
class DeviceStates {
  public:
    explicit DeviceStates(const Plan& plan)
        : plan_(throwing::checked(plan)), count_(plan.groups() * plan.state_words()), part_(count_ * 8),
          all_(count_ * 8) {
        all_.fill(0x5a, all_.bytes());
        all_.fill(0, count_ * 8); // those of no elements
    }
    /// The words that write(states, stream) writes, which are merged into those of the parts
    /// before.
    template <class Write>
    Words add(const Write& write) const {
        part_.fill(0x5a, part_.bytes());
        throw_if_error(write(words(part_), owner_.stream));
        throw_if_error(merge(plan_, words(all_), words(part_), owner_.stream));
        return fetched(part_);
    }
    /// Those of all parts.
    [[nodiscard]] Words all() const { return fetched(all_); }
    /// What finish(states, out, stream) writes over the first bytes of a 42.
    template <class Finish>
    double finished(const Finish& finish) const {
        const Words before = all();
        const double number = 42;
        const DeviceBuffer out(sizeof number);
        out.copy_from(&number, sizeof number);
        throw_if_error(finish(words(all_), out.data(), owner_.stream));
        RC_ASSERT(all() == before);
        RC_ASSERT(out.guards_intact());
        return download<double>(out.data());
    }

  private:
    static std::int64_t* words(const DeviceBuffer& of) { return reinterpret_cast<std::int64_t*>(of.data()); }
    /// When the stream is done. Nothing may have been written behind them.
    [[nodiscard]] Words fetched(const DeviceBuffer& from) const {
        CUDA_CHECK(cudaStreamSynchronize(owner_.stream));
        Words found(from.bytes() / 8);
        CUDA_CHECK(cudaMemcpy(found.data(), from.data(), from.bytes(), cudaMemcpyDeviceToHost));
        for (std::size_t i = count_; i < found.size(); ++i)
            RC_ASSERT(found[i] == 0x5a5a5a5a5a5a5a5a);
        RC_ASSERT(from.guards_intact());
        found.resize(count_);
        return found;
    }

    Plan plan_;
    std::size_t count_;
    StreamOwner owner_;
    DeviceBuffer part_, all_;
};

Launch launch_from(std::uint64_t word) {
    constexpr std::uint32_t grids[] = {0, 0, 1, 3, 64};
    constexpr Schedule schedules[] = {Schedule::automatic, Schedule::two_pass, Schedule::last_block};
    return {.schedule = schedules[word / 5 % 3], .grid = grids[word % 5]};
}

bool same_bytes(double a, double b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
void check_loss(std::uint64_t word) {
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
    LossRequest on_cpu = loss_from<T>(word);
    RC_LOG(described(on_cpu));
    const std::size_t n = on_cpu.n;
    const Batch<T> batch(n, word);
    const auto offset = static_cast<unsigned>(draw(15) % 8);
    const OnDevice<T> x(batch.x, offset), target(batch.target, offset / 2), weight(batch.weight, offset / 3);
    const auto of_cpu = [&](std::size_t first, void* out) {
        throw_if_error(run(throwing::checked(make_loss_plan(on_cpu)), batch.from(first, on_cpu.weighted), out));
    };
    double expected = 42;
    of_cpu(0, &expected);
    on_cpu.state = true;
    LossRequest r = on_cpu;
    r.device = current_gpu;
    r.launch = launch_from(draw(16));
    const DeviceStates states(throwing::checked(make_loss_plan(r)).states());
    const auto cuts = cuts_of(n, draw(12));
    for (std::size_t p = 1; p < cuts.size(); ++p) {
        const std::size_t first = cuts[p - 1];
        r.n = on_cpu.n = cuts[p] - first;
        const Words found = states.add([&](std::int64_t* to, cudaStream_t stream) {
            const LossPlan plan = throwing::checked(make_loss_plan(r));
            const LossInputs in{x.data + first, target.data + first, r.weighted ? weight.data + first : nullptr};
            if (draw(17) % 2) return cuda::run_async(plan, in, to, stream);
            return with_memory(plan.workspace_bytes(), stream,
                               [&](void* workspace) { return run(plan, in, to, workspace, stream); });
        });
        Words words(found.size());
        of_cpu(first, words.data());
        RC_ASSERT(found == words);
    }
    on_cpu.n = n;
    Words whole(states.all().size());
    of_cpu(0, whole.data());
    RC_ASSERT(states.all() == whole);
    r.n = draw(14) % 2 ? 0 : n;
    const LossPlan plan = throwing::checked(make_loss_plan(r));
    const double found = states.finished([&](const std::int64_t* all, void* out, cudaStream_t stream) {
        return with_memory(plan.workspace_bytes(), stream,
                           [&](void* workspace) { return finish(plan, all, out, workspace, stream); });
    });
    RC_ASSERT(same_bytes(found, expected));
}

template <class T>
void check_rows(std::uint64_t word) {
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
    const RowBatch<T> batch(word);
    RC_LOG(batch.described());
    RowRequest on_cpu = batch.request;
    const std::size_t rows = on_cpu.rows, n = on_cpu.n;
    const auto offset = static_cast<unsigned>(draw(15) % 8);
    const OnDevice<T> x(batch.batch.x, offset), probabilities(batch.batch.target, offset / 2),
        weights(batch.classes.weight, offset / 3);
    const OnDevice<std::int64_t> targets(batch.targets, 0);
    const auto arrays = [&](std::size_t first, void* out, const T* from, const T* of_probabilities, const T* of_weights,
                            const std::int64_t* classes) {
        RowArrays a{.x = from + first * n, .out = out, .weights = batch.weighted ? of_weights : nullptr};
        if (batch.probabilities) {
            a.probabilities = of_probabilities + first * n;
        } else {
            a.targets = classes + first;
        }
        return a;
    };
    const auto of_cpu = [&](std::size_t first, void* out) {
        const RowPlan plan = throwing::checked(make_row_plan(on_cpu));
        std::vector<double> workspace(plan.workspace_bytes() / 8 + 1);
        throw_if_error(run(plan,
                           arrays(first, out, batch.batch.x.data(), batch.batch.target.data(),
                                  batch.classes.weight.data(), batch.targets.data()),
                           workspace.data()));
    };
    double expected = 42;
    of_cpu(0, &expected);
    on_cpu.state = true;
    RowRequest r = on_cpu;
    r.device = current_gpu;
    r.launch = {};
    const DeviceStates states(throwing::checked(make_row_plan(r)).states());
    const auto cuts = cuts_of(rows, draw(12));
    for (std::size_t p = 1; p < cuts.size(); ++p) {
        const std::size_t first = cuts[p - 1];
        r.rows = on_cpu.rows = cuts[p] - first;
        const Words found = states.add([&](std::int64_t* to, cudaStream_t stream) {
            const RowPlan plan = throwing::checked(make_row_plan(r));
            const RowArrays a = arrays(first, to, x.data, probabilities.data, weights.data, targets.data);
            if (draw(17) % 2) return cuda::run_async(plan, a, stream);
            return with_memory(plan.workspace_bytes(), stream,
                               [&](void* workspace) { return run(plan, a, workspace, stream); });
        });
        Words words(found.size());
        of_cpu(first, words.data());
        RC_ASSERT(found == words);
    }
    on_cpu.rows = rows;
    Words whole(states.all().size());
    of_cpu(0, whole.data());
    RC_ASSERT(states.all() == whole);
    r.rows = draw(14) % 2 ? 0 : rows;
    const RowPlan plan = throwing::checked(make_row_plan(r));
    const double found = states.finished([&](const std::int64_t* all, void* out, cudaStream_t stream) {
        return with_memory(plan.workspace_bytes(), stream,
                           [&](void* workspace) { return finish(plan, all, out, workspace, stream); });
    });
    RC_ASSERT(same_bytes(found, expected));
}

template <class T>
void check_transform(std::uint64_t word) {
    const auto draw = [&](std::uint64_t i) { return accuracy::hash(word, i); };
    const std::size_t n = draw(1) % (draw(2) % 4 == 0 ? 20'000 : 300);
    const Batch<T> batch(n, word);
    const TermFunction<TermOf<T>> f{static_cast<TermKind>(draw(3) % term_kinds), TermOf<T>(1.5), TermOf<T>(-0.25)};
    TransformOptions options{.finalize = draw(4) % 2 && n > 0 ? Finalize::mean : Finalize::sum};
    RC_LOG("kind " + std::to_string(draw(3) % term_kinds));
    const auto of_cpu = [&](std::size_t first, std::size_t count, auto* out) {
        const T *const x = batch.x.data() + first, *const y = batch.target.data() + first;
        if constexpr (gpu_inputs<T> == 2) {
            throw_if_error(transform_reduce(f, x, y, count, out, options));
        } else {
            throw_if_error(transform_reduce(f, x, count, out, options));
        }
    };
    double expected = 42;
    of_cpu(0, n, reinterpret_cast<T*>(&expected));
    options.state = true;
    const auto offset = static_cast<unsigned>(draw(15) % 8);
    const OnDevice<T> x(batch.x, offset), y(batch.target, offset / 2);
    const Plan plan = transform_states(dtype_of<T>, dtype_of<T>, options, current_gpu);
    const DeviceStates states(plan);
    const auto cuts = cuts_of(n, draw(12));
    for (std::size_t p = 1; p < cuts.size(); ++p) {
        const std::size_t first = cuts[p - 1], count = cuts[p] - first;
        const Words found = states.add([&](std::int64_t* to, cudaStream_t stream) {
            GpuTransform<T> call{dtype_of<T>, &f, x.data + first, y.data + first, count, to, options, stream};
            call.options.launch = launch_from(draw(16));
            if (draw(17) % 2) return call.run_without_workspace();
            std::size_t bytes = 0;
            throw_if_error(call.workspace(bytes));
            return with_memory(bytes, stream, [&](void* workspace) { return call.run(workspace); });
        });
        Words words(found.size());
        of_cpu(first, count, words.data());
        RC_ASSERT(found == words);
    }
    Words whole(plan.state_words());
    of_cpu(0, n, whole.data());
    RC_ASSERT(states.all() == whole);
    const double found = states.finished(
        [&](const std::int64_t* all, void* out, cudaStream_t stream) { return finish(plan, all, out, stream); });
    RC_ASSERT(same_bytes(found, expected));
}

/// Words that were garbage, and what becomes of them.
struct Room {
    DeviceBuffer memory{4096}, workspace{4096};
    Room() {
        memory.fill(0x5a, memory.bytes());
        workspace.fill(0xff, workspace.bytes());
    }
    [[nodiscard]] std::int64_t* words() const { return reinterpret_cast<std::int64_t*>(memory.data()); }
    [[nodiscard]] char* out() const { return memory.data() + 3072; }
    /// How many of them are zero, of which there are none behind the first other one.
    [[nodiscard]] std::size_t zeros() const {
        CUDA_CHECK(cudaDeviceSynchronize());
        Words found(memory.bytes() / 8);
        CUDA_CHECK(cudaMemcpy(found.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost));
        const auto end = std::find_if(found.begin(), found.end(), [](std::int64_t w) { return w != 0; });
        REQUIRE(std::all_of(end, found.end(), [](std::int64_t w) { return w == 0x5a5a5a5a5a5a5a5a; }));
        return static_cast<std::size_t>(end - found.begin());
    }
};

bool is_nan(double x) {
    return fp::to_bits(x) == fp::to_bits(quiet_nan<double>);
}

} // namespace

TEMPLATE_TEST_CASE("loss states on the GPU: parts have the words of the CPU, and the bits of the batch",
                   "[losses][gpu][ranks][sanitizer]", float16, bfloat16, float, double) {
    property("parts", [](std::uint64_t) { check_loss<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

TEMPLATE_TEST_CASE("row loss states on the GPU: parts have the words of the CPU, and the bits of the batch",
                   "[rows][gpu][ranks][sanitizer]", float16, bfloat16, float, double) {
    property("parts", [](std::uint64_t) { check_rows<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

TEMPLATE_TEST_CASE("transform states on the GPU: parts have the words of the CPU, and the bits of the whole",
                   "[transform][gpu][ranks][sanitizer]", float16, float, double) {
    property("parts", [](std::uint64_t) { check_transform<TestType>(*rc::gen::arbitrary<std::uint64_t>()); });
}

TEST_CASE("loss states on the GPU: of no elements all words are zero, and no more is written",
          "[losses][rows][transform][gpu][ranks]") {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
        INFO(name(dtype));
        const bool f64 = dtype == DType::f64;
        const auto check = [&](LossRequest r, std::size_t words) {
            const Room room;
            r.dtype = dtype;
            r.output = DType::f64;
            r.state = true;
            const LossPlan plan = throwing::checked(make_loss_plan(r));
            INFO(described(r));
            throw_if_error(run(plan, {}, room.words(), room.workspace.data()));
            REQUIRE(room.zeros() == words);
            throw_if_error(finish(plan, room.words(), room.out(), room.workspace.data()));
            CUDA_CHECK(cudaDeviceSynchronize());
            const double found = download<double>(room.out());
            REQUIRE((r.reduction == Reduction::sum || r.batch != 0 ? found == 0 : is_nan(found)));
        };
        check({.loss = Loss::huber, .reduction = Reduction::sum}, 74);
        check({.loss = Loss::huber}, 74);
        check({.loss = Loss::huber, .weighted = true, .batch = 3}, 74);
        check({.loss = Loss::mse}, f64 ? 142 : 74);
        check({.loss = Loss::mse, .reduction = Reduction::sum}, f64 ? 142 : 74);
        check({.loss = Loss::mae, .weighted = true}, 2 * 74);
        for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
            const bool mean = reduction == Reduction::mean;
            const Room room;
            const DType output = f64 ? DType::f64 : DType::f32;
            const RowPlan plan = throwing::checked(make_row_plan({.op = RowOp::cross_entropy,
                                                                  .dtype = dtype,
                                                                  .output = output,
                                                                  .n = 7,
                                                                  .rows = 0,
                                                                  .reduction = reduction,
                                                                  .state = true}));
            throw_if_error(run(plan, {.out = room.words()}, room.workspace.data()));
            REQUIRE(room.zeros() == (mean ? 148 : 74));
            throw_if_error(finish(plan, room.words(), room.out(), room.workspace.data()));
            CUDA_CHECK(cudaDeviceSynchronize());
            const double found = f64 ? download<double>(room.out()) : download<float>(room.out());
            REQUIRE((mean ? found != found : found == 0));
        }
    }
    const Room room;
    const TermFunction<float> f{TermKind::constant, 1, 0};
    const GpuTransform<float> call{DType::f32, &f, nullptr, nullptr, 0, room.words(), {.state = true}};
    throw_if_error(call.run(room.workspace.data()));
    REQUIRE(room.zeros() == 74);
}

TEST_CASE("loss states on the GPU: what is refused, and why; and what is no state", "[losses][gpu][ranks][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    const Room room;
    char* const p = room.memory.data();
    LossRequest r{.loss = Loss::mae, .n = 2, .weighted = true, .state = true};
    const LossPlan plan = throwing::checked(make_loss_plan(r));
    const LossInputs in{p + 2048, p + 2056, p + 2064};
    expect(run(plan, in, p + 4, room.workspace.data()), invalid, "out");
    expect(run(plan, in, p, nullptr), invalid, "workspace");
    expect(run(plan, in, p + 2048 - 8, room.workspace.data()), invalid, "out");
    expect(finish(plan, room.words(), room.out(), nullptr), invalid, "workspace");
    expect(finish(plan, room.words(), room.out(), p), invalid, "workspace");
    expect(finish(plan, room.words(), room.workspace.data() + 8, room.workspace.data()), invalid, "workspace");
    expect(finish(plan, nullptr, room.out(), room.workspace.data()), invalid, "states");
    const TermFunction<float> f{TermKind::first, 0, 0};
    const auto* const x = reinterpret_cast<const float*>(p + 2048);
    const GpuTransform<float> call{DType::f32, &f, x, x, 2, p + 4, {.state = true}};
    expect(call.run(room.workspace.data()), invalid, "out");
    expect(call.run_without_workspace(), invalid, "out");
    // A device says nothing of words that are no state: of them there is no number.
    Words words(148);
    words[74 + 71] = -1;
    room.memory.copy_from(words.data(), words.size() * 8);
    throw_if_error(finish(plan, room.words(), room.out(), room.workspace.data()));
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto found = download<float>(room.out());
    REQUIRE(found != found);
}

TEST_CASE("loss states on the GPU: two parts, and what becomes of them, in a graph",
          "[graph][losses][rows][gpu][ranks]") {
    constexpr std::size_t n = 3000, rows = 300, classes = n / rows;
    const Batch<float> batch(n, 1);
    std::vector<std::int64_t> targets(rows);
    for (std::size_t i = 0; i < rows; ++i)
        targets[i] = static_cast<std::int64_t>(i % classes);
    const OnDevice<float> x(batch.x, 0), t(batch.target, 0), w(batch.weight, 0);
    const OnDevice<std::int64_t> d_targets(targets, 0);
    LossRequest r{.n = n, .weighted = true, .device = cpu};
    RowRequest of_rows{.op = RowOp::cross_entropy, .n = classes, .rows = rows, .device = cpu};
    float expected[2];
    throw_if_error(run(throwing::checked(make_loss_plan(r)), batch.from(0, true), &expected[0]));
    const RowPlan on_cpu = throwing::checked(make_row_plan(of_rows));
    std::vector<double> own(on_cpu.workspace_bytes() / 8 + 1);
    throw_if_error(run(on_cpu, {.x = batch.x.data(), .out = &expected[1], .targets = targets.data()}, own.data()));
    r.device = of_rows.device = current_gpu;
    r.state = of_rows.state = true;
    const LossPlan whole = throwing::checked(make_loss_plan(r));
    const RowPlan all_rows = throwing::checked(make_row_plan(of_rows));
    const DeviceBuffer a(148 * 8), b(148 * 8), out(2 * sizeof(float)),
        workspace(std::max(whole.workspace_bytes(), all_rows.workspace_bytes()));
    auto *const first = reinterpret_cast<std::int64_t*>(a.data()), *const second =
                                                                       reinterpret_cast<std::int64_t*>(b.data());
    const StreamOwner owner;
    const Graph graph(owner.stream, [&](cudaStream_t stream) {
        const auto together = [&](const auto& plan, const auto& write, char* to) {
            if (const Status bad = write(0, 1, first); !bad.ok()) return bad; // a third, and the rest
            if (const Status bad = write(1, 2, second); !bad.ok()) return bad;
            if (const Status bad = merge(plan.states(), first, second, stream); !bad.ok()) return bad;
            return finish(plan, first, to, workspace.data(), stream);
        };
        const auto loss_part = [&](std::size_t begin, std::size_t thirds, std::int64_t* to) {
            LossRequest part = r;
            part.n = thirds * n / 3;
            const std::size_t at = begin * n / 3;
            return run(make_loss_plan(part), {x.data + at, t.data + at, w.data + at}, to, workspace.data(), stream);
        };
        const auto row_part = [&](std::size_t begin, std::size_t thirds, std::int64_t* to) {
            RowRequest part = of_rows;
            part.rows = thirds * rows / 3;
            const std::size_t at = begin * rows / 3;
            return run(make_row_plan(part), {.x = x.data + at * classes, .out = to, .targets = d_targets.data + at},
                       workspace.data(), stream);
        };
        const Status done = together(whole, loss_part, out.data());
        return done.ok() ? together(all_rows, row_part, out.data() + sizeof(float)) : done;
    });
    for (int i = 0; i < 3; ++i) {
        out.fill(0xff, out.bytes());
        workspace.fill(0xff, workspace.bytes());
        graph.launch();
        REQUIRE(fp::to_bits(download<float>(out.data())) == fp::to_bits(expected[0]));
        REQUIRE(fp::to_bits(download<float>(out.data() + sizeof(float))) == fp::to_bits(expected[1]));
    }
    REQUIRE(workspace.guards_intact());
}

} // namespace detreduce::proptests
