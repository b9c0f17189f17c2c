// The threads of the CPU backend, where a host makes it hard for them: none can be made, it forks,
// it exits, it calls from everywhere at once. What must not disturb the other cases happens in a
// child, which begins with no workers.
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <detreduce/detreduce.hpp>
#include <detreduce/transform_reduce.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>
#include <support/property.hpp>

#include "laws/suite.hpp"
#include "laws/thread_support.hpp"

namespace detreduce::proptests {
namespace {

constexpr unsigned threads = 4;

const std::vector<float>& elements() {
    static const auto& x =
        *new auto(vector_from<float>(Style::near, 200003, 21, no_overflow<float>)); // threads may outlive main()
    return x;
}
/// Has every method with a fixed result the bits that one thread gives, and so have other kinds of
/// ops?
bool is_right(unsigned with_threads) {
    const std::vector<float>& x = elements();
    for (const Method m : {Method::tree, Method::kahan, Method::compensated, Method::exact}) {
        if (!same_bits(sum(x, m, {.threads = with_threads}), sum(x, m, {.threads = 1}))) return false;
    }
    return argmax(x, NanPolicy::propagate, {.threads = with_threads}) ==
               argmax(x, NanPolicy::propagate, {.threads = 1}) &&
           same_bits(variance(x, Method::tree, 0, {.threads = with_threads}),
                     variance(x, Method::tree, 0, {.threads = 1})) &&
           count_unique(x, {.threads = with_threads}) == count_unique(x, {.threads = 1});
}

/// The sum of x by `tree` on `threads` threads that have all begun: each calls f once, with whether
/// it is the caller.
template <class F>
float on_all_threads(const F& f, const std::vector<float>& x = elements()) {
    static std::atomic<unsigned> calls{0};
    const unsigned call = ++calls;
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<unsigned> begun{0};
    const auto term = [&](float e) {
        static thread_local unsigned last_call = 0;
        if (last_call != call) {
            last_call = call;
            ++begun;
            while (begun < threads)
                sched_yield();
            f(std::this_thread::get_id() == caller);
        }
        return e;
    };
    return transform_reduce(term, x, {.method = Method::tree, .launch = {.threads = threads}});
}

} // namespace

TEST_CASE("as many threads as asked for work at once", "[threads]") {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    on_all_threads([&](bool) {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
    });
    REQUIRE(seen.size() == threads);
    REQUIRE(seen.contains(std::this_thread::get_id()));
}

TEST_CASE("calls at once and calls within calls", "[threads]") {
    const std::vector<float>& x = elements();
    const std::span<const float> some = std::span(x).first(20000);
    const float inner = sum(some, Method::tree, {.threads = 1});
    std::atomic<int> wrong{0};
    const auto nested = [&](float e) {
        static thread_local unsigned calls = 0;
        if (calls++ % 5000 == 0) {
            wrong += !same_bits(sum(some, Method::tree, {.threads = 3}), inner);
            const float again =
                transform_reduce([](float y) { return y; }, some, {.method = Method::tree, .launch = {.threads = 2}});
            wrong += !same_bits(again, inner);
        }
        return e;
    };
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; ++i) {
        callers.emplace_back([&] {
            for (const Method m : {Method::tree, Method::compensated, Method::exact}) {
                const float all = transform_reduce(nested, x, {.method = m, .launch = {.threads = threads}});
                wrong += !same_bits(all, sum(x, m, {.threads = 1}));
            }
        });
    }
    for (std::thread& t : callers)
        t.join();
    REQUIRE(wrong == 0);
}

TEST_CASE("workers that have nothing to do take no processor time", "[threads]") {
    on_all_threads([](bool) {});
    const auto used = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    const double before = used();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    REQUIRE(used() - before < 0.1); // one that spins takes .4 s, or its share of the processors
}

TEST_CASE("signals are for the host's threads", "[threads]") {
    std::mutex mutex;
    int blocked = 0, own_faults = 0;
    on_all_threads([&](bool is_caller) {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        const std::lock_guard lock(mutex);
        if (!is_caller) blocked += sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGUSR1) == 1;
        own_faults += sigismember(&mask, SIGSEGV) == 0;
    });
    REQUIRE(blocked == static_cast<int>(threads) - 1);
    REQUIRE(own_faults == static_cast<int>(threads));
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    REQUIRE(sigismember(&mask, SIGINT) == 0);
}

