// What the multiset engine of the CUDA backend keeps of elements, and how it cuts groups, on the
// host.
#include <algorithm>
#include <string>

#include <support/property.hpp>

#include <detreduce/accuracy/generators.hpp>

#include "groups/parts.hpp"
#include "multiset/found.hpp"

namespace detreduce::proptests {

using namespace cuda::multiset;

/// What is found in element `index`, whose key this is.
template <class Merges>
Found found_at(std::int64_t key, std::uint64_t index) {
    if constexpr (std::is_same_v<Merges, FoundEnds>) return {key, static_cast<std::uint64_t>(~key)};
    if constexpr (std::is_same_v<Merges, FoundCount>) return {0, key != 0 ? 1u : 0u};
    return {key, index};
}

/// Of few keys, so that many are equal. The lowest of all is that of an element, too.
std::vector<std::int64_t> draw_keys() {
    const auto words = *rc::gen::nonEmpty<std::vector<std::uint8_t>>();
    std::vector<std::int64_t> keys;
    for (const auto w : words)
        keys.push_back(w % 8 == 0 ? -INT64_MAX - (w % 16 == 0 ? 1 : 0) : w % 8 - 4);
    return keys;
}

TEMPLATE_TEST_CASE("multiset: parts that are joined in any order are the whole", "[multiset]", FoundBest, FoundEnds,
                   FoundCount) {
    property("joined", [] {
        const auto keys = draw_keys();
        const auto word = *rc::gen::arbitrary<std::uint64_t>();
        Found whole = TestType::identity();
        for (std::size_t i = 0; i < keys.size(); ++i)
            TestType::merge(whole, found_at<TestType>(keys[i], i));
        const auto [minimum, most] = std::minmax_element(keys.begin(), keys.end());
        const auto first = static_cast<std::uint64_t>(std::find(keys.begin(), keys.end(), *most) - keys.begin());
        const auto others = static_cast<std::uint64_t>(std::count(keys.begin(), keys.end(), 0));
        RC_ASSERT(whole == (std::is_same_v<TestType, FoundBest>   ? Found{*most, first}
                            : std::is_same_v<TestType, FoundEnds> ? Found{*most, static_cast<std::uint64_t>(~*minimum)}
                                                                  : Found{0, keys.size() - others}));
        // Parts of a length each, which know the places in them; and as many that have no elements.
        const std::size_t length = 1 + word % keys.size();
        std::vector<Found> parts;
        for (std::size_t begin = 0; begin < keys.size(); begin += length) {
            Found part = TestType::identity();
            for (std::size_t i = begin; i < std::min(begin + length, keys.size()); ++i)
                TestType::merge(part, found_at<TestType>(keys[i], i - begin));
            TestType::shift(part, begin);
            parts.push_back(part);
            Found nothing = TestType::identity();
            TestType::shift(nothing, begin + 1);
            RC_ASSERT(nothing == TestType::identity());
            parts.push_back(nothing);
        }
        while (parts.size() > 1) { // two of them, whichever, become one
            const std::size_t from = accuracy::hash(word, parts.size()) % parts.size();
            std::swap(parts[from], parts.back());
            const Found other = parts.back();
            parts.pop_back();
            TestType::merge(parts[accuracy::hash(word, parts.size() + 7) % parts.size()], other);
        }
        RC_ASSERT(parts[0] == whole);
    });
}

TEST_CASE("multiset: keys are kept apart from indices", "[multiset]") {
    Found found{3, 5};
    found.set_key(1, -2);
    REQUIRE(found.key_of(0) == 3);
    REQUIRE(found.key_of(1) == -2);
    found.set_key(0, -7);
    REQUIRE(found == Found{-7, static_cast<std::uint64_t>(-2)});
}

TEST_CASE("multiset: the parts of columns are all of them", "[multiset]") {
    for (const std::uint32_t columns : {1u, 2u}) { // at which a thread looks
        property("parts of " + std::to_string(columns), [columns] {
            const auto groups = columns * *rc::gen::inRange<std::uint64_t>(1, 100),
                       n = *rc::gen::inRange<std::uint64_t>(1, 1 << 20);
            const bool added = *rc::gen::arbitrary<bool>();
            const auto longest = added ? cuda::policy::longest_exact_part : cuda::policy::longest_part;
            const std::uint64_t threads = std::uint64_t{1} << *rc::gen::inRange(10, 21);
            const cuda::Parts parts(Request{.shape = Shape::columns, .n = n, .groups = groups}, longest, threads,
                                    added);
            RC_ASSERT(parts.together * parts.length <= (added ? cuda::policy::longest_exact_sum : longest));
            RC_ASSERT(added || parts.together == 1);
            RC_ASSERT((parts.parts - 1) / parts.together == parts.sums - 1);
            std::vector<std::vector<std::uint64_t>> begins(groups);
            std::vector<std::uint64_t> elements(groups);
            for (std::uint64_t i = 0; i < parts.threads(columns); ++i) {
                const auto place = parts.place(i, columns);
                if (!place.there) continue;
                RC_ASSERT(place.group + columns <= groups);
                RC_ASSERT(place.begin < place.end);
                RC_ASSERT(place.end - place.begin <= longest);
                for (std::uint64_t g = place.group; g < place.group + columns; ++g) {
                    begins[g].push_back(place.begin);
                    elements[g] += place.end - place.begin;
                }
            }
            for (std::uint64_t g = 0; g < groups; ++g) {
                RC_ASSERT(begins[g].size() == parts.parts);
                RC_ASSERT(elements[g] == n);
                for (std::uint64_t p = 0; p < parts.parts; ++p)
                    RC_ASSERT(begins[g][p] == p * parts.length);
            }
        });
    }
}

} // namespace detreduce::proptests
