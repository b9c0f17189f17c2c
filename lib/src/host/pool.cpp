// The pool. A call puts a job, which lies on its stack, on a list. Its parts are claimed one at a
// time by workers and by the caller, who takes what nobody took: a job gets done with any number of
// workers, none included, so calls at once and calls within calls cannot wait for each other in a
// circle. Who waits for a job waits for parts that are being worked on, and for nothing else. One
// mutex guards all of it; it is held for a few instructions a part.
//
// Workers are made when they are first wanted, and stay. They sleep on a condition variable. A
// child after fork() has none, and makes its own. Workers are joined when the library is unloaded
// or the process ends, unless a call is in progress then. Later calls use the caller's thread
// alone.
#include "host/pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "host/arena.hpp"
#include "host/backend.hpp"
#include "host/fp_environment.hpp"

namespace detreduce::host {
namespace {

struct Job {
    const void* f;
    Work work;
    std::uint64_t count;
    std::uint32_t parts;
    std::uint32_t next = 1;    ///< the part that is claimed next, if less than `parts`; the caller begins with part 0
    std::uint32_t working = 0; ///< workers on a part of it
    Job* after = nullptr;      ///< on the list
    std::condition_variable done;

    Job(const void* function, Work what, std::uint64_t n, std::uint32_t of_parts)
        : f(function), work(what), count(n), parts(of_parts) {}

