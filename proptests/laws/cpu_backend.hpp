// The CPU, as the conformance suite sees a backend.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <detreduce/detreduce.hpp>

#include "laws/draw.hpp"

namespace detreduce::proptests {

struct CpuBackend {
    static constexpr Backend kind = Backend::cpu;
    static constexpr const char* name = "cpu";

    template <class T>
    static T reduce(std::span<const T> x, Method method, const Draw& draw = {}) {
        std::vector<T> room(x.size() + 512 / sizeof(T) + draw.offset);
        const auto address = reinterpret_cast<std::uintptr_t>(room.data());
        T* const begin = room.data() + (512 - address % 512) % 512 / sizeof(T) + draw.offset;
        if (!x.empty()) std::memcpy(begin, x.data(), x.size_bytes());
        return sum(std::span<const T>(begin, x.size()), method, draw.launch);
    }

    /// Every choice that is worth trying with every other.
    static std::vector<Draw> all_draws() {
        std::vector<Draw> draws;
        for (const Isa isa : available_isas()) {
            for (unsigned threads = 1; threads <= 8; ++threads) {
                for (unsigned offset : {0u, 1u, 2u, 3u, 5u, 15u})
                    draws.push_back({{.threads = threads, .isa = isa}, offset});
            }
        }
        return draws;
    }
};

} // namespace detreduce::proptests
