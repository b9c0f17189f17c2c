// Exact states on the host: subtraction, sums of words, counters, bytes for storage, and what is
// refused.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "laws/expect_status.hpp"
#include "laws/states.hpp"

namespace detreduce::proptests {
namespace {

using Blob = std::array<std::byte, ExactState::serialized_bytes>;

template <class T>
ExactState state_of(const std::vector<T>& x) {
    ExactState state;
    throw_if_error(state.add(std::span<const T>(x)));
    return state;
}

ExactState some_state(std::uint64_t word) {
    return state_of(vector_from<double>(Style::stratified, word % 100, word, any_bits<double>));
}

/// FNV-1a over all but the last eight bytes, which it is written to.
void seal(Blob& blob) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i + 8 < blob.size(); ++i)
        hash = (hash ^ std::to_integer<std::uint64_t>(blob[i])) * 0x100000001b3u;
    for (std::size_t i = 0; i < 8; ++i)
        blob[blob.size() - 8 + i] = static_cast<std::byte>(hash >> (8 * i));
}

/// Is the blob refused by name, and the state left alone?
bool is_refused(std::span<const std::byte> blob) {
    const ExactState before = some_state(77);
    ExactState state = before;
    const Status status = ExactState::deserialize(blob, state);
    return status.code == StatusCode::invalid_argument && std::string_view(status.argument) == "blob" &&
           std::strlen(status.allowed) > 0 && same_bytes(state, before);
}

} // namespace

TEMPLATE_TEST_CASE("states: one element, many elements, and any mix of both", "[exact]", DETREDUCE_ALL_TYPES) {
    property("mix", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const std::vector<TestType> x = any_vector<TestType>(word);
        ExactState state;
        for (const auto part : parts_of(std::span<const TestType>(x), 9, word)) {
            if (part.size() < 100 && accuracy::hash(word, part.size()) % 2) {
                for (const TestType v : part)
                    state.add(v);
            } else {
                add_to(state, part, word);
            }
        }
        RC_ASSERT(state == one_by_one(std::span<const TestType>(x)));
        RC_ASSERT(same_bytes(normalized(state), one_by_one(std::span<const TestType>(x))));
    });
}

TEMPLATE_TEST_CASE("states: what was added and taken away again leaves nothing behind", "[exact]",
                   DETREDUCE_ALL_TYPES) {
    property("subtract", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const ExactState before = some_state(word), other = state_of(any_vector<TestType>(word));
        ExactState state = before;
        state.merge(other);
        state.subtract(other);
        RC_ASSERT(same_bytes(normalized(state), before));
        state.subtract(before);
        RC_ASSERT(same_bytes(normalized(state), ExactState{}));
        state.subtract(other); // the other way round
        state.merge(other);
        RC_ASSERT(same_bytes(normalized(state), ExactState{}));
    });
}

TEST_CASE("states: words add up as plain integers", "[exact]") {
    for (const std::size_t count : {2, 63, 1000, 5000}) {
        std::vector<std::int64_t> words(ExactState::word_count);
        ExactState merged;
        for (std::size_t i = 0; i < count; ++i) {
            const ExactState term = state_of(extreme<double>(static_cast<Extreme>(i % extremes), i % 40, i));
            for (std::size_t w = 0; w < words.size(); ++w)
                words[w] += term.words()[w];
            merged.merge(term);
        }
        ExactState sum;
        std::copy(words.begin(), words.end(), sum.words().begin());
        REQUIRE(same_bits(sum.round<double>(), merged.round<double>()));
        REQUIRE(same_bytes(normalized(sum), normalized(merged)));
        REQUIRE(sum == merged);
    }
}

