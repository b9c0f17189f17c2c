/* Norms of channels for C. */
#ifndef DETREDUCE_C_NORMS_H
#define DETREDUCE_C_NORMS_H

#include <detreduce/c/plans.h>

DETREDUCE_C_BEGIN

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

DETREDUCE_C_END

#endif
