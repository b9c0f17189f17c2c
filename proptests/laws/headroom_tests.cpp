// States beyond their headroom on the host: what is refused, what stays, and that hostile words do
// no harm.
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "laws/expect_status.hpp"
#include "laws/headroom.hpp"

namespace detreduce::proptests {
namespace {

using acc::exact::Word;

constexpr Word most = Word{1} << 62, last_limb = Word{1} << 30;

ExactState with_word(std::size_t k, Word value) {
    ExactState state;
    state.words()[k] = value;
    if (k < 68) state.words()[73] = value != 0;
    return state;
}

/// The bytes of these words, whatever serialize() would make of them: SPEC.md, section 7.2.
std::vector<std::byte> blob_of(const ExactState& state) {
    const auto good = ExactState{}.serialize();
    std::vector<std::byte> blob(good.begin(), good.end());
    for (std::size_t i = 0; i < 8 * ExactState::word_count; ++i)
        blob[16 + i] = static_cast<std::byte>(static_cast<std::uint64_t>(state.words()[i / 8]) >> 8 * (i % 8));
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i + 8 < blob.size(); ++i)
        hash = (hash ^ std::to_integer<std::uint64_t>(blob[i])) * 0x100000001b3u;
    for (std::size_t i = 0; i < 8; ++i)
        blob[blob.size() - 8 + i] = static_cast<std::byte>(hash >> (8 * i));
    return blob;
}

/// Is it in its one form, NaN for whoever asks, and refused when read?
void require_beyond(const ExactState& state) {
    UnboundedState beyond;
    beyond.beyond = true;
    REQUIRE(same_bytes(state, beyond.state()));
    REQUIRE(state.is_beyond());
    REQUIRE(state.is_nan());
    REQUIRE_FALSE(state.is_infinite());
    REQUIRE(state.count() == INT64_MIN);
    REQUIRE(same_bits(state.round<double>(), quiet_nan<double>));
    REQUIRE(same_bits(state.round<bfloat16>(), quiet_nan<bfloat16>));
    REQUIRE(same_bits(acc::exact::round<float>(state.words().data()), quiet_nan<float>)); // where nobody looks
    ExactState read;
    const Status status = ExactState::deserialize(state.serialize(), read);
    expect(status, StatusCode::invalid_argument, "blob");
    REQUIRE(std::string_view(status.allowed).find("beyond its headroom") != std::string_view::npos);
    REQUIRE(same_bytes(read, ExactState{}));
}

ExactState beyond_state() {
    ExactState state = with_word(71, most);
    (void)state.merge(with_word(71, 1));
    return state;
}

} // namespace

TEST_CASE("headroom: where it ends, word by word", "[exact]") {
    const auto is_read = [](std::size_t k, Word value) {
        ExactState read;
        const ExactState state = with_word(k, value);
        const bool ok = ExactState::deserialize(blob_of(state), read).ok();
        REQUIRE(state.is_beyond() != ok);
        if (ok) REQUIRE(same_bytes(read, state));
        return ok;
    };
    for (std::size_t k = 68; k <= 72; ++k) {
        INFO("word " << k);
        REQUIRE(is_read(k, most));
        REQUIRE(is_read(k, -most));
        for (const Word value : {most + 1, -most - 1, INT64_MAX, INT64_MIN})
            REQUIRE_FALSE(is_read(k, value));
    }
    REQUIRE(is_read(67, last_limb - 1));
    REQUIRE(is_read(67, -last_limb));
    for (const Word value : {last_limb, -last_limb - 1, most, -most, INT64_MAX, INT64_MIN})
        REQUIRE_FALSE(is_read(67, value));
    for (std::size_t k = 0; k < 67; ++k) {
        ExactState read;
        REQUIRE(ExactState::deserialize(blob_of(with_word(k, 0xffffffff)), read).ok());
        for (const Word value : {Word{0x100000000}, Word{-1}, most, -most, most + 1, INT64_MAX, INT64_MIN})
            REQUIRE_FALSE(ExactState::deserialize(blob_of(with_word(k, value)), read).ok());
    }
}

