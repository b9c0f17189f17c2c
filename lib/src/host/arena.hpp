// Room for the buffers of a call: not on the stack, of which a host may give its threads little.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

#include <detreduce/status.hpp>

namespace detreduce::host {

/// What the buffers of one call take on one thread, at most. Most: the results of tiles on three
/// levels, 256 KiB and a few items, and beside them a tile of terms and their errors, or of
/// elements that were copied, or both. Strips of columns are as wide as the rest of it allows.
inline constexpr std::size_t arena_bytes = std::size_t{384} << 10;

/// The last to be taken is the first to be given back.
class Arena {
  public:
    Arena() {} // room_ is not initialized
    ~Arena() { delete above; }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    [[nodiscard]] void* take(std::size_t bytes) {
        void* const at = room_ + used;
        used += (bytes + line - 1) / line * line;
        assert(used <= arena_bytes);
        return at;
    }
    std::size_t used = 0;
    Arena* above = nullptr; ///< for a call within a call, of a user's function

    static constexpr std::size_t line = 64;

  private:
    alignas(line) std::byte room_[arena_bytes]; // not initialized
};

/// That of this thread.
extern constinit thread_local Arena* current_arena;

/// Room for `n` items, not initialized, while it is in scope. Within an ArenaScope, or on a worker.
template <class T>
class Buffer {
    static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T> && alignof(T) <= Arena::line);

  public:
    explicit Buffer(std::size_t n)
        : arena_(*current_arena), before_(arena_.used), data_(static_cast<T*>(arena_.take(n * sizeof(T)))) {}
    ~Buffer() { arena_.used = before_; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] T& operator[](std::size_t i) const { return data_[i]; }

  private:
    Arena& arena_;
    std::size_t before_;
    T* data_;
};

/// Every public call begins with one: the first of a thread makes its arena, which is kept until
/// the thread ends.
class ArenaScope {
  public:
    ArenaScope() noexcept;
    ~ArenaScope();
    ArenaScope(const ArenaScope&) = delete;
    ArenaScope& operator=(const ArenaScope&) = delete;

    /// out_of_memory where there is none.
    [[nodiscard]] Status status() const noexcept;

  private:
    Arena* const before_;
    bool there_, temporary_ = false;
};

/// The same for a worker, which has been given an arena. To be called as it starts.
void use_arena(Arena& arena) noexcept;

} // namespace detreduce::host
