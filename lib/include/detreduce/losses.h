/* Losses, row ops, norms of channels, cosine similarity, distillation and clip_grad_norm for C: C99
 * and later, and C++. The same library, the same bits, as <detreduce/losses.hpp>,
 * <detreduce/row_ops.hpp> and <detreduce/clip_grad_norm.hpp>. What detreduce.h says of statuses,
 * words, structs and plans holds here.
 *
 *     detreduce_row_request request = DETREDUCE_ROW_REQUEST_INIT;
 *     request.op = DETREDUCE_ROW_OP_CROSS_ENTROPY;
 *     request.n = classes;
 *     request.rows = batch;
 *     detreduce_row_plan plan;
 *     detreduce_status status = detreduce_make_row_plan(&request, &plan);
 *     detreduce_row_arrays arrays = DETREDUCE_ROW_ARRAYS_INIT;
 *     arrays.x = logits, arrays.targets = targets, arrays.out = loss;
 *     if (status.code == DETREDUCE_OK) status = detreduce_run_rows(&plan, &arrays, workspace,
 *     stream);
 */
#ifndef DETREDUCE_LOSSES_H
#define DETREDUCE_LOSSES_H

#include <detreduce/detreduce.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* What an element x and its target t cost; d = x - t, p the request's parameter. */
typedef int32_t detreduce_loss;
enum {
    DETREDUCE_LOSS_MSE = 0,           /* d^2 */
    DETREDUCE_LOSS_MAE,               /* |d| */
    DETREDUCE_LOSS_HUBER,             /* d^2/2 up to |d| = p, from there p*(|d| - p/2) */
    DETREDUCE_LOSS_SMOOTH_L1,         /* d^2/2p up to |d| = p, from there |d| - p/2: huber / p, and for p = 0 |d| */
    DETREDUCE_LOSS_BCE,               /* -(t*log x + (1 - t)*log(1 - x)), logarithms at least -100 */
    DETREDUCE_LOSS_BCE_WITH_LOGITS,   /* bce of sigmoid(x), with p for pos_weight: log(1 + e^x) - x*t for p = 1 */
    DETREDUCE_LOSS_KL_DIV,            /* t*(log t - x); x is the logarithm of a probability, t a probability */
    DETREDUCE_LOSS_KL_DIV_LOG_TARGET, /* kl_div of e^t */
    /* bce_with_logits * m^p, m = 1 - sigmoid(x) for t = 1, sigmoid(x) for 0, between these for
     * others */
    DETREDUCE_LOSS_FOCAL
};

/* What becomes of the terms, or of the losses of rows. */
typedef int32_t detreduce_reduction;
enum {
    DETREDUCE_REDUCTION_NONE = 0, /* nothing: as many results as there are terms, or rows */
    DETREDUCE_REDUCTION_SUM,
    DETREDUCE_REDUCTION_MEAN, /* their sum over n, or over the sum of weights: of weighted mse and mae, of rows */
    DETREDUCE_REDUCTION_DEFAULT = -2 /* mean of losses, cross entropy, nll and their gradients, else none */
};

/* What a gradient is taken with respect to. */
typedef int32_t detreduce_loss_argument;
enum { DETREDUCE_LOSS_ARGUMENT_X = 0, DETREDUCE_LOSS_ARGUMENT_TARGET, DETREDUCE_LOSS_ARGUMENT_WEIGHT };

/* What is done to a row x of n elements. */
typedef int32_t detreduce_row_op;
enum {
    DETREDUCE_ROW_OP_LOGSUMEXP = 0, /* log of the sum of e^x: one number */
    DETREDUCE_ROW_OP_SOFTMAX,       /* e^x over the sum of e^x: n numbers */
    DETREDUCE_ROW_OP_LOG_SOFTMAX,   /* x - logsumexp: n numbers */
    DETREDUCE_ROW_OP_LAYERNORM,     /* (x - mean) / sqrt(variance + epsilon) * scale + shift: n numbers */
    DETREDUCE_ROW_OP_RMSNORM,       /* x / sqrt(sum of x^2 / n + epsilon) * scale: n numbers */
    DETREDUCE_ROW_OP_CROSS_ENTROPY, /* -sum of q*log_softmax(x), q 1 at the row's target, or given: one number */
    DETREDUCE_ROW_OP_CROSS_ENTROPY_GRADIENT, /* (softmax(x) * sum of q - q) * factor: n numbers */
    DETREDUCE_ROW_OP_NLL,          /* -x at the row's target, x being logarithms of probabilities: one number */
    DETREDUCE_ROW_OP_NLL_GRADIENT, /* -factor at the target, else +0: n numbers */
    /* Gradients with d from upstream, n numbers a row; y is what forward gave, in the place of x;
     * z is (x - mean) * rstd, of rmsnorm x * rstd, and g = d * scale. */
    DETREDUCE_ROW_OP_SOFTMAX_GRADIENT,             /* y * (d - sum of d*y) */
    DETREDUCE_ROW_OP_LOG_SOFTMAX_GRADIENT,         /* d - e^y * sum of d */
    DETREDUCE_ROW_OP_LOGSUMEXP_GRADIENT,           /* softmax(x) * d, of one d a row */
    DETREDUCE_ROW_OP_LAYERNORM_GRADIENT,           /* (g - sum of g / n - z * (sum of g*z) / n) * rstd */
    DETREDUCE_ROW_OP_RMSNORM_GRADIENT,             /* (g - z * (sum of g*z) / n) * rstd */
    DETREDUCE_ROW_OP_CROSS_ENTROPY_TARGET_GRADIENT /* by probabilities: -log_softmax(x) * weight * factor: n numbers */
};

