/* clip_grad_norm for C. */
#ifndef DETREDUCE_C_CLIP_H
#define DETREDUCE_C_CLIP_H

#include <detreduce/c/plans.h>

DETREDUCE_C_BEGIN

/* ---- clip_grad_norm -------------------------------------------------------------------------- */

/* What to clip and where. Initialise it, then set n, tensors and what differs. */
typedef struct detreduce_clip_request {
    size_t struct_size;      /* sizeof(detreduce_clip_request) */
    uint64_t n;              /* 0; elements of all tensors, 0 … 2^40 */
    uint64_t tensors;        /* 0; how many there are, less than 2^32 */
    double max_norm;         /* 1; what the norm is brought down to; not negative, may be infinite */
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

DETREDUCE_C_END

#endif
