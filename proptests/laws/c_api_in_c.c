/* The C header as a C program uses it. */
#include "laws/c_api_in_c.h"

#include <stdlib.h>
#include <string.h>

const size_t* layout_in_c(void) {
    static const size_t layout[] = {sizeof(detreduce_status),
                                    sizeof(detreduce_request),
                                    sizeof(detreduce_plan),
                                    sizeof(detreduce_launch),
                                    sizeof(detreduce_state),
                                    sizeof(detreduce_tensor),
                                    sizeof(detreduce_loss_request),
                                    sizeof(detreduce_loss_inputs),
                                    sizeof(detreduce_loss_plan),
                                    sizeof(detreduce_row_request),
                                    sizeof(detreduce_row_arrays),
                                    sizeof(detreduce_row_plan),
                                    sizeof(detreduce_clip_request),
                                    sizeof(detreduce_clip_plan),
                                    offsetof(detreduce_loss_request, launch),
                                    offsetof(detreduce_row_request, launch),
                                    offsetof(detreduce_row_arrays, factor),
                                    offsetof(detreduce_clip_request, launch),
                                    offsetof(detreduce_request, n),
                                    offsetof(detreduce_request, device),
                                    offsetof(detreduce_request, launch),
                                    offsetof(detreduce_request, each),
                                    offsetof(detreduce_status, cuda_error),
                                    offsetof(detreduce_status, index),
                                    offsetof(detreduce_tensor, dtype),
                                    0};
    return layout;
}

int request_inits_differ(void) {
    const detreduce_request initial = DETREDUCE_REQUEST_INIT;
    detreduce_request request;
    memset(&request, 0xa5, sizeof request);
    detreduce_request_init(&request, sizeof request);
    return memcmp(&initial, &request, sizeof request);
}

detreduce_status reduce_in_c(const char* op, const char* method, const char* dtype, const void* x, const void* y,
                             uint64_t n, void* out) {
    detreduce_request request = DETREDUCE_REQUEST_INIT;
    detreduce_plan plan, copy;
    detreduce_status status;
    request.op = detreduce_parse_op(op);
    request.method = detreduce_parse_method(method);
    request.dtype = detreduce_parse_dtype(dtype);
    request.n = n;
    request.device.backend = detreduce_parse_backend("cpu");
    status = detreduce_make_plan(&request, &plan);
    if (status.code != DETREDUCE_OK) return status;
    copy = plan; /* a plain value */
    memset(&plan, 0, sizeof plan);
    return detreduce_run(&copy, x, y, NULL, out, NULL, NULL);
}

detreduce_status cross_entropy_in_c(const float* logits, uint64_t rows, uint64_t classes, const int64_t* targets,
                                    float* loss) {
    detreduce_row_request request = DETREDUCE_ROW_REQUEST_INIT;
    detreduce_row_arrays arrays = DETREDUCE_ROW_ARRAYS_INIT;
    detreduce_row_plan plan;
    detreduce_status status;
    void* workspace;
    request.op = detreduce_parse_row_op("cross_entropy");
    request.n = classes;
    request.rows = rows;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    status = detreduce_make_row_plan(&request, &plan);
    if (status.code != DETREDUCE_OK) return status;
    workspace = malloc(detreduce_row_plan_workspace_bytes(&plan));
    arrays.x = logits;
    arrays.targets = targets;
    arrays.out = loss;
    status = detreduce_run_rows(&plan, &arrays, workspace, NULL);
    free(workspace);
    return status;
}

detreduce_status sum_in_parts_in_c(const double* x, uint64_t n, uint64_t first, double* out) {
    detreduce_state state = DETREDUCE_STATE_INIT, read;
    unsigned char blob[DETREDUCE_STATE_SERIALIZED_BYTES];
    detreduce_status status = detreduce_state_add(&state, DETREDUCE_DTYPE_F64, x, first, NULL);
    if (status.code == DETREDUCE_OK) status = detreduce_state_serialize(&state, blob, sizeof blob);
    memset(&read, 0xa5, sizeof read);
    if (status.code == DETREDUCE_OK) status = detreduce_state_deserialize(blob, sizeof blob, &read);
    detreduce_state_init(&state);
    if (status.code == DETREDUCE_OK) {
        status = detreduce_state_add(&state, DETREDUCE_DTYPE_F64, x + first, n - first, NULL);
    }
    if (status.code == DETREDUCE_OK) status = detreduce_state_merge(&state, &read);
    if (status.code == DETREDUCE_OK) status = detreduce_state_round(&state, DETREDUCE_DTYPE_F64, out);
    return status;
}

