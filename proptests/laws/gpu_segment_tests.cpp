#include "laws/device_memory.hpp"
#include "laws/segment_ids.hpp"

namespace detreduce::proptests {
namespace {

std::uint64_t* as_offsets(const DeviceBuffer& buffer) {
    return reinterpret_cast<std::uint64_t*>(buffer.data());
}
template <class Id>
const Id* as_ids(const DeviceBuffer& buffer) {
    return reinterpret_cast<const Id*>(buffer.data());
}
template <class T>
void put(const DeviceBuffer& buffer, std::uint64_t at, T value) {
    CUDA_CHECK(cudaMemcpy(buffer.data() + at * sizeof value, &value, sizeof value, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaDeviceSynchronize());
}
bool has_room_for(std::size_t bytes) {
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes >= bytes + (std::size_t{1} << 30)) return true;
    skipped("not enough memory on the device for " + std::to_string(bytes) + " bytes");
    return false;
}

} // namespace

TEMPLATE_TEST_CASE("ids on the GPU: of any ids at all the offsets can be used", "[segments][gpu][sanitizer]",
                   std::uint32_t, std::uint64_t) {
    property("offsets of bad ids", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto k = keyed_from<TestType>(word);
        plant(k.ids, k.groups, word);
        for (std::size_t i = 0; word % 2 == 0 && i < k.ids.size(); ++i)
            k.ids[i] = static_cast<TestType>(accuracy::hash(word, 500 + i) % (2 * k.groups));
        const auto offsets = made(k);
        RC_ASSERT(std::is_sorted(offsets.begin(), offsets.end()));
        RC_ASSERT(offsets.front() == 0u);
        RC_ASSERT(offsets.back() <= k.ids.size());
    });
}

TEST_CASE("ids on the GPU: a captured graph goes from new ids to new sums", "[graph][segments][gpu]") {
    constexpr std::uint64_t groups = 3000;
    constexpr std::size_t n = 100'003;
    const auto x = vector_from<float>(Style::near, n, 5, finite_bits<float>);
    const Plan plan = make_plan({.dtype = DType::f32, .shape = Shape::segments, .n = n, .groups = groups});
    const auto d_x = upload(x);
    const DeviceBuffer ids(n * 4), offsets((groups + 1) * 8), workspace(plan.workspace_bytes()), out(groups * 4);
    const StreamOwner owner;
    const Graph graph(owner.stream, [&](cudaStream_t stream) {
        const Status made =
            offsets_of_ids(current_gpu, as_ids<std::uint32_t>(ids), n, groups, as_offsets(offsets), stream);
        return made.ok() ? run(plan, {d_x->data(), nullptr, as_offsets(offsets)}, out.data(), workspace.data(), stream)
                         : made;
    });
    for (std::uint64_t round = 0; round < 3; ++round) {
        Keyed<std::uint32_t> k{groups, std::vector<std::uint32_t>(n)};
        for (std::size_t i = 0; i < n; ++i)
            k.ids[i] = static_cast<std::uint32_t>(accuracy::hash(round, i) % (groups - round * 900));
        std::sort(k.ids.begin(), k.ids.end());
        ids.copy_from(k.ids.data(), n * 4);
        out.fill(0xff, groups * 4);
        graph.launch();
        const auto cuts = counted(k);
        for (std::uint64_t g = 0; g < groups; g += 1 + g % 7) {
            const float alone = sum(std::span<const float>(x).subspan(cuts[g], cuts[g + 1] - cuts[g]));
            REQUIRE(same_bits(download<float>(out.data() + g * 4), alone));
        }
    }
    REQUIRE(offsets.guards_intact());
    REQUIRE(out.guards_intact());
}

