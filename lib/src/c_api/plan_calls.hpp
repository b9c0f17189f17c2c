// What the calls of all kinds of plans do: plans are kept in the memory of C, requests and arrays
// are checked.
#pragma once

#include <functional>
#include <initializer_list>
#include <type_traits>

#include "c_api/shared.hpp"

namespace detreduce::c_api {

/// What a plan in C holds: `Plan`, which is made of a `Request`, and a mark that tells it from
/// memory in which none was made.
template <class InC>
struct Holds;
/// That of detreduce_`kind`plan, which holds a dr::`Class`; and what is said of its requests, the
/// fields of which `initialiser` sets.
#define DETREDUCE_PLAN_KIND(kind, KIND, Class, its_mark, initialiser)                                                  \
    template <>                                                                                                        \
    struct Holds<detreduce_##kind##plan> {                                                                             \
        using Plan = dr::Class;                                                                                        \
        using Request = detreduce_##kind##request;                                                                     \
        static constexpr std::uint64_t mark = its_mark;                                                                \
        static constexpr char must_be_made[] = "must come from detreduce_make_" #kind "plan()";                        \
        static constexpr char request_size[] =                                                                         \
            "must be sizeof(detreduce_" #kind "request), which detreduce_" #kind "request_init() and DETREDUCE_" #KIND \
            "REQUEST_INIT set; a larger one needs a newer library";                                                    \
        static constexpr char must_be_zero[] = "must be 0, as " initialiser " sets it";                                \
        static constexpr char must_be_flag[] = "allowed are 0 and 1; " initialiser " sets every field";                \
    };
DETREDUCE_PLAN_KIND(, , Plan, 0x316e616c70746564u, "detreduce_request_init()")

/// The argument of a struct of pointers, and what is said of one that was not initialised.
template <class Arrays>
struct ArraysText;
#define DETREDUCE_ARRAYS(kind, KIND, its_argument)                                                                     \
    template <>                                                                                                        \
    struct ArraysText<detreduce_##kind> {                                                                              \
        static constexpr char argument[] = #its_argument;                                                              \
        static constexpr char size[] = "its struct_size must be sizeof(detreduce_" #kind "), which DETREDUCE_" #KIND   \
                                       "_INIT sets; a larger one needs a newer library";                               \
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
template <class InC>
detreduce_status status_of(const InC* plan) {
    return of_plan<InC>(plan_of(plan).status());
}

/// What `f` says of a good plan, else 0.
template <auto f, class InC>
auto of_good_plan(const InC* in_c) {
    const auto plan = plan_of(in_c);
    return plan.status().ok() ? std::invoke(f, plan) : decltype(std::invoke(f, plan)){};
}

/// A field of a request that must be 0 or 1.
template <class Request>
struct Flag {
    const char* name;
    std::uint32_t Request::*field;
};
/// Makes the plan of a request that was initialised, by the header of this version.
template <class InC, class Request = typename Holds<InC>::Request>
detreduce_status make(const Request* request, InC* plan, typename Holds<InC>::Plan (*made_of)(const Request&),
                      std::initializer_list<Flag<Request>> flags = {}) {
    using Text = Holds<InC>;
    if (plan == nullptr) return null("plan");
    *plan = {};
    if (request == nullptr) return null("request");
    if (request->struct_size != sizeof *request) return invalid("struct_size", Text::request_size);
    if (!are_zero(request->reserved)) return invalid("reserved", Text::must_be_zero);
    if (!are_zero(request->launch.reserved)) return invalid("launch.reserved", Text::must_be_zero);
    for (const Flag<Request>& flag : flags)
        if (request->*flag.field > 1) return invalid(flag.name, Text::must_be_flag);
    if constexpr (requires { request->reserved_word; })
        if (request->reserved_word != 0) return invalid("reserved_word", Text::must_be_zero);
    return store(plan, made_of(*request));
}

/// What is wrong with pointers, unless they were initialised by the header of this version.
template <class Arrays>
detreduce_status check_arrays(const Arrays* arrays) {
    using Text = ArraysText<Arrays>;
    if (arrays == nullptr) return null(Text::argument);
    if (arrays->struct_size != sizeof *arrays) return invalid(Text::argument, Text::size);
    if (!are_zero(arrays->reserved))
        return invalid(Text::argument, "its reserved pointers must be NULL, as the initialiser sets them");
    return as_c({});
}

/// run(plan), unless the plan or, after it, the arrays were refused.
template <class InC, class Run>
detreduce_status run_plan(const InC* plan, const detreduce_status& of_arrays, const Run& run) {
    const auto p = plan_of(plan);
    if (!p.status().ok()) return of_plan<InC>(p.status());
    return of_arrays.code == DETREDUCE_OK ? of_plan<InC>(run(p)) : of_arrays;
}
template <class InC, class Run>
detreduce_status run_plan(const InC* plan, const Run& run) {
    return run_plan(plan, as_c({}), run);
}

/// Makes at `states` the plan of the states of a loss.
template <class InC>
detreduce_status states_of(const InC* plan, detreduce_plan* states) {
    if (states == nullptr) return null("states");
    *states = {};
    const auto p = plan_of(plan);
    if (!p.status().ok()) return of_plan<InC>(p.status());
    return p.request().state ? store(states, p.states()) : invalid("plan", "must be that of a request for states");
}

/// A list of tensors, whose bytes for later are 0. Null and misaligned ones are for run() to
/// refuse.
dr::Status check_reserved(const char* argument, const void* list, std::uint64_t tensors) noexcept;

} // namespace detreduce::c_api
