#include "host/arena.hpp"

#include <new>

namespace detreduce::host {

constinit thread_local Arena* current_arena = nullptr;

namespace {

/// A thread's first arena ends with it. After that, in destructors of thread_local variables of the
/// host, arenas are for one call.
constinit thread_local bool has_ended = false;
struct First {
    Arena* arena = nullptr;
    First() = default;
    ~First() {
        if (arena != nullptr && arena->used == 0) delete arena; // else exit() within a call: workers may write to it
        current_arena = nullptr;
        has_ended = true;
    }
    First(const First&) = delete;
    First& operator=(const First&) = delete;
};
thread_local First first;

} // namespace

ArenaScope::ArenaScope() noexcept : before_(current_arena), there_(true) {
    if (before_ != nullptr && before_->used == 0) return;
    Arena* next = before_ ? before_->above : nullptr;
    if (next == nullptr) {
        next = new (std::nothrow) Arena;
        there_ = next != nullptr;
        if (!there_) return;
        if (before_ != nullptr) {
            before_->above = next;
        } else if (has_ended) {
            temporary_ = true;
        } else {
            first.arena = next;
        }
    }
    current_arena = next;
}

ArenaScope::~ArenaScope() {
    if (temporary_) {
        delete current_arena;
        current_arena = nullptr;
    } else if (before_ != nullptr) {
        current_arena = before_;
    }
}

Status ArenaScope::status() const noexcept {
    if (there_) return {};
    static_assert(arena_bytes == std::size_t{384} << 10, "the message, plan.hpp and host.hpp name it");
    return {StatusCode::out_of_memory, "buffers", "384 KiB for those of the calling thread could not be had"};
}

void use_arena(Arena& arena) noexcept {
    current_arena = &arena;
}

} // namespace detreduce::host