TEST_CASE("checks on the GPU: they wait for their stream, and refuse one that is captured",
          "[graph][segments][gpu][status]") {
    constexpr std::size_t n = 1 << 20;
    const DeviceBuffer ids(n * 4), offsets(512);
    const std::uint32_t bad = 9;
    const StreamOwner owner;
    ids.fill(0, n * 4);
    for (int round = 0; round < 20; ++round) { // each check sees what was put on the stream before it
        CUDA_CHECK(cudaMemsetAsync(ids.data(), 0, n * 4, owner.stream));
        REQUIRE(is_fine(check_ids(current_gpu, as_ids<std::uint32_t>(ids), n, 9, owner.stream)));
        CUDA_CHECK(cudaMemcpyAsync(ids.data() + (n - 1) * 4, &bad, 4, cudaMemcpyHostToDevice, owner.stream));
        REQUIRE(is_bad(check_ids(current_gpu, as_ids<std::uint32_t>(ids), n, 9, owner.stream), "ids", n - 1,
                       "must be less than groups"));
    }
    REQUIRE(is_fine(check_ids(current_gpu, as_ids<std::uint32_t>(ids), n, 10))); // the default stream
    Status in_capture, of_offsets;
    const Graph graph(owner.stream, [&](cudaStream_t stream) {
        in_capture = check_ids(current_gpu, as_ids<std::uint32_t>(ids), n, 9, stream);
        of_offsets = check_offsets(current_gpu, as_offsets(ids), 3, 5, stream);
        return offsets_of_ids(current_gpu, as_ids<std::uint32_t>(ids), 0, 3, as_offsets(offsets), stream);
    });
    expect(in_capture, StatusCode::invalid_argument, "stream");
    expect(of_offsets, StatusCode::invalid_argument, "stream");
    offsets.fill(0xff, 4 * 8);
    graph.launch(); // the capture was not spoilt
    REQUIRE(download<std::uint64_t>(offsets.data() + 3 * 8) == 0);
    expect(check_ids({Backend::cuda, 1000}, as_ids<std::uint32_t>(ids), 1, 1), StatusCode::invalid_argument,
           "device.index");
    expect(offsets_of_ids({Backend::cuda, -2}, as_ids<std::uint32_t>(ids), 1, 1, as_offsets(ids)),
           StatusCode::invalid_argument, "device.index");
    REQUIRE(cudaGetLastError() == cudaSuccess);
}

/// Ids of zero but for the last three.
TEST_CASE("ids on the GPU: more than 2^32 of them", "[segments][gpu][large]") {
    const std::uint64_t n = (std::uint64_t{1} << 32) + (1u << 20) + 13;
    if (!has_room_for(n * 4)) return;
    const DeviceBuffer ids(n * 4), offsets(512);
    ids.fill(0, n * 4);
    for (std::uint64_t i = n - 3; i < n; ++i)
        put(ids, i, std::uint32_t{2});
    const auto check = [&](std::uint64_t groups) {
        return check_ids(current_gpu, as_ids<std::uint32_t>(ids), n, groups);
    };
    REQUIRE(is_fine(check(3)));
    REQUIRE(is_bad(check(2), "ids", n - 3, "must be less than groups"));
    throw_if_error(offsets_of_ids(current_gpu, as_ids<std::uint32_t>(ids), n, 3, as_offsets(offsets)));
    const std::uint64_t expected[] = {0, n - 3, n - 3, n};
    for (std::size_t g = 0; g < 4; ++g)
        REQUIRE(download<std::uint64_t>(offsets.data() + g * 8) == expected[g]);
    put(ids, n - 1, std::uint32_t{1});
    REQUIRE(is_bad(check(3), "ids", n - 1, "must not descend"));
    put(ids, (std::uint64_t{1} << 32) + 1, std::uint32_t{1});
    REQUIRE(is_bad(check(3), "ids", (std::uint64_t{1} << 32) + 2, "must not descend"));
}

/// Three elements, far apart.
TEST_CASE("ids on the GPU: more than 2^32 segments", "[segments][gpu][large]") {
    const std::uint64_t groups = (std::uint64_t{1} << 32) + 77, far = std::uint64_t{1} << 32;
    if (!has_room_for((groups + 1) * 8)) return;
    const DeviceBuffer offsets((groups + 1) * 8);
    const auto ids = upload(std::vector<std::uint64_t>{5, far, far + 76});
    throw_if_error(offsets_of_ids(current_gpu, as_ids<std::uint64_t>(*ids), 3, groups, as_offsets(offsets)));
    const auto at = [&](std::uint64_t g) { return download<std::uint64_t>(offsets.data() + g * 8); };
    for (const auto& [g, expected] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {0, 0}, {5, 0}, {6, 1}, {far - 1, 1}, {far, 1}, {far + 1, 2}, {far + 76, 2}, {far + 77, 3}})
        REQUIRE(at(g) == expected);
    const auto check = [&](bool whole) {
        return check_offsets(current_gpu, as_offsets(offsets), groups, 3, {}, whole);
    };
    REQUIRE(is_fine(check(true)));
    put(offsets, groups, std::uint64_t{2});
    REQUIRE(is_fine(check(false)));
    REQUIRE(is_bad(check(true), "offsets", groups, "the last must be n"));
    put(offsets, far + 2, std::uint64_t{1});
    REQUIRE(is_bad(check(true), "offsets", far + 2, "must not descend"));
    REQUIRE(offsets.guards_intact());
}

} // namespace detreduce::proptests
