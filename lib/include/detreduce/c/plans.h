/* Plans, states of a reduction by many and segments by key for C. */
#ifndef DETREDUCE_C_PLANS_H
#define DETREDUCE_C_PLANS_H

#include <detreduce/c/words.h>

DETREDUCE_C_BEGIN

/* ---- plans ----------------------------------------------------------------------------------- */

/* index: a CUDA device, or −1 for the calling thread's current one. */
typedef struct detreduce_device {
    detreduce_backend backend;
    int32_t index;
} detreduce_device;

/* Launch parameters: free to be tuned, 0 leaves the choice to the library. They never change a bit
 * of a deterministic method. */
typedef struct detreduce_launch {
    detreduce_schedule schedule;
    uint32_t grid;    /* CUDA blocks, at most: 1 … 2^31 − 1 */
    uint32_t block;   /* CUDA threads a block: 128, 256 or what a plan says */
    uint32_t threads; /* CPU threads: 1 … 1024 */
    detreduce_isa isa;
    uint32_t reserved[3]; /* 0 */
} detreduce_launch;

/* What to reduce and where. Initialise it, then set what differs; only dtype and n have no useful
 * default. */
typedef struct detreduce_request {
    size_t struct_size;       /* sizeof(detreduce_request) */
    detreduce_op op;          /* sum */
    detreduce_method method;  /* automatic */
    detreduce_dtype dtype;    /* f32; of the elements */
    detreduce_dtype output;   /* DETREDUCE_DTYPE_OF_INPUT; of the result */
    detreduce_shape shape;    /* flat */
    detreduce_nan_policy nan; /* propagate; for ops that compare */
    uint64_t n;               /* 0; number of elements, 0 … 2^40: of each row or column, otherwise of everything */
    uint64_t groups;          /* 1; how many rows, columns, segments or tensors there are, 0 … 2^40 */
    uint64_t stride; /* 0; rows and columns: elements from one row of the matrix to the next; 0: the length of a row */
    /* 0; variance, stddev, moments: what is taken from n in the divisor, less than n; of segments
     * at most 2^40 */
    uint64_t ddof;
    detreduce_device device; /* CUDA, current device */
    detreduce_launch launch; /* all of it automatic */
    uint32_t each;           /* 0; tensors: 1 for the value of each as well, before that of all */
    uint32_t state;          /* 0; 1 for the state of each group in the place of its result: see "states" below */
    uint64_t first_index;    /* 0; states of argmin and argmax: the index of a group's first element here, 0 … 2^61 */
    uint32_t reserved[6];    /* 0 */
} detreduce_request;

/* The defaults, as an initialiser and as a call, which is told sizeof(detreduce_request). */
#define DETREDUCE_REQUEST_INIT                                                                                         \
    {                                                                                                                  \
        sizeof(detreduce_request), DETREDUCE_OP_SUM, DETREDUCE_METHOD_AUTOMATIC, DETREDUCE_DTYPE_F32,                  \
            DETREDUCE_DTYPE_OF_INPUT, DETREDUCE_SHAPE_FLAT, DETREDUCE_NAN_PROPAGATE, 0, 1, 0, 0,                       \
            {DETREDUCE_BACKEND_CUDA, -1}, {0, 0, 0, 0, 0, {0}}, 0, 0, 0, {                                             \
            0                                                                                                          \
        }                                                                                                              \
    }
void detreduce_request_init(detreduce_request* request, size_t struct_size) DETREDUCE_NOEXCEPT;

/* A prepared request: order, launch and workspace size. A plain value of 256 bytes without pointers
 * into itself: copy it, keep it, use it from many threads at once, each run with its own workspace.
 * Nothing need be freed. Its contents are the library's, of this very version: not for files. */
typedef struct detreduce_plan {
    uint64_t opaque[32];
} detreduce_plan;

/* Makes the plan of `request` at `plan`, and returns its status, which says which field of the
 * request is wrong and what is allowed. For a CUDA device this reads a few cached attributes of
 * the device; it does not create work on any stream. Allocates nothing. errors:
 * invalid_argument, unsupported, no_device, cuda_error; `request` or `plan` when that is NULL;
 * `struct_size` and `reserved` of a request that was not initialised, or by a header that is
 * newer than the library */
detreduce_status detreduce_make_plan(const detreduce_request* request, detreduce_plan* plan) DETREDUCE_NOEXCEPT;

/* The status that make_plan() gave; invalid_argument for NULL and for memory that make_plan() has
 * not written. */
