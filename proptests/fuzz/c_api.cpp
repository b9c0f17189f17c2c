// The C API, called one function after the other with any arguments: numbers that name nothing,
// null pointers, structs and plans of garbage. No answer but a crash, a sanitizer's complaint or a
// malformed status is wrong here; `plan` compares results.
#include <cstring>
#include <string>
#include <vector>

#include <detreduce/detreduce.h>

#include "c_api_losses.hpp"

namespace detreduce::fuzz {
namespace {

detreduce_request any_request(FuzzedDataProvider& in) {
    detreduce_request r = DETREDUCE_REQUEST_INIT;
    const bool garbage = in.ConsumeIntegralInRange(0, 7) == 0;
    if (garbage) {
        const auto bytes = in.ConsumeBytes<std::uint8_t>(sizeof r);
        if (!bytes.empty()) std::memcpy(&r, bytes.data(), bytes.size());
        if (in.ConsumeIntegralInRange(0, 3) != 0) { // else it is refused at once
            r.struct_size = sizeof r;
            std::memset(r.reserved, 0, sizeof r.reserved);
            std::memset(r.launch.reserved, 0, sizeof r.launch.reserved);
        }
        r.launch.threads = any_threads(in);
        return r;
    }
    detreduce_request_init(or_null(in, &r), sizeof r);
    r.op = any_word(in);
    r.method = in.ConsumeIntegralInRange(-1, 7);
    r.dtype = in.ConsumeIntegralInRange(-2, 4);
    if (in.ConsumeBool()) r.output = in.ConsumeIntegralInRange(-2, 4);
    r.shape = in.ConsumeIntegralInRange(0, 5);
    r.nan = in.ConsumeIntegralInRange(0, 2);
    r.n = in.ConsumeIntegralInRange(0, 3) == 0 ? any_integer(in) : in.ConsumeIntegralInRange<std::uint64_t>(0, 40);
    if (r.shape != DETREDUCE_SHAPE_FLAT)
        r.groups =
            in.ConsumeIntegralInRange(0, 7) == 0 ? any_integer(in) : in.ConsumeIntegralInRange<std::uint64_t>(0, 6);
    if (in.ConsumeIntegralInRange(0, 7) == 0) r.stride = any_integer(in);
    if (in.ConsumeIntegralInRange(0, 7) == 0) r.ddof = any_integer(in);
    r.device = any_device(in);
    r.launch = any_launch(in);
    r.each = in.ConsumeIntegralInRange<std::uint32_t>(0, 2);
    if (in.ConsumeIntegralInRange(0, 3) == 0) r.state = in.ConsumeIntegralInRange<std::uint32_t>(0, 2);
    if (r.state != 0 && in.ConsumeIntegralInRange(0, 3) == 0) r.first_index = any_integer(in);
    return r;
}

constexpr std::uint64_t most_bytes = 1 << 14;

/// Of all arrays of a plan; nothing when they would be too large.
std::optional<std::uint64_t> bytes_of(const detreduce_request& r) {
    std::uint64_t elements = r.n;
    if (r.shape == DETREDUCE_SHAPE_ROWS || r.shape == DETREDUCE_SHAPE_COLUMNS) {
        const std::uint64_t rows = r.shape == DETREDUCE_SHAPE_ROWS ? r.groups : r.n;
        const std::uint64_t minimum = r.shape == DETREDUCE_SHAPE_ROWS ? r.n : r.groups;
        const std::uint64_t step = r.stride != 0 ? r.stride : minimum;
        if (rows > most_bytes || step > most_bytes) return std::nullopt;
        elements = rows * step;
    }
    return elements <= most_bytes / 8 && r.groups <= 64 ? std::optional(elements * detreduce_dtype_bytes(r.dtype))
                                                        : std::nullopt;
}

/// Tensors whose memory is there, whatever else they say.
std::vector<detreduce_tensor> any_tensors(FuzzedDataProvider& in, const detreduce_request& r, const void* memory) {
    std::vector<detreduce_tensor> list(r.groups);
    std::uint64_t left = r.n;
    for (detreduce_tensor& t : list) {
        t.n = &t == &list.back() ? left : in.ConsumeIntegralInRange<std::uint64_t>(0, left);
        left -= t.n;
        t.dtype = static_cast<std::uint8_t>(in.ConsumeIntegralInRange(0, 7) == 0 ? any_word(in) : r.dtype);
        t.data = or_null(in, memory); // 8 bytes for each element
        if (t.data == nullptr && in.ConsumeBool()) t.n = any_integer(in);
    }
    return list;
}

void run_plan(FuzzedDataProvider& in, const detreduce_request& r, const detreduce_plan& plan) {
    const bool good = detreduce_plan_status(&plan).code == DETREDUCE_OK;
    const auto bytes = good ? bytes_of(r) : std::optional<std::uint64_t>(64);
    const auto output = detreduce_plan_output(&plan);
    require(detreduce_dtype_bytes(output) != 0 && detreduce_plan_guarantee(&plan) >= 0,
            "a plan has an output and a guarantee");
    if (!bytes || detreduce_plan_results(&plan) > 4096) {
        require_well_formed(detreduce_run(&plan, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
        return;
    }
    const bool tensors = r.shape == DETREDUCE_SHAPE_TENSORS && good;
    const auto fill = in.ConsumeIntegral<std::uint8_t>();
    const Placed x(tensors ? 8 * r.n : *bytes, in.ConsumeIntegralInRange<std::size_t>(0, 3) * 8, fill);
    const Placed y(*bytes, in.ConsumeIntegralInRange<std::size_t>(0, 15), fill ^ 0x55);
    const std::uint64_t values = detreduce_plan_results(&plan), words = detreduce_plan_state_words(&plan);
    // Of states a group has one, and one result or two.
    const Placed out((words != 0 ? values * words * 8 : values * detreduce_plan_result_bytes(&plan)) + (good ? 0 : 8),
                     0, 0xa5);
    const Placed workspace(detreduce_plan_workspace_bytes(&plan), 0, 0x5a);
    const auto list = tensors ? any_tensors(in, r, x.data()) : std::vector<detreduce_tensor>(1);
    const auto list_y = tensors ? any_tensors(in, r, x.data()) : list;
    std::vector<std::uint64_t> offsets(good ? r.groups + 1 : 1);
    for (std::uint64_t& offset : offsets)
        offset = in.ConsumeIntegralInRange(0, 7) == 0
                     ? any_integer(in)
                     : offsets.front() + r.n * static_cast<std::uint64_t>(&offset - offsets.data()) / offsets.size();
    const bool has_offsets = r.shape == DETREDUCE_SHAPE_SEGMENTS ? in.ConsumeIntegralInRange(0, 9) != 0
                                                                 : in.ConsumeIntegralInRange(0, 9) == 0;
    require_well_formed(detreduce_run(
        &plan, or_null(in, tensors ? static_cast<const void*>(list.data()) : x.data()),
        in.ConsumeBool() ? (tensors ? static_cast<const void*>(list_y.data()) : y.data()) : nullptr,
        has_offsets ? offsets.data() : nullptr, or_null(in, out.data()), or_null(in, workspace.data()), nullptr));
    if (words != 0) {
        std::vector<std::uint64_t> results(values);
        auto* const states = static_cast<std::int64_t*>(out.data());
        require_well_formed(detreduce_states_finish(&plan, states, or_null(in, results.data()), nullptr));
        require_well_formed(detreduce_states_merge(&plan, states, or_null(in, states), nullptr));
        require_well_formed(detreduce_states_normalize(&plan, states, nullptr));
    }
    if (in.ConsumeIntegralInRange(0, 7) == 0)
        require_well_formed(detreduce_run_async(&plan, x.data(), nullptr, nullptr, out.data(), nullptr));
}

void call_plans(FuzzedDataProvider& in) {
    const detreduce_request r = any_request(in);
    detreduce_plan plan;
    std::memset(&plan, 0x33, sizeof plan);
    const detreduce_status status = detreduce_make_plan(or_null(in, &r), or_null(in, &plan));
    require_well_formed(status);
    if (status.code == DETREDUCE_OK)
        require(detreduce_plan_status(&plan).code == DETREDUCE_OK, "a plan keeps its status");
    run_plan(in, r, plan);
}

/// Memory that make_plan() has not written.
void call_garbage_plan(FuzzedDataProvider& in) {
    detreduce_request r = DETREDUCE_REQUEST_INIT;
    r.device = {DETREDUCE_BACKEND_CPU, -1};
    detreduce_plan real, garbage;
    (void)detreduce_make_plan(&r, &real);
    std::memset(&garbage, 0, sizeof garbage);
    const auto bytes = in.ConsumeBytes<std::uint8_t>(sizeof garbage);
    if (!bytes.empty()) std::memcpy(&garbage, bytes.data(), bytes.size());
    if (garbage.opaque[0] == real.opaque[0]) garbage.opaque[0] = 0; // the mark of what it has written
    const detreduce_plan* const plan = or_null(in, &garbage);
    require(detreduce_plan_status(plan).code == DETREDUCE_INVALID_ARGUMENT, "what is no plan is refused");
    require(detreduce_plan_results(plan) == 0 && detreduce_plan_workspace_bytes(plan) == 0 &&
                detreduce_plan_result_bytes(plan) == 0,
            "what is no plan has no results");
    require_well_formed(detreduce_run(plan, plan, plan, nullptr, nullptr, nullptr, nullptr));
}

void call_names(FuzzedDataProvider& in) {
    const std::int32_t word = any_word(in);
    for (const char* name : {detreduce_status_name(word), detreduce_op_name(word), detreduce_method_name(word),
                             detreduce_dtype_name(word), detreduce_shape_name(word), detreduce_schedule_name(word),
                             detreduce_nan_policy_name(word), detreduce_backend_name(word)})
        require(name != nullptr && *name != '\0', "everything has a name, if only ?");
    require(detreduce_dtype_bytes(word) <= 8, "elements have up to 8 bytes");
    std::string text = in.ConsumeRandomLengthString(16);
    const char* const name = or_null(in, text.c_str());
    for (const std::int32_t found :
         {detreduce_parse_op(name), detreduce_parse_method(name), detreduce_parse_dtype(name),
          detreduce_parse_shape(name), detreduce_parse_schedule(name), detreduce_parse_nan_policy(name),
          detreduce_parse_backend(name)})
        require(found >= DETREDUCE_UNKNOWN && found < 64, "a name is that of a word, or of none");
}

void call_message(FuzzedDataProvider& in) {
    const std::string argument = in.ConsumeRandomLengthString(12), allowed = in.ConsumeRandomLengthString(12);
    detreduce_status status = {any_word(in),
                               or_null(in, argument.c_str()),
                               or_null(in, allowed.c_str()),
                               in.ConsumeIntegral<std::int32_t>(),
                               any_integer(in),
                               {}};
    const std::size_t size = in.ConsumeIntegralInRange<std::size_t>(0, 80);
    const Placed text(size, 0, 0x7f);
    char* const to = or_null(in, static_cast<char*>(text.data()));
    const std::size_t length = detreduce_status_message(or_null(in, &status), to, size);
    if (to != nullptr && size > 0)
        require(std::strlen(to) == std::min(length, size - 1), "a message is cut to its buffer");
}

template <class Id>
void call_ids(FuzzedDataProvider& in) {
    std::vector<Id> ids(in.ConsumeIntegralInRange<std::size_t>(0, 12));
    for (Id& id : ids)
        id = static_cast<Id>(in.ConsumeIntegralInRange(0, 15) == 0 ? any_integer(in)
                                                                   : in.ConsumeIntegralInRange<std::uint64_t>(0, 3));
    if (in.ConsumeBool()) std::sort(ids.begin(), ids.end());
    const std::uint64_t groups = in.ConsumeIntegralInRange<std::uint64_t>(0, 5);
    const Placed at(ids.data(), ids.size() * sizeof(Id), sizeof(Id) * in.ConsumeIntegralInRange<std::size_t>(0, 1));
    const Placed to(8 * (groups + 1), 0, 0xa5);
    const auto* const list = or_null(in, static_cast<const Id*>(at.data()));
    auto* const offsets = or_null(in, static_cast<std::uint64_t*>(to.data()));
    const detreduce_device device = any_device(in);
    detreduce_status made, checked;
    if constexpr (sizeof(Id) == 4) {
        made = detreduce_offsets_of_ids_u32(device, list, ids.size(), groups, offsets, nullptr);
        checked = detreduce_check_ids_u32(device, list, ids.size(), groups, nullptr);
    } else {
        made = detreduce_offsets_of_ids_u64(device, list, ids.size(), groups, offsets, nullptr);
        checked = detreduce_check_ids_u64(device, list, ids.size(), groups, nullptr);
    }
    require_well_formed(made);
    require_well_formed(checked);
    const std::int32_t whole = any_word(in);
    const detreduce_status found = detreduce_check_offsets(device, offsets, groups, ids.size(), whole, nullptr);
    require_well_formed(found);
    if (made.code == DETREDUCE_OK)
        require(checked.code == DETREDUCE_OK && (found.code == DETREDUCE_OK || (whole != 0 && whole != 1)),
                "offsets of ids are right offsets");
}

template <class T>
void call_short(FuzzedDataProvider& in) {
    constexpr bool f32 = fp::is_f32<T>;
    const Pattern pattern(in, 3);
    const auto x = pattern.elements<T>(in.ConsumeIntegralInRange<std::size_t>(0, 40));
    const Placed at(x.data(), x.size() * sizeof(T), sizeof(T) * in.ConsumeIntegralInRange<std::size_t>(0, 3));
    const Placed to(8, 0, 0xa5);
    const T *const a = or_null(in, static_cast<const T*>(at.data())), *const b = or_null(in, a);
    T* const out = or_null(in, static_cast<T*>(to.data()));
    auto* const index = or_null(in, static_cast<std::uint64_t*>(to.data()));
    const std::int32_t word = any_word(in);
    const std::uint64_t n = a == nullptr ? any_integer(in) : x.size();
#define DETREDUCE_CALL(op, ...)                                                                                        \
    [&] {                                                                                                              \
        if constexpr (f32)                                                                                             \
            return detreduce_##op##_f32(__VA_ARGS__);                                                                  \
        else                                                                                                           \
            return detreduce_##op##_f64(__VA_ARGS__);                                                                  \
    }()
    const detreduce_status results[] = {
        DETREDUCE_CALL(sum, a, n, word, out),          DETREDUCE_CALL(mean, a, n, word, out),
        DETREDUCE_CALL(asum, a, n, word, out),         DETREDUCE_CALL(sumsq, a, n, word, out),
        DETREDUCE_CALL(nrm2, a, n, word, out),         DETREDUCE_CALL(dot, a, b, n, word, out),
        DETREDUCE_CALL(sumdiffsq, a, b, n, word, out), DETREDUCE_CALL(mse, a, b, n, word, out),
        DETREDUCE_CALL(mae, a, b, n, word, out),       DETREDUCE_CALL(min, a, n, word, out),
        DETREDUCE_CALL(max, a, n, word, out),          DETREDUCE_CALL(nrminf, a, n, word, out),
        DETREDUCE_CALL(argmin, a, n, word, index),     DETREDUCE_CALL(argmax, a, n, word, index)};
#undef DETREDUCE_CALL
    for (const detreduce_status& status : results)
        require_well_formed(status);
}

/// States as they come from sums and from garbage.
void call_states(FuzzedDataProvider& in) {
    detreduce_state states[2] = {DETREDUCE_STATE_INIT, DETREDUCE_STATE_INIT};
    std::uint8_t blob[DETREDUCE_STATE_SERIALIZED_BYTES];
    if (in.ConsumeBool()) detreduce_state_init(or_null(in, &states[0]));
    for (int calls = in.ConsumeIntegralInRange(0, 8); calls > 0; --calls) {
        detreduce_state* const state = or_null(in, &states[in.ConsumeIntegralInRange(0, 1)]);
        const detreduce_state* const term = or_null(in, &states[in.ConsumeIntegralInRange(0, 1)]);
        switch (in.ConsumeIntegralInRange(0, 7)) {
        case 0: { // a word that no sum gives
            const auto word = in.ConsumeIntegralInRange<std::size_t>(0, DETREDUCE_STATE_WORDS - 1);
            if (state != nullptr) state->words[word] = in.ConsumeIntegral<std::int64_t>();
            break;
        }
        case 1: {
            const std::int32_t dtype = in.ConsumeIntegralInRange(-1, 4);
            const auto x = Pattern(in, 2).elements<double>(5);
            const detreduce_launch launch = any_launch(in);
            const bool some = in.ConsumeBool();
            require_well_formed(detreduce_state_add(state, dtype, some ? x.data() : nullptr, some ? 5 : any_integer(in),
                                                    or_null(in, &launch)));
            break;
        }
        case 2:
            require_well_formed(detreduce_state_merge(state, term));
            break;
        case 3:
            require_well_formed(detreduce_state_subtract(state, term));
            break;
        case 4:
            require_well_formed(detreduce_state_normalize(state));
            break;
        case 5: {
            alignas(8) std::byte out[8];
            require_well_formed(
                detreduce_state_round(state, any_word(in), or_null(in, out + in.ConsumeIntegralInRange(0, 1))));
            (void)(detreduce_state_is_nan(state) + detreduce_state_is_inf(state) + detreduce_state_equal(state, term));
            (void)detreduce_state_count(state);
            break;
        }
        case 6: {
            const std::size_t size =
                in.ConsumeBool() ? sizeof blob : in.ConsumeIntegralInRange<std::size_t>(0, sizeof blob);
            const detreduce_status status = detreduce_state_serialize(state, or_null(in, blob), size);
            require_well_formed(status);
            if (status.code == DETREDUCE_OK)
                require_well_formed(detreduce_state_deserialize(blob, sizeof blob, &states[1]));
            break;
        }
        default: {
            const auto bytes = in.ConsumeBytes<std::uint8_t>(in.ConsumeIntegralInRange<std::size_t>(0, sizeof blob));
            require_well_formed(detreduce_state_deserialize(or_null(in, bytes.data()), bytes.size(), state));
            require_well_formed(detreduce_cuda_state_merge(state, term, nullptr));
            require_well_formed(detreduce_cuda_state_add(state, any_word(in), nullptr, any_integer(in), nullptr));
            require_well_formed(detreduce_cuda_state_round(state, any_word(in), nullptr, nullptr));
        }
        }
    }
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce::fuzz;
    FuzzedDataProvider in(data, size);
    for (int calls = 0; calls < 8 && in.remaining_bytes() > 0; ++calls) {
        switch (in.ConsumeIntegralInRange(0, 15)) {
        case 0:
            call_names(in);
            break;
        case 1:
            call_message(in);
            break;
        case 2:
            call_garbage_plan(in);
            break;
        case 3:
            call_ids<std::uint32_t>(in);
            break;
        case 4:
            call_ids<std::uint64_t>(in);
            break;
        case 5:
            call_short<float>(in);
            break;
        case 6:
            call_short<double>(in);
            break;
        case 7:
            call_states(in);
            break;
        case 10:
            call_losses(in);
            break;
        case 11:
        case 12:
            call_row_ops(in);
            break;
        case 13:
            call_cosines(in);
            break;
        case 14:
            call_clip(in);
            break;
        default:
            call_plans(in);
        }
    }
    return 0;
}
