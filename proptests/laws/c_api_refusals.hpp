// What every request of the C header losses.h refuses, and the defaults of all of them.
#pragma once

#include <cstring>

#include <detreduce/detreduce.hpp>

#include "laws/c_api_support.hpp"

namespace detreduce::proptests {

inline constexpr detreduce_status_code invalid = DETREDUCE_INVALID_ARGUMENT, unsupported = DETREDUCE_UNSUPPORTED;
inline constexpr std::int32_t no_words[] = {-1, 99, 255, 256, 65536, INT32_MIN, INT32_MAX};

/// The status of the plan for 10 elements on the CPU, once `change` has been at the request.
template <class R, class P, class Change>
detreduce_status status_of(void (*init)(R*, std::size_t), detreduce_status (*make)(const R*, P*),
                           detreduce_status (*status)(const P*), const Change& change) {
    R r;
    init(&r, sizeof r);
    r.device.backend = DETREDUCE_BACKEND_CPU, r.n = 10;
    change(r);
    P plan;
    const detreduce_status made = make(&r, &plan);
    REQUIRE(status(&plan).code == made.code);
    return made;
}

/// What is wrong with the size, the reserved words and the launch of a request, and with a device.
template <class R, class With>
void refuses_what_is_not_initialised(const With& with, std::size_t reserved) {
    for (const std::size_t size : {std::size_t{0}, sizeof(R) - 1, sizeof(R) + 8, ~std::size_t{0}})
        expect(with([&](R& r) { r.struct_size = size; }), invalid, "struct_size");
    for (std::size_t i = 0; i < reserved; ++i)
        expect(with([i](R& r) { r.reserved[i] = 1; }), invalid, "reserved");
    for (int i = 0; i < 3; ++i)
        expect(with([i](R& r) { r.launch.reserved[i] = 1; }), invalid, "launch.reserved");
    for (const std::int32_t bad : no_words) {
        expect(with([&](R& r) { r.device.backend = bad; }), invalid, "device.backend");
        expect(with([&](R& r) { r.launch.schedule = bad; }), invalid, "launch.schedule");
        expect(with([&](R& r) { r.launch.isa = bad; }), invalid, "launch.isa");
    }
    expect(with([](R& r) { r.launch.threads = 1025; }), invalid, "launch.threads");
    expect(with([](R& r) { r.n = max_n + 1; }), invalid, "n");
}

/// A request's defaults, as the call and the initialiser set them, in a struct of any size.
template <class R>
void sets_defaults(void (*init)(R*, std::size_t), const R& initial) {
    struct {
        R known;
        unsigned char more[16];
    } r;
    std::memset(&r, 0xa5, sizeof r);
    init(&r.known, sizeof r.known);
    REQUIRE(std::memcmp(&r.known, &initial, sizeof initial) == 0);
    REQUIRE(r.more[0] == 0xa5);
    init(&r.known, sizeof r);
    REQUIRE(r.known.struct_size == sizeof r);
    REQUIRE(r.more[15] == 0);
    std::memset(&r, 0xa5, sizeof r);
    init(&r.known, 40);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&r);
    REQUIRE(bytes[40] == 0xa5);
    init(&r.known, 7);
    init(nullptr, sizeof r);
    REQUIRE(r.known.struct_size == 40);
}

} // namespace detreduce::proptests