    [[nodiscard]] bool is_claimed() const { return next == parts; }
    void run(std::uint32_t part) const {
        const StandardFpEnvironment environment;
        const std::uint64_t each = count / parts, longer = count % parts;
        const std::uint64_t begin = part * each + std::min<std::uint64_t>(part, longer);
        work(f, begin, begin + each + (part < longer ? 1 : 0));
    }
};

struct Worker {
    Arena arena;
    std::thread thread;
    Worker* after = nullptr;
};

/// Is this thread a worker? Then it cannot wait for the workers' end.
constinit thread_local bool is_worker = false;

/// For a scope: a new thread takes its mask from the one that makes it. Signals are for the host's
/// threads, but for those that an instruction raises and those of profilers.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t signals;
        sigfillset(&signals);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
            sigdelset(&signals, own);
        pthread_sigmask(SIG_BLOCK, &signals, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

class Pool {
  public:
    void run(Job& job) noexcept {
        std::unique_lock lock(mutex_);
        append(job);
        wanted_ += job.parts - 1;
        wake_two();
        // Many callers, and calls within calls, want more in all than there are processors.
        const std::uint32_t enough = std::max(usual_threads(), job.parts) - 1;
        while (!job.is_claimed() && made_ < std::min(wanted_, enough) && make_worker()) {
            lock.unlock(); // for those who want to begin
            lock.lock();
        }
        for (std::uint32_t part = 0;; part = claim(job)) {
            lock.unlock();
            job.run(part);
            lock.lock();
            if (job.is_claimed()) break;
        }
        job.done.wait(lock, [&] { return job.working == 0; });
        wanted_ -= job.parts - 1;
    }

    /// Joins the workers, unless a call is in progress: it may never end. Parts that nobody works
    /// on yet are left to their callers.
    void stop() noexcept {
        std::unique_lock lock(mutex_);
        stopping_ = true;
        if (busy_ > 0) return; // the process ends: nobody unloads a library in use
        Worker* next = std::exchange(workers_, nullptr);
        lock.unlock();
        wake_.notify_all();
        while (next != nullptr) {
            Worker* const worker = std::exchange(next, next->after);
            worker->thread.join();
            delete worker;
        }
    }

    [[nodiscard]] Worker* workers() const { return workers_; }

  private:
    void append(Job& job) {
        Job** at = &open_;
        while (*at != nullptr)
            at = &(*at)->after;
        *at = &job;
    }
    /// A part of a job on the list, which leaves it with its last.
    std::uint32_t claim(Job& job) {
        const std::uint32_t part = job.next++;
        if (!job.is_claimed()) return part;
        Job** at = &open_;
        while (*at != &job)
            at = &(*at)->after;
        *at = job.after;
        return part;
    }
    /// Whoever is woken wakes two more: faster than if one woke all, or each the next.
    void wake_two() {
        if (idle_ > 0) wake_.notify_one();
        if (idle_ > 1) wake_.notify_one();
    }

    /// False where no more can be had: then there are fewer.
    bool make_worker() noexcept {
        if (stopping_) return false;
        auto* const worker = new (std::nothrow) Worker;
        if (worker == nullptr) return false;
        try {
            const SignalsBlocked blocked;
            worker->thread = std::thread([this, worker] { work(worker->arena); });
        } catch (...) {
            delete worker;
            return false;
        }
        worker->after = std::exchange(workers_, worker);
        ++made_;
        return true;
    }

    /// What a worker does.
    void work(Arena& arena) noexcept {
        is_worker = true;
        use_arena(arena);
        std::unique_lock lock(mutex_);
        while (!stopping_) {
            if (open_ == nullptr) {
                ++idle_;
                wake_.wait(lock);
                --idle_;
                continue;
            }
            Job& job = *open_;
            const std::uint32_t part = claim(job);
            ++job.working;
            ++busy_;
            if (open_ != nullptr) wake_two();
            lock.unlock();
            job.run(part);
            lock.lock();
            --busy_;
            if (--job.working == 0 && job.is_claimed())
                job.done.notify_one(); // its caller is there while we have the lock
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    Job* open_ = nullptr;       ///< jobs with parts to claim, the oldest first
    Worker* workers_ = nullptr; ///< all of them
    std::uint32_t made_ = 0;    ///< how many
    std::uint32_t idle_ = 0;    ///< how many sleep
    std::uint32_t wanted_ = 0;  ///< by all calls at once
    std::uint32_t busy_ = 0;    ///< how many are at work
    bool stopping_ = false;
};

/// The pool never ends: threads of the host may still be in a call when all else does.
alignas(Pool) constinit std::byte room_for_pool[sizeof(Pool)]{};
constinit Pool* pool = nullptr;
constinit std::atomic<bool> is_running{false}; ///< not before the library is loaded, nor after it has been stopped

/// In a child there are no workers. What belonged to those of the parent is kept where leak
/// checkers see it.
constinit Worker* workers_of_parent = nullptr;
void after_fork_in_child() {
    if (pool->workers() != nullptr) workers_of_parent = pool->workers();
    is_worker = false;
    pool = new (room_for_pool) Pool;
}

/// Makes the pool when the library is loaded, and stops it when that is unloaded or the process
/// ends.
struct Lifetime {
    Lifetime() noexcept {
        (void)usual_threads(); // reads the environment now
        pool = new (room_for_pool) Pool;
        // Nothing is locked before fork(): a handler of the host's may hold a lock that a call of
        // ours waits for.
        is_running = pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
    }
    ~Lifetime() {
        is_running = false;
        if (!is_worker) pool->stop();
    }
    Lifetime(const Lifetime&) = delete;
    Lifetime& operator=(const Lifetime&) = delete;
} const lifetime;

/// The first number of a list of numbers, 1 or more; 0 for anything else.
std::uint32_t first_number(const char* text) {
    if (text == nullptr) return 0;
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    while (is_space(*text))
        ++text;
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text, text + std::strlen(text), number);
    const char* end = rest;
    while (is_space(*end))
        ++end;
    if (error != std::errc{} || (*end != '\0' && *end != ',')) return 0;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, max_threads));
}

std::uint32_t processors() {
    constexpr std::size_t most = 8192; // as many as a Linux kernel may be built for
    cpu_set_t mine[most / CPU_SETSIZE];
    if (sched_getaffinity(0, sizeof mine, mine) == 0) return static_cast<std::uint32_t>(CPU_COUNT_S(sizeof mine, mine));
    return std::thread::hardware_concurrency();
}

} // namespace

std::uint32_t usual_threads() noexcept {
    static constinit std::atomic<std::uint32_t> known{0}; // without a lock, which a child after fork() could find held
    if (const std::uint32_t n = known.load(std::memory_order_relaxed)) return n;
    std::uint32_t n = first_number(std::getenv("DETREDUCE_NUM_THREADS"));
    if (n == 0) n = first_number(std::getenv("OMP_NUM_THREADS"));
    if (n == 0) n = std::clamp(processors(), 1u, max_threads);
    known.store(n, std::memory_order_relaxed);
    return n;
}

void run_parts(std::uint64_t count, std::uint32_t threads, const void* f, Work work) noexcept {
    if (!is_running.load(std::memory_order_acquire)) return work(f, 0, count);
    Job job(f, work, count, static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, count)));
    int before = 0; // workers still use the job of a thread that is cancelled while it waits
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pool->run(job);
    pthread_setcancelstate(before, nullptr);
}

} // namespace detreduce::host
