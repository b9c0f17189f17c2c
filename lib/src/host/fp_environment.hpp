// The floating-point environment that SPEC.md assumes: round to nearest, no flushing of subnormals. A caller may have another
// one (a program linked with -ffast-math starts with flush-to-zero), and so may the threads that OpenMP gives us.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace detreduce::host {

class StandardFpEnvironment {
  public:
    StandardFpEnvironment() noexcept : saved_(get()) { set(standard); }
    ~StandardFpEnvironment() { set(saved_); }
    StandardFpEnvironment(const StandardFpEnvironment&) = delete;
    StandardFpEnvironment& operator=(const StandardFpEnvironment&) = delete;

  private:
#if defined(__x86_64__) || defined(__i386__)
    using Word = unsigned;
    static constexpr Word standard = 0x1f80; // all exceptions masked, to nearest, neither FTZ nor DAZ
    static Word get() noexcept {
        return _mm_getcsr();
    }
    static void set(Word w) noexcept {
        _mm_setcsr(w);
    }
#elif defined(__aarch64__)
    using Word = std::uint64_t;
    static constexpr Word standard = 0; // FPCR: to nearest, no FZ
    static Word get() noexcept {
        Word w;
        __asm__ volatile("mrs %0, fpcr" : "=r"(w));
        return w;
    }
    static void set(Word w) noexcept {
        __asm__ volatile("msr fpcr, %0" ::"r"(w) : "memory");
    }
#else
#error "detreduce: unknown processor; add its floating-point control word here"
#endif
    Word saved_;
};

} // namespace detreduce::host
