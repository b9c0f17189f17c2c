#include <detreduce/spec/ascending.hpp>

#include "laws/segment_ids.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("ids on the CPU: bad ones are refused, and nothing is written", "[segments][status]", std::uint32_t,
                   std::uint64_t) {
    const auto refused = [](const std::vector<TestType>& ids, std::uint64_t groups, std::uint64_t index,
                            const char* words) {
        std::vector<std::uint64_t> offsets(groups + 1, 77);
        const Status status = TestBackend::offsets_of_ids(std::span<const TestType>(ids), groups, offsets);
        REQUIRE(is_bad(status, "ids", index, words));
        REQUIRE(offsets == std::vector<std::uint64_t>(groups + 1, 77));
        REQUIRE_THROWS_AS(offsets_of_ids(ids, groups), Error);
    };
    refused({0, 1, 3, 2, 1}, 4, 3, "must not descend");
    refused({0, 1, 3, 4}, 4, 3, "must be less than groups");
    refused({0}, 0, 0, "must be less than groups");
    refused({static_cast<TestType>(~TestType{0})}, 3, 0, "must be less than groups");
}

/// The search that the GPU makes for each offset.
TEMPLATE_TEST_CASE("ids: the search for an offset", "[segments]", std::uint32_t, std::uint64_t) {
    property("searches", [] {
        const auto word = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
        auto k = keyed_from<TestType>(word);
        const spec::Ascending ids{k.ids.data(), k.ids.size(), k.groups, sizeof(TestType) == 8, false};
        const auto expected = counted(k);
        for (std::uint64_t g = 0; g <= k.groups; ++g)
            RC_ASSERT(spec::count_below(ids, g) == expected[g]);
        plant(k.ids, k.groups, word);
        for (std::uint64_t g = 0, before = 0; g <= k.groups; ++g) { // what can be used, also of bad ids
            const std::uint64_t found = spec::count_below(ids, g);
            RC_ASSERT(before <= found);
            RC_ASSERT(found <= k.ids.size());
            before = found;
        }
    });
}

TEST_CASE("ids on the CPU: the call on vectors", "[segments]") {
    const std::vector<std::uint32_t> ids{1, 1, 3};
    REQUIRE(offsets_of_ids(ids, 5) == std::vector<std::uint64_t>{0, 0, 2, 2, 3, 3});
    REQUIRE(offsets_of_ids(std::vector<std::uint64_t>{}, 0) == std::vector<std::uint64_t>{0});
    REQUIRE_THROWS_AS(offsets_of_ids(ids, max_groups + 1), Error);
}

TEST_CASE("ids: without a CUDA backend, calls for a GPU say so", "[segments][status]") {
    if (cuda::built_with_cuda()) return skipped("this build has a CUDA backend");
    std::uint64_t words[2] = {0, 1};
    for (const Status& status : {offsets_of_ids(current_gpu, words, 1, 1, words), check_ids(current_gpu, words, 1, 1),
                                 check_offsets(current_gpu, words, 1, 1)})
        expect(status, StatusCode::no_device, "device");
}

TEST_CASE("run() on the CPU says which offset is bad", "[segments][status]") {
    const double x[4] = {1, 2, 4, 8};
    double out[3] = {};
    const auto status = [&](std::vector<std::uint64_t> offsets) {
        const Request request{.dtype = DType::f64, .shape = Shape::segments, .n = 4, .groups = 3, .device = cpu};
        return run(make_plan(request), {x, nullptr, offsets.data()}, out);
    };
    REQUIRE(is_fine(status({1, 1, 3, 3})));
    REQUIRE(is_bad(status({0, 2, 1, 4}), "offsets", 2, "must not descend"));
    REQUIRE(is_bad(status({0, 1, 2, 5}), "offsets", 3, "must not point past the n elements"));
    REQUIRE(is_bad(status({5, 1, 2, 4}), "offsets", 0, "must not point past the n elements"));
    REQUIRE(to_string(status({0, 2, 1, 4})) == "invalid argument 'offsets[2]': must not descend");
}

} // namespace detreduce::proptests