TEST_CASE("states: counters, NaN and infinities", "[exact]") {
    ExactState state;
    REQUIRE(state.count() == 0);
    REQUIRE(fp::to_bits(state.round<float>()) == 0);
    state.add(infinity<float>);
    REQUIRE(state.is_infinite());
    REQUIRE_FALSE(state.is_nan());
    REQUIRE(same_bits(state.round<float16>(), infinity<float16>));
    ExactState other;
    other.add(fp::negated(infinity<float16>));
    other.add(1.0);
    REQUIRE(same_bits(other.round<double>(), -infinity<double>));
    state.merge(other);
    REQUIRE(state.is_nan());
    REQUIRE_FALSE(state.is_infinite());
    REQUIRE(same_bits(state.round<bfloat16>(), quiet_nan<bfloat16>));
    REQUIRE(state.count() == 3);
    state.subtract(other);
    REQUIRE(state.is_infinite());
    state.add(fp::negated(quiet_nan<double>));
    REQUIRE(state.is_nan());
    REQUIRE_FALSE(state.is_infinite());
    REQUIRE(state.count() == 2);
    const ExactState zero;
    REQUIRE_FALSE(zero.is_nan());
    REQUIRE_FALSE(zero.is_infinite());
    REQUIRE_FALSE(state == zero);
    ExactState minus; // zeros of both signs are different elements
    minus.add(-0.0f);
    REQUIRE(same_bits(minus.round<float>(), -0.0f));
    REQUIRE_FALSE(minus == zero);
    minus.add(0.0);
    REQUIRE(same_bits(minus.round<float>(), 0.0f));
}

TEST_CASE("states: one element more than there is room for", "[exact]") {
    ExactState state = unfinished_state(5);
    const accuracy::cpp_int value = limbs_of(state);
    state.add(0x1p-1074);
    REQUIRE(state.words()[acc::exact::weight] == 2); // the carries were handed on before
    REQUIRE(limbs_of(state) == value + (accuracy::cpp_int(1) << 14));
}

TEST_CASE("states: equality looks at sums and counts, not at carries", "[exact]") {
    ExactState a, b, c;
    for (int i = 0; i < 100; ++i)
        a.add(1.5);
    const double x[] = {150.0};
    REQUIRE(b.add(std::span<const double>(x)).ok());
    REQUIRE_FALSE(a == b); // 100 elements and one
    c.merge(b);
    const std::vector<double> zeros(99);
    REQUIRE(c.add(std::span<const double>(zeros)).ok());
    REQUIRE(a == c);
    c.add(5e-324);
    REQUIRE_FALSE(a == c);
}

/// The limbs that a kernel rounds, which are not all of them.
TEST_CASE("states: rounding looks at no limb but those that it is given", "[exact]") {
    property("some limbs", [] {
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        const ExactState state = unfinished_state(word);
        const auto limbs = state.words().first<acc::exact::limbs>();
        int first = 0, last = acc::exact::limbs;
        while (first < last && limbs[static_cast<std::size_t>(first)] == 0)
            ++first;
        while (last > first && limbs[static_cast<std::size_t>(last - 1)] == 0)
            --last;
        if (first == last) first = last = 0;
        acc::exact::Scratch<acc::exact::limbs> scratch; // not initialised, as in a kernel
        std::memset(&scratch, 0xa5, sizeof scratch);
        const double result =
            acc::exact::finish<double>({state.words().data(), acc::exact::lowest_exponent, state.words().data()}, first,
                                       last, Finalize::sum, scratch);
        RC_ASSERT(same_bits(result, accuracy::round_scaled<double>(limbs_of(state), acc::exact::lowest_exponent)));
    });
}

TEST_CASE("states: bytes read back", "[exact]") {
    property("serialize", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        ExactState state;
        for (const double v : any_vector<double>(word))
            state.add(v); // carries to do
        const Blob blob = state.serialize();
        ExactState read = some_state(word);
        RC_ASSERT(ExactState::deserialize(blob, read).ok());
        RC_ASSERT(same_bytes(read, normalized(state)));
        RC_ASSERT(read.serialize() == blob);
    });
}

