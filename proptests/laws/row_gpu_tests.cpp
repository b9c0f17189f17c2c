// Row ops on the GPU: the bits of the CPU.
#include <vector>

#include "laws/expect_status.hpp"
#include "laws/row_gpu_backend.hpp"

#include "laws/row_laws.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("rows on the GPU: bits are those of the CPU, in every place", "[rows][gpu]", float16, bfloat16,
                   float, double) {
    using T = TestType;
    struct Place {
        std::uint64_t gap, gap_of_results;
        unsigned offset;
    };
    // One element off: no vector loads. A gap of 64 keeps rows aligned where the first is, one of 3
    // does not. Each case has the first and two others.
    constexpr Place places[] = {{0, 0, 0}, {0, 0, 1}, {64, 64, 0}, {3, 0, 0}, {0, 5, 1}};
    for_requests<T>(2, [&](RowRequest r, const RowVariant& v, std::uint64_t word) {
        r.stride = r.output_stride = 0;
        for (const std::uint64_t rows : {0, 1, 37}) {
            r.rows = r.n * rows > 200'000 ? 3 : rows;
            const auto data = row_data<T>(r, v, word + rows);
            for_outputs<T>([&]<class Out>(Out) {
                const auto expected = RowBackend::expected<Out>(r, data);
                for (const std::size_t k : {std::uint64_t{0}, 1 + word % 4, 1 + (word + 1 + word / 4 % 3) % 4}) {
                    const Place& place = places[k];
                    RowRequest placed = r;
                    placed.stride = r.n + place.gap;
                    if (!has_one_result(r.op)) placed.output_stride = r.n + place.gap_of_results;
                    if (v.probabilities) placed.probability_stride = r.n + place.gap_of_results;
                    INFO(shown(placed, v) << " offset " << place.offset);
                    require_same(run_rows<Out>(placed, data, place.offset), expected);
                    if (rows == 0) break;
                }
            });
        }
    });
}