TEST_CASE("headroom: the largest sum that 2^62 elements make has room, one more element has not", "[exact]") {
    const double largest = std::numeric_limits<double>::max();
    for (const double x : {largest, -largest}) {
        ExactState state, one;
        state.add(x);
        one.add(x);
        for (int i = 0; i < 62; ++i)
            REQUIRE(state.merge(ExactState(state)).ok());
        REQUIRE(state.count() == most);
        REQUIRE(same_bits(state.round<double>(), x < 0 ? -infinity<double> : infinity<double>));
        ExactState read;
        REQUIRE(ExactState::deserialize(state.serialize(), read).ok());
        REQUIRE(limbs_of(read) == limbs_of(one) << 62);
        ExactState doubled = state; // a sum of as many as 2^63, of which as many were taken away
        ExactState minus;
        minus.subtract(state);
        REQUIRE(minus.count() == -most);
        REQUIRE(doubled.subtract(minus).code == StatusCode::invalid_argument);
        require_beyond(doubled);
        doubled = with_word(71, 0);
        ExactState other;
        other.add(-x);
        for (int i = 0; i < 62; ++i)
            REQUIRE(other.merge(ExactState(other)).ok());
        REQUIRE(read.subtract(other).code == StatusCode::invalid_argument); // count 0, twice the sum
        require_beyond(read);
        expect(state.merge(one), StatusCode::invalid_argument, "state");
        require_beyond(state);
    }
}

TEST_CASE("headroom: a state merged into itself again and again", "[exact]") {
    ExactState state;
    state.add(1.0);
    for (int i = 1; i <= 70; ++i) {
        const Status status = state.merge(ExactState(state));
        if (i <= 62) {
            REQUIRE(status.ok());
            REQUIRE(state.count() == Word{1} << i);
            REQUIRE(state.round<double>() == std::ldexp(1.0, i));
        } else {
            expect(status, StatusCode::invalid_argument, "state");
            require_beyond(state);
        }
    }
}

TEST_CASE("headroom: what was read back can be merged with itself", "[exact]") {
    for (std::size_t k = 68; k <= 72; ++k) {
        for (const Word value : {most, -most}) {
            ExactState state;
            REQUIRE(ExactState::deserialize(blob_of(with_word(k, value)), state).ok());
            expect(state.merge(ExactState(state)), StatusCode::invalid_argument, "state");
            require_beyond(state);
            ExactState less = with_word(k, value);
            REQUIRE(less.subtract(ExactState(less)).ok());
            REQUIRE(same_bytes(less, ExactState{}));
        }
    }
}

TEST_CASE("headroom: beyond it stays beyond it", "[exact]") {
    require_beyond(beyond_state());
    REQUIRE(beyond_state() == beyond_state());
    REQUIRE_FALSE(beyond_state() == ExactState{});
    ExactState still = beyond_state(); // no element is not enough
    REQUIRE_FALSE(still.add(std::span<const float>()).ok());
    require_beyond(still);
    still = with_word(71, most + 1); // in no form of its own yet
    expect(still.add(std::span<const float>()), StatusCode::invalid_argument, "state");
    require_beyond(still);
    ExactState full = with_word(71, most);
    REQUIRE(full.add(std::span<const float>()).ok());
    REQUIRE(same_bytes(full, with_word(71, most)));
    ExactState nan;
    nan.add(quiet_nan<float>);
    const ExactState others[] = {ExactState{},
                                 nan,
                                 with_word(71, most),
                                 with_word(71, -most),
                                 with_word(67, -last_limb),
                                 with_word(67, last_limb - 1),
                                 with_word(68, most),
                                 beyond_state()};
    for (const ExactState& other : others) {
        ExactState state = beyond_state();
        REQUIRE_FALSE(state.merge(other).ok());
        require_beyond(state);
        REQUIRE_FALSE(state.subtract(other).ok());
        require_beyond(state);
        state = other;
        REQUIRE_FALSE(state.subtract(beyond_state()).ok());
        require_beyond(state);
        // The words as plain integers: of up to 2^15 states, the last limb of one that is beyond
        // outweighs all others.
        for (const Word times : {Word{1}, (Word{1} << 15) - 1}) {
            state = beyond_state();
            for (std::size_t k = 0; k < ExactState::word_count; ++k) {
                const auto more = static_cast<std::uint64_t>(other.words()[k]) * static_cast<std::uint64_t>(times);
                state.words()[k] = static_cast<Word>(static_cast<std::uint64_t>(state.words()[k]) + more);
            }
            REQUIRE(state.is_beyond());
            state.normalize();
            require_beyond(state);
        }
    }
    ExactState state = beyond_state();
    for (const double x : {1.0, -1e308, -0.0, infinity<double>, quiet_nan<double>})
        state.add(x);
    REQUIRE(same_bits(state.round<double>(), quiet_nan<double>));
    state.normalize();
    require_beyond(state);
    const double x[] = {1, 2};
    expect(state.add(std::span<const double>(x)), StatusCode::invalid_argument, "state");
    require_beyond(state);
}

