// Laws of segments by id, on every backend: the offsets are those of a loop that counts, and
// whoever looks at ids or offsets finds the first bad one.
#include "laws/segment_ids.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("ids: offsets are those of a loop that counts", "[segments][sanitizer]", std::uint32_t,
                   std::uint64_t) {
    property("offsets of ids", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const auto k = keyed_from<TestType>(word);
        RC_LOG(std::to_string(k.groups) + " groups of " + std::to_string(k.ids.size()) + '\n');
        const auto offsets = made(k, static_cast<unsigned>(word % 8));
        RC_ASSERT(offsets == counted(k));
        RC_ASSERT(is_fine(TestBackend::check_ids(std::span<const TestType>(k.ids), k.groups)));
        RC_ASSERT(is_fine(TestBackend::check_offsets(offsets, k.ids.size(), true)));
    });
}

TEMPLATE_TEST_CASE("ids: very many segments, long gaps, and none at all", "[segments]", std::uint32_t, std::uint64_t) {
    const auto same = [](const Keyed<TestType>& k) {
        REQUIRE((made(k) == counted(k))); // in brackets: nobody could read them
        REQUIRE(is_fine(TestBackend::check_ids(std::span<const TestType>(k.ids), k.groups)));
    };
    Keyed<TestType> many{std::uint64_t{1} << 20, {}};
    for (std::uint64_t g = 0; g < many.groups; ++g)
        many.ids.insert(many.ids.end(), accuracy::hash(g, 1) % 4, static_cast<TestType>(g));
    same(many);
    constexpr TestType far = 1 << 24;
    same({far + 3, {0, far}});               // one gap
    same({far, {far - 1}});                  // nothing before
    same({far, {0, 0, 0}});                  // nothing after
    same({far, {}});                         // nothing
    same({1, std::vector<TestType>(70001)}); // one segment
    same({1, {}});
    same({0, {}});
    same({2, std::vector<TestType>(1 << 20, 1)});
}

TEMPLATE_TEST_CASE("ids: each segment is the flat reduction of its elements", "[segments][groups]", float, double) {
    property("segments by id", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        const auto k = keyed_from<std::uint32_t>(word);
        const auto x = vector_from<TestType>(static_cast<Style>(word % styles), k.ids.size(), word, any_bits<TestType>);
        const Method method = word % 2 == 0 ? Method::exact : Method::tree;
        const Request request{.method = method, .shape = Shape::segments, .n = x.size(), .groups = k.groups};
        const auto results = TestBackend::reduce_groups<TestType>(request, std::span<const TestType>(x),
                                                                  std::span<const TestType>(), made(k));
        std::vector<std::vector<TestType>> elements(k.groups);
        for (std::size_t i = 0; i < x.size(); ++i)
            elements[k.ids[i]].push_back(x[i]);
        RC_ASSERT(results.size() == k.groups);
        for (std::uint64_t g = word % 5; g < k.groups; g += 1 + k.groups / 9) {
            const Pair<TestType> segment{elements[g], {}};
            const TestType alone = segment.x.empty() ? TestType{} : expected<TestType>(Op::sum, segment, method);
            RC_ASSERT(same_bits(results[g], alone));
        }
    });
}

/// The first that is less than the one before it, and the first that is `end` or more; where there
/// is none, the number of entries.
template <class Entry>
std::uint64_t first_descent(const std::vector<Entry>& entries) {
    return static_cast<std::uint64_t>(std::is_sorted_until(entries.begin(), entries.end()) - entries.begin());
}
template <class Entry>
std::uint64_t first_beyond(const std::vector<Entry>& entries, std::uint64_t end) {
    const auto beyond = [end](Entry entry) { return entry >= end; };
    return static_cast<std::uint64_t>(std::find_if(entries.begin(), entries.end(), beyond) - entries.begin());
}

TEMPLATE_TEST_CASE("ids: the first bad one is found", "[segments][status][sanitizer]", std::uint32_t, std::uint64_t) {
    property("bad ids", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto k = keyed_from<TestType>(word);
        // Where ids have 64 bits, those that would be fine if the upper half were lost.
        const unsigned shift = fp::is_f64<TestType> ? accuracy::hash(word, 8) % 2 * 28 : 0;
        for (TestType& id : k.ids)
            id = static_cast<TestType>(id << shift);
        k.groups <<= shift;
        plant(k.ids, k.groups, word);
        const std::uint64_t descent = first_descent(k.ids), beyond = first_beyond(k.ids, k.groups),
                            bad = std::min(descent, beyond);
        const Status status =
            TestBackend::check_ids(std::span<const TestType>(k.ids), k.groups, static_cast<unsigned>(word % 8));
        RC_LOG(to_string(status) + '\n');
        RC_TAG(bad == k.ids.size() ? "fine" : bad == beyond ? "too large" : "descends");
        if (bad == k.ids.size()) {
            RC_ASSERT(is_fine(status));
        } else {
            RC_ASSERT(is_bad(status, "ids", bad, bad == beyond ? "must be less than groups" : "must not descend"));
        }
    });
}

/// What is wrong with the offset at `i`, as check_offsets() says it; null: nothing.
inline const char* wrong_with(const std::vector<std::uint64_t>& offsets, std::size_t i, std::uint64_t n, bool whole) {
    if (offsets[i] > n) return "must not point past the n elements";
    if (i > 0 && offsets[i] < offsets[i - 1]) return "must not descend";
    if (whole && i == 0 && offsets[i] > 0) return "the first must be 0";
    if (whole && i + 1 == offsets.size() && offsets[i] < n) return "the last must be n";
    return nullptr;
}