/// Blocks take more than one row each, and long ones use their part of the workspace again.
TEMPLATE_TEST_CASE("rows on the GPU: more rows than blocks", "[rows][gpu]", float16, bfloat16, float, double) {
    using T = TestType;
    constexpr std::uint64_t tile = spec::TreeOrder<sizeof(T)>::tile;
    for (const auto& [n, rows] : {std::pair<std::uint64_t, std::uint64_t>{3, 200'003},
                                  {1000, 5000},
                                  {tile + 1, 1100},
                                  {264, 40'000}, // and more than there are warps
                                  {265, 40'000}}) {
        RowRequest r{.op = RowOp::cross_entropy, .n = n, .rows = rows, .reduction = Reduction::none};
        const auto data = row_data<T>(r, {}, n);
        for (const RowOp op : row_ops_of_x) {
            r.op = op;
            RowData<T> own{.x = data.x};
            if (of_targets(op)) own.targets = data.targets;
            INFO(shown(r, {}));
            require_same(run_rows<T>(r, own, 0), RowBackend::expected<T>(r, own));
        }
    }
}

/// 16-bit rows of up to half a chunk, and one of more: whole rows of lanes, and parts of one.
TEMPLATE_TEST_CASE("rows on the GPU: short rows that begin at 16 bytes", "[rows][gpu]", float16, bfloat16) {
    using T = TestType;
    for (const std::uint64_t n : {8, 256, 264, 512, 768, 1016, 1024, 1032}) {
        for (const RowOp op : all_row_ops) {
            for (const RowVariant& v : all_variants(op)) {
                const RowRequest r = request_of(op, n, 19, v);
                INFO(shown(r, v));
                const auto data = row_data<T>(r, v, n + static_cast<std::uint64_t>(op));
                for_outputs<T>([&]<class Out>(Out) {
                    require_same(run_rows<Out>(r, data, 0), RowBackend::expected<Out>(r, data));
                });
            }
        }
    }
}

/// From two tiles to one more than a cluster has blocks; the rows are read in 16 bytes, and are
/// not.
TEMPLATE_TEST_CASE("rows on the GPU: a cluster of blocks a row", "[rows][gpu][sanitizer]", float16, bfloat16, float,
                   double) {
    using T = TestType;
    constexpr std::uint64_t tile = spec::TreeOrder<sizeof(T)>::tile;
    // Of exponentials by blocks of 8, 6, 5, 7 and 8 warps.
    for (const std::uint64_t n : {2 * tile, 2 * tile + tile / 4, 3 * tile + 1, 5 * tile + 3, 7 * tile + 16,
                                  16 * tile - 1, 16 * tile, 16 * tile + 8}) {
        for (const RowOp op : all_row_ops) {
            const RowRequest r{.op = op, .n = n, .rows = 7};
            const auto data = row_data<T>(r, {}, n + static_cast<std::uint64_t>(op));
            const auto expected = RowBackend::expected<T>(r, data);
            for (const unsigned offset : {0u, 1u}) {
                INFO(shown(r, {}) << " offset " << offset);
                require_same(run_rows<T>(r, data, offset), expected);
            }
        }
    }
}

/// Without weights the gradient of the mean counts the classes: one block those of up to 2^12 rows.
TEST_CASE("rows on the GPU: the mean of as many rows as one block counts, and of one more", "[rows][gpu]") {
    for (const std::uint64_t rows : {255, 4095, 4096, 4097}) {
        for (const Method method : {Method::exact, Method::tree}) {
            const RowRequest r{
                .op = RowOp::nll_gradient, .n = 3, .rows = rows, .reduction = Reduction::mean, .method = method};
            INFO(shown(r, {}));
            auto data = row_data<float>(r, {}, rows);
            RowRequest each = r;
            each.reduction = Reduction::none;
            auto divided = data;
            const auto ignored = std::count(data.targets.begin(), data.targets.end(), r.ignore_index);
            divided.factor = {static_cast<float>((data.factor.empty() ? 1.0 : data.factor[0]) /
                                                 static_cast<double>(rows - static_cast<std::uint64_t>(ignored)))};
            require_same(run_rows<float>(r, data, 0), RowBackend::expected<float>(each, divided));
            data.targets[rows - 7] = 3; // no class
            const auto got = run_rows<float>(r, data, 0);
            for (std::uint64_t row = 0; row < rows; ++row) {
                const auto target = static_cast<std::uint64_t>(data.targets[row]);
                if (target < r.n) REQUIRE(fp::is_nan(got.out[row * r.n + target]));
            }
        }
    }
}

/// The maxima of a row of lanes, of which the first is taken out of the sum, wherever the 16
/// bytes of a thread begin.
TEMPLATE_TEST_CASE("rows on the GPU: the first of equal maxima", "[rows][gpu]", float16, bfloat16, float, double) {
    using T = TestType;
    constexpr std::uint64_t lanes = spec::TreeOrder<sizeof(T)>::lanes;
    constexpr std::uint64_t last = lanes - 1;
    const std::initializer_list<std::uint64_t> places[] = {{last}, {last - 2, last}, {0, last},  {last - 1, 5},
                                                           {3, 4}, {last, 5},        {1, lanes}, {last, lanes}};
    for (const RowOp op : {RowOp::logsumexp, RowOp::softmax, RowOp::cross_entropy_gradient}) {
        const RowRequest r{.op = op, .n = 5 * lanes + 3, .rows = std::size(places)};
        auto data = row_data<T>(r, {}, static_cast<std::uint64_t>(op));
        for (std::size_t i = 0; i < data.x.size(); ++i)
            data.x[i] = fp::round_to<T>(static_cast<double>(i * 7919 % 997) / 500 - 1);
        for (std::size_t row = 0; row < std::size(places); ++row) {
            for (const std::uint64_t i : places[row])
                data.x[row * r.n + 2 * lanes + i] = fp::round_to<T>(2.0);
        }
        const auto expected = RowBackend::expected<T>(r, data);
        for (unsigned offset = 0; offset < 16 / sizeof(T); ++offset) {
            INFO(shown(r, {}) << " offset " << offset);
            require_same(run_rows<T>(r, data, offset), expected);
        }
    }
}

TEMPLATE_TEST_CASE("row gradients on the GPU: more rows than blocks", "[rows][gradients][gpu]", float16, bfloat16,
                   float, double) {
    using T = TestType;
    constexpr std::uint64_t tile = spec::TreeOrder<sizeof(T)>::tile;
    for (const auto& [n, rows] :
         {std::pair<std::uint64_t, std::uint64_t>{3, 20'003}, {264, 4000}, {1000, 500}, {tile + 1, 1100}}) {
        for (const RowOp op : all_row_ops) {
            if (op < RowOp::softmax_gradient) continue;
            const RowRequest r{.op = op, .n = n, .rows = rows, .reduction = Reduction::none};
            const auto data = row_data<T>(r, {}, n);
            INFO(shown(r, {}));
            require_same(run_rows<T>(r, data, 0), RowBackend::expected<T>(r, data));
        }
    }
}

template <class T>
std::vector<T> repeated(const std::vector<T>& part, std::uint64_t times) {
    std::vector<T> all;
    all.reserve(part.size() * times);
    for (std::uint64_t i = 0; i < times; ++i)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}
/// As many rows as blocks and warps have to take several of, the same few again and again, as it is
/// the CPU that is slow.
template <class T>
void require_repeated(RowRequest r, const RowVariant& v, std::uint64_t rows, unsigned offset = 1) {
    r.rows = 40; // of which some have sums that are not usable relative to 0
    RowData<T> data = row_data<T>(r, v, r.n);
    auto expected = RowBackend::expected<T>(r, data);
    const std::uint64_t times = rows / r.rows;
    r.rows *= times;
    data.x = repeated(data.x, times);
    data.targets = repeated(data.targets, times);
    data.probabilities = repeated(data.probabilities, times);
    data.exp_sums = repeated(data.exp_sums, times);
    expected = {repeated(expected.out, times), repeated(expected.mean, times), repeated(expected.rstd, times),
                repeated(expected.weight, times), repeated(expected.exp_sums, times)};
    INFO(shown(r, v));
    require_same(run_rows<T>(r, data, offset), expected);
}

/// With 2^16 chunks or more rows of two chunks and more are added up chunk by chunk, also of
/// at most a tile; rows of one chunk are not.
TEMPLATE_TEST_CASE("rows on the GPU: many chunks of rows of at most a tile", "[rows][gpu][large]", float16, bfloat16,
                   float, double) {
    using T = TestType;
    using Order = spec::TreeOrder<sizeof(T)>;
    constexpr std::uint64_t chunk = Order::chunk;
    for (const RowOp op : {RowOp::logsumexp, RowOp::cross_entropy}) {
        for (const std::uint64_t n : {std::uint64_t{40}, chunk / 2, chunk, chunk + 9, 3 * chunk, 7 * chunk + 16}) {
            const std::uint64_t rows = (1u << 16) / spec::tiles(n, Order::chunk) + 40;
            const RowPlan plan = make_row_plan(
                {.op = op, .dtype = dtype_of<T>, .n = n, .rows = rows / 40 * 40, .reduction = Reduction::none});
            throw_if_error(plan.status());
            REQUIRE((plan.workspace_bytes() > 0) == (n > chunk)); // is that where they are added up so?
            for (const unsigned offset : {0u, 1u})
                require_repeated<T>({.op = op, .n = n}, {}, rows, offset);
        }
    }
    // With smoothing the gradient finds its sums so, and cross entropy does not.
    for (const RowOp op : {RowOp::cross_entropy, RowOp::cross_entropy_gradient})
        require_repeated<T>({.op = op, .n = chunk + 9, .label_smoothing = 0.1}, {.smoothing = true}, (1u << 15) + 40);
}

TEMPLATE_TEST_CASE("rows on the GPU: as many tiles as a warp has threads, and one more", "[rows][gpu]", bfloat16,
                   float) {
    using T = TestType;
    constexpr std::uint64_t tiles = 32 * spec::TreeOrder<sizeof(T)>::tile;
    for (const RowOp op : {RowOp::logsumexp, RowOp::cross_entropy}) {
        for (const std::uint64_t n : {tiles - 7, tiles, tiles + 1}) {
            const RowRequest r{.op = op, .n = n, .rows = 5};
            INFO(shown(r, {}));
            const auto data = row_data<T>(r, {}, n);
            require_same(run_rows<T>(r, data, 0), RowBackend::expected<T>(r, data));
        }
    }
}

TEMPLATE_TEST_CASE("rows on the GPU: many rows, an odd stride apart", "[rows][gpu]", float16, float) {
    using T = TestType;
    for (const RowOp op : {RowOp::logsumexp, RowOp::cross_entropy, RowOp::softmax, RowOp::rmsnorm})
        require_repeated<T>({.op = op, .n = 1000, .stride = 1001}, {}, 40'000);
    constexpr std::uint64_t n = spec::TreeOrder<sizeof(T)>::tile + 9;
    for (const RowOp op : {RowOp::logsumexp, RowOp::cross_entropy})
        require_repeated<T>({.op = op, .n = n, .stride = n + 2 + n % 2}, {}, 12'000);
    for (const std::uint64_t length : {std::uint64_t{1000}, n})
        require_repeated<T>({.op = RowOp::cross_entropy_gradient, .n = length, .stride = length + 1},
                            {.exp_sums = true}, length == n ? 4000 : 40'000);
}

/// Chunks of all rows that 32 bits do not number: softmax of rows of one is 1.
TEST_CASE("rows on the GPU: more than 2^32 rows whose sums are known", "[rows][gpu][large]") {
    constexpr std::uint64_t rows = (std::uint64_t{1} << 32) + 5;
    std::size_t available = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&available, &total));
    if (available < rows * 25) return skipped("this needs 100 GiB of device memory");
    const DeviceBuffer x(rows * 2), out(rows * 2), upstream(rows * 4), exp_sums(rows * 8);
    x.fill(0, x.bytes());
    out.fill(0xff, out.bytes());
    upstream.fill(0x3f, upstream.bytes());
    exp_sums.fill(0, exp_sums.bytes()); // a maximum of 0, and no others
    const RowPlan plan = make_row_plan({.op = RowOp::logsumexp_gradient, .dtype = DType::f16, .n = 1, .rows = rows});
    RowBackend::execute(plan,
                        {.x = x.data(), .out = out.data(), .upstream = upstream.data(), .exp_sums = exp_sums.data()});
    float16 ends[2];
    for (const Op op : {Op::min, Op::max}) {
        const Plan search = make_plan({.op = op, .dtype = DType::f16, .n = rows});
        const DeviceBuffer workspace(search.workspace_bytes()), end(sizeof(float16));
        throw_if_error(run(search, out.data(), end.data(), workspace.data()));
        CUDA_CHECK(cudaMemcpy(&ends[op == Op::max], end.data(), sizeof(float16), cudaMemcpyDeviceToHost));
    }
    const float d = fp::from_bits<float>(0x3f3f3f3f);
    for (const float16 end : ends)
        REQUIRE(fp::to_bits(end) == fp::to_bits(fp::round_to<float16>(d)));
}

TEMPLATE_TEST_CASE("rows on the GPU: every class counts, in many rows of several tiles", "[rows][gpu]", bfloat16, float,
                   double) {
    using T = TestType;
    constexpr std::uint64_t n = 2 * spec::TreeOrder<sizeof(T)>::tile + 9;
    for (const RowOp op : {RowOp::cross_entropy, RowOp::cross_entropy_gradient}) {
        require_repeated<T>({.op = op, .n = n, .label_smoothing = 0.1}, {.weights = true, .smoothing = true}, 1200);
        require_repeated<T>({.op = op, .n = n, .probability_stride = n + 1}, {.probabilities = true}, 1200);
    }
}

/// The mean, and then its gradient times it, to see that the one waits for the other.
TEST_CASE("rows on the GPU: a batch captured in a graph", "[graph][rows][gpu]") {
    for (const auto& [of_loss, of_gradient] :
         {std::pair{RowOp::cross_entropy, RowOp::cross_entropy_gradient}, {RowOp::nll, RowOp::nll_gradient}}) {
        for (const Method method : batch_methods) {
            RowRequest r{.op = of_loss, .n = 1000, .rows = 600, .reduction = Reduction::mean, .method = method};
            auto data = row_data<float>(r, {}, 3);
            mend(data, r);
            RowRequest g = r;
            g.op = of_gradient;
            const float mean = expected_of_batch<float>(r, data);
            const auto weights = losses_of_rows(r, data).weight;
            RowData<float> divided = data;
            divided.factor = {static_cast<float>(static_cast<double>(mean) / sum_of(weights, method))};
            RowRequest alone = g;
            alone.reduction = Reduction::none;
            const auto slopes = RowBackend::expected<float>(alone, divided);

            const DeviceArray<float> x(data.x, 0), out({0}, 0), dx(data.x, 0);
            const DeviceArray<std::int64_t> targets(data.targets, 0);
            const RowPlan plan = make_row_plan(r), gradient = make_row_plan(g);
            const DeviceBuffer workspace(plan.workspace_bytes()), other(gradient.workspace_bytes());
            const StreamOwner owner;
            const Graph graph(owner.stream, [&](cudaStream_t stream) {
                const RowArrays arrays{.x = x.data(), .out = out.data(), .targets = targets.data()};
                const Status ran = run(plan, arrays, workspace.data(), stream);
                if (!ran.ok()) return ran;
                return run(gradient, {.x = x.data(), .out = dx.data(), .targets = targets.data(), .factor = out.data()},
                           other.data(), stream);
            });
            for (int i = 0; i < 3; ++i) {
                out.on_device.memory.fill(0xff, sizeof(float));
                workspace.fill(0xff, workspace.bytes());
                other.fill(0xff, other.bytes());
                graph.launch();
                INFO(shown(r, {}));
                require_number(out.fetched().at(0), mean);
                require_same(RowResults<float, float>{dx.fetched(), {}, {}, {}}, slopes);
            }
            REQUIRE(workspace.guards_intact());
            REQUIRE(other.guards_intact());
            // And by run_async(), with a workspace of the allocator's.
            throw_if_error(cuda::run_async(plan, {.x = x.data(), .out = out.data(), .targets = targets.data()}));
            require_number(out.fetched().at(0), mean);
        }
    }
}

TEST_CASE("row gradients on the GPU: those of scale and shift captured in a graph", "[graph][rows][gradients][gpu]") {
    for (const Method method : batch_methods) {
        const RowRequest r{.op = RowOp::layernorm_gradient,
                           .n = 1000,
                           .rows = 50,
                           .parameters = true,
                           .reduction = Reduction::none,
                           .method = method};
        auto data = row_data<float>(r, {.scale = true}, 3);
        mend(data, r);
        const auto expected = expected_of_columns<float>(r, data);
        const DeviceArray<float> x(data.x, 0), out(data.x, 0), upstream(data.upstream, 0), scale(data.scale, 0),
            mean(data.mean, 0), rstd(data.rstd, 0), of_scale(data.scale, 0), of_shift(data.scale, 0);
        const RowPlan plan = make_row_plan(r);
        throw_if_error(plan.status());
        REQUIRE((plan.workspace_bytes() < r.rows * r.n * sizeof(float)) == (method == Method::exact));
        const DeviceBuffer workspace(plan.workspace_bytes());
        const StreamOwner owner;
        const RowArrays arrays{.x = x.data(),
                               .out = out.data(),
                               .scale = scale.data(),
                               .mean = mean.data(),
                               .rstd = rstd.data(),
                               .upstream = upstream.data(),
                               .scale_gradient = of_scale.data(),
                               .shift_gradient = of_shift.data()};
        const Graph graph(owner.stream,
                          [&](cudaStream_t stream) { return run(plan, arrays, workspace.data(), stream); });
        for (int i = 0; i < 3; ++i) {
            of_scale.on_device.memory.fill(0xff, sizeof(float));
            workspace.fill(0xff, workspace.bytes());
            graph.launch();
            require_columns<float>({of_scale.fetched(), of_shift.fetched()}, expected);
        }
        REQUIRE(workspace.guards_intact());
    }
}

} // namespace detreduce::proptests