TEST_CASE("headroom: one element after the other", "[exact]") {
    ExactState state = with_word(71, most - 1);
    state.add(1.0f);
    REQUIRE(state.round<float>() == 1);
    REQUIRE(state.count() == most);
    state.add(1.0f);
    REQUIRE(same_bits(state.round<float>(), quiet_nan<float>));
    REQUIRE(state.is_nan());
    REQUIRE(state.count() == INT64_MIN);
    state.normalize();
    require_beyond(state);
}

TEST_CASE("headroom: words that no sum leaves do no harm", "[exact][sanitizer]") {
    property("hostile", [] {
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        const auto hostile = [&](std::uint64_t seed) {
            ExactState state;
            for (std::size_t k = 0; k < ExactState::word_count; ++k) {
                const std::uint64_t r = accuracy::hash(word + seed, k);
                const Word edges[] = {INT64_MAX, INT64_MIN, most, -most, most + 1, -most - 1, -1, 1};
                if (r % 3 == 0) state.words()[k] = edges[r / 3 % 8];
                if (r % 3 == 1) state.words()[k] = static_cast<Word>(accuracy::hash(r, k)) >> (r / 3 % 64);
            }
            state.words()[73] = static_cast<Word>(word % 4); // a lie, too
            return state;
        };
        const ExactState state = hostile(0), term = hostile(1);
        const auto fits = [](const ExactState& s) { // by the oracle
            const accuracy::cpp_int sum = limbs_of(s), bound = accuracy::cpp_int(1) << (1086 + 1088);
            bool ok = sum >= -bound && sum < bound;
            for (std::size_t k = 0; k < 73; ++k)
                ok = ok && s.words()[k] <= most && s.words()[k] >= -most;
            return ok;
        };
        RC_ASSERT(state.is_beyond() == !fits(state));
        if (!fits(state)) RC_ASSERT(same_bits(state.round<double>(), quiet_nan<double>));
        const accuracy::cpp_int together = limbs_of(state) + limbs_of(term), apart = limbs_of(state) - limbs_of(term);
        ExactState sum = state, difference = state, more = state, element = normalized(state);
        if (sum.merge(term).ok()) RC_ASSERT(fits(state) && fits(term) && limbs_of(sum) == together);
        if (difference.subtract(term).ok()) RC_ASSERT(fits(state) && fits(term) && limbs_of(difference) == apart);
        const double x[] = {1.5, -1e300, 0x1p-1074};
        if (more.add(std::span<const double>(x)).ok()) RC_ASSERT(fits(state) && more.count() == state.count() + 3);
        for (const double v : x)
            element.add(v);
        RC_ASSERT(element.is_beyond() == !fits(element));
        ExactState read;
        RC_ASSERT(ExactState::deserialize(state.serialize(), read).ok() == fits(state));
        RC_ASSERT((state == state) && same_bytes(normalized(normalized(state)), normalized(state)));
    });
}

TEST_CASE("states: what was not there can be taken away, NaN and infinities too", "[exact]") {
    const auto of = [](double x) {
        ExactState state;
        state.add(x);
        return state;
    };
    const double up = infinity<double>, nan = quiet_nan<double>;
    const struct {
        double from, taken, left;
    } cases[] = {{1, nan, nan}, {nan, nan, 0}, {up, nan, nan}, {1, up, -up}, {1, -up, up},
                 {up, up, 0},   {up, -up, up}, {-up, up, -up}, {-0.0, 0, 0}, {0, -0.0, 0}};
    for (const auto& c : cases) {
        INFO(c.from << " less " << c.taken);
        ExactState state = of(c.from);
        REQUIRE(state.subtract(of(c.taken)).ok());
        REQUIRE(same_bits(state.round<double>(), c.left));
        REQUIRE(state.is_nan() == std::isnan(c.left));
        REQUIRE(state.is_infinite() == std::isinf(c.left));
        REQUIRE(state.count() == 0);
        REQUIRE(state.merge(of(c.taken)).ok());
        REQUIRE(same_bytes(normalized(state), normalized(of(c.from))));
    }
    ExactState none; // of a number that was not there the negative remains
    REQUIRE(none.subtract(of(-0.0)).ok());
    REQUIRE(same_bits(none.round<double>(), 0.0));
    REQUIRE(none.subtract(of(2.5)).ok());
    REQUIRE(none.round<double>() == -2.5);
    REQUIRE(none.count() == -2);
}

} // namespace detreduce::proptests