TEST_CASE("states: the bytes are those that SPEC.md names", "[exact]") {
    ExactState state;
    state.add(-1.0f);
    const Blob blob = state.serialize();
    REQUIRE(std::memcmp(blob.data(), "DREXACT\n", 8) == 0);
    const auto word_at = [&](std::size_t at) {
        std::uint64_t value = 0;
        for (std::size_t i = 8; i-- > 0;)
            value = value << 8 | std::to_integer<std::uint64_t>(blob[at + i]);
        return value;
    };
    REQUIRE(word_at(8) == (std::uint64_t{74} << 32 | 1)); // words, version
    for (std::size_t k = 0; k < 74; ++k) {
        // −1 in units of 2^−1088: nothing below limb 34, then a borrow from all that are above
        const std::uint64_t limb = k < 34 ? 0 : k < 67 ? 0xffffffff : k == 67 ? ~std::uint64_t{0} : k == 71 || k == 73;
        REQUIRE(word_at(16 + 8 * k) == limb);
    }
    Blob sealed = blob;
    seal(sealed);
    REQUIRE(sealed == blob);
}

TEST_CASE("states: damaged bytes are refused", "[exact]") {
    const Blob good = some_state(50).serialize();
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        Blob blob = good;
        blob[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        if (!is_refused(blob)) FAIL("bit " << bit);
    }
    std::vector<std::byte> longer(good.begin(), good.end());
    for (int i = 0; i < 20; ++i) {
        longer.push_back(std::byte{0});
        REQUIRE(is_refused(longer));
    }
    for (std::size_t size = 0; size < good.size(); ++size) {
        if (!is_refused(std::span(good).first(size))) FAIL("size " << size);
    }
    REQUIRE(is_refused({}));
    property("garbage", [&] {
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        Blob blob = good;
        const std::size_t kept = seed % 3 == 0 ? 16 : seed % 3 == 1 ? 8 : 0; // of the beginning
        for (std::size_t i = kept; i < blob.size(); ++i)
            blob[i] = static_cast<std::byte>(accuracy::hash(seed, i));
        RC_ASSERT(is_refused(blob));
        seal(blob);
        RC_ASSERT(is_refused(blob)); // words as no sum leaves them
    });
}

TEST_CASE("states: whole bytes with words that are not normalized are refused", "[exact]") {
    const Blob good = state_of(std::vector<double>{1.0, 2.0, 1e-300}).serialize();
    int checked = 0;
    for (std::size_t k = 0; k < 74; ++k) {
        for (const std::size_t byte : {std::size_t{4}, std::size_t{7}}) {        // bits above 2^32, and the sign
            if (k >= acc::exact::nan_count && k != acc::exact::weight) continue; // counters may have any value
            Blob blob = good;
            blob[16 + 8 * k + byte] ^= std::byte{0x80};
            seal(blob);
            if (!is_refused(blob)) FAIL("word " << k << " byte " << byte);
            ++checked;
        }
    }
    REQUIRE(checked == 2 * 69);
}

TEST_CASE("states: a bad argument leaves the state alone", "[exact][status]") {
    const ExactState before = some_state(60);
    ExactState state = before;
    alignas(8) double x[2] = {1, 2};
    expect(state.add(DType::f64, nullptr, 1), StatusCode::invalid_argument, "x");
    expect(state.add(DType::f64, reinterpret_cast<char*>(x) + 4, 1), StatusCode::invalid_argument, "x");
    expect(state.add(DType::bf16, reinterpret_cast<char*>(x) + 1, 1), StatusCode::invalid_argument, "x");
    expect(state.add(static_cast<DType>(99), x, 1), StatusCode::invalid_argument, "dtype");
    expect(state.add(DType::f64, x, max_n + 1), StatusCode::invalid_argument, "n");
    expect(state.add(std::span<const double>(x), {.threads = 5000}), StatusCode::invalid_argument, "launch.threads");
    REQUIRE(same_bytes(state, before));
    REQUIRE(state.add(DType::f64, nullptr, 0).ok());
    REQUIRE(same_bytes(state, before));
    REQUIRE(state.add(DType::f16, reinterpret_cast<char*>(x) + 2, 3).ok());
    REQUIRE(state.count() == before.count() + 3);
}

} // namespace detreduce::proptests
