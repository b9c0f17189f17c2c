// Requests, whatever they ask for: a plan that is refused says why and runs nothing, and one that
// is accepted gives the bits of lib/SPEC.md.
#include <algorithm>
#include <vector>

#include <detreduce/host.hpp>

#include "elements.hpp"
#include "expected.hpp"
#include "fuzz.hpp"

namespace detreduce::fuzz {
namespace {

/// More elements than that, gaps included, are not reduced: most inputs should take microseconds.
constexpr std::uint64_t most_elements = 1 << 14;

template <class Enum>
Enum any_word(FuzzedDataProvider& in, int count) {
    const int value = in.ConsumeIntegralInRange<int>(0, 4 * count); // every fourth a little beyond, or far
    return static_cast<Enum>(value < 4 * count ? value % (count + (value == count ? 1 : 0)) : 255);
}

std::uint64_t any_length(FuzzedDataProvider& in) {
    // where the order of SPEC.md, and a way to get there, begins anew
    constexpr std::uint64_t corners[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288};
    switch (in.ConsumeIntegralInRange<int>(0, 31)) { // mostly few, as the reference is slow
    case 0:
        return any_integer(in);
    case 1:
        return in.PickValueInArray(corners) - 2 + in.ConsumeIntegralInRange<std::uint64_t>(0, 4);
    case 2:
    case 3:
        return in.ConsumeIntegralInRange<std::uint64_t>(0, 1500);
    default:
        return in.ConsumeIntegralInRange<std::uint64_t>(0, 70);
    }
}

Request any_request(FuzzedDataProvider& in) {
    Request r;
    r.op = any_word<Op>(in, 21);
    r.method = any_word<Method>(in, 7);
    r.dtype = any_word<DType>(in, 4);
    if (in.ConsumeBool()) r.output = any_word<DType>(in, 4);
    r.shape = any_word<Shape>(in, 5);
    r.n = any_length(in);
    if (r.shape != Shape::flat || in.ConsumeIntegralInRange(0, 15) == 0)
        r.groups = in.ConsumeIntegralInRange(0, 15) == 0 ? any_length(in) : in.ConsumeIntegralInRange(0, 9);
    const bool matrix = r.shape == Shape::rows || r.shape == Shape::columns;
    if (matrix && in.ConsumeBool())
        r.stride = (r.shape == Shape::rows ? r.n : r.groups) + in.ConsumeIntegralInRange<std::uint64_t>(0, 7);
    r.device = cpu;
    r.launch.threads =
        in.ConsumeIntegralInRange<std::uint32_t>(1, 24) <= 22 ? 1 : in.ConsumeIntegralInRange<std::uint32_t>(2, 3);
    r.launch.isa = static_cast<Isa>(in.ConsumeIntegralInRange(0, 3));
    if (info(r.op).kind == Kind::order || in.ConsumeIntegralInRange(0, 15) == 0) r.nan = any_word<NanPolicy>(in, 2);
    if (info(r.op).kind == Kind::moments) r.ddof = in.ConsumeIntegralInRange<std::uint64_t>(0, 3);
    if (r.shape == Shape::tensors) r.each = in.ConsumeBool();
    switch (in.ConsumeIntegralInRange(0, 31)) { // what is refused more often than not
    case 0:
        r.stride = any_integer(in);
        break;
    case 1:
        r.device = {any_word<Backend>(in, 2), in.ConsumeIntegral<int>()};
        break;
    case 2:
        r.launch = {any_word<Schedule>(in, 4), in.ConsumeIntegral<std::uint32_t>(), in.ConsumeIntegral<std::uint32_t>(),
                    in.ConsumeIntegralInRange<std::uint32_t>(0, 5), any_word<Isa>(in, 4)};
        break;
    case 3:
        r.each = true;
        break;
    case 4:
        r.ddof = any_integer(in);
        break;
    case 5:
        r.groups = any_integer(in);
        break;
    case 6:
        r.launch.threads = 1025 + in.ConsumeIntegral<std::uint8_t>();
        break;
    default:
        break;
    }
    return r;
}

/// Elements that an array of this request spans; nothing when they are too many.
std::optional<std::uint64_t> extent_of(const Plan& plan) {
    const Request& r = plan.request();
    std::uint64_t extent = r.n;
    if (r.shape == Shape::rows || r.shape == Shape::columns) {
        const std::uint64_t rows = r.shape == Shape::rows ? r.groups : r.n;
        if (rows > most_elements || plan.stride() > most_elements) return std::nullopt;
        extent = rows * plan.stride();
    }
    return extent <= most_elements && r.groups <= 2048 ? std::optional(extent) : std::nullopt;
}

/// Ascending offsets of all of n elements, or, sometimes, others.
std::vector<std::uint64_t> any_offsets(FuzzedDataProvider& in, const Request& r) {
    std::vector<std::uint64_t> offsets(r.groups + 1);
    for (std::uint64_t& offset : offsets)
        offset = in.ConsumeIntegralInRange<std::uint64_t>(0, r.n);
    std::sort(offsets.begin(), offsets.end());
    if (in.ConsumeIntegralInRange(0, 15) == 0)
        offsets[in.ConsumeIntegralInRange<std::size_t>(0, r.groups)] = any_integer(in);
    return offsets;
}

bool are_right(const std::vector<std::uint64_t>& offsets, std::uint64_t n) {
    return std::is_sorted(offsets.begin(), offsets.end()) && offsets.back() <= n;
}

/// Where group g begins, and its elements' distance.
struct Cut {
    std::uint64_t begin, n, step;
};
Cut cut_of(const Plan& plan, const std::vector<std::uint64_t>& offsets, std::uint64_t g) {
    const Request& r = plan.request();
    switch (r.shape) {
    case Shape::rows:
        return {g * plan.stride(), r.n, 1};
    case Shape::columns:
        return {g, r.n, plan.stride()};
    case Shape::segments:
        return {offsets[g], offsets[g + 1] - offsets[g], 1};
    default:
        return {0, r.n, 1};
    }
}

/// What the caller of run() may get wrong.
struct Mishap {
    bool null_x, null_y, null_out, null_offsets, null_workspace, extra_y, extra_offsets;
    std::size_t skew_x, skew_y, skew_out; ///< bytes after a boundary
};
Mishap any_mishap(FuzzedDataProvider& in, std::size_t element, std::size_t result) {
    const int kind = in.ConsumeIntegralInRange(0, 63);
    const auto bytes = [&](std::size_t size, int mine) {
        return in.ConsumeIntegralInRange<std::size_t>(0, 15) * size + (kind == mine ? 1 : 0);
    };
    return {kind == 1, kind == 2, kind == 3,         kind == 4,         kind == 5,
            kind == 6, kind == 7, bytes(element, 8), bytes(element, 9), bytes(result, 10)};
}

std::string described(const Request& r) {
    const auto text = [](std::string_view part) { return std::string(part) + ' '; };
    return text(name(r.op)) + text(name(r.method)) + text(name(r.dtype)) + "to " +
           text(r.output ? name(*r.output) : "its own") + text(name(r.shape)) + "n " + std::to_string(r.n) +
           " groups " + std::to_string(r.groups) + " stride " + std::to_string(r.stride) + " ddof " +
           std::to_string(r.ddof) + ' ' + text(name(r.nan)) + text(name(r.launch.isa)) + "threads " +
           std::to_string(r.launch.threads) + (r.each ? " each" : "");
}

/// The results as bits, and whether there is anything to compare them with.
void require_results(const Request& r, const Placed& out, std::size_t bytes,
                     const std::vector<std::uint64_t>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, static_cast<const std::byte*>(out.data()) + i * bytes, bytes);
        if (bits != expected[i]) {
            char text[100];
            std::snprintf(text, sizeof text, ": result %zu is 0x%llx, SPEC.md says 0x%llx", i,
                          static_cast<unsigned long long>(bits), static_cast<unsigned long long>(expected[i]));
            require(false, "the bits are those of SPEC.md", described(r) + text);
        }
    }
}

