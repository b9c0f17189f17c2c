#include "laws/thread_support.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace detreduce::proptests {
namespace {

std::atomic<int> left{1 << 30}, successes{0}, failures{0};

} // namespace

void ThreadMaker::allow(int more) {
    left = more;
}
int ThreadMaker::made() {
    return successes;
}
int ThreadMaker::refused() {
    return failures;
}

} // namespace detreduce::proptests

/// Stands before that of the C library, for libraries as well: the linker exports what they ask for.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
    using namespace detreduce::proptests;
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (left.fetch_sub(1) <= 0) {
        ++failures;
        return EAGAIN;
    }
    ++successes;
    return real(thread, attributes, start, argument);
}
