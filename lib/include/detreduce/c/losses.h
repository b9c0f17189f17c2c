/* Losses of elements for C. */
#ifndef DETREDUCE_C_LOSSES_H
#define DETREDUCE_C_LOSSES_H

#include <detreduce/c/plans.h>

DETREDUCE_C_BEGIN

/* ---- losses ---------------------------------------------------------------------------------- */

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

/* Names, as "huber" and "mean"; "?" for a value that is none. The value that has a name, else
 * DETREDUCE_UNKNOWN; also for NULL. */
const char* detreduce_loss_name(detreduce_loss loss) DETREDUCE_NOEXCEPT;
const char* detreduce_reduction_name(detreduce_reduction reduction) DETREDUCE_NOEXCEPT;
detreduce_loss detreduce_parse_loss(const char* text) DETREDUCE_NOEXCEPT;
detreduce_reduction detreduce_parse_reduction(const char* text) DETREDUCE_NOEXCEPT;

/* Version of the specification of losses; detreduce_spec_version() is that of reductions. */
int32_t detreduce_loss_spec_version(void) DETREDUCE_NOEXCEPT;

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

DETREDUCE_C_END

#endif