void require_untouched(const Placed& out, std::size_t bytes) {
    const auto* const at = static_cast<const unsigned char*>(out.data());
    require(std::all_of(at, at + bytes, [](unsigned char c) { return c == 0xa5; }), "an error writes nothing");
}

/// A list of arrays, each with memory of its own.
struct List {
    std::vector<Placed> memory;
    std::vector<Tensor> tensors;
    std::vector<std::vector<double>> numbers;
};
List any_list(FuzzedDataProvider& in, const Request& r, const List* like) {
    List list;
    std::uint64_t left = r.n;
    for (std::uint64_t i = 0; i < r.groups; ++i) {
        const DType dtype = like               ? like->tensors[i].dtype
                            : in.ConsumeBool() ? r.dtype
                                               : static_cast<DType>(in.ConsumeIntegralInRange(0, 3));
        const std::uint64_t n = like                ? like->tensors[i].n
                                : i + 1 == r.groups ? left
                                                    : in.ConsumeIntegralInRange<std::uint64_t>(0, left);
        left -= n;
        const Pattern pattern(in, 4);
        with_dtype(dtype, [&]<class T>(T) {
            const auto x = pattern.elements<T>(n);
            list.memory.emplace_back(x.data(), n * sizeof(T), in.ConsumeIntegralInRange<std::size_t>(0, 7) * sizeof(T));
            list.numbers.push_back(as_doubles(std::span<const T>(x)));
        });
        list.tensors.push_back({list.memory.back().data(), n, dtype});
    }
    return list;
}

