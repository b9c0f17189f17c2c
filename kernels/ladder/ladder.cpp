#include "ladder.hpp"

#include <vector>

#include "families.hpp"

namespace detreduce::ladder {
namespace {

std::vector<Rung> all_rungs() {
    std::vector<Rung> list;
    for (const std::span<const Rung> family : {flat_rungs(), batched_rungs(), three_level_rungs(), softmax_rungs()})
        list.insert(list.end(), family.begin(), family.end());
    return list;
}

constexpr Status refused(const char* argument, const char* allowed) {
    return {StatusCode::invalid_argument, argument, allowed};
}

bool is_block(std::uint32_t threads) {
    return threads >= 64 && threads <= 1024 && (threads & (threads - 1)) == 0;
}

Status check(const Shape& shape, const Settings& settings) {
    if (!is_block(settings.threads)) return refused("settings.threads", "allowed are 64, 128, 256, 512 and 1024");
    if (settings.per_thread < 1 || settings.per_thread > 512)
        return refused("settings.per_thread", "allowed are 1 to 512");
    if (shape.length > max_n) return refused("shape.length", "allowed are 0 to 2^40");
    if (shape.rows > max_groups || (shape.length != 0 && shape.rows > max_extent / shape.length))
        return refused("shape.rows", "allowed are 0 to 2^40, and no more than 2^46 elements in all");
    return {};
}

bool misaligned(const void* p, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(p) % bytes != 0;
}

Status check(const Rung& rung, const Call& call, const Needs& needs) {
    const bool reads = call.shape.length > 0, writes = rung.family != Family::softmax || reads;
    if (reads && call.x == nullptr) return refused("x", "must not be null");
    if (writes && call.out == nullptr) return refused("out", "must not be null");
    if (misaligned(call.x, sizeof(float))) return refused("x", "must be aligned to 4 bytes");
    if (misaligned(call.out, sizeof(float))) return refused("out", "must be aligned to 4 bytes");
    if (needs.workspace > 0 && call.workspace == nullptr) return refused("workspace", "must not be null");
    if (misaligned(call.workspace, 256)) return refused("workspace", "must be aligned to 256 bytes");
    if (needs.pinned > 0 && call.pinned == nullptr) return refused("pinned", "must not be null");
    return {};
}

} // namespace

std::span<const Rung> rungs() {
    static const std::vector<Rung> list = all_rungs();
    return list;
}

const Rung* find(std::string_view name) {
    for (const Rung& rung : rungs())
        if (rung.name == name) return &rung;
    return nullptr;
}

Needs needs(const Rung& rung, const Shape& shape, const Settings& settings) {
    Needs bad;
    bad.status = check(shape, settings);
    return bad.status.ok() ? rung.needs(shape, settings) : bad;
}

Status run(const Rung& rung, const Call& call, Stream stream) {
    const Needs needed = needs(rung, call.shape, call.settings);
    if (!needed.status.ok() || call.shape.rows == 0) return needed.status;
    if (const Status bad = check(rung, call, needed); !bad.ok()) return bad;
    if (rung.family == Family::softmax && call.shape.length == 0) return {};
    return rung.run(call, needed, stream);
}

} // namespace detreduce::ladder