/* Names, as "huber", "mean" and "softmax"; "?" for a value that is none. The value that has a name,
 * else DETREDUCE_UNKNOWN; also for NULL. */
const char* detreduce_loss_name(detreduce_loss loss) DETREDUCE_NOEXCEPT;
const char* detreduce_reduction_name(detreduce_reduction reduction) DETREDUCE_NOEXCEPT;
const char* detreduce_row_op_name(detreduce_row_op op) DETREDUCE_NOEXCEPT;
detreduce_loss detreduce_parse_loss(const char* text) DETREDUCE_NOEXCEPT;
detreduce_reduction detreduce_parse_reduction(const char* text) DETREDUCE_NOEXCEPT;
detreduce_row_op detreduce_parse_row_op(const char* text) DETREDUCE_NOEXCEPT;

/* Versions of the specification of losses and of row ops, as detreduce_spec_version() is that of
 * all else. */
int32_t detreduce_loss_spec_version(void) DETREDUCE_NOEXCEPT;
int32_t detreduce_row_spec_version(void) DETREDUCE_NOEXCEPT;

/* ---- losses ---------------------------------------------------------------------------------- */

/* What to compute and where. Initialise it, then set what differs; only dtype and n have no useful
 * default. */
typedef struct detreduce_loss_request {
    size_t struct_size;            /* sizeof(detreduce_loss_request) */
    detreduce_loss loss;           /* mse */
    detreduce_reduction reduction; /* DETREDUCE_REDUCTION_DEFAULT: mean */
    detreduce_method method; /* automatic; of sum and mean: automatic (exact), exact, compensated, kahan or tree */
    detreduce_dtype dtype;   /* f32; of x, target, weight and the gradient: f16, bf16, f32 or f64 */
    detreduce_dtype output;  /* DETREDUCE_DTYPE_OF_INPUT; of the result */
    uint32_t weighted;       /* 0; 1: each term is multiplied by a weight */
    detreduce_loss_argument with_respect_to; /* x; of gradients: x, target or, of a weighted loss, weight */
    uint32_t state;                          /* 0; 1: the states of a loss by many in the place of the sum or mean */
    uint64_t n;                              /* 0; elements, 0 … 2^40; a mean has at least 1 */
    /* 1; huber: delta, above 0; 0 or above: beta of smooth_l1, pos_weight of bce_with_logits, gamma
     * of focal */
    double parameter;
    /* 0; of mean: rows, by whose number the sum is divided; 0: n, or, of weighted mse and mae, the
     * sum of the weights */
    uint64_t batch;
    detreduce_device device; /* CUDA, current device */
    detreduce_launch launch; /* all of it automatic */
    uint64_t reserved[11];   /* 0 */
} detreduce_loss_request;
#define DETREDUCE_LOSS_REQUEST_INIT                                                                                    \
    {                                                                                                                  \
        sizeof(detreduce_loss_request), DETREDUCE_LOSS_MSE, DETREDUCE_REDUCTION_DEFAULT, DETREDUCE_METHOD_AUTOMATIC,   \
            DETREDUCE_DTYPE_F32, DETREDUCE_DTYPE_OF_INPUT, 0, DETREDUCE_LOSS_ARGUMENT_X, 0, 0, 1, 0,                   \
            {DETREDUCE_BACKEND_CUDA, -1}, {0, 0, 0, 0, 0, {0}}, {                                                      \
            0                                                                                                          \
        }                                                                                                              \
    }
void detreduce_loss_request_init(detreduce_loss_request* request, size_t struct_size) DETREDUCE_NOEXCEPT;

/* Where the elements are: n contiguous ones each, aligned to the element. */
typedef struct detreduce_loss_inputs {
    size_t struct_size; /* sizeof(detreduce_loss_inputs) */
    const void* x;
    const void* target;
    const void* weight;      /* of a weighted request, else NULL */
    const void* reserved[4]; /* NULL */
} detreduce_loss_inputs;
#define DETREDUCE_LOSS_INPUTS_INIT                                                                                     \
    {                                                                                                                  \
        sizeof(detreduce_loss_inputs), NULL, NULL, NULL, {                                                             \
            NULL                                                                                                       \
        }                                                                                                              \
    }

/* A plan of a loss: a plain value, as detreduce_plan is. */
typedef struct detreduce_loss_plan {
    uint64_t opaque[128];
} detreduce_loss_plan;

/* Makes the plan of `request` at `plan`, and returns its status; as detreduce_make_plan(), and with
 * its errors. */
detreduce_status detreduce_make_loss_plan(const detreduce_loss_request* request,
                                          detreduce_loss_plan* plan) DETREDUCE_NOEXCEPT;
/* The status that this gave; invalid_argument for NULL and for memory that it has not written. */
detreduce_status detreduce_loss_plan_status(const detreduce_loss_plan* plan) DETREDUCE_NOEXCEPT;
/* Of a plan whose status is ok, else 0: bytes of device memory, aligned to 256, that a run needs
 * (on the CPU none), and that a gradient needs (of a mean over the sum of weights, else none); how
 * many results a run writes: n of reduction none, else 1; their dtype. */