detreduce_status detreduce_plan_status(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;

/* Of a plan whose status is ok, else 0: bytes of memory that a run needs, of the device, aligned
 * to 256; on the CPU 0, but for count_unique of f32 and f64 host memory, aligned to 8; how many
 * results a run writes; bytes of one result, which is also how it must be aligned; dtype of the
 * results, unless they are indices or counts (uint64_t); what their bits depend on; the method,
 * which is never automatic. */
size_t detreduce_plan_workspace_bytes(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;
uint64_t detreduce_plan_results(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;
size_t detreduce_plan_result_bytes(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_dtype detreduce_plan_output(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_guarantee detreduce_plan_guarantee(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_method detreduce_plan_method(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;

/* A cudaStream_t; NULL for the default stream. */
typedef void* detreduce_stream;

/* One array of a list (shape tensors). */
typedef struct detreduce_tensor {
    const void* data;
    uint64_t n;
    uint8_t dtype;       /* a detreduce_dtype */
    uint8_t reserved[7]; /* 0 */
} detreduce_tensor;

/* Runs `plan`.
 *
 * formula    of the op, above: the true value, rounded once (exact), or rounded in the order that
 *            lib/SPEC.md gives for the method
 * layout     x, and y for ops of two inputs, else NULL: n contiguous elements, or rows of them
 *            `stride` elements apart, aligned to the element. offsets: of segments `groups` + 1
 *            uint64_t, else NULL. tensors: x and y point to `groups` detreduce_tensor in host
 *            memory
 * out        detreduce_plan_results() results, one behind the other: elements of
 *            detreduce_plan_output(), or uint64_t indices and counts
 * workspace  detreduce_plan_workspace_bytes() bytes of device memory, private to this run until it
 *            is done. CPU: NULL, but for count_unique of f32 and f64 host memory
 * stream     CUDA: pointers are device pointers, but lists of tensors; enqueued on `stream` (NULL:
 *            the default stream) of the plan's device, not synchronised, nothing allocated, may be
 *            captured in a graph. CPU: returns when `out` is written; stream means nothing
 * errors     the plan's own; invalid_argument for a NULL or misaligned pointer (in a list of
 *            tensors with its index); cuda_error; out_of_memory. Nothing is written then
 * NaN, empty a NaN, or infinities of both signs, among the terms: the canonical quiet NaN. n = 0:
 *            sums, norms and nrminf +0, prod +1, counts 0; the plan of another op has an error,
 *            unless the shape is segments. An empty segment: the same +0, +1 and 0, else NaN or the
 *            index UINT64_MAX. Variances of ddof elements or fewer: NaN
 * more       docs/reference-calls.md, detreduce/plan.hpp, lib/SPEC.md */
detreduce_status detreduce_run(const detreduce_plan* plan, const void* x, const void* y, const uint64_t* offsets,
                               void* out, void* workspace, detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* The same for CUDA plans with the workspace from the stream-ordered allocator (cudaMallocAsync),
 * freed in stream order. */
detreduce_status detreduce_run_async(const detreduce_plan* plan, const void* x, const void* y, const uint64_t* offsets,
                                     void* out, detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* ---- states of a reduction by many ----------------------------------------------------------- */

/* A request with `state` 1 has a plan whose run writes detreduce_plan_state_words() int64_t for
 * each group to `out`, in the place of results. States of parts of the elements, which may be
 * empty, are put together word by word by whatever adds 64-bit integers (MPI_SUM, ncclSum), up
 * to 2^28 normalized ones at once; those of min, max, minmax and nrminf by their maximum
 * (MPI_MAX); those of argmin and argmax by pairs: the one with the greater first word, and of
 * equal ones with the greater second. detreduce_states_finish() rounds what comes out, once: the
 * bits are those of all elements in one place. All ops but prod and count_unique; sums, means
 * and variances by exact. */
typedef int32_t detreduce_state_merge_kind;
enum { DETREDUCE_STATE_MERGE_SUM = 0, DETREDUCE_STATE_MERGE_MAX, DETREDUCE_STATE_MERGE_PAIR };

/* int64_t a group, and how states are put together; 0 of a plan that is not one of states, or not
 * ok. */
uint64_t detreduce_plan_state_words(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_state_merge_kind detreduce_plan_state_merge(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;

/* Of the states of all groups, in memory of the plan's device: merge adds what `others` hold to
 * `states`; normalize gives states that were added word by word the one form that each has, which
 * run and merge give by themselves; finish writes detreduce_plan_results() results to `out`, as a
 * run without states does. How many elements a group has is known from its state: of none, or no
 * more than ddof, results are those of segments.
 * stream     CUDA: enqueued on `stream`, not synchronised, nothing allocated, may be captured in a
 *            graph. CPU: stream means nothing
 * errors: those of the plan; invalid_argument for `plan` if it is not one of states, for a NULL or
 * misaligned pointer, and for `states` with the index of the first group that is beyond its
 * headroom of 2^62 elements or no state of this plan; finish writes nothing then (CUDA: nothing is
 * said; finish writes NaN, or UINT64_MAX for an index or a count); out_of_memory. lib/SPEC.md,
 * section 18 */
detreduce_status detreduce_states_merge(const detreduce_plan* plan, int64_t* states, const int64_t* others,
                                        detreduce_stream stream) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_states_normalize(const detreduce_plan* plan, int64_t* states,
                                            detreduce_stream stream) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_states_finish(const detreduce_plan* plan, const int64_t* states, void* out,
                                         detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* The same states, in host memory whatever the plan's device, as bytes that any machine can read:
 * with op, dtype, NaN policy, shape and groups, and a checksum. serialize writes
 * detreduce_states_serialized_bytes() bytes, which `size` must be; deserialize reads them, also
 * what detreduce_state_serialize() wrote, as a flat sum; request makes of them a request for such
 * states, to make a plan of that reads them and goes on.
 * errors: those of the plan; invalid_argument for `plan` if it is not one of states, for NULL or
 * misaligned `states`, and those that finish refuses; for `bytes` that are NULL, no serialized
 * states, truncated, damaged, of another version, op, dtype, nan, shape, groups, or no normalized
 * states, with the index of the group; `size`; `request`. Nothing is written then. lib/SPEC.md,
 * section 18.5 */
uint64_t detreduce_states_serialized_bytes(const detreduce_plan* plan) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_states_serialize(const detreduce_plan* plan, const int64_t* states, void* bytes,
                                            size_t size) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_states_deserialize(const detreduce_plan* plan, const void* bytes, size_t size,
                                              int64_t* states) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_states_request(const void* bytes, size_t size,
                                          detreduce_request* request) DETREDUCE_NOEXCEPT;

/* ---- segments by key ------------------------------------------------------------------------- */

/* Writes the groups + 1 offsets of the segments that n elements are in by their ids: offsets[g] is
 * how many ids are less than g. The ids must not descend and must be less than `groups`; elements
 * that are not sorted by id are to be sorted first, by a stable sort. All arrays are where `device`
 * is. CUDA: enqueued on `stream`, not synchronised, nothing allocated, may be captured in a graph.
 * errors: invalid_argument for `n`, `groups`, `device`, `ids`, `offsets`; no_device; cuda_error.
 * CPU: also what detreduce_check_ids_…() finds; nothing is written then. CUDA does not look at the
 * ids: of bad ones it makes offsets that can be used, but that mean nothing */
detreduce_status detreduce_offsets_of_ids_u32(detreduce_device device, const uint32_t* ids, uint64_t n, uint64_t groups,
                                              uint64_t* offsets, detreduce_stream stream) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_offsets_of_ids_u64(detreduce_device device, const uint64_t* ids, uint64_t n, uint64_t groups,
                                              uint64_t* offsets, detreduce_stream stream) DETREDUCE_NOEXCEPT;

/* Looks at every id, or at groups + 1 offsets of segments of n elements. Ids must be less than
 * `groups` and offsets at most n, and neither may descend. `whole`, 0 or 1: 1 also asks for 0 as
 * the first offset and n as the last. On CUDA these wait for `stream`, and take 8 bytes from the
 * stream-ordered allocator; no other call waits.
 * errors: invalid_argument for `ids` or `offsets` with the `index` of the first bad one; for
 * `stream` while it is captured; otherwise as above */
detreduce_status detreduce_check_ids_u32(detreduce_device device, const uint32_t* ids, uint64_t n, uint64_t groups,
                                         detreduce_stream stream) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_check_ids_u64(detreduce_device device, const uint64_t* ids, uint64_t n, uint64_t groups,
                                         detreduce_stream stream) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_check_offsets(detreduce_device device, const uint64_t* offsets, uint64_t groups, uint64_t n,
                                         int32_t whole, detreduce_stream stream) DETREDUCE_NOEXCEPT;

DETREDUCE_C_END

#endif
