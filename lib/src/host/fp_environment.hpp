// The floating-point environment that SPEC.md assumes: round to nearest, no flushing of subnormals.
// A caller may have another one (a program linked with -ffast-math starts with flush-to-zero), and
// so may a thread that a function of the caller's ran on.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

#include <cfloat>

static_assert(FLT_EVAL_METHOD == 0,
              "detreduce: float and double must be computed in their own formats (no x87, no excess precision)");

// Compilers do not see that arithmetic depends on the control word: what is to run inside a
// StandardFpEnvironment must be a call that they cannot look into.
#if defined(__clang__)
#define DETREDUCE_OPAQUE __attribute__((noinline, optnone))
#else
#define DETREDUCE_OPAQUE __attribute__((noipa))
#endif

namespace detreduce::host {

class StandardFpEnvironment {
  public:
    StandardFpEnvironment() noexcept : saved_(get()) { set(standard); }
    ~StandardFpEnvironment() { set(saved_); }
    StandardFpEnvironment(const StandardFpEnvironment&) = delete;
    StandardFpEnvironment& operator=(const StandardFpEnvironment&) = delete;

  private:
#if defined(__x86_64__)
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

template <class F>
DETREDUCE_OPAQUE auto opaque_call(const F& f) {
    return f();
}
/// f(), computed in this environment.
template <class F>
auto in_standard_environment(const F& f) {
    const StandardFpEnvironment environment;
    return opaque_call(f);
}

} // namespace detreduce::host