size_t detreduce_loss_plan_workspace_bytes(const detreduce_loss_plan* plan) DETREDUCE_NOEXCEPT;
size_t detreduce_loss_plan_gradient_workspace_bytes(const detreduce_loss_plan* plan) DETREDUCE_NOEXCEPT;
uint64_t detreduce_loss_plan_results(const detreduce_loss_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_dtype detreduce_loss_plan_output(const detreduce_loss_plan* plan) DETREDUCE_NOEXCEPT;

/* Of a request for states: makes at `states` the plan of what a run writes, in the place of the sum
 * or mean: detreduce_plan_state_words() int64_t of one group, or, of a mean over the sum of
 * weights, of two. They are merged, normalized and serialized as those of any plan.
 * detreduce_finish_loss() writes the loss of all that went into them to `out`, with the bits of a
 * run over all of it; as detreduce_run_loss(), and with its workspace. By exact; errors also:
 * `method`, `reduction` of none, `plan` of no states */
detreduce_status detreduce_loss_plan_states(const detreduce_loss_plan* plan, detreduce_plan* states) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_finish_loss(const detreduce_loss_plan* plan, const int64_t* states, void* out,
                                       void* workspace, detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* Runs `plan`: the terms, their sum or their mean, to `out`.
 *
 * formula    of the loss, above, times the weight, in float (double, of doubles) in the operations
 *            that lib/SPEC.md names; of sum and mean the true one of these terms, rounded once
 *            (exact), or added in the order of the method. Without weights exact rounds the true
 *            sum and mean of mse and the true mean of mae
 * out        detreduce_loss_plan_results() elements of detreduce_loss_plan_output()
 * workspace  detreduce_loss_plan_workspace_bytes() bytes of device memory, private to this run
 *            until it is done
 * in place   of none out may be x, target or weight, if its elements have their size. Another
 *            overlap of the workspace, out and the inputs is refused
 * stream     CUDA: pointers are device pointers; enqueued on `stream`, not synchronised, nothing
 *            allocated, may be captured in a graph. CPU: returns when `out` is written
 * errors     the plan's own; invalid_argument for `inputs` where that is NULL, not initialised, or
 *            made by a header that is newer than the library, for pointers that are NULL or
 *            misaligned, and for a weight that the request does not have; cuda_error; out_of_memory
 * NaN, empty any NaN, and what is no probability where one is needed: NaN, the canonical one. No
 *            elements: +0 of sum, nothing is written of none, and an error of the plan of mean
 * source     lib/SPEC.md, section 15; more in detreduce/losses.hpp */
detreduce_status detreduce_run_loss(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs, void* out,
                                    void* workspace, detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* The same for CUDA plans with the workspace from the stream-ordered allocator (cudaMallocAsync),
 * freed in stream order. */
detreduce_status detreduce_run_loss_async(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                          void* out, detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* The gradient of what detreduce_run_loss() computes with respect to each element of x, target or
 * weight (with_respect_to), times the upstream value, to `dx`. Otherwise as that.
 *
 * formula    the derivative of the loss, times the weight, or the loss, of that by the weight;
 *            times the upstream value, of mean over n, the sum of the weights or the batch
 * upstream   NULL, which is 1, or one element of the plan's dtype, or, of reduction none, n of them
 * dx         n elements of the plan's dtype, in the place of x, target, weight or n upstream
 *            values, or apart from all of them. The output means nothing, nor does the method but
 *            where the mean is over the sum of the weights
 * workspace  detreduce_loss_plan_gradient_workspace_bytes() bytes of device memory; of 0 NULL */
detreduce_status detreduce_run_loss_gradient(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                             const void* upstream, void* dx, void* workspace,
                                             detreduce_stream stream) DETREDUCE_NOEXCEPT;
/* As detreduce_run_loss_async(). */
detreduce_status detreduce_run_loss_gradient_async(const detreduce_loss_plan* plan, const detreduce_loss_inputs* inputs,
                                                   const void* upstream, void* dx,
                                                   detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* ---- row ops --------------------------------------------------------------------------------- */

/* What to do to each row, and where. Initialise it, then set what differs; only dtype, n and rows
 * have no useful default. */
typedef struct detreduce_row_request {
    size_t struct_size;     /* sizeof(detreduce_row_request) */
    detreduce_row_op op;    /* softmax */
    detreduce_dtype dtype;  /* f32; of the elements, of scale, shift and weights: f16, bf16, f32 or f64 */
    detreduce_dtype output; /* DETREDUCE_DTYPE_OF_INPUT; of the results; of f16 and bf16 also f32 */
    /* DETREDUCE_REDUCTION_DEFAULT; of losses of rows; of their gradients: which of these it is the
     * gradient of */
    detreduce_reduction reduction;
    detreduce_method method; /* automatic; of these sums, as of losses */
    /* 0; gradients of norms: 1 for those by scale and shift as well, which are sums over the rows
     * by `method` */
    uint32_t parameters;
    uint64_t n;                  /* 0; elements of a row, 0 … 2^40 */
    uint64_t rows;               /* 1; 0 … 2^40; no more than 2^46 elements in all */
    uint64_t stride;             /* 0; elements from one row's beginning to the next one's; 0: n, else at least that */
    uint64_t output_stride;      /* 0; the same of results, where there are n a row */
    uint64_t probability_stride; /* 0; the same of probabilities */
    uint64_t upstream_stride;    /* 0; the same of what comes from upstream, where that is n numbers a row */
    int64_t ignore_index;        /* -100; rows with this target have a loss and a weight of +0 */
    double epsilon;              /* 1e-5; layernorm, rmsnorm: finite, not negative */
    double label_smoothing;      /* 0; cross entropy: 0 … 1 */
    detreduce_device device;     /* CUDA, current device */
    detreduce_launch launch;     /* all of it automatic; CPU: threads and isa, CUDA: nothing */
    double z_loss;          /* 0; cross entropy, and its gradient: this times logsumexp^2 is added to a row's loss */
    uint32_t state;         /* 0; cross entropy, nll: 1 for the states of a loss by many in the place of sum or mean */
    uint32_t reserved_word; /* 0 */
    uint64_t reserved[12];  /* 0 */
} detreduce_row_request;
#define DETREDUCE_ROW_REQUEST_INIT                                                                                     \
    {                                                                                                                  \
        sizeof(detreduce_row_request), DETREDUCE_ROW_OP_SOFTMAX, DETREDUCE_DTYPE_F32, DETREDUCE_DTYPE_OF_INPUT,        \
            DETREDUCE_REDUCTION_DEFAULT, DETREDUCE_METHOD_AUTOMATIC, 0, 0, 1, 0, 0, 0, 0, -100, 1e-5, 0,               \
            {DETREDUCE_BACKEND_CUDA, -1}, {0, 0, 0, 0, 0, {0}}, 0, 0, 0, {                                             \
            0                                                                                                          \
        }                                                                                                              \
    }
void detreduce_row_request_init(detreduce_row_request* request, size_t struct_size) DETREDUCE_NOEXCEPT;

/* Where everything is. What an op does not name must be NULL. "Arithmetic" is
 * detreduce_row_plan_arithmetic(). */
typedef struct detreduce_row_arrays {
    size_t struct_size;        /* sizeof(detreduce_row_arrays) */
    const void* x;             /* rows of n elements, `stride` apart */
    void* out;                 /* detreduce_row_plan_results() a row, output_stride apart; reduced, one number */
    const void* scale;         /* layernorm, rmsnorm: n elements, or NULL for 1 */
    const void* shift;         /* layernorm, with scale: n elements, or NULL for 0 */
    void* mean;                /* layernorm: a number of the arithmetic a row, or NULL; its gradient reads it */
    void* rstd;                /* layernorm, rmsnorm: the same of 1 / sqrt(… + epsilon); their gradients read it */
    const int64_t* targets;    /* cross entropy, nll: a class a row, 0 … n - 1, or ignore_index */
    const void* probabilities; /* cross entropy, in the place of targets: n elements a row, probability_stride apart */
    const void* weights;       /* cross entropy, nll: n elements, a weight a class, or NULL for 1 */
    void* row_weights;  /* cross_entropy, nll, not reduced: the weight of the row's target, a number as rstd a row */
    const void* factor; /* gradients of cross entropy and nll: the upstream value, one number as rstd, or NULL for 1 */
    /* Other gradients: what comes from upstream, n elements a row, upstream_stride apart; of
     * logsumexp as rstd, and so, in the place of factor, of cross entropy and nll, not reduced. */
    const void* upstream;
    void* scale_gradient;    /* with `parameters`: n results, summed over the rows */
    void* shift_gradient;    /* layernorm, with `parameters`: the same, or NULL */
    const void* reserved[9]; /* NULL */
} detreduce_row_arrays;
#define DETREDUCE_ROW_ARRAYS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(detreduce_row_arrays), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
            NULL, {                                                                                                    \
            NULL                                                                                                       \
        }                                                                                                              \
    }

/* A plan of a row op: a plain value, as detreduce_plan is. */
typedef struct detreduce_row_plan {
    uint64_t opaque[192];
} detreduce_row_plan;

/* Makes the plan of `request` at `plan`, and returns its status; as detreduce_make_plan(), and with
 * its errors. */
detreduce_status detreduce_make_row_plan(const detreduce_row_request* request,
                                         detreduce_row_plan* plan) DETREDUCE_NOEXCEPT;
/* The status that this gave; invalid_argument for NULL and for memory that it has not written. */
detreduce_status detreduce_row_plan_status(const detreduce_row_plan* plan) DETREDUCE_NOEXCEPT;
/* Of a plan whose status is ok, else 0: bytes of memory that a run needs, of the device, aligned
 * to 256, on the CPU, where a reduction needs some, of the host, aligned to 8; results of a row:
 * n, or 1 of logsumexp, cross_entropy and nll, which, reduced, have 1 of all rows; their dtype;
 * the format in which rows are computed, f32 or, of f64, f64: that of means, reciprocals and
 * factors. */
size_t detreduce_row_plan_workspace_bytes(const detreduce_row_plan* plan) DETREDUCE_NOEXCEPT;
uint64_t detreduce_row_plan_results(const detreduce_row_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_dtype detreduce_row_plan_output(const detreduce_row_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_dtype detreduce_row_plan_arithmetic(const detreduce_row_plan* plan) DETREDUCE_NOEXCEPT;

/* Runs `plan`.
 *
 * formula    of the op, above, in detreduce_row_plan_arithmetic(), by tree. A reduced loss is the
 *            sum of the losses of rows, by the request's method, or that over the sum of the rows'
 *            weights. With `parameters` gradients of norms write those by scale and shift as well
 * guarantee  device: a row has the bits that it has alone, whatever the batch, strides, alignment,
 *            device and number of threads. Reduced by exact, the order of the rows does not matter
 * error      lib/SPEC.md, section 17.1: relative to the result, of a loss however near 0; a loss is
 *            never negative, log_softmax never positive
 * workspace  detreduce_row_plan_workspace_bytes() bytes, private to this run until it is done
 * overlap    out of a gradient may be x, upstream or probabilities: the same pointer, stride and
 *            element size. Every other overlap of results or workspace is refused
 * stream     as of detreduce_run_loss()
 * errors     the plan's own; invalid_argument for `arrays` as for inputs of a loss, for a NULL or
 *            misaligned pointer, and for arrays that the op does not have; out_of_memory. On the
 *            CPU `targets` with the index of the first that is no class; on CUDA such a target
 *            gives NaN for its row, and what that is reduced to
 * NaN, empty a NaN that the op reads: its row is NaN, but row_weights. n = 0: logsumexp is -inf,
 *            nothing is written by softmax, log_softmax and gradients, and the plan of the others
 *            has an error. No rows: a sum of +0; the plan of a mean has an error
 * more       docs/reference-calls.md, detreduce/row_ops.hpp, lib/SPEC.md, section 17 */
detreduce_status detreduce_run_rows(const detreduce_row_plan* plan, const detreduce_row_arrays* arrays, void* workspace,
                                    detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* Of a request for states, as detreduce_loss_plan_states() and detreduce_finish_loss(): of one
 * group, that of the losses, and of the mean of a second one, that of the rows' weights. errors
 * also: `arrays` of a mean with probabilities */
detreduce_status detreduce_row_plan_states(const detreduce_row_plan* plan, detreduce_plan* states) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_finish_rows(const detreduce_row_plan* plan, const int64_t* states, void* out,
                                       void* workspace, detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* The same for CUDA plans with the workspace from the stream-ordered allocator (cudaMallocAsync),
 * freed in stream order. */
detreduce_status detreduce_run_rows_async(const detreduce_row_plan* plan, const detreduce_row_arrays* arrays,
                                          detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* ---- cosine similarity ----------------------------------------------------------------------- */

/* What to compute and where. Initialise it, then set dtype, n, rows and what differs. */
typedef struct detreduce_cosine_request {
    size_t struct_size;     /* sizeof(detreduce_cosine_request) */
    detreduce_dtype dtype;  /* f32; of x, y, upstream and the gradient: f16, bf16, f32 or f64 */
    detreduce_dtype output; /* DETREDUCE_DTYPE_OF_INPUT; of the result */
    detreduce_method
        method; /* automatic; of dot products and norms: automatic (exact), exact, compensated, kahan, tree */
    uint32_t reserved_word; /* 0 */
    uint64_t n;             /* 0; elements of a row, 0 … 2^40 */
    uint64_t rows;          /* 1; 0 … 2^40 */
    uint64_t stride;        /* 0; elements from one row's beginning to the next one's, of x, y and the gradient; 0: n */
    double epsilon;         /* 1e-8; what norms are at least; finite, not negative */
    detreduce_device device; /* CUDA, current device */
    detreduce_launch launch; /* all of it automatic */
    uint64_t reserved[8];    /* 0 */
} detreduce_cosine_request;
#define DETREDUCE_COSINE_REQUEST_INIT                                                                                  \
    {                                                                                                                  \
        sizeof(detreduce_cosine_request), DETREDUCE_DTYPE_F32, DETREDUCE_DTYPE_OF_INPUT, DETREDUCE_METHOD_AUTOMATIC,   \
            0, 0, 1, 0, 1e-8, {DETREDUCE_BACKEND_CUDA, -1}, {0, 0, 0, 0, 0, {0}}, {                                    \
            0                                                                                                          \
        }                                                                                                              \
    }
void detreduce_cosine_request_init(detreduce_cosine_request* request, size_t struct_size) DETREDUCE_NOEXCEPT;

/* A plan of cosine similarities: a plain value, as detreduce_plan is. */
typedef struct detreduce_cosine_plan {
    uint64_t opaque[128];
} detreduce_cosine_plan;

/* Makes the plan of `request` at `plan`, and returns its status; as detreduce_make_plan(), and with
 * its errors. */
detreduce_status detreduce_make_cosine_plan(const detreduce_cosine_request* request,
                                            detreduce_cosine_plan* plan) DETREDUCE_NOEXCEPT;
/* The status that this gave; invalid_argument for NULL and for memory that it has not written. */
detreduce_status detreduce_cosine_plan_status(const detreduce_cosine_plan* plan) DETREDUCE_NOEXCEPT;
/* Of a plan whose status is ok, else 0: bytes of memory that a run and a gradient need, of the
 * device, aligned to 256, on the CPU of the host, aligned to 8. */
size_t detreduce_cosine_plan_workspace_bytes(const detreduce_cosine_plan* plan) DETREDUCE_NOEXCEPT;

/* Writes the cosine similarity of each row of x and the row of y to `out`, a number a row: their
 * dot product over the norms of both, each at least epsilon; never above 1, never below -1.
 * errors, stream and workspace as of detreduce_run_rows(); more in detreduce/cosine_similarity.hpp
 * and lib/SPEC.md, section 17.8 */
detreduce_status detreduce_run_cosine(const detreduce_cosine_plan* plan, const void* x, const void* y, void* out,
                                      void* workspace, detreduce_stream stream) DETREDUCE_NOEXCEPT;
/* Its derivative with respect to each element of x, times `upstream`, NULL for 1, or an element of
 * the plan's dtype a row, to `dx`, rows as of x, in the place of x or y or apart from both. For
 * that with respect to y, x and y change places. */
detreduce_status detreduce_run_cosine_gradient(const detreduce_cosine_plan* plan, const void* x, const void* y,
                                               const void* upstream, void* dx, void* workspace,
                                               detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* ---- group_norm and batch_norm --------------------------------------------------------------- */

/* Which elements of [n][channels][size] share a mean and a variance. */
typedef int32_t detreduce_channel_norm;
enum {
    DETREDUCE_CHANNEL_NORM_GROUP_NORM = 0, /* those of a group of neighbouring channels, of one sample */
    DETREDUCE_CHANNEL_NORM_BATCH_NORM      /* those of a channel, of all samples */
};
/* "group_norm", "batch_norm"; "?" for a value that is none. The value that has a name, else
 * DETREDUCE_UNKNOWN; also for NULL. */
const char* detreduce_channel_norm_name(detreduce_channel_norm norm) DETREDUCE_NOEXCEPT;
detreduce_channel_norm detreduce_parse_channel_norm(const char* text) DETREDUCE_NOEXCEPT;

/* What to compute and where. Initialise it, then set norm, dtype, n, channels, size, groups and
 * what differs. */
typedef struct detreduce_channel_norm_request {
    size_t struct_size;          /* sizeof(detreduce_channel_norm_request) */
    detreduce_channel_norm norm; /* group_norm */
    detreduce_dtype dtype;       /* f32; of x, upstream and out: f16, bf16, f32 or f64 */
    detreduce_dtype parameters;  /* DETREDUCE_DTYPE_OF_INPUT; of scale, shift, their gradients, running statistics */
    detreduce_method method;     /* automatic; of statistics and sums: automatic (exact), exact or tree */
    uint64_t n;                  /* 0; samples, 0 … 2^40 */
    uint64_t channels;           /* 1; of a sample, 1 … 2^40 */
    uint64_t size;               /* 1; elements of a channel of a sample, 1 … 2^40; no more than 2^46 in all */
    uint64_t groups;             /* 1; group_norm: of channels, whose number it divides */
    double epsilon;              /* 1e-5; added to the variance; finite, not negative */
    double momentum;             /* 0.1; batch_norm: the new one's share of a running statistic, 0 … 1 */
    uint32_t given;              /* 0; batch_norm, not 0: running statistics take the place of the batch's own */
    uint32_t reserved_word;      /* 0 */
    detreduce_device device;     /* CUDA, current device */
    detreduce_launch launch;     /* all of it automatic */
    uint64_t reserved[9];        /* 0 */
} detreduce_channel_norm_request;
#define DETREDUCE_CHANNEL_NORM_REQUEST_INIT                                                                            \
    {                                                                                                                  \
        sizeof(detreduce_channel_norm_request), DETREDUCE_CHANNEL_NORM_GROUP_NORM, DETREDUCE_DTYPE_F32,                \
            DETREDUCE_DTYPE_OF_INPUT, DETREDUCE_METHOD_AUTOMATIC, 0, 1, 1, 1, 1e-5, 0.1, 0, 0,                         \
            {DETREDUCE_BACKEND_CUDA, -1}, {0, 0, 0, 0, 0, {0}}, {                                                      \
            0                                                                                                          \
        }                                                                                                              \
    }
void detreduce_channel_norm_request_init(detreduce_channel_norm_request* request,
                                         size_t struct_size) DETREDUCE_NOEXCEPT;

/* Where everything is. Initialise it; what a call does not name must be NULL. */
typedef struct detreduce_channel_norm_arrays {
    size_t struct_size; /* sizeof(detreduce_channel_norm_arrays) */
    const void* x;
    void* out;               /* as x: the results, or the gradient with respect to x */
    const void* scale;       /* a number a channel, or NULL for 1 */
    const void* shift;       /* run: a number a channel, or NULL for 0 */
    double* mean;            /* a number a statistic: written by a run, unless NULL, read by a gradient */
    double* rstd;            /* the same of 1 / sqrt(variance + epsilon) */
    void* running_mean;      /* batch_norm, run: a number a channel, or NULL; read where they are `given` */
    void* running_variance;  /* the same of the variance over n * size - 1 */
    const void* upstream;    /* gradient: as x */
    void* scale_gradient;    /* gradient: a number a channel, or NULL */
    void* shift_gradient;    /* the same */
    const void* reserved[4]; /* NULL */
} detreduce_channel_norm_arrays;
#define DETREDUCE_CHANNEL_NORM_ARRAYS_INIT                                                                             \
    {                                                                                                                  \
        sizeof(detreduce_channel_norm_arrays), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, {     \
            NULL                                                                                                       \
        }                                                                                                              \
    }

/* A plan of a norm of channels: a plain value, as detreduce_plan is. */
typedef struct detreduce_channel_norm_plan {
    uint64_t opaque[192];
} detreduce_channel_norm_plan;

/* Makes the plan of `request` at `plan`, and returns its status; as detreduce_make_plan(), and with
 * its errors. */
detreduce_status detreduce_make_channel_norm_plan(const detreduce_channel_norm_request* request,
                                                  detreduce_channel_norm_plan* plan) DETREDUCE_NOEXCEPT;
/* The status that this gave; invalid_argument for NULL and for memory that it has not written. */
detreduce_status detreduce_channel_norm_plan_status(const detreduce_channel_norm_plan* plan) DETREDUCE_NOEXCEPT;
/* Of a plan whose status is ok, else 0: statistics, n * groups or, of batch_norm, channels; bytes
 * of memory that a run needs, and a gradient, of the device, aligned to 256, on the CPU of the
 * host, aligned to 8. */
uint64_t detreduce_channel_norm_plan_statistics(const detreduce_channel_norm_plan* plan) DETREDUCE_NOEXCEPT;
size_t detreduce_channel_norm_plan_workspace_bytes(const detreduce_channel_norm_plan* plan) DETREDUCE_NOEXCEPT;
size_t detreduce_channel_norm_plan_gradient_workspace_bytes(const detreduce_channel_norm_plan* plan) DETREDUCE_NOEXCEPT;

/* Writes (x - mean) * rstd * scale + shift to `out`, which may be x; rstd = 1 / sqrt(variance +
 * epsilon), of the elements that share a statistic. Running statistics become momentum * new +
 * (1 - momentum) * old. errors, stream and workspace as of detreduce_run_rows(); more in
 * detreduce/channel_norm.hpp and lib/SPEC.md, section 17.9 */
detreduce_status detreduce_run_channel_norm(const detreduce_channel_norm_plan* plan,
                                            const detreduce_channel_norm_arrays* arrays, void* workspace,
                                            detreduce_stream stream) DETREDUCE_NOEXCEPT;
/* Its derivatives with respect to x, to `out`, which may be x or upstream, and to scale and shift,
 * times what comes from upstream. */
detreduce_status detreduce_run_channel_norm_gradient(const detreduce_channel_norm_plan* plan,
                                                     const detreduce_channel_norm_arrays* arrays, void* workspace,
                                                     detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* ---- distillation ---------------------------------------------------------------------------- */

/* What to compute and where. Initialise it, then set dtype, n, rows, temperature and what
 * differs. */
typedef struct detreduce_distillation_request {
    size_t struct_size;            /* sizeof(detreduce_distillation_request) */
    detreduce_dtype dtype;         /* f32; of x, y, upstream and the gradient: f16, bf16, f32 or f64 */
    detreduce_dtype output;        /* DETREDUCE_DTYPE_OF_INPUT; of the result */
    detreduce_method method;       /* automatic; of the sum: automatic (exact), exact, compensated, kahan, tree */
    detreduce_reduction reduction; /* default, mean: over the rows; or sum */
    uint64_t n;                    /* 0; classes, elements of a row, 1 … 2^40 */
    uint64_t rows;                 /* 1; 0 … 2^40; no more than 2^40 elements in all */
    uint64_t stride;    /* 0; elements from one row's beginning to the next one's, of x, y and the gradient; 0: n */
    double temperature; /* 1; finite, above 0, and so is its square */
    detreduce_device device; /* CUDA, current device */
    detreduce_launch launch; /* all of it automatic */
    uint64_t reserved[8];    /* 0 */
} detreduce_distillation_request;
#define DETREDUCE_DISTILLATION_REQUEST_INIT                                                                            \
    {                                                                                                                  \
        sizeof(detreduce_distillation_request), DETREDUCE_DTYPE_F32, DETREDUCE_DTYPE_OF_INPUT,                         \
            DETREDUCE_METHOD_AUTOMATIC, DETREDUCE_REDUCTION_DEFAULT, 0, 1, 0, 1, {DETREDUCE_BACKEND_CUDA, -1},         \
            {0, 0, 0, 0, 0, {0}}, {                                                                                    \
            0                                                                                                          \
        }                                                                                                              \
    }
void detreduce_distillation_request_init(detreduce_distillation_request* request,
                                         size_t struct_size) DETREDUCE_NOEXCEPT;

/* A plan of distillation: a plain value, as detreduce_plan is. */
typedef struct detreduce_distillation_plan {
    uint64_t opaque[640];
} detreduce_distillation_plan;

/* Makes the plan of `request` at `plan`, and returns its status; as detreduce_make_plan(), and with
 * its errors. */
detreduce_status detreduce_make_distillation_plan(const detreduce_distillation_request* request,
                                                  detreduce_distillation_plan* plan) DETREDUCE_NOEXCEPT;
/* The status that this gave; invalid_argument for NULL and for memory that it has not written. */
detreduce_status detreduce_distillation_plan_status(const detreduce_distillation_plan* plan) DETREDUCE_NOEXCEPT;
/* Of a plan whose status is ok, else 0: bytes of memory that a run and a gradient need, of the
 * device, aligned to 256, on the CPU of the host, aligned to 8. */
size_t detreduce_distillation_plan_workspace_bytes(const detreduce_distillation_plan* plan) DETREDUCE_NOEXCEPT;

/* Writes temperature^2 * KL(softmax(y / temperature) || softmax(x / temperature)) of a student's
 * logits x and a teacher's y, the sum over the rows or that over their number, to `out`. It may be
 * slightly negative where both nearly agree. errors, stream and workspace as of
 * detreduce_run_rows(); more in detreduce/distillation.hpp and lib/SPEC.md, section 17.10 */
detreduce_status detreduce_run_distillation(const detreduce_distillation_plan* plan, const void* x, const void* y,
                                            void* out, void* workspace, detreduce_stream stream) DETREDUCE_NOEXCEPT;
/* Its derivative with respect to each element of x, times `upstream`, NULL for 1, or an element of
 * the plan's dtype, to `dx`, rows as of x, in the place of x or y or apart from both. */
detreduce_status detreduce_run_distillation_gradient(const detreduce_distillation_plan* plan, const void* x,
                                                     const void* y, const void* upstream, void* dx, void* workspace,
                                                     detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* ---- clip_grad_norm -------------------------------------------------------------------------- */

/* What to clip and where. Initialise it, then set n, tensors and what differs. */
typedef struct detreduce_clip_request {
    size_t struct_size;      /* sizeof(detreduce_clip_request) */
    uint64_t n;              /* 0; elements of all tensors, 0 … 2^40 */
    uint64_t tensors;        /* 0; how many there are, less than 2^32 */
    double max_norm;         /* 1; what the norm is brought down to; finite, not negative */
    double epsilon;          /* 1e-6; added to the norm before max_norm is divided by it; finite, not negative */
    detreduce_dtype norm;    /* f64; of the norm that is given: f64 or f32 */
    uint32_t reserved_word;  /* 0 */
    detreduce_device device; /* CUDA, current device */
    detreduce_launch launch; /* all of it automatic; of the norm, and on the CPU of scaling */
    uint64_t reserved[5];    /* 0 */
} detreduce_clip_request;
#define DETREDUCE_CLIP_REQUEST_INIT                                                                                    \
    {                                                                                                                  \
        sizeof(detreduce_clip_request), 0, 0, 1, 1e-6, DETREDUCE_DTYPE_F64, 0, {DETREDUCE_BACKEND_CUDA, -1},           \
            {0, 0, 0, 0, 0, {0}}, {                                                                                    \
            0                                                                                                          \
        }                                                                                                              \
    }
void detreduce_clip_request_init(detreduce_clip_request* request, size_t struct_size) DETREDUCE_NOEXCEPT;

/* A plan of clip_grad_norm: a plain value, as detreduce_plan is. */
typedef struct detreduce_clip_plan {
    uint64_t opaque[64];
} detreduce_clip_plan;

/* Makes the plan of `request` at `plan`, and returns its status; as detreduce_make_plan(), and with
 * its errors. */
detreduce_status detreduce_make_clip_plan(const detreduce_clip_request* request,
                                          detreduce_clip_plan* plan) DETREDUCE_NOEXCEPT;
/* The status that this gave; invalid_argument for NULL and for memory that it has not written. */
detreduce_status detreduce_clip_plan_status(const detreduce_clip_plan* plan) DETREDUCE_NOEXCEPT;
/* Of a plan whose status is ok, else 0: bytes of device memory, aligned to 256, that a run needs;
 * on the CPU none. */
size_t detreduce_clip_plan_workspace_bytes(const detreduce_clip_plan* plan) DETREDUCE_NOEXCEPT;

/* Writes the norm of all elements of `list`, as it was, to `norm_out`, and scales every element, in
 * place, if it is too large.
 *
 * formula    N, the true root of the true sum of x^2, rounded once to f64; c = max_norm / (N +
 *            epsilon). Unless c >= 1, or N + epsilon is 0, each x becomes x*c, rounded once to its
 *            own dtype; of f16, bf16 and f32 c is first rounded to 24 bits. If c >= 1 no byte of
 *            the tensors is written
 * list       `tensors` of them in host memory, of f16, bf16, f32 or f64, of any lengths; what
 *            `data` points to is written
 * norm_out   one element of the request's norm
 * guarantee  order: norm and elements depend on the multiset of all elements, and are the same on
 *            CPU and GPU
 * workspace  detreduce_clip_plan_workspace_bytes() bytes, private to this run until it is done. It,
 *            norm_out and the tensors must not overlap, which is refused, nor one tensor another,
 *            which is not looked for
 * stream     as of detreduce_run_loss(); data, norm_out and workspace are device pointers
 * errors     the plan's own; invalid_argument for `list` where it is NULL, has not n elements in
 *            all, or, with its index, a tensor is NULL, misaligned or of no dtype; for `norm_out`
 *            and `workspace`; unsupported for a tensor of 8 bits; cuda_error; out_of_memory
 * NaN, empty as torch.nn.utils.clip_grad_norm_ with error_if_nonfinite=False. No elements: the norm
 *            is +0
 * source     lib/SPEC.md, section 16; more in detreduce/clip_grad_norm.hpp */
detreduce_status detreduce_run_clip(const detreduce_clip_plan* plan, const detreduce_tensor* list, void* norm_out,
                                    void* workspace, detreduce_stream stream) DETREDUCE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif
