// Plans: every check of what a caller may ask for is here.
#include <algorithm>

#include <detreduce/host.hpp>
#include <detreduce/plan.hpp>

#include "check_arrays.hpp"
#include "host/backend.hpp"
#include "plan_parts.hpp"
#include "run.hpp"
#include "segments.hpp"
#include "state_form.hpp"

namespace detreduce {
namespace {

/// Is `value` an enumerator? Enumerators have names; anything else came from a cast.
template <class Enum>
bool is_named(Enum value) {
    return name(value) != "?";
}

/// Methods that round on the way have nothing to say about a format that has not all numbers of the
/// elements'. Comparing does not round.
bool can_give(const Request& r) {
    if (info(r.op).kind == Kind::order || info(r.op).kind == Kind::count) return true;
    const DType output = r.output.value_or(r.dtype);
    return r.method == Method::exact || embeds(r.dtype, output);
}

/// Is the number of elements that a result is of known before they are looked at?
bool knows_n(const Request& r) {
    return r.shape != Shape::segments && !r.state;
}

Status check_words(const Request& r) {
    if (!is_named(r.op)) return invalid("op", allowed_ops);
    if (!is_named(r.method)) return invalid("method", allowed_methods);
    if (!is_dtype(r.dtype)) return invalid("dtype", allowed_dtypes);
    if (r.output && !is_dtype(*r.output)) return invalid("output", allowed_dtypes);
    if (!can_give(r)) {
        return invalid("output", "exact gives any dtype; other methods give the input's dtype and wider ones, which "
                                 "have all of its numbers");
    }
    if (!is_named(r.nan)) return invalid("nan", "allowed are propagate and ignore");
    if (!is_named(r.shape)) return invalid("shape", allowed_shapes);
    if (!is_named(r.launch.schedule)) {
        return invalid("launch.schedule", "allowed are automatic, two_pass, last_block and cooperative");
    }
    if (!is_named(r.launch.isa)) return invalid("launch.isa", "allowed are automatic, baseline, avx2, avx512 and neon");
    if (r.device.backend != Backend::cpu && r.device.backend != Backend::cuda) {
        return invalid("device.backend", "allowed are cpu and cuda");
    }
    if (r.n > max_n) return invalid("n", "allowed are 0 to 2^40 elements");
    if (r.n == 0 && info(r.op).finalize == Finalize::mean && knows_n(r)) {
        return invalid("n", "nothing has no mean; allowed for mean, mse and mae are 1 to 2^40 elements");
    }
    return {};
}

Status check_shape(const Request& r) {
    if (r.shape == Shape::flat && r.groups != 1) return invalid("groups", "allowed for shape flat is 1");
    if (r.groups > max_groups) return invalid("groups", "allowed are 0 to 2^40 rows, columns, segments or tensors");
    if (!detail::is_matrix(r.shape)) {
        return r.stride == 0 ? Status{} : invalid("stride", "must be 0 but for rows and columns");
    }
    const bool across = detail::is_across(r.shape);
    const std::uint64_t rows = across ? r.n : r.groups, length = across ? r.groups : r.n;
    if (r.stride != 0 && r.stride < length) {
        return invalid(
            "stride",
            "allowed are 0, for rows of the matrix one behind the other, and the length of these rows or more");
    }
    const std::uint64_t step = r.stride == 0 ? length : r.stride;
    if (rows > 0 && step > max_extent / rows) return invalid("groups", "allowed are 2^46 elements in all");
    return {};
}

/// Lists of tensors.
Status check_tensors_offered(const Request& r) {
    if (r.groups > 0xffffffffu) return invalid("groups", "allowed are 0 to 2^32 - 1 tensors");
    const Kind kind = info(r.op).kind;
    if (kind == Kind::order || r.op == Op::count_nonzero) return {};
    if (kind != Kind::sum && kind != Kind::moments) {
        return {StatusCode::unsupported, "op", "allowed for tensors are all ops but prod and count_unique"};
    }
    if (r.method == Method::exact) return {};
    return {StatusCode::unsupported, "method",
            "allowed for tensors is exact: the bits of other methods would depend on how the list is put together"};
}

/// Combinations that are not there (yet).
Status check_offered(const Request& r) {
    if (r.each && r.shape != Shape::tensors) return invalid("each", "must be false but for tensors");
    if (r.shape == Shape::tensors) return check_tensors_offered(r);
    return {};
}

/// What is said about products, and nowhere else.
Status check_product(const Request& r) {
    if (info(r.op).kind != Kind::product) return {};
    const bool on_cpu = r.device.backend == Backend::cpu;
    if (r.method == Method::tree || r.method == Method::compensated) return {};
    if (r.method == Method::serial && on_cpu) return {};
    if (r.method == Method::exact) {
        return {
            StatusCode::unsupported, "method",
            "an exact product of n numbers has n times as many bits as one of them; allowed for prod are compensated, "
            "tree and, on the CPU, serial"};
    }
    return {StatusCode::unsupported, "method", "allowed for prod are compensated, tree and, on the CPU, serial"};
}

/// What is said about counting, and nowhere else.
Status check_count(const Request& r) {
    if (info(r.op).kind != Kind::count) return {};
    if (info(r.method).guarantee == Guarantee::none) {
        return {StatusCode::unsupported, "method",
                "ops that count have no atomic; allowed are exact, compensated, kahan, tree and, on the CPU, serial"};
    }
    if (r.output) return invalid("output", "must be empty for ops that count: the result is an integer of 64 bits");
    return {};
}

/// Mean and variance have no sums whose roundings could be carried along.
Status check_moments(const Request& r) {
    const bool there = r.method == Method::exact || r.method == Method::tree || r.method == Method::serial;
    if (info(r.op).kind != Kind::moments || there) return {};
    return {StatusCode::unsupported, "method",
            "allowed for variance, stddev and moments are exact, tree and, on the CPU, serial"};
}

Status check_ddof(const Request& r) {
    if (info(r.op).kind != Kind::moments)
        return r.ddof == 0 ? Status{} : invalid("ddof", "must be 0 but for variance, stddev and moments");
    if (!knows_n(r))
        return r.ddof <= max_n ? Status{} : invalid("ddof", "allowed for segments and states are 0 to 2^40");
    if (r.ddof < r.n) return {};
    if (r.n == 0) return invalid("n", "a variance needs an element; allowed are 1 to 2^40 elements, more than ddof");
    return invalid("ddof", "variances have a divisor of n - ddof; allowed are 0 to n - 1");
}

/// What is said about comparing elements, and nowhere else.
Status check_order(const Request& r) {
    const OpInfo& op = info(r.op);
    if (op.kind != Kind::order) {
        if (r.nan == NanPolicy::propagate) return {};
        return invalid("nan",
                       "ignore is for min, max, minmax, argmin, argmax and nrminf; allowed for other ops is propagate");
    }
    if (info(r.method).guarantee == Guarantee::none) {
        return {StatusCode::unsupported, "method",
                "ops that compare have no atomic; allowed are exact, compensated, kahan, tree and, on the CPU, serial"};
    }
    if (op.gives_integer && r.output) {
        return invalid("output", "must be empty for argmin and argmax: the result is an index, an integer of 64 bits");
    }
    if (r.n == 0 && r.op != Op::nrminf && knows_n(r)) {
        return invalid("n", "nothing has no minimum and no maximum; allowed for min, max, minmax, argmin and "
                            "argmax are 1 to 2^40 elements");
    }
    return {};
}

/// States, which many parts of the elements are put together from.
Status check_state(const Request& r) {
    const OpInfo& op = info(r.op);
    if (r.first_index != 0 && !(r.state && op.kind == Kind::order && op.gives_integer))
        return invalid("first_index", "must be 0 but for states of argmin and argmax");
    if (r.first_index > detail::max_first_index) return invalid("first_index", "allowed are 0 to 2^61");
    if (!r.state) return {};
    if (op.kind == Kind::product) {
        return {StatusCode::unsupported, "op",
                "a product has no state: it is rounded on the way, so that its bits depend on where it is cut; allowed "
                "for states are all ops but prod and count_unique"};
    }
    if (r.op == Op::count_unique) {
        return {StatusCode::unsupported, "op",
                "count_unique has no state: what is new in a part may be known from another; allowed for states are "
                "all ops but prod and count_unique"};
    }
    if ((op.kind == Kind::sum || op.kind == Kind::moments) && r.method != Method::exact) {
        return {StatusCode::unsupported, "method",
                "allowed for states is exact: the bits of other methods depend on where the elements are cut"};
    }
    return {};
}

detail::Engine engine_of(const Request& r) {
    using detail::Engine;
    switch (info(r.op).kind) {
    case Kind::order:
        return Engine::order;
    case Kind::count:
        return r.op == Op::count_unique ? Engine::unique : Engine::order;
    case Kind::product:
        return Engine::products;
    case Kind::moments:
        return r.method == Method::exact ? Engine::exact : Engine::moments;
    default:
        if (r.method == Method::exact) return Engine::exact;
        return r.method == Method::atomic ? Engine::atomic : Engine::sums;
    }
}

Status prepare_cpu(const Request& r, detail::Route& route) {
    Launch& launch = route.launch;
    if (!info(r.method).on_cpu) {
        return {StatusCode::unsupported, "method", "this method is not offered on the CPU"};
    }
    if (launch.threads > host::max_threads)
        return invalid("launch.threads", "allowed are 1 to 1024, or 0 for the library's choice");
    if (launch.threads == 0)
        launch.threads = host::default_threads(detail::is_matrix(r.shape) ? r.n * r.groups : r.n, size_of(r.dtype));
    const auto isas = available_isas();
    if (launch.isa == Isa::automatic) launch.isa = isas.back();
    if (std::find(isas.begin(), isas.end(), launch.isa) == isas.end()) {
        return {StatusCode::unsupported, "launch.isa",
                "this processor, or this build, lacks it; automatic takes the best that there is"};
    }
    route.workspace_bytes = host::workspace_bytes(r);
    return {};
}

Status prepare_cuda(Request& r, detail::Route& route) {
    if (!info(r.method).on_cuda) {
        return {StatusCode::unsupported, "method",
                "serial is offered on the CPU only; allowed on CUDA are tree, exact (not of prod), compensated (not of "
                "variances), kahan (of neither) and, for flat sums, atomic"};
    }
    if (r.method == Method::atomic && (r.op != Op::sum || r.shape != Shape::flat)) {
        return {
            StatusCode::unsupported, "method",
            "atomic is there for comparison, on CUDA for flat sums only; allowed for all else are exact, compensated, "
            "kahan and tree"};
    }
    if (has_8_bits(r.dtype) && (route.computed || r.shape == Shape::tensors || r.method == Method::atomic)) {
        return {
            StatusCode::unsupported, "dtype",
            "transform_reduce, lists of tensors and atomic are not offered for dtypes of 8 bits on CUDA; allowed are "
            "f16, bf16, f32 and f64"};
    }
    return cuda::call(&cuda::Functions::prepare, r, route);
}

/// Those of segments on a device cannot be looked at from here: that is what the public
/// check_offsets() is for.
Status check_offsets(const Request& r, const Inputs& in) {
    if (r.shape != Shape::segments) {
        return in.offsets == nullptr ? Status{} : invalid("offsets", "must be null but for segments");
    }
    if (in.offsets == nullptr) return invalid("offsets", "must point to groups + 1 offsets");
    if (misaligned(in.offsets, 8)) return invalid("offsets", "must be aligned to 8 bytes");
    if (r.device.backend == Backend::cuda) return {};
    return status_of_offsets(find_fault(as_ascending(in.offsets, r.groups, r.n, false)));
}

Status no_y() {
    return invalid("y", "must be null for an op of one input; dot, sumdiffsq, mse and mae have two");
}

constexpr char allowed_for_tensors[] = "allowed for the dtype of a tensor are ";

/// One of the two lists that an op may have.
Status check_list(const char* argument, const Request& r, const void* list_at) {
    if (r.groups > 0 && (list_at == nullptr || misaligned(list_at, alignof(Tensor)))) {
        return invalid(argument, "must point to the list of tensors, in host memory");
    }
    const auto* const list = static_cast<const Tensor*>(list_at);
    std::uint64_t elements = 0;
    for (std::uint64_t i = 0; i < r.groups && elements <= r.n; ++i) {
        if (!is_dtype(list[i].dtype)) return invalid(argument, allowed<detail::dtype_names, allowed_for_tensors>, i);
        if (has_8_bits(list[i].dtype) && r.device.backend == Backend::cuda) {
            return {StatusCode::unsupported, argument,
                    "lists with tensors of 8 bits are reduced on the CPU only; allowed for the dtype of a "
                    "tensor on CUDA are f16, bf16, f32 and f64",
                    0, i};
        }
        if (r.state && list[i].dtype == DType::f64 && r.dtype != DType::f64 && detail::adds_products(info(r.op)))
            return invalid(argument, "states of products of f64 are longer: allowed with tensors of f64 is dtype f64",
                           i);
        if (list[i].n > max_n) return invalid(argument, "allowed for a tensor are 0 to 2^40 elements", i);
        if (Status bad = check_elements(argument, list[i].data, list[i].dtype, list[i].n); !bad.ok()) {
            bad.index = i;
            return bad;
        }
        elements += list[i].n;
    }
    return elements == r.n ? Status{} : invalid(argument, "the elements of the tensors must be n in all");
}

Status check_tensors(const Request& r, const Inputs& in) {
    if (in.offsets != nullptr) return invalid("offsets", "must be null but for segments");
    if (const Status bad = check_list("x", r, in.x); !bad.ok()) return bad;
    if (info(r.op).inputs == 1) return in.y == nullptr ? Status{} : no_y();
    if (const Status bad = check_list("y", r, in.y); !bad.ok()) return bad;
    const auto *const x = static_cast<const Tensor*>(in.x), *const y = static_cast<const Tensor*>(in.y);
    for (std::uint64_t i = 0; i < r.groups; ++i) {
        if (x[i].n != y[i].n || x[i].dtype != y[i].dtype)
            return invalid("y", "each tensor must have the length and the dtype of the one in x that it goes with", i);
    }
    return {};
}

Status check_inputs(const Request& r, const Inputs& in) {
    if (r.shape == Shape::tensors) return check_tensors(r, in);
    if (const Status bad = check_offsets(r, in); !bad.ok()) return bad;
    const std::uint64_t elements = r.groups == 0 ? 0 : r.n;
    if (const Status bad = check_elements("x", in.x, r.dtype, elements); !bad.ok()) return bad;
    if (info(r.op).inputs == 2) return check_elements("y", in.y, r.dtype, elements);
    return in.y == nullptr ? Status{} : no_y();
}

} // namespace

Status check_out(const Plan& plan, const void* out) noexcept {
    if (!plan.result_is_integer()) return check_alignment("out", out, plan.output());
    return misaligned(out, plan.result_bytes())
               ? invalid("out", "must be aligned to 8 bytes, as an index or a count is")
               : Status{};
}

Status check_arrays(const Plan& plan, const Inputs& in, const void* out) noexcept {
    if (out == nullptr && plan.results() > 0) return invalid("out", "must not be null");
    if (const Status bad = check_inputs(plan.request(), in); !bad.ok()) return bad;
    if (!plan.request().state) return check_out(plan, out);
    return misaligned(out, 8) ? invalid("out", "must be aligned to 8 bytes, as the words of states are") : Status{};
}

Plan detail::PlanParts::make(const Request& asked, bool computed) noexcept {
    Plan plan;
    plan.request_ = asked;
    Request& request = plan.request_;
    Status& status = plan.status_;
    request.method = resolved(asked.method, asked.op);
    plan.route_.launch = asked.launch;
    plan.route_.computed = computed;
    status = check_words(request);
    for (Status (*const check)(const Request&) : {check_shape, check_offered, check_moments, check_ddof, check_order,
                                                  check_product, check_count, check_state}) {
        if (status.ok()) status = check(request);
    }
    if (!status.ok()) return plan;
    plan.route_.engine = engine_of(request);
    status =
        request.device.backend == Backend::cpu ? prepare_cpu(request, plan.route_) : prepare_cuda(request, plan.route_);
    return plan;
}

Plan detail::PlanParts::part(const Request& request, bool computed) noexcept {
    Plan plan;
    plan.request_ = request;
    plan.route_ = {.engine = engine_of(request), .computed = computed, .launch = request.launch};
    plan.status_ = {};
    return plan;
}

Plan make_plan(const Request& request) noexcept {
    return detail::PlanParts::make(request, false);
}

Status run(const Plan& plan, Inputs in, void* out, void* workspace, Stream stream) noexcept {
    const Status bad = check_call(plan, workspace, [&] { return check_arrays(plan, in, out); });
    if (!bad.ok()) return bad;
    return run_on([&] { host::reduce(plan, in, out, workspace); }, &cuda::Functions::enqueue, plan, in, out, workspace,
                  stream);
}

} // namespace detreduce
