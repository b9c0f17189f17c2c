// Row ops and losses, of the same n elements. What writes as much as it reads is judged by a copy.
#include <memory>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>

#include "contenders.hpp"
#include "row_op_names.hpp"

namespace detreduce::report::gpu {
namespace {

struct PreparedRows {
    RowPlan plan;
    DeviceMemory workspace, targets, parameters, numbers, scale_gradient, shift_gradient;
    std::size_t upstream; ///< where that begins, in bytes of the input
    bool by_sums;         ///< a gradient, by what forward has kept of the row's sum of exponentials
    std::shared_ptr<DeviceMemory> out;
};

bool is_entropy(RowOp op) {
    return op == RowOp::cross_entropy || op == RowOp::cross_entropy_gradient;
}

bool is_norm_gradient(RowOp op) {
    return op == RowOp::layernorm_gradient || op == RowOp::rmsnorm_gradient;
}

bool has_upstream(RowOp op) {
    return op == RowOp::softmax_gradient || op == RowOp::log_softmax_gradient || is_norm_gradient(op);
}

std::vector<std::int64_t> targets_of(const RowRequest& r) {
    std::vector<std::int64_t> targets(r.rows);
    for (std::uint64_t i = 0; i < r.rows; ++i)
        targets[i] = static_cast<std::int64_t>(accuracy::hash(11, i) % r.n);
    return targets;
}

void launch(const PreparedRows& p, const void* x, cudaStream_t stream) {
    const RowOp op = p.plan.request().op;
    RowArrays a{.x = x, .out = p.out->get()};
    const bool norm = op == RowOp::layernorm || op == RowOp::rmsnorm, norm_gradient = is_norm_gradient(op);
    if (norm || norm_gradient) a.scale = p.parameters.get();
    if (norm_gradient) a.rstd = p.numbers.get();
    if (op == RowOp::layernorm_gradient) a.mean = p.numbers.get();
    if (has_upstream(op)) a.upstream = static_cast<const char*>(x) + p.upstream;
    if (op == RowOp::layernorm) a.shift = p.parameters.get();
    if (p.plan.request().parameters) {
        a.scale_gradient = p.scale_gradient.get();
        if (op == RowOp::layernorm_gradient) a.shift_gradient = p.shift_gradient.get();
    }
    if (p.by_sums) a.exp_sums = p.numbers.get();
    if (is_entropy(op)) a.targets = static_cast<const std::int64_t*>(p.targets.get());
    check(run(p.plan, a, p.workspace.get(), stream), "run");
}

enum class With : std::uint8_t { nothing, parameters, sums };

/// Of n elements; of a gradient, which reads two arrays, of as many as are moved by a copy of n:
/// the two overlap. With parameters of a norm's gradient, those of its scale and shift are sums
/// over the rows by `exact`.
Contender rows_contender(RowOp op, DType dtype, std::uint64_t n, std::uint64_t length,
                         const std::shared_ptr<DeviceMemory>& out, With with = With::nothing) {
    const bool parameters = with == With::parameters;
    const RowRequest request{.op = op,
                             .dtype = dtype,
                             .n = length,
                             .rows = (has_upstream(op) ? n / 3 * 2 : n) / length,
                             .parameters = parameters,
                             .reduction = Reduction::none};
    const RowPlan plan = make_row_plan(request);
    check(plan.status(), "make_row_plan");
    const bool entropy = is_entropy(op);
    const auto targets = entropy ? targets_of(request) : std::vector<std::int64_t>{};
    auto p = std::make_shared<PreparedRows>(
        PreparedRows{plan, DeviceMemory(plan.workspace_bytes()), DeviceMemory(targets.size() * sizeof(std::int64_t)),
                     DeviceMemory(length * size_of(dtype)), DeviceMemory(request.rows * 2 * sizeof(double)),
                     DeviceMemory(length * size_of(dtype)), DeviceMemory(length * size_of(dtype)),
                     (n - request.rows * length) / 8 * 8 * size_of(dtype), with == With::sums, out});
    // Some number near 0 in each format, or near 1.
    check(cudaMemset(p->parameters.get(), 0x3c, length * size_of(dtype)), "cudaMemset");
    check(cudaMemset(p->numbers.get(), 0x3c, request.rows * 2 * sizeof(double)), "cudaMemset");
    if (entropy)
        check(
            cudaMemcpy(p->targets.get(), targets.data(), targets.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice),
            "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const std::string method = parameters ? " exact" : " tree";
    const std::string more = parameters ? " with parameters" : with == With::sums ? " with sums" : "";
    return {std::string(name(op)) + method + " rows of " + std::to_string(length) + more, "",
            [p](const void* x, cudaStream_t stream) { launch(*p, x, stream); }};
}

Contender copy_to(const std::shared_ptr<DeviceMemory>& out, std::size_t bytes) {
    return {copy_name, "", [=](const void* x, cudaStream_t stream) {
                check(cudaMemcpyAsync(out->get(), x, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
            }};
}

/// One half of the elements are predictions and the other targets.
Contender loss_contender(Loss loss, Method method, DType dtype, std::uint64_t n) {
    const LossPlan plan = make_loss_plan({.loss = loss, .method = method, .dtype = dtype, .n = n / 2});
    check(plan.status(), "make_loss_plan");
    auto workspace = std::make_shared<DeviceMemory>(plan.workspace_bytes());
    auto out = std::make_shared<DeviceMemory>(sizeof(double));
    const std::size_t half = n / 2 * size_of(dtype);
    return {std::string(name(loss)) + " " + std::string(name(method)) + " " + loss_shape, "",
            [=](const void* x, cudaStream_t stream) {
                check(run(plan, {x, static_cast<const char*>(x) + half}, out->get(), workspace->get(), stream), "run");
            }};
}

} // namespace

Contender copy_contender(DType dtype, std::uint64_t n) {
    return copy_to(std::make_shared<DeviceMemory>(n * size_of(dtype)), n * size_of(dtype));
}

Contender softmax_contender(DType dtype, std::uint64_t n, std::uint64_t length) {
    const auto out = std::make_shared<DeviceMemory>(n * size_of(dtype));
    Contender c = rows_contender(RowOp::softmax, dtype, n, length, out);
    c.result = static_cast<const float*>(out->get());
    c.results = dtype == DType::f32 ? n / length * length : 0;
    return c;
}

std::vector<Contender> row_op_contenders(DType dtype, std::uint64_t n) {
    const auto out = std::make_shared<DeviceMemory>(n * size_of(dtype));
    std::vector<Contender> list{copy_to(out, n * size_of(dtype))};
    // 50257 is a vocabulary; its rows do not begin at 16 bytes.
    std::vector<std::uint64_t> lengths{1024, 4096, 16384, 50000, 50257, 65536, 131072, 262144};
    // Where whole rows leave out more than a hundredth of n, which all are said to be of, there are
    // none.
    std::erase_if(lengths, [n](std::uint64_t length) { return n % length > n / 100; });
    for (const std::uint64_t length : lengths)
        for (const RowOp op : {RowOp::logsumexp, RowOp::cross_entropy, RowOp::softmax, RowOp::log_softmax,
                               RowOp::layernorm, RowOp::rmsnorm, RowOp::cross_entropy_gradient, RowOp::softmax_gradient,
                               RowOp::log_softmax_gradient, RowOp::layernorm_gradient, RowOp::rmsnorm_gradient})
            list.push_back(rows_contender(op, dtype, n, length, out));
    for (const RowOp op : {RowOp::layernorm_gradient, RowOp::rmsnorm_gradient})
        for (const std::uint64_t length : {768, 4096})
            list.push_back(rows_contender(op, dtype, n, length, out, With::parameters));
    for (const std::uint64_t length : lengths)
        list.push_back(rows_contender(RowOp::cross_entropy_gradient, dtype, n, length, out, With::sums));
    for (const Method method : {Method::tree, Method::exact})
        for (const Loss loss : {Loss::mse, Loss::huber, Loss::bce_with_logits})
            list.push_back(loss_contender(loss, method, dtype, n));
    return list;
}

} // namespace detreduce::report::gpu
