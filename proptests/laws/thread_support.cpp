#include "laws/thread_support.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace detreduce::proptests {
namespace {

std::atomic<int> left{1 << 30}, successes{0}, failures{0}, allocations{0};
std::atomic<bool> paints{false}, refuses{false};
/// Those of threads that live as long as the process.
std::vector<PaintedStack*>& painted() {
    static auto& all = *new std::vector<PaintedStack*>;
    return all;
}

constexpr unsigned char paint = 0xa5;
constexpr std::size_t guard = 4096;

using Start = void* (*)(void*);
int real_create(pthread_t* thread, const pthread_attr_t* attributes, Start start, void* argument) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, Start, void*);
    static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, start, argument);
}
int create_on(const PaintedStack& stack, pthread_t* thread, Start start, void* argument) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack.bottom(), PaintedStack::size);
    const int error = real_create(thread, &attributes, start, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

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
void ThreadMaker::paint_stacks() {
    paints = true;
}
std::vector<std::size_t> ThreadMaker::stacks_used() {
    std::vector<std::size_t> used;
    for (const PaintedStack* stack : painted())
        used.push_back(stack->used() - PaintedStack::used_by_nothing());
    return used;
}

void Allocations::refuse(bool all) {
    refuses = all;
}
int Allocations::count() {
    return allocations;
}

PaintedStack::PaintedStack() {
    void* const room = mmap(nullptr, size + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || mprotect(room, guard, PROT_NONE) != 0) throw std::runtime_error("no room for a stack");
    bottom_ = static_cast<unsigned char*>(room) + guard;
    std::memset(bottom_, paint, size);
}
PaintedStack::~PaintedStack() {
    munmap(bottom_ - guard, size + guard);
}
std::size_t PaintedStack::used() const {
    std::uint64_t words[2];
    std::memset(words, paint, sizeof words);
    std::size_t free = 0;
    for (; free < size; free += sizeof words[1]) {
        std::memcpy(words, bottom_ + free, sizeof words[0]);
        if (words[0] != words[1]) break;
    }
    return size - free;
}
void PaintedStack::paint_again() {
    const std::size_t dirty = used();
    std::memset(bottom_ + size - dirty, paint, dirty);
}
std::size_t PaintedStack::used_by_nothing() {
    static const std::size_t used = [] {
        PaintedStack stack;
        stack.run([] {});
        return stack.used();
    }();
    return used;
}
void PaintedStack::start(Start f, void* argument) {
    pthread_t thread;
    if (create_on(*this, &thread, f, argument) != 0) throw std::runtime_error("no thread");
    pthread_join(thread, nullptr);
}

} // namespace detreduce::proptests

using namespace detreduce::proptests;

/// Stands before that of the C library, for libraries as well: the linker exports what they ask
/// for.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
    if (left.fetch_sub(1) <= 0) {
        ++failures;
        return EAGAIN;
    }
    ++successes;
    if (!paints) return real_create(thread, attributes, start, argument);
    painted().push_back(new PaintedStack);
    return create_on(*painted().back(), thread, start, argument);
}

// As in the C++ library, but that they count, and can refuse.
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    ++allocations;
    if (refuses) return nullptr;
    const auto to = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(to, (bytes + to - 1) / to * to);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
    std::free(memory);
}