#define CHECK(kind, value, text)                                                                                       \
    do {                                                                                                               \
        if (strcmp(detreduce_##kind##_name(value), text) != 0 || detreduce_parse_##kind(text) != (value))              \
            return __LINE__;                                                                                           \
    } while (0)

int words_in_c(void) {
    CHECK(op, DETREDUCE_OP_SUM, "sum");
    CHECK(op, DETREDUCE_OP_MEAN, "mean");
    CHECK(op, DETREDUCE_OP_ASUM, "asum");
    CHECK(op, DETREDUCE_OP_SUMSQ, "sumsq");
    CHECK(op, DETREDUCE_OP_NRM2, "nrm2");
    CHECK(op, DETREDUCE_OP_DOT, "dot");
    CHECK(op, DETREDUCE_OP_SUMDIFFSQ, "sumdiffsq");
    CHECK(op, DETREDUCE_OP_MSE, "mse");
    CHECK(op, DETREDUCE_OP_MAE, "mae");
    CHECK(op, DETREDUCE_OP_MIN, "min");
    CHECK(op, DETREDUCE_OP_MAX, "max");
    CHECK(op, DETREDUCE_OP_ARGMIN, "argmin");
    CHECK(op, DETREDUCE_OP_ARGMAX, "argmax");
    CHECK(op, DETREDUCE_OP_NRMINF, "nrminf");
    CHECK(op, DETREDUCE_OP_MINMAX, "minmax");
    CHECK(op, DETREDUCE_OP_PROD, "prod");
    CHECK(op, DETREDUCE_OP_VARIANCE, "variance");
    CHECK(op, DETREDUCE_OP_STDDEV, "stddev");
    CHECK(op, DETREDUCE_OP_MOMENTS, "moments");
    CHECK(op, DETREDUCE_OP_COUNT_NONZERO, "count_nonzero");
    CHECK(op, DETREDUCE_OP_COUNT_UNIQUE, "count_unique");
    CHECK(method, DETREDUCE_METHOD_ATOMIC, "atomic");
    CHECK(method, DETREDUCE_METHOD_TREE, "tree");
    CHECK(method, DETREDUCE_METHOD_SERIAL, "serial");
    CHECK(method, DETREDUCE_METHOD_KAHAN, "kahan");
    CHECK(method, DETREDUCE_METHOD_COMPENSATED, "compensated");
    CHECK(method, DETREDUCE_METHOD_EXACT, "exact");
    CHECK(dtype, DETREDUCE_DTYPE_F16, "f16");
    CHECK(dtype, DETREDUCE_DTYPE_BF16, "bf16");
    CHECK(dtype, DETREDUCE_DTYPE_F32, "f32");
    CHECK(dtype, DETREDUCE_DTYPE_F64, "f64");
    CHECK(shape, DETREDUCE_SHAPE_FLAT, "flat");
    CHECK(shape, DETREDUCE_SHAPE_ROWS, "rows");
    CHECK(shape, DETREDUCE_SHAPE_COLUMNS, "columns");
    CHECK(shape, DETREDUCE_SHAPE_SEGMENTS, "segments");
    CHECK(shape, DETREDUCE_SHAPE_TENSORS, "tensors");
    CHECK(schedule, DETREDUCE_SCHEDULE_AUTOMATIC, "automatic");
    CHECK(schedule, DETREDUCE_SCHEDULE_TWO_PASS, "two_pass");
    CHECK(schedule, DETREDUCE_SCHEDULE_LAST_BLOCK, "last_block");
    CHECK(schedule, DETREDUCE_SCHEDULE_COOPERATIVE, "cooperative");
    CHECK(nan_policy, DETREDUCE_NAN_PROPAGATE, "propagate");
    CHECK(nan_policy, DETREDUCE_NAN_IGNORE, "ignore");
    CHECK(backend, DETREDUCE_BACKEND_CPU, "cpu");
    CHECK(backend, DETREDUCE_BACKEND_CUDA, "cuda");
    CHECK(loss, DETREDUCE_LOSS_MSE, "mse");
    CHECK(loss, DETREDUCE_LOSS_MAE, "mae");
    CHECK(loss, DETREDUCE_LOSS_HUBER, "huber");
    CHECK(loss, DETREDUCE_LOSS_SMOOTH_L1, "smooth_l1");
    CHECK(loss, DETREDUCE_LOSS_BCE, "bce");
    CHECK(loss, DETREDUCE_LOSS_BCE_WITH_LOGITS, "bce_with_logits");
    CHECK(loss, DETREDUCE_LOSS_KL_DIV, "kl_div");
    CHECK(loss, DETREDUCE_LOSS_KL_DIV_LOG_TARGET, "kl_div_log_target");
    CHECK(loss, DETREDUCE_LOSS_FOCAL, "focal");
    CHECK(reduction, DETREDUCE_REDUCTION_NONE, "none");
    CHECK(reduction, DETREDUCE_REDUCTION_SUM, "sum");
    CHECK(reduction, DETREDUCE_REDUCTION_MEAN, "mean");
    CHECK(row_op, DETREDUCE_ROW_OP_LOGSUMEXP, "logsumexp");
    CHECK(row_op, DETREDUCE_ROW_OP_SOFTMAX, "softmax");
    CHECK(row_op, DETREDUCE_ROW_OP_LOG_SOFTMAX, "log_softmax");
    CHECK(row_op, DETREDUCE_ROW_OP_LAYERNORM, "layernorm");
    CHECK(row_op, DETREDUCE_ROW_OP_RMSNORM, "rmsnorm");
    CHECK(row_op, DETREDUCE_ROW_OP_CROSS_ENTROPY, "cross_entropy");
    CHECK(row_op, DETREDUCE_ROW_OP_CROSS_ENTROPY_GRADIENT, "cross_entropy_gradient");
    CHECK(row_op, DETREDUCE_ROW_OP_NLL, "nll");
    CHECK(row_op, DETREDUCE_ROW_OP_NLL_GRADIENT, "nll_gradient");
    CHECK(row_op, DETREDUCE_ROW_OP_SOFTMAX_GRADIENT, "softmax_gradient");
    CHECK(row_op, DETREDUCE_ROW_OP_LOG_SOFTMAX_GRADIENT, "log_softmax_gradient");
    CHECK(row_op, DETREDUCE_ROW_OP_LOGSUMEXP_GRADIENT, "logsumexp_gradient");
    CHECK(row_op, DETREDUCE_ROW_OP_LAYERNORM_GRADIENT, "layernorm_gradient");
    CHECK(row_op, DETREDUCE_ROW_OP_RMSNORM_GRADIENT, "rmsnorm_gradient");
    CHECK(row_op, DETREDUCE_ROW_OP_CROSS_ENTROPY_TARGET_GRADIENT, "cross_entropy_target_gradient");
    return 0;
}