#if defined(__x86_64__)
TEST_CASE("a function that changes the environment of a thread changes it for itself alone", "[threads]") {
    const std::vector<float> x = vector_from<float>(Style::stratified, 60000, 4, {-126, -100, true, false});
    const float expected = sum(x, Method::tree, {.threads = 1});
    on_all_threads([](bool) { _mm_setcsr(_mm_getcsr() | 0x8040 | 0x4000); }, x); // flush-to-zero, upwards
    REQUIRE(same_bits(on_all_threads([](bool) {}, x), expected));
}
#endif

TEST_CASE("as many threads as the environment says", "[.usual_threads]") {
    const auto expected = static_cast<unsigned>(std::atoi(std::getenv("EXPECTED_THREADS")));
    REQUIRE(make_plan({.n = max_n, .device = cpu}).launch().threads == expected);
}

TEST_CASE("DETREDUCE_NUM_THREADS, then OMP_NUM_THREADS, then the processors", "[threads]") {
    cpu_set_t mine;
    REQUIRE(sched_getaffinity(0, sizeof mine, &mine) == 0);
    const std::string processors = std::to_string(CPU_COUNT(&mine));
    const struct {
        std::string ours, openmp, expected;
    } cases[] = {
        {"3", "5", "3"},
        {"", "5", "5"},
        {"", "6,4,2", "6"},
        {"", "", processors},
        {"0", "5", "5"},
        {"-1", "7", "7"},
        {"many", "7", "7"},
        {"3x", "x", processors},
        {" 9 ", "", "9"},
        {"5000", "", "1024"},
        {"99999999999999999999", "2", "2"},
    };
    const std::string program = "/proc/" + std::to_string(getpid()) + "/exe";
    for (const auto& c : cases) {
        INFO("'" << c.ours << "' '" << c.openmp << "'");
        const std::string command = "EXPECTED_THREADS=" + c.expected + " DETREDUCE_NUM_THREADS='" + c.ours +
                                    "' OMP_NUM_THREADS='" + c.openmp + "' " + program +
                                    " '[.usual_threads]' -w NoTests >/dev/null";
        REQUIRE(std::system(command.c_str()) == 0);
    }
}

#if !defined(__SANITIZE_THREAD__) // which does not know threads that are made in a child of a process with threads
TEST_CASE("1024 threads are accepted, and change no bit", "[threads]") {
    REQUIRE(in_child([] { return is_right(1024); }));
    REQUIRE(make_plan({.n = 1, .device = cpu, .launch = {.threads = 1024}}).launch().threads == 1024);
    REQUIRE_FALSE(make_plan({.n = 1, .device = cpu, .launch = {.threads = 1025}}).status().ok());
}

TEST_CASE("where no thread can be made, or not all, the rest do the work", "[threads]") {
    for (const int allowed : {0, 1, 2}) {
        INFO(allowed);
        REQUIRE(in_child([&] {
            const int before = ThreadMaker::made();
            ThreadMaker::allow(allowed);
            return is_right(8) && ThreadMaker::made() - before == allowed && ThreadMaker::refused() > 0;
        }));
    }
    // And later, when they can.
    REQUIRE(in_child([&] {
        ThreadMaker::allow(0);
        if (!is_right(threads)) return false;
        ThreadMaker::allow(1000);
        on_all_threads([](bool) {}); // waits until they are there
        return true;
    }));
}

TEST_CASE("a child after fork() has threads of its own", "[threads]") {
    REQUIRE(is_right(threads));
    REQUIRE(in_child([] {
        const int before = ThreadMaker::made();
        on_all_threads([](bool) {});
        return is_right(threads) && ThreadMaker::made() - before == static_cast<int>(threads) - 1;
    }));
    REQUIRE(is_right(threads)); // nor has the parent lost its
    REQUIRE(in_child([] { return is_right(threads) && in_child([] { return is_right(threads); }); }));
}