TEST_CASE("offsets: the first bad one is found", "[segments][status][sanitizer]") {
    property("bad offsets", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto offsets = counted(keyed_from<std::uint64_t>(word));
        const unsigned shift = accuracy::hash(word, 8) % 2 * 28;
        for (std::uint64_t& offset : offsets)
            offset <<= shift;
        const std::uint64_t n = offsets.back() + accuracy::hash(word, 9) % 3 / 2;
        if (accuracy::hash(word, 10) % 4 == 0 && n > 0) offsets[0] = 1;
        plant(offsets, n + 1, word);
        const bool whole = accuracy::hash(word, 11) % 2 == 0;
        std::size_t bad = 0;
        while (bad < offsets.size() && wrong_with(offsets, bad, n, whole) == nullptr)
            ++bad;
        const Status status = TestBackend::check_offsets(offsets, n, whole);
        RC_LOG(to_string(status) + '\n');
        RC_TAG(bad == offsets.size() ? "fine" : wrong_with(offsets, bad, n, whole));
        if (bad == offsets.size()) {
            RC_ASSERT(is_fine(status));
        } else {
            RC_ASSERT(is_bad(status, "offsets", bad, wrong_with(offsets, bad, n, whole)));
        }
        if (!whole) RC_ASSERT(bad == std::min(first_descent(offsets), first_beyond(offsets, n + 1)));
    });
}

TEST_CASE("ids and offsets: one bad entry among very many", "[segments][status]") {
    constexpr std::size_t n = (1 << 22) + 77;
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, n / 3, n - 1}) {
        std::vector<std::uint32_t> ids(n, 5);
        ids[at] = 6;
        const std::span<const std::uint32_t> all(ids);
        REQUIRE(is_bad(TestBackend::check_ids(all, 6), "ids", at, "must be less than groups"));
        if (at + 1 == n) {
            REQUIRE(is_fine(TestBackend::check_ids(all, 7)));
        } else {
            REQUIRE(is_bad(TestBackend::check_ids(all, 7), "ids", at + 1, "must not descend"));
        }
        std::vector<std::uint64_t> offsets(n, 5);
        REQUIRE(is_fine(TestBackend::check_offsets(offsets, 5, false)));
        offsets[at] = 4;
        if (at == 0) {
            REQUIRE(is_fine(TestBackend::check_offsets(offsets, 5, false)));
        } else {
            REQUIRE(is_bad(TestBackend::check_offsets(offsets, 5, false), "offsets", at, "must not descend"));
        }
    }
    const std::vector<std::uint64_t> falling{9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    REQUIRE(is_bad(TestBackend::check_offsets(falling, 9, false), "offsets", 1, "must not descend"));
    std::vector<std::uint64_t> all_bad(1 << 20);
    for (std::size_t i = 0; i < all_bad.size(); ++i)
        all_bad[i] = all_bad.size() - i;
    REQUIRE(is_bad(TestBackend::check_offsets(all_bad, all_bad.size(), false), "offsets", 1, "must not descend"));
}

TEST_CASE("ids and offsets: what is wrong with a call is said by name", "[segments][status]") {
    constexpr auto invalid = StatusCode::invalid_argument;
    const Device here{TestBackend::kind, -1};
    alignas(16) std::uint64_t words[4] = {}; // looked at by nobody: each call is refused
    std::uint64_t* const crooked = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(words) + 4);
    const auto check = [&]<class Id>(const Id* ids) {
        const Id* const none = nullptr;
        const Id* const askew = reinterpret_cast<const Id*>(reinterpret_cast<const char*>(ids) + sizeof(Id) / 2);
        for (const Device device : {Device{static_cast<Backend>(9), -1}}) {
            expect(offsets_of_ids(device, ids, 1, 1, words), invalid, "device.backend");
            expect(check_ids(device, ids, 1, 1), invalid, "device.backend");
        }
        expect(offsets_of_ids(here, none, 1, 1, words), invalid, "ids");
        expect(offsets_of_ids(here, askew, 1, 1, words), invalid, "ids");
        expect(offsets_of_ids(here, ids, max_n + 1, 1, words), invalid, "n");
        expect(offsets_of_ids(here, ids, 1, max_groups + 1, words), invalid, "groups");
        expect(offsets_of_ids(here, ids, 1, 1, nullptr), invalid, "offsets");
        expect(offsets_of_ids(here, ids, 1, 1, crooked), invalid, "offsets");
        expect(check_ids(here, none, 1, 1), invalid, "ids");
        expect(check_ids(here, askew, 1, 1), invalid, "ids");
        expect(check_ids(here, ids, max_n + 1, 1), invalid, "n");
        expect(check_ids(here, ids, 1, max_groups + 1), invalid, "groups");
        REQUIRE(is_fine(check_ids(here, none, 0, max_groups)));
        REQUIRE(check_ids(here, none, 1, 1).index == Status::no_element); // no element of it
    };
    check(reinterpret_cast<const std::uint32_t*>(words));
    check(static_cast<const std::uint64_t*>(words));
    expect(check_offsets(here, nullptr, 0, 0), invalid, "offsets");
    expect(check_offsets(here, crooked, 1, 1), invalid, "offsets");
    expect(check_offsets(here, words, max_groups + 1, 1), invalid, "groups");
    expect(check_offsets(here, words, 1, max_n + 1), invalid, "n");
    expect(check_offsets({static_cast<Backend>(9), 0}, words, 1, 1), invalid, "device.backend");
}

} // namespace detreduce::proptests
