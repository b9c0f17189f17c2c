// The caller's floating-point control word: rounding mode, flushing of subnormals, what NaN become.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace detreduce::proptests {

/// Sets it for a scope.
class ControlWord {
  public:
#if defined(__x86_64__)
    using Word = unsigned;
    static constexpr Word standard = 0x1f80; ///< exceptions masked, to nearest, nothing flushed
    static constexpr Word hostile[] = {standard | 0x8040, standard | 0x4000,
                                       standard | 0x8040 | 0x4000}; ///< flushing, upwards, both
    [[nodiscard]] static Word now() {
        return _mm_getcsr() & ~0x3fu;
    } // the exception flags are sticky
    static void set(Word word) {
        _mm_setcsr(word);
    }
#elif defined(__aarch64__)
    using Word = std::uint64_t;
    static constexpr Word standard = 0;
    static constexpr Word flush = 1 << 24 | 1 << 19, up = 1 << 22, default_nan = 1 << 25, other_half = 1 << 26;
    static constexpr Word hostile[] = {flush, up, flush | up, default_nan | other_half,
                                       flush | up | default_nan | other_half};
    [[nodiscard]] static Word now() {
        Word word = 0;
        __asm__ volatile("mrs %0, fpcr" : "=r"(word));
        return word;
    }
    static void set(Word word) {
        __asm__ volatile("msr fpcr, %0" : : "r"(word) : "memory");
    }
#else
#error "add this processor's floating-point control word"
#endif
    explicit ControlWord(Word word) : saved_(now()) {
        set(word);
    }
    ~ControlWord() {
        set(saved_);
    }
    ControlWord(const ControlWord&) = delete;
    ControlWord& operator=(const ControlWord&) = delete;

  private:
    Word saved_;
};

} // namespace detreduce::proptests
