// Exact states in device memory: streams, graphs, and states that host and device hand to each
// other.
#include <cstring>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/exact_state.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/device_memory.hpp"
#include "laws/extremes.hpp"
#include "laws/test_backend.hpp"

namespace detreduce::proptests {
namespace {

bool same_bytes(const ExactState& a, const ExactState& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// A state in device memory that starts as the empty sum.
struct DeviceState {
    DeviceBuffer memory{sizeof(ExactState)};
    DeviceState() { memory.fill(0, sizeof(ExactState)); }
    [[nodiscard]] ExactState* get() const { return reinterpret_cast<ExactState*>(memory.data()); }
    [[nodiscard]] ExactState download() const { return proptests::download<ExactState>(get()); }
};

template <class T>
Status add(const DeviceState& state, const DeviceBuffer& x, std::size_t first, std::size_t n, cudaStream_t stream) {
    return cuda::add(state.get(), dtype_of<T>, x.data() + first * sizeof(T), n, stream);
}

template <class T>
ExactState on_host(const std::vector<T>& x) {
    ExactState state;
    throw_if_error(state.add(std::span<const T>(x)));
    return state;
}

template <class T>
std::vector<T> input(std::size_t n, std::uint64_t seed) {
    return extreme<T>(seed % 2 ? Extreme::drifting : Extreme::whole_range, n, seed);
}

} // namespace

TEMPLATE_TEST_CASE("device states: one a stream, filled at once, then merged into one", "[gpu][exact][sanitizer]",
                   float16, bfloat16, float, double) {
    constexpr std::size_t streams = 6, pieces = 5;
    const auto x = input<TestType>(300007, 1);
    const auto d_x = upload(x);
    std::vector<std::unique_ptr<DeviceState>> states;
    std::vector<std::unique_ptr<StreamOwner>> owners;
    for (std::size_t s = 0; s < streams; ++s) {
        states.push_back(std::make_unique<DeviceState>());
        owners.push_back(std::make_unique<StreamOwner>());
    }
    const std::size_t each = x.size() / (streams * pieces);
    for (std::size_t i = 0; i < streams * pieces; ++i) {
        const std::size_t n = i + 1 < streams * pieces ? each : x.size() - i * each;
        REQUIRE(add<TestType>(*states[i % streams], *d_x, i * each, n, owners[i % streams]->stream).ok());
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    const DeviceState total;
    for (const auto& state : states)
        REQUIRE(cuda::merge(total.get(), state->get()).ok());
    REQUIRE(same_bytes(total.download(), on_host(x)));
    REQUIRE(total.memory.guards_intact());
}

TEST_CASE("device states: adds, a merge and a rounding in a graph", "[graph][gpu][exact]") {
    const auto x = input<float>(500009, 2);
    const auto y = input<bfloat16>(300011, 3);
    const auto d_x = upload(x);
    const auto d_y = upload(y);
    const DeviceState state, other;
    const DeviceBuffer out(sizeof(double));
    const StreamOwner owner;
    const Graph graph(owner.stream, [&](cudaStream_t stream) {
        for (const DeviceState* s : {&state, &other}) {
            if (cudaMemsetAsync(s->get(), 0, sizeof(ExactState), stream) != cudaSuccess)
                throw std::runtime_error("cudaMemsetAsync");
        }
        for (const Status status :
             {add<float>(state, *d_x, 1, x.size() - 1, stream), add<bfloat16>(other, *d_y, 0, y.size(), stream),
              add<float>(other, *d_x, 0, 1, stream), cuda::merge(state.get(), other.get(), stream)}) {
            if (!status.ok()) return status;
        }
        return cuda::round(state.get(), DType::f64, out.data(), stream);
    });
    ExactState expected = on_host(x);
    expected.merge(on_host(y));
    expected.normalize();
    for (int i = 0; i < 20; ++i) {
        out.fill(0xff, sizeof(double));
        graph.launch();
        REQUIRE(fp::to_bits(download<double>(out.data())) == fp::to_bits(expected.round<double>()));
        REQUIRE(same_bytes(state.download(), expected));
    }
}

TEST_CASE("device states: a sum that goes to and fro between host and device", "[gpu][exact]") {
    ExactState host, both;
    const DeviceState device;
    for (std::uint64_t i = 0; i < 20; ++i) {
        const auto x = input<double>(1000 + 977 * i, i);
        host = on_host(x);
        both.merge(host);
        device.memory.copy_from(&both, sizeof both); // with carries to do
        const auto y = input<float>(5000 + 31 * i, i);
        REQUIRE(cuda::add(device.get(), DType::f32, upload(y)->data(), y.size()).ok());
        both.merge(on_host(y));
        const ExactState after = device.download();
        ExactState expected = both;
        expected.normalize();
        REQUIRE(same_bytes(after, expected));
        ExactState read;
        REQUIRE(ExactState::deserialize(after.serialize(), read).ok());
        REQUIRE(read == both);
    }
}

TEST_CASE("device states: the words of many, summed as integers", "[gpu][exact]") {
    std::vector<std::int64_t> words(ExactState::word_count);
    ExactState merged;
    for (std::uint64_t i = 0; i < 300; ++i) {
        const auto x = extreme<double>(static_cast<Extreme>(i % extremes), 1 + i * 7 % 3000, i);
        const DeviceState state;
        REQUIRE(cuda::add(state.get(), DType::f64, upload(x)->data(), x.size()).ok());
        const ExactState term = state.download();
        for (std::size_t w = 0; w < words.size(); ++w)
            words[w] += term.words()[w];
        merged.merge(on_host(x));
    }
    ExactState sum;
    std::copy(words.begin(), words.end(), sum.words().begin());
    REQUIRE(sum == merged);
    REQUIRE(fp::to_bits(TestBackend::round<double>(sum)) == fp::to_bits(merged.round<double>()));
}

TEST_CASE("device states: a power of two in one limb with its carry to do", "[gpu][exact]") {
    ExactState state;
    for (int i = 0; i < 65536; ++i)
        state.add(-65536.0f);
    REQUIRE(TestBackend::round<float>(state) == -0x1p32f);
    REQUIRE(TestBackend::round<double>(state) == -0x1p32);
}

} // namespace detreduce::proptests
