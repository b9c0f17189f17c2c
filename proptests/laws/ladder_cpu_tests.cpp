// The ladder without a GPU: what rungs there are, what they need, and what they refuse before
// anything runs.
#include <set>
#include <vector>

#include <ladder/ladder.hpp>

#include <support/catch.hpp>

#include "laws/expect_status.hpp"

namespace detreduce::proptests {

using ladder::Family;
using ladder::Rung;

TEST_CASE("rungs have names of their own, and are found by them", "[ladder]") {
    std::set<std::string_view> names;
    std::size_t count[4] = {};
    for (const Rung& rung : ladder::rungs()) {
        CHECK(names.insert(rung.name).second);
        CHECK(ladder::find(rung.name) == &rung);
        CHECK_FALSE(rung.title.empty());
        ++count[static_cast<int>(rung.family)];
    }
    CHECK(count[0] == 5);
    CHECK(count[1] == 9);
    CHECK(count[2] == 5);
    CHECK(count[3] == 3);
    CHECK(ladder::find("K8") == nullptr);
}

TEST_CASE("levels: launches, additions and workspace are those of the shape", "[ladder]") {
    const auto needs = [](const char* name, std::uint64_t rows, std::uint64_t length, std::uint32_t threads,
                          std::uint32_t per_thread) {
        return ladder::needs(*ladder::find(name), {rows, length}, {.threads = threads, .per_thread = per_thread});
    };
    const ladder::Needs one = needs("K0", 5, 128, 128, 32);
    CHECK(one.status.ok());
    CHECK(one.launches == 1);
    CHECK(one.additions == 7);
    CHECK(one.workspace == 0);
    CHECK(needs("K0", 5, 0, 128, 32).launches == 1);
    const ladder::Needs two = needs("K0", 5, 129, 128, 32); // two blocks a row, then one
    CHECK(two.launches == 2);
    CHECK(two.additions == 14);
    CHECK(two.workspace == 256);
    CHECK(needs("K0", 1, (1 << 14) + 1, 128, 32).launches == 3);
    CHECK(needs("K4", 1, 1 << 14, 128, 32).additions == 2 * (31 + 7));
    CHECK(needs("K4", 1, 4096, 128, 32).additions == 31 + 7);
    CHECK(needs("interleaved", 1, 1 << 20, 256, 1).workspace >= (std::size_t{1} << 19) * sizeof(float)); // scratch
    const ladder::Needs atomics = needs("segmented", 1, 5 * 512, 256, 1);
    CHECK(atomics.launches == 2);
    CHECK(atomics.additions == 1 + 8 + 4);
    CHECK(needs("coarsened", 1, 5 * 512, 256, 2).additions == atomics.additions);
}

TEST_CASE("rungs refuse what they cannot do, and name it", "[ladder]") {
    alignas(256) float memory[64] = {};
    for (const Rung& rung : ladder::rungs()) {
        INFO(rung.name);
        const auto with = [&](const ladder::Shape& shape, const ladder::Settings& settings) {
            return ladder::needs(rung, shape, settings).status;
        };
        for (const std::uint32_t threads : {0u, 32u, 96u, 129u, 2048u})
            expect(with({1, 10}, {.threads = threads}), StatusCode::invalid_argument, "settings.threads");
        for (const std::uint32_t per_thread : {0u, 513u})
            expect(with({1, 10}, {.per_thread = per_thread}), StatusCode::invalid_argument, "settings.per_thread");
        expect(with({1, max_n + 1}, {}), StatusCode::invalid_argument, "shape.length");
        expect(with({max_groups + 1, 0}, {}), StatusCode::invalid_argument, "shape.rows");
        expect(with({max_groups, max_n}, {}), StatusCode::invalid_argument, "shape.rows");
        if (rung.family == Family::three_level) {
            CHECK(with({2, 10}, {}).code == StatusCode::unsupported);
            continue; // what remains of it asks the device
        }
        expect(with({std::uint64_t{1} << 32, 1}, {}), StatusCode::invalid_argument, "shape");
        const ladder::Call good{{1, 10}, {}, memory, memory + 16, memory + 32, nullptr};
        const auto refused = [&](const char* argument, ladder::Call call) {
            expect(ladder::run(rung, call), StatusCode::invalid_argument, argument);
        };
        ladder::Call call = good;
        call.x = nullptr;
        refused("x", call);
        call = good;
        call.out = nullptr;
        refused("out", call);
        call = good;
        call.x = reinterpret_cast<const float*>(reinterpret_cast<const char*>(memory) + 1);
        refused("x", call);
        call = good;
        call.workspace = memory + 1;
        refused("workspace", call);
        call = good;
        call.shape.rows = 0; // nothing to do, so nothing to say about pointers
        call.x = nullptr;
        CHECK(ladder::run(rung, call).ok());
    }
}

} // namespace detreduce::proptests
