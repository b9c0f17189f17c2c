// What a call on the CPU takes from its host: at most 64 KiB of any stack, 384 KiB of memory a
// thread, once, and a status where that cannot be had.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <detreduce/detreduce.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

#include "laws/every_call.hpp"
#include "laws/thread_support.hpp"

namespace detreduce::proptests {
namespace {

[[maybe_unused]] constexpr std::size_t promised = std::size_t{64} << 10;

/// What f takes of a stack, in bytes.
template <class F>
[[maybe_unused]] std::size_t stack_of(const F& f) {
    static PaintedStack stack;
    stack.paint_again();
    stack.run(f);
    return stack.used() - PaintedStack::used_by_nothing();
}

} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which take stack of their own
TEST_CASE("the measure of stacks: a buffer of 20 000 bytes is seen", "[stack]") {
    const std::size_t used = stack_of([] {
        volatile char buffer[20000];
        for (volatile char& c : buffer)
            c = 1;
    });
    REQUIRE(used > 19500);
    REQUIRE(used < 20500);
}

TEST_CASE("no call takes more than 64 KiB of its caller's stack", "[stack]") {
    for (const unsigned threads : {1u, 3u}) {
        std::size_t most = 0, calls = 0;
        std::string which;
        EveryCall(threads, [&](std::string_view call, const auto& f) {
            bool ok = false;
            const std::size_t used = stack_of([&] { ok = f().ok(); });
            INFO(call);
            if (!ok) FAIL("a call that was planned was refused");
            ++calls;
            if (used > most) {
                most = used;
                which = call;
            }
        });
        INFO(which << " took " << most << " bytes with " << threads << " threads; calls: " << calls);
        REQUIRE(calls > 5000);
        REQUIRE(most <= promised);
    }
}

TEST_CASE("nor of the stacks of the library's threads", "[stack]") {
    REQUIRE(in_child([] {
        ThreadMaker::paint_stacks();
        bool ok = true;
        EveryCall(3, [&](std::string_view, const auto& f) { ok &= f().ok(); });
        const std::vector<std::size_t> used = ThreadMaker::stacks_used();
        return ok && used.size() == 2 &&
               std::all_of(used.begin(), used.end(), [](std::size_t u) { return u > 4096 && u <= promised; });
    }));
}
#endif

TEST_CASE("the first call of a thread takes memory, the others none", "[stack]") {
    std::thread([] {
        const std::vector<double> x(100000, 1.5);
        for (const unsigned threads : {1u, 4u}) {
            double out = 0;
            const auto all = [&] {
                for (const Method m : {Method::tree, Method::compensated, Method::exact}) {
                    const Status s = run(make_plan({.method = m,
                                                    .dtype = DType::f64,
                                                    .n = x.size(),
                                                    .device = cpu,
                                                    .launch = {.threads = threads}}),
                                         x.data(), &out);
                    if (!s.ok()) return false;
                }
                return true;
            };
            const int before = Allocations::count();
            REQUIRE(all());
            const int after_first = Allocations::count();
            REQUIRE(all());
            REQUIRE(Allocations::count() == after_first);
            if (threads == 1) REQUIRE(after_first == before + 1);
        }
    }).join();
}

TEST_CASE("where there is no memory for buffers, calls say so, and write nothing", "[stack]") {
    EveryCall(1, [](std::string_view call, const auto& f) {
        if (call == "a row op") return; // of several runs
        static int every = 0;
        if (++every % 50 != 0) return;
        std::thread([&] {
            Allocations::refuse(true);
            const Status status = f();
            Allocations::refuse(false);
            INFO(call);
            REQUIRE(status.code == StatusCode::out_of_memory);
            REQUIRE(f().ok());
        }).join();
    });
    std::thread([] {
        const float x[] = {1, 2}, untouched = 7;
        float out = untouched;
        Allocations::refuse(true);
        const Status status = run(make_plan({.n = 2, .device = cpu}), x, &out);
        Allocations::refuse(false);
        REQUIRE(to_string(status) ==
                "out of memory 'buffers': 384 KiB for those of the calling thread could not be had");
        REQUIRE(out == untouched);
    }).join();
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("where there is no memory for a thread, the rest do the work", "[stack]") {
    REQUIRE(in_child([] {
        const std::vector<float> x(300000, 0.1f);
        const float expected = sum(x, Method::tree, {.threads = 1});
        Allocations::refuse(true);
        const int before = ThreadMaker::made();
        const float result = sum(x, Method::tree, {.threads = 4});
        Allocations::refuse(false);
        return ThreadMaker::made() == before && same_bits(result, expected);
    }));
}
#endif

} // namespace detreduce::proptests
