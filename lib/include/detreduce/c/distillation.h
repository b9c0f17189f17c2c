/* Distillation for C. */
#ifndef DETREDUCE_C_DISTILLATION_H
#define DETREDUCE_C_DISTILLATION_H

#include <detreduce/c/losses.h>

DETREDUCE_C_BEGIN

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

DETREDUCE_C_END

#endif
