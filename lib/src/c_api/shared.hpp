// What all of the C header needs: words to enumerators, statuses, and plans in the memory of C.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <detreduce/detreduce.h>
#include <detreduce/plan.hpp>

namespace detreduce::c_api {

namespace dr = detreduce;

template <class Enum>
constexpr bool is(std::int32_t value, Enum word) {
    return value == static_cast<std::int32_t>(word);
}

/// The enumerator of a word; of one that has none, 255, which never has a name: nothing may wrap
/// around to a valid one.
template <class Enum>
Enum as(std::int32_t word) {
    return static_cast<Enum>(word >= 0 && word < 255 ? word : 255);
}

inline detreduce_status as_c(const dr::Status& s) {
    return {static_cast<detreduce_status_code>(s.code), s.argument, s.allowed, s.cuda_code, s.index, {}};
}
inline detreduce_status invalid(const char* argument, const char* allowed) {
    return {DETREDUCE_INVALID_ARGUMENT, argument, allowed, 0, DETREDUCE_NO_ELEMENT, {}};
}
inline detreduce_status null(const char* argument) {
    return invalid(argument, "must not be null");
}

template <class T, std::size_t N>
bool are_zero(const T (&reserved)[N]) {
    return std::all_of(reserved, reserved + N, [](T r) { return r == T{}; });
}

inline dr::Launch as_launch(const detreduce_launch& l) {
    return {as<dr::Schedule>(l.schedule), l.grid, l.block, l.threads, as<dr::Isa>(l.isa)};
}

inline dr::Device as_device(const detreduce_device& d) {
    return {as<dr::Backend>(d.backend), d.index};
}

/// The defaults, as many bytes of them as a caller's struct has, and zeros behind them.
template <class Struct>
void set_defaults(Struct* to, std::size_t struct_size, Struct defaults) {
    if (to == nullptr || struct_size < sizeof struct_size) return;
    defaults.struct_size = struct_size;
    std::memset(to, 0, struct_size);
    std::memcpy(to, &defaults, std::min(struct_size, sizeof defaults));
}

/// What a plan in C holds: `Plan`, and a mark that tells it from memory in which none was made.
template <class InC>
struct Holds;
template <>
struct Holds<detreduce_plan> {
    using Plan = dr::Plan;
    static constexpr std::uint64_t mark = 0x316e616c70746564u;
    static constexpr char must_be_made[] = "must come from detreduce_make_plan()";
};

template <class InC>
struct Stored {
    std::uint64_t mark;
    typename Holds<InC>::Plan plan;
};

template <class InC>
detreduce_status store(InC* to, const typename Holds<InC>::Plan& plan) {
    static_assert(std::is_trivially_copyable_v<Stored<InC>> && sizeof(Stored<InC>) <= sizeof(InC) &&
                  alignof(Stored<InC>) <= alignof(InC));
    const Stored<InC> stored{Holds<InC>::mark, plan};
    std::memcpy(to, &stored, sizeof stored);
    return as_c(plan.status());
}

/// The plan at `plan`; one that says that it must be made, if it was not.
template <class InC>
typename Holds<InC>::Plan plan_of(const InC* plan) {
    Stored<InC> stored{};
    if (plan != nullptr) std::memcpy(static_cast<void*>(&stored), plan, sizeof stored);
    return stored.mark == Holds<InC>::mark ? stored.plan : typename Holds<InC>::Plan();
}

/// `status`, which calls what makes a plan by its name in C++, with its name in C.
template <class InC>
detreduce_status of_plan(const dr::Status& status) {
    const dr::Status not_made = typename Holds<InC>::Plan().status();
    if (std::strcmp(status.argument, "plan") == 0 && std::strcmp(status.allowed, not_made.allowed) == 0)
        return invalid("plan", Holds<InC>::must_be_made);
    return as_c(status);
}

/// What f says of a good plan, else 0.
template <class InC, class F>
auto of_good_plan(const InC* in_c, const F& f) -> decltype(f(plan_of(in_c))) {
    const auto plan = plan_of(in_c);
    return plan.status().ok() ? f(plan) : decltype(f(plan)){};
}

/// A list of tensors, whose bytes for later are 0. Null and misaligned ones are for run() to
/// refuse.
dr::Status check_reserved(const char* argument, const void* list, std::uint64_t tensors) noexcept;

} // namespace detreduce::c_api
