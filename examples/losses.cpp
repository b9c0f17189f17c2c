// A loss, its gradient, and cross entropy, on the CPU. The site shows the parts between the marks.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <detreduce/detreduce.hpp>

namespace dr = detreduce;

static void expect(bool is_so, const char* what) {
    if (is_so) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(EXIT_FAILURE);
}
#define EXPECT(...) expect(__VA_ARGS__, #__VA_ARGS__)

static void elements() {
    // --8<-- [start:loss]
    std::vector<float> x{1, 2, 4}, target{1, 3, 1};
    float mean = dr::loss(dr::Loss::huber, x, target, {.parameter = 1}); // (0 + ½ + 2½) / 3 = 1
    std::vector<float> dx = dr::loss_gradient(dr::Loss::huber, x, target, {.parameter = 1});
    // 0, −⅓, ⅓
    // --8<-- [end:loss]
    EXPECT(mean == 1 && dx.size() == 3 && dx[0] == 0 && dx[1] == -dx[2] && dx[2] == 1.0f / 3);
}

static void row_losses() {
    // --8<-- [start:cross-entropy]
    std::vector<float> logits{2, 0, 0, //
                              0, 0, 5};
    std::vector<std::int64_t> targets{0, 2};
    float mean = dr::cross_entropy(logits, 2, targets); // of two rows
    std::vector<float> gradient = dr::row_loss_gradient(dr::RowOp::cross_entropy, logits, 2, targets);
    // --8<-- [end:cross-entropy]
    EXPECT(mean > 0 && mean < 1 && gradient.size() == logits.size() && gradient[0] < 0 && gradient[1] > 0);
}

static void softmax() {
    // --8<-- [start:softmax]
    std::vector<float> x{1, 1, 1, 1}, y(4);
    dr::RowPlan plan =
        dr::make_row_plan({.op = dr::RowOp::softmax, .dtype = dr::DType::f32, .n = 4, .rows = 1, .device = dr::cpu});
    dr::throw_if_error(plan.status());
    dr::throw_if_error(dr::run(plan, {.x = x.data(), .out = y.data()})); // ¼ each
    // --8<-- [end:softmax]
    EXPECT(y == std::vector<float>(4, 0.25f));
}

static void distillation() {
    constexpr std::uint64_t batch = 2, classes = 3;
    // --8<-- [start:distillation]
    std::vector<float> student{1, 0, 0, 2, 1, 0}, teacher{2, 0, 0, 2, 1, 0};
    dr::DistillationPlan plan = dr::make_distillation_plan(
        {.dtype = dr::DType::f32, .n = classes, .rows = batch, .temperature = 2, .device = dr::cpu});
    dr::throw_if_error(plan.status());
    std::vector<double> workspace(plan.workspace_bytes() / sizeof(double) + 1);
    float loss = 0; // of two rows, one of which is the teacher's
    dr::throw_if_error(dr::run(plan, student.data(), teacher.data(), &loss, workspace.data()));
    // --8<-- [end:distillation]
    EXPECT(loss > 0 && loss < 1);
}

static void batch_norm() {
    constexpr std::uint64_t batch = 2, channels = 2, height = 1, width = 2;
    // --8<-- [start:batch-norm]
    std::vector<float> x{1, 3, 0, 0, 1, 3, 8, 8}, out(x.size());
    std::vector<float> scale(channels, 1), shift(channels), running_mean(channels), running_variance(channels, 1);
    dr::ChannelNormPlan plan = dr::make_channel_norm_plan({.norm = dr::ChannelNorm::batch_norm,
                                                           .dtype = dr::DType::f32,
                                                           .n = batch,
                                                           .channels = channels,
                                                           .size = height * width,
                                                           .epsilon = 0,
                                                           .device = dr::cpu});
    dr::throw_if_error(plan.status());
    std::vector<double> workspace(plan.workspace_bytes() / sizeof(double) + 1);
    dr::throw_if_error(dr::run(plan,
                               {.x = x.data(),
                                .out = out.data(), // −1, 1, −1, −1, −1, 1, 1, 1
                                .scale = scale.data(),
                                .shift = shift.data(),
                                .running_mean = running_mean.data(),
                                .running_variance = running_variance.data()},
                               workspace.data()));
    // --8<-- [end:batch-norm]
    EXPECT(out == std::vector<float>{-1, 1, -1, -1, -1, 1, 1, 1} && running_mean[0] > 0);
}

static void clip() {
    // --8<-- [start:clip]
    std::vector<float> gradient{30, 40};
    dr::Tensor list[]{{gradient.data(), gradient.size(), dr::DType::f32}};
    dr::ClipPlan plan = dr::make_clip_plan({.n = 2, .tensors = 1, .max_norm = 1, .epsilon = 0, .device = dr::cpu});
    double norm = 0;
    dr::throw_if_error(dr::run(plan, list, &norm)); // 50; the gradient is now 0.6, 0.8
    // --8<-- [end:clip]
    EXPECT(norm == 50 && gradient[0] > 0.59f && gradient[0] < 0.61f);
}

int main() {
    elements();
    row_losses();
    softmax();
    distillation();
    batch_norm();
    clip();
    std::puts("losses: as expected");
}