TEST_CASE("fork() while other threads are within calls", "[threads]") {
    std::atomic<bool> ends{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
        callers.emplace_back([&] {
            while (!ends)
                wrong += !is_right(threads);
        });
    }
    int bad = 0;
    for (int i = 0; i < 30; ++i)
        bad += !in_child([] { return is_right(threads); });
    ends = true;
    for (std::thread& t : callers)
        t.join();
    REQUIRE(bad == 0);
    REQUIRE(wrong == 0);
}

namespace {
/// A lock of the host's, which its handler takes before fork(). The handler is there before the
/// library's, so it is called after any of those.
std::mutex* host_lock = nullptr;
__attribute__((constructor(101))) void take_the_lock_before_fork() {
    pthread_atfork(
        [] {
            if (host_lock != nullptr) host_lock->lock();
        },
        [] {
            if (host_lock != nullptr) host_lock->unlock();
        },
        [] {
            if (host_lock != nullptr) host_lock->unlock();
        });
}
} // namespace

TEST_CASE("fork() while a caller holds a lock that a handler of the host's waits for", "[threads]") {
    REQUIRE(in_child([] {
        alarm(60); // a deadlock ends the child
        std::mutex lock;
        host_lock = &lock;
        std::atomic<bool> ends{false};
        std::thread caller([&] {
            while (!ends) {
                const std::lock_guard held(lock);
                (void)sum(elements(), Method::tree, {.threads = threads});
            }
        });
        bool right = true;
        for (int i = 0; i < 30; ++i)
            right = right && in_child([] { return true; });
        ends = true;
        caller.join();
        return right;
    }));
}

TEST_CASE("a thread may be cancelled while it calls", "[threads]") {
    REQUIRE(in_child([] {
        for (int i = 0; i < 20; ++i) {
            pthread_t caller;
            std::atomic<int> calls{0};
            const auto call = [](void* count) -> void* {
                for (;;) {
                    (void)sum(elements(), Method::tree, {.threads = threads});
                    ++*static_cast<std::atomic<int>*>(count);
                    pthread_testcancel();
                }
            };
            if (pthread_create(&caller, nullptr, call, &calls) != 0) return false;
            while (calls <= i)
                sched_yield();
            pthread_cancel(caller);
            pthread_join(caller, nullptr);
        }
        return is_right(threads);
    }));
}

TEST_CASE("a process may end while workers work or wait, by the caller, too", "[threads]") {
    REQUIRE(status_of_child([] {
                alarm(60);
                const auto& many = *new std::vector<float>(std::size_t{1} << 22, 1.0f); // workers may outlive main()
                on_all_threads(
                    [](bool is_caller) {
                        if (is_caller) std::exit(6);
                    },
                    many);
                return false;
            }) == 6);
    REQUIRE(status_of_child([] {
                alarm(60);
                static std::atomic<unsigned> waiting{0};
                std::thread([] {
                    on_all_threads([](bool is_caller) {
                        if (is_caller) return;
                        ++waiting;
                        for (;;)
                            pause(); // a function that waits for ever
                    });
                }).detach();
                while (waiting + 1 < threads)
                    sched_yield();
                std::exit(7);
                return false;
            }) == 7);
}

TEST_CASE("a process may end while workers work, and by one of them", "[threads]") {
    REQUIRE(status_of_child([] {
                std::atomic<bool> ready{false};
                std::thread([&] {
                    for (;;) {
                        (void)is_right(threads);
                        ready = true;
                    }
                }).detach();
                while (!ready)
                    sched_yield();
                std::exit(3);
                return false;
            }) == 3);
    REQUIRE(status_of_child([] {
                on_all_threads([](bool is_caller) {
                    static std::atomic<bool> exits{false};
                    if (!is_caller && !exits.exchange(true)) std::exit(4);
                });
                return false;
            }) == 4);
}

TEST_CASE("a function that throws on a worker ends the process by std::terminate(), and hangs nobody", "[threads]") {
    REQUIRE(status_of_child([] {
                std::set_terminate([] { _exit(5); });
                on_all_threads([](bool is_caller) {
                    if (!is_caller) throw 1;
                });
                return false;
            }) == 5);
}
#endif

} // namespace detreduce::proptests