void run_list(FuzzedDataProvider& in, const Plan& plan) {
    const Request& r = plan.request();
    const bool two = info(r.op).inputs == 2;
    const List x = any_list(in, r, nullptr), y = two ? any_list(in, r, &x) : List();
    std::uint64_t elements = 0;
    for (const Tensor& tensor : x.tensors)
        elements += tensor.n;
    const std::size_t bytes = plan.result_bytes();
    const Placed out(plan.results() * bytes, 0, 0xa5);
    const Status status = run(plan, {x.tensors.data(), two ? y.tensors.data() : nullptr}, out.data());
    require_well_formed(status);
    require(status.ok() == (elements == r.n), "a list is refused where its elements are not n", described(r));
    if (!status.ok()) return require_untouched(out, plan.results() * bytes);
    std::vector<double> all_x, all_y;
    std::vector<std::uint64_t> expected;
    for (std::size_t i = 0; i < r.groups; ++i) {
        all_x.insert(all_x.end(), x.numbers[i].begin(), x.numbers[i].end());
        if (two) all_y.insert(all_y.end(), y.numbers[i].begin(), y.numbers[i].end());
        if (r.each) append_expected<double>(expected, plan, x.numbers[i], two ? y.numbers[i] : std::vector<double>());
    }
    append_expected<double>(expected, plan, all_x, all_y);
    require_results(r, out, bytes, expected);
}

template <class T>
void run_arrays(FuzzedDataProvider& in, const Plan& plan, std::uint64_t extent) {
    const Request& r = plan.request();
    const bool two = info(r.op).inputs == 2;
    const std::size_t bytes = plan.result_bytes(), out_bytes = plan.results() * bytes;
    const Mishap mishap = any_mishap(in, sizeof(T), bytes);
    const auto offsets = r.shape == Shape::segments ? any_offsets(in, r) : std::vector<std::uint64_t>();
    const Pattern pattern(in, 24), other(in, 24);
    const auto x = pattern.elements<T>(extent);
    const auto y = two || mishap.extra_y ? other.elements<T>(extent) : std::vector<T>();
    const Placed at_x(x.data(), extent * sizeof(T), mishap.skew_x), at_y(y.data(), y.size() * sizeof(T), mishap.skew_y);
    const Placed at_offsets(offsets.data(), offsets.size() * 8, 0), out(out_bytes, mishap.skew_out, 0xa5);
    const Placed workspace(plan.workspace_bytes(), 8, 0x5a);
    const bool has_offsets = !mishap.null_offsets && (r.shape == Shape::segments || mishap.extra_offsets);
    const Inputs inputs(mishap.null_x ? nullptr : at_x.data(),
                        mishap.null_y || (!two && !mishap.extra_y) ? nullptr : at_y.data(),
                        has_offsets ? static_cast<const std::uint64_t*>(at_offsets.data()) : nullptr);
    const Status status =
        run(plan, inputs, mishap.null_out ? nullptr : out.data(), mishap.null_workspace ? nullptr : workspace.data());
    require_well_formed(status);
    if (!status.ok()) return require_untouched(out, out_bytes);
    require(!has_offsets || are_right(offsets, r.n), "wrong offsets are refused", described(r));
    std::vector<std::uint64_t> expected;
    for (std::uint64_t g = 0; g < plan.groups(); ++g) {
        const Cut cut = cut_of(plan, offsets, g);
        const auto part = [&](const std::vector<T>& from) {
            std::vector<T> to(from.empty() ? 0 : cut.n);
            for (std::size_t i = 0; i < to.size(); ++i)
                to[i] = from[cut.begin + i * cut.step];
            return to;
        };
        append_expected<T>(expected, plan, part(x), two ? part(y) : std::vector<T>());
    }
    require_results(r, out, bytes, expected);
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce;
    using namespace detreduce::fuzz;
    FuzzedDataProvider in(data, size);
    const Plan plan = make_plan(any_request(in));
    require_well_formed(plan.status());
    if (!plan.status().ok()) {
        const Placed out(64, 0, 0xa5);
        const Status status = run(plan, {out.data()}, out.data(), out.data());
        require(status.code == plan.status().code, "a plan that was refused refuses to run");
        require_untouched(out, 64);
        return 0;
    }
    require(plan.request().device.backend == Backend::cpu, "without CUDA there are plans for the CPU alone");
    const auto extent = extent_of(plan);
    if (!extent) return 0;
    if (plan.request().shape == Shape::tensors) {
        run_list(in, plan);
    } else {
        with_dtype(plan.request().dtype, [&]<class T>(T) { run_arrays<T>(in, plan, *extent); });
    }
    return 0;
}
