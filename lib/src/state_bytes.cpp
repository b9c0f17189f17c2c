// States of plans as bytes, and back.
#include "state_bytes.hpp"

#include <algorithm>
#include <cstring>

#include <detreduce/exact_state.hpp>
#include <detreduce/states.hpp>

#include "check_pointer.hpp"
#include "one_state.hpp"

namespace detreduce {
namespace state_bytes {
namespace {

/// What of a shape matters to the states of its groups.
enum class Groups : std::uint8_t { flat, many, list, list_and_each, count };

Groups groups_of(const Request& r) {
    if (r.shape == Shape::tensors) return r.each ? Groups::list_and_each : Groups::list;
    return r.shape == Shape::flat ? Groups::flat : Groups::many;
}

bool gives_index(const Request& r) {
    return info(r.op).kind == Kind::order && info(r.op).gives_integer;
}

// Where the fields of version 2 are, in bytes.
constexpr std::size_t version_at = 8, words_at = 12, op_at = 16, dtype_at = 17, nan_at = 18, groups_kind_at = 19,
                      zeros_at = 20, groups_at = 24, next_index_at = 32, header_bytes = 40;
constexpr std::size_t old_header_bytes = 16;
constexpr std::uint64_t most_groups = max_groups + 1; // of tensors, and all of them

std::uint64_t size_of_states(std::uint64_t groups, std::uint64_t words) {
    return header_bytes + sizeof(std::int64_t) * groups * words + checksum_bytes;
}

/// The index behind the last element that run() of this plan has read, where one says it of all
/// groups.
std::uint64_t next_index(const Request& r) {
    const bool one_says = r.shape != Shape::segments && groups_of(r) != Groups::list_and_each;
    const std::uint64_t next = r.first_index + r.n;
    return gives_index(r) && one_says && next <= detail::max_first_index ? next : 0;
}

void write_header(const Plan& plan, std::byte* to) {
    const Request& r = plan.request();
    std::memcpy(to, magic, sizeof magic);
    put(to + version_at, 2, 4);
    put(to + words_at, plan.state_words(), 4);
    put(to + op_at, static_cast<std::uint64_t>(r.op), 1);
    put(to + dtype_at, static_cast<std::uint64_t>(r.dtype), 1);
    put(to + nan_at, static_cast<std::uint64_t>(r.nan), 1);
    put(to + groups_kind_at, static_cast<std::uint64_t>(groups_of(r)), 1);
    put(to + zeros_at, 0, 4);
    put(to + groups_at, plan.groups(), 8);
    put(to + next_index_at, next_index(r), 8);
}

/// The request that the fields of version 2 say; false if there is none such.
bool read_request(const std::byte* from, std::uint64_t words, Request& request) {
    const std::uint64_t op = get(from + op_at, 1), dtype = get(from + dtype_at, 1), nan = get(from + nan_at, 1),
                        kind = get(from + groups_kind_at, 1), groups = get(from + groups_at, 8),
                        next = get(from + next_index_at, 8);
    const auto named = static_cast<Groups>(kind);
    if (op >= ops().size() || dtype >= dtypes().size() || nan > 1 || kind >= static_cast<std::uint64_t>(Groups::count))
        return false;
    if (get(from + zeros_at, 4) != 0 || groups > most_groups) return false;
    if ((named == Groups::flat || named == Groups::list) && groups != 1) return false;
    if (named == Groups::list_and_each && groups == 0) return false;
    request = {.op = static_cast<Op>(op),
               .method = Method::exact,
               .dtype = static_cast<DType>(dtype),
               .shape = named == Groups::flat   ? Shape::flat
                        : named == Groups::many ? Shape::rows
                                                : Shape::tensors,
               .groups = named == Groups::list_and_each ? groups - 1 : groups,
               .device = cpu,
               .nan = static_cast<NanPolicy>(nan),
               .each = named == Groups::list_and_each,
               .state = true};
    const Plan plan = make_plan(request);
    if (!plan.status().ok() || plan.state_words() != words) return false;
    const bool may_continue = gives_index(request) && named != Groups::list_and_each;
    if (next > (may_continue ? detail::max_first_index : 0)) return false;
    request.first_index = next;
    return true;
}

} // namespace

Status read(const char* argument, std::span<const std::byte> bytes, Header& header) noexcept {
    if (bytes.size() < old_header_bytes || std::memcmp(bytes.data(), magic, sizeof magic) != 0)
        return invalid(argument, "is not a state of detreduce: allowed are the bytes of a serialized state");
    header.version = get(bytes.data() + version_at, 4);
    header.words = get(bytes.data() + words_at, 4);
    if (header.version == 1 && header.words == ExactState::word_count) {
        if (bytes.size() != ExactState::serialized_bytes)
            return invalid(argument, "has the wrong size; allowed are exactly 616 bytes");
        header.begin = old_header_bytes;
        header.groups = 1;
        header.request = {.op = Op::sum, .method = Method::exact, .dtype = DType::f64, .device = cpu, .state = true};
    } else if (header.version != 2) {
        return invalid(argument, "has another version; allowed are version 1 with 74 words, and version 2");
    } else {
        if (bytes.size() < size_of_states(0, 0)) return invalid(argument, "is truncated: its header is not whole");
        header.groups = get(bytes.data() + groups_at, 8);
        if (header.groups > most_groups || header.words > most_state_words ||
            bytes.size() != size_of_states(header.groups, header.words))
            return invalid(argument, "has the wrong size: it is truncated, or there is more behind it; allowed is what "
                                     "its header says");
        header.begin = header_bytes;
    }
    const std::size_t content = bytes.size() - checksum_bytes;
    if (get(bytes.data() + content, checksum_bytes) != checksum(bytes.first(content)))
        return invalid(argument, "is damaged: its checksum does not fit");
    if (header.version == 2 && !read_request(bytes.data(), header.words, header.request))
        return invalid(argument, "is of no request that has states");
    return {};
}

namespace {

/// Does what was written go together with the states of `plan`? Says which field does not.
Status check_fields(const Header& header, const Plan& plan) {
    const Request &asked = plan.request(), &found = header.request;
    const auto differs = [](const char* allowed) { return invalid("bytes", allowed); };
    if (found.op != asked.op) return differs("is of another op; allowed are states of the op of `plan`");
    if (header.version != 1 && found.dtype != asked.dtype)
        return differs("is of another dtype; allowed are states of the dtype of `plan`");
    if (found.nan != asked.nan) return differs("is of another nan policy; allowed is that of `plan`");
    if (groups_of(found) != groups_of(asked))
        return differs("is of another shape; allowed is that of `plan`, where rows, columns and segments are one");
    if (header.groups != plan.groups()) return differs("has another number of groups; allowed is that of `plan`");
    return header.words == plan.state_words() ? Status{} : differs("has other words; allowed are those of `plan`");
}

Status check_plan_of_states(const Plan& plan) {
    if (!plan.status().ok() || plan.request().state) return plan.status();
    return invalid("plan", "must be that of a request for states");
}

Status check_words(const Plan& plan, const std::int64_t* states) {
    if (states == nullptr && plan.groups() > 0) return invalid("states", "must not be null");
    return misaligned(states, sizeof *states) ? invalid("states", "must be aligned to 8 bytes") : Status{};
}

} // namespace
} // namespace state_bytes

std::uint64_t serialized_bytes(const Plan& plan) noexcept {
    if (!plan.status().ok() || !plan.request().state) return 0;
    return state_bytes::size_of_states(plan.groups(), plan.state_words());
}

Status serialize(const Plan& plan, const std::int64_t* states, std::span<std::byte> bytes) noexcept {
    using namespace state_bytes;
    if (const Status bad = check_plan_of_states(plan); !bad.ok()) return bad;
    if (const Status bad = check_words(plan, states); !bad.ok()) return bad;
    if (bytes.size() != serialized_bytes(plan))
        return invalid("bytes", "has the wrong size; allowed is serialized_bytes(plan)");
    const auto form = detail::StateForm::of(plan);
    const std::uint64_t bad_group =
        first_bad(plan, [&](std::uint64_t, std::uint64_t at) { return OneState(form, states + at).good; });
    if (bad_group != Status::no_element)
        return invalid("states",
                       "is no state of this plan, or beyond the headroom; allowed are states of at most 2^62 "
                       "elements",
                       bad_group);
    write_header(plan, bytes.data());
    std::byte* to = bytes.data() + header_bytes;
    for (std::uint64_t g = 0; g < plan.groups(); ++g) {
        const OneState state(form, states + g * plan.state_words());
        for (int k = 0; k < form.count; ++k, to += sizeof(std::int64_t))
            put(to, static_cast<std::uint64_t>(state.words[static_cast<std::size_t>(k)]), sizeof(std::int64_t));
    }
    put(to, checksum(bytes.first(bytes.size() - checksum_bytes)), checksum_bytes);
    return {};
}

Status deserialize(const Plan& plan, std::span<const std::byte> bytes, std::int64_t* states) noexcept {
    using namespace state_bytes;
    if (const Status bad = check_plan_of_states(plan); !bad.ok()) return bad;
    if (const Status bad = check_words(plan, states); !bad.ok()) return bad;
    Header header{};
    if (const Status bad = read("bytes", bytes, header); !bad.ok()) return bad;
    if (const Status bad = check_fields(header, plan); !bad.ok()) return bad;
    const auto form = detail::StateForm::of(plan);
    std::array<std::int64_t, most_state_words> words{};
    const auto read_words = [&](std::uint64_t at) {
        for (std::size_t k = 0; k < header.words; ++k)
            words[k] = static_cast<std::int64_t>(get(bytes.data() + header.begin + 8 * (at + k), 8));
        if (header.version == 1) detail::settle_zeros(words.data());
    };
    const std::uint64_t bad_group = first_bad(plan, [&](std::uint64_t, std::uint64_t at) {
        read_words(at);
        const OneState one(form, words.data());
        return one.good && std::equal(words.data(), words.data() + header.words, one.words.data());
    });
    if (bad_group != Status::no_element)
        return invalid("bytes", "has words that are no normalized state, or beyond the headroom", bad_group);
    for (std::uint64_t g = 0; g < plan.groups(); ++g) {
        read_words(g * header.words);
        std::copy_n(words.data(), header.words, states + g * header.words);
    }
    return {};
}

Status serialized_request(std::span<const std::byte> bytes, Request& request) noexcept {
    state_bytes::Header header{};
    if (const Status bad = state_bytes::read("bytes", bytes, header); !bad.ok()) return bad;
    request = header.request;
    return {};
}

} // namespace detreduce
