/* Row ops and cosine similarity for C. */
#ifndef DETREDUCE_C_ROWS_H
#define DETREDUCE_C_ROWS_H

#include <detreduce/c/losses.h>

DETREDUCE_C_BEGIN

/* ---- row ops --------------------------------------------------------------------------------- */

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

/* Names, as "softmax", and values, as those of losses. */
const char* detreduce_row_op_name(detreduce_row_op op) DETREDUCE_NOEXCEPT;
detreduce_row_op detreduce_parse_row_op(const char* text) DETREDUCE_NOEXCEPT;

/* Version of the specification of row ops. */
int32_t detreduce_row_spec_version(void) DETREDUCE_NOEXCEPT;

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
    void* scale_gradient; /* with `parameters`: n results, summed over the rows */
    void* shift_gradient; /* layernorm, with `parameters`: the same, or NULL */
    /* logsumexp, cross_entropy: two numbers as rstd a row, or NULL: what lib/SPEC.md, 17.1, knows
     * of its sum of exponentials, or NaN. The gradient, given what its own op wrote of the same
     * rows and targets, has the same bits after one read of x. */
    void* exp_sums;
    const void* reserved[8]; /* NULL */
} detreduce_row_arrays;
#define DETREDUCE_ROW_ARRAYS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(detreduce_row_arrays), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
            NULL, NULL, {                                                                                              \
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

DETREDUCE_C_END

#endif
