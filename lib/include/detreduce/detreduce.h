/* detreduce for C, and for whatever calls C: C99 and later, and C++. The same library, the same
 * bits, as <detreduce/detreduce.hpp>. <detreduce/losses.h> has losses, row ops and clip_grad_norm.
 *
 *     detreduce_request request;
 *     detreduce_request_init(&request, sizeof request);
 *     request.dtype = DETREDUCE_DTYPE_F64;
 *     request.n = n;
 *     detreduce_plan plan;
 *     detreduce_status status = detreduce_make_plan(&request, &plan);
 *     if (status.code == DETREDUCE_OK) status = detreduce_run(&plan, x, NULL, NULL, out, workspace, stream);
 *
 * Nothing here throws, prints or aborts. Errors are a detreduce_status. What each value of an op or
 * a method means, to the bit, is in lib/SPEC.md.
 *
 * A struct that is filled in begins with its size, or has fields that are reserved, and must be 0:
 * so that later versions can have more of them, and serve programs that were compiled with an older
 * header. Words are 32-bit integers with named values, so that structs have one layout for every
 * compiler and language, and a value that is not among them is refused by name rather than
 * undefined. */
#ifndef DETREDUCE_DETREDUCE_H
#define DETREDUCE_DETREDUCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
#define DETREDUCE_NOEXCEPT noexcept
extern "C" {
#else
#define DETREDUCE_NOEXCEPT
#endif

/* What the parse functions give for a text that names nothing. Never an allowed value. */
#define DETREDUCE_UNKNOWN (-1)

/* What is computed, of elements x and, for ops of two inputs, y. */
typedef int32_t detreduce_op;
enum {
    DETREDUCE_OP_SUM = 0,       /* sum of x */
    DETREDUCE_OP_MEAN,          /* sum of x, over n */
    DETREDUCE_OP_ASUM,          /* sum of |x|: the L1 norm */
    DETREDUCE_OP_SUMSQ,         /* sum of x^2 */
    DETREDUCE_OP_NRM2,          /* square root of the sum of x^2: the L2 norm */
    DETREDUCE_OP_DOT,           /* sum of x*y */
    DETREDUCE_OP_SUMDIFFSQ,     /* sum of (x - y)^2 */
    DETREDUCE_OP_MSE,           /* sum of (x - y)^2, over n */
    DETREDUCE_OP_MAE,           /* sum of |x - y|, over n */
    DETREDUCE_OP_MIN,           /* the minimum */
    DETREDUCE_OP_MAX,           /* the maximum */
    DETREDUCE_OP_ARGMIN,        /* index of the minimum, the lowest of equals */
    DETREDUCE_OP_ARGMAX,        /* index of the maximum, the lowest of equals */
    DETREDUCE_OP_NRMINF,        /* the maximum of |x|: the L-infinity norm */
    DETREDUCE_OP_MINMAX,        /* min and max, in one pass */
    DETREDUCE_OP_PROD,          /* product of x */
    DETREDUCE_OP_VARIANCE,      /* sum of (x - mean)^2, over n - ddof */
    DETREDUCE_OP_STDDEV,        /* square root of the variance */
    DETREDUCE_OP_MOMENTS,       /* mean and variance, together */
    DETREDUCE_OP_COUNT_NONZERO, /* how many x are not zero; NaN is not zero */
    DETREDUCE_OP_COUNT_UNIQUE   /* how many different values there are */
};

/* Which bits come out: a numerical specification, not an implementation. */
typedef int32_t detreduce_method;
enum {
    DETREDUCE_METHOD_ATOMIC = 0,  /* promises no bits; for comparison */
    DETREDUCE_METHOD_TREE,        /* a fixed tree of plain additions */
    DETREDUCE_METHOD_SERIAL,      /* one addition after the other; CPU only, for comparison */
    DETREDUCE_METHOD_KAHAN,       /* each virtual lane in order, with its rounding errors */
    DETREDUCE_METHOD_COMPENSATED, /* a tree that carries its rounding errors */
    DETREDUCE_METHOD_EXACT,       /* the true value, rounded once; whatever the order */
    DETREDUCE_METHOD_AUTOMATIC    /* no method of its own: exact, or compensated of prod, which exact has not */
};

/* Type of an element: IEEE 754 binary16, bfloat16, binary32 (float), binary64 (double); OCP float8
 * E4M3 (without infinities) and E5M2. */
typedef int32_t detreduce_dtype;
enum {
    DETREDUCE_DTYPE_F16 = 0,
    DETREDUCE_DTYPE_BF16,
    DETREDUCE_DTYPE_F32,
    DETREDUCE_DTYPE_F64,
    DETREDUCE_DTYPE_F8E4M3,
    DETREDUCE_DTYPE_F8E5M2,
    DETREDUCE_DTYPE_OF_INPUT = -2 /* of a result only: the elements' own, or an index */
};

/* How the elements are grouped. */
typedef int32_t detreduce_shape;
enum {
    /* Each group to one result, or two: minmax, moments. */
    DETREDUCE_SHAPE_FLAT = 0, /* all n elements */
    DETREDUCE_SHAPE_ROWS,     /* a matrix, row by row in memory: each row of n elements */
    DETREDUCE_SHAPE_COLUMNS,  /* the same matrix: each column of n elements */
    DETREDUCE_SHAPE_SEGMENTS, /* an array of n elements cut at offsets: each segment */
    DETREDUCE_SHAPE_TENSORS   /* a list of arrays, taken as one of n elements; with `each` also each of them */
};

/* How a GPU gets there. Never changes a bit of a deterministic method. */
typedef int32_t detreduce_schedule;
enum {
    DETREDUCE_SCHEDULE_AUTOMATIC = 0,
    DETREDUCE_SCHEDULE_TWO_PASS,
    DETREDUCE_SCHEDULE_LAST_BLOCK,
    DETREDUCE_SCHEDULE_COOPERATIVE
};

/* What ops that compare do with NaN. */
typedef int32_t detreduce_nan_policy;
enum {
    DETREDUCE_NAN_PROPAGATE = 0, /* one is enough: the result is NaN, or the index of the first */
    DETREDUCE_NAN_IGNORE         /* passed over; where there is nothing else, as propagate */
};

/* Where the reduction runs. */
typedef int32_t detreduce_backend;
enum { DETREDUCE_BACKEND_CPU = 0, DETREDUCE_BACKEND_CUDA };

/* Instruction set of the CPU backend. Never changes a bit. */
typedef int32_t detreduce_isa;
enum {
    DETREDUCE_ISA_AUTOMATIC = 0,
    DETREDUCE_ISA_BASELINE,
    DETREDUCE_ISA_AVX2,
    DETREDUCE_ISA_AVX512,
    DETREDUCE_ISA_NEON
};

/* What a result's bits depend on, weakest first. */
typedef int32_t detreduce_guarantee;
enum {
    DETREDUCE_GUARANTEE_NONE = 0,   /* luck */
    DETREDUCE_GUARANTEE_RUN_TO_RUN, /* input, build, device and launch */
    /* the input sequence, op, method, dtype and spec_version: the same on every GPU and CPU */
    DETREDUCE_GUARANTEE_DEVICE,
    DETREDUCE_GUARANTEE_ORDER /* the multiset of inputs: any permutation or split as well */
};

/* How a call ended. */
typedef int32_t detreduce_status_code;
enum {
    DETREDUCE_OK = 0,
    DETREDUCE_INVALID_ARGUMENT, /* an argument is out of its range */
    DETREDUCE_UNSUPPORTED,      /* each argument is valid, their combination is not offered here */
    DETREDUCE_NO_DEVICE,        /* CUDA was asked for and there is no usable device, or the build has no CUDA */
    DETREDUCE_CUDA_ERROR,       /* a CUDA call failed */
    DETREDUCE_OUT_OF_MEMORY     /* the CPU backend could not get the memory for its buffers */
};

#define DETREDUCE_NO_ELEMENT UINT64_MAX

/* The strings live as long as the program; a status can be copied and kept. */
typedef struct detreduce_status {
    detreduce_status_code code;
    const char* argument; /* name of the offending argument, or of the CUDA call that failed; never NULL */
    const char* allowed;  /* what is allowed, or the CUDA error's description; never NULL */
    int32_t cuda_error;   /* the cudaError_t of a CUDA_ERROR */
    uint64_t index;       /* of the first bad element where `argument` is an array, else DETREDUCE_NO_ELEMENT */
    uint64_t reserved[2]; /* 0 */
} detreduce_status;

/* "invalid argument", …; "unknown status" for another number. */
const char* detreduce_status_name(detreduce_status_code code) DETREDUCE_NOEXCEPT;

/* Writes one line for people, e.g. "invalid argument 'launch.block': allowed are 128 and 256", to
 * `text`, cut to size − 1 characters, and a zero. Returns the characters that all of it has,
 * without the zero, as snprintf does. With size 0 `text` may be NULL. */
size_t detreduce_status_message(const detreduce_status* status, char* text, size_t size) DETREDUCE_NOEXCEPT;

/* Names, as lib/SPEC.md and the program `detreduce` write them: "sum", "exact", "bf16", "rows", …;
 * "?" for a value that is none. */
const char* detreduce_op_name(detreduce_op op) DETREDUCE_NOEXCEPT;
const char* detreduce_method_name(detreduce_method method) DETREDUCE_NOEXCEPT;
const char* detreduce_dtype_name(detreduce_dtype dtype) DETREDUCE_NOEXCEPT;
const char* detreduce_shape_name(detreduce_shape shape) DETREDUCE_NOEXCEPT;
const char* detreduce_schedule_name(detreduce_schedule schedule) DETREDUCE_NOEXCEPT;
const char* detreduce_nan_policy_name(detreduce_nan_policy nan) DETREDUCE_NOEXCEPT;
const char* detreduce_backend_name(detreduce_backend backend) DETREDUCE_NOEXCEPT;

/* The value that has this name, else DETREDUCE_UNKNOWN, which make_plan() refuses; also for
 * NULL. */
detreduce_op detreduce_parse_op(const char* text) DETREDUCE_NOEXCEPT;
detreduce_method detreduce_parse_method(const char* text) DETREDUCE_NOEXCEPT;
detreduce_dtype detreduce_parse_dtype(const char* text) DETREDUCE_NOEXCEPT;
detreduce_shape detreduce_parse_shape(const char* text) DETREDUCE_NOEXCEPT;
detreduce_schedule detreduce_parse_schedule(const char* text) DETREDUCE_NOEXCEPT;
detreduce_nan_policy detreduce_parse_nan_policy(const char* text) DETREDUCE_NOEXCEPT;
detreduce_backend detreduce_parse_backend(const char* text) DETREDUCE_NOEXCEPT;

/* Bytes of one element; 0 for a value that is no dtype. */
size_t detreduce_dtype_bytes(detreduce_dtype dtype) DETREDUCE_NOEXCEPT;

/* Version of the library, e.g. "0.1.0"; and of the specification, which changes when any bit of a
 * result does. */
const char* detreduce_version(void) DETREDUCE_NOEXCEPT;
int32_t detreduce_spec_version(void) DETREDUCE_NOEXCEPT;

/* Was the library built with CUDA? 1 or 0. How many usable devices there are; 0 when there is
 * none. */
int32_t detreduce_built_with_cuda(void) DETREDUCE_NOEXCEPT;
int32_t detreduce_cuda_device_count(void) DETREDUCE_NOEXCEPT;

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
    uint32_t block;   /* CUDA threads a block: 128 or 256 */
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

/* ---- ops of arrays in host memory ------------------------------------------------------------ */

/* One value of n elements at x (and y), on the CPU, into *out: a plan and a run, as detreduce_run()
 * describes them, with as many threads as the library chooses. Returns when *out is written; on an
 * error it is left as it was.
 * errors: invalid_argument, e.g. `n` for a mean of nothing, `method` for a number that is none,
 * `x`, `y` or `out` for NULL; out_of_memory */
detreduce_status detreduce_sum_f32(const float* x, uint64_t n, detreduce_method method, float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_sum_f64(const double* x, uint64_t n, detreduce_method method,
                                   double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_mean_f32(const float* x, uint64_t n, detreduce_method method, float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_mean_f64(const double* x, uint64_t n, detreduce_method method,
                                    double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_asum_f32(const float* x, uint64_t n, detreduce_method method, float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_asum_f64(const double* x, uint64_t n, detreduce_method method,
                                    double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_sumsq_f32(const float* x, uint64_t n, detreduce_method method,
                                     float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_sumsq_f64(const double* x, uint64_t n, detreduce_method method,
                                     double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_nrm2_f32(const float* x, uint64_t n, detreduce_method method, float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_nrm2_f64(const double* x, uint64_t n, detreduce_method method,
                                    double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_dot_f32(const float* x, const float* y, uint64_t n, detreduce_method method,
                                   float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_dot_f64(const double* x, const double* y, uint64_t n, detreduce_method method,
                                   double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_sumdiffsq_f32(const float* x, const float* y, uint64_t n, detreduce_method method,
                                         float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_sumdiffsq_f64(const double* x, const double* y, uint64_t n, detreduce_method method,
                                         double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_mse_f32(const float* x, const float* y, uint64_t n, detreduce_method method,
                                   float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_mse_f64(const double* x, const double* y, uint64_t n, detreduce_method method,
                                   double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_mae_f32(const float* x, const float* y, uint64_t n, detreduce_method method,
                                   float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_mae_f64(const double* x, const double* y, uint64_t n, detreduce_method method,
                                   double* out) DETREDUCE_NOEXCEPT;

/* Ops that compare: the same by every method, so there is none to choose; NaN as `nan` says. argmin
 * and argmax give an index from 0. */
detreduce_status detreduce_min_f32(const float* x, uint64_t n, detreduce_nan_policy nan, float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_min_f64(const double* x, uint64_t n, detreduce_nan_policy nan,
                                   double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_max_f32(const float* x, uint64_t n, detreduce_nan_policy nan, float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_max_f64(const double* x, uint64_t n, detreduce_nan_policy nan,
                                   double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_nrminf_f32(const float* x, uint64_t n, detreduce_nan_policy nan,
                                      float* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_nrminf_f64(const double* x, uint64_t n, detreduce_nan_policy nan,
                                      double* out) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_argmin_f32(const float* x, uint64_t n, detreduce_nan_policy nan,
                                      uint64_t* index) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_argmin_f64(const double* x, uint64_t n, detreduce_nan_policy nan,
                                      uint64_t* index) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_argmax_f32(const float* x, uint64_t n, detreduce_nan_policy nan,
                                      uint64_t* index) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_argmax_f64(const double* x, uint64_t n, detreduce_nan_policy nan,
                                      uint64_t* index) DETREDUCE_NOEXCEPT;

/* ---- exact states ---------------------------------------------------------------------------- */

/* An exact sum of elements of any dtypes that can be added to, merged, sent, stored and
 * resumed: 592 bytes, the same on host and device, and the same as the C++ class ExactState. All
 * zero bytes are the empty sum. Every word is a sum over the elements: states may be merged by
 * whatever adds 64-bit integers (MPI_SUM on MPI_INT64_T, ncclSum on ncclInt64), up to 2^28
 * normalized ones at once, and normalized after. Up to 2^62 elements; nothing over- or underflows.
 * A state of more, or of a sum that so many cannot make, is beyond its headroom, and remains so
 * whatever is merged, subtracted or added: it is NaN, its count is INT64_MIN, and
 * detreduce_state_deserialize() refuses its bytes. A state does not know the dtypes of its
 * elements. One state is for one thread, or one stream, at a time. lib/SPEC.md, section 7. */
#define DETREDUCE_STATE_WORDS 74
typedef struct detreduce_state {
    int64_t words[DETREDUCE_STATE_WORDS];
} detreduce_state;
#define DETREDUCE_STATE_INIT                                                                                           \
    {                                                                                                                  \
        { 0 }                                                                                                          \
    }
/* Bytes of the form for other machines: little-endian, with a version and a checksum (lib/SPEC.md,
 * section 7.2). */
#define DETREDUCE_STATE_SERIALIZED_BYTES 616

/* The empty sum. */
void detreduce_state_init(detreduce_state* state) DETREDUCE_NOEXCEPT;

/* Adds n elements of `dtype` at x, in host memory, on the CPU, and normalizes. `launch` (threads,
 * isa) may be NULL. Returns when done. errors: invalid_argument for `state`, `dtype`, `n`, `x`,
 * `launch.threads`; unsupported for `launch.isa`; out_of_memory. The state is then left as it was,
 * but for an error of `state` where it is not NULL: it is beyond its headroom. */
detreduce_status detreduce_state_add(detreduce_state* state, detreduce_dtype dtype, const void* x, uint64_t n,
                                     const detreduce_launch* launch) DETREDUCE_NOEXCEPT;

/* Adds what `term` holds, as if its elements had been added here; takes it away again. `term` may
 * be `state` itself. errors: NULL; invalid_argument for `state` where it is beyond its headroom
 * afterwards. */
detreduce_status detreduce_state_merge(detreduce_state* state, const detreduce_state* term) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_state_subtract(detreduce_state* state, const detreduce_state* term) DETREDUCE_NOEXCEPT;

/* Passes carries on, so that equal sums have equal bytes. */
detreduce_status detreduce_state_normalize(detreduce_state* state) DETREDUCE_NOEXCEPT;

/* The sum rounded once to one element of `dtype` at `out`: to nearest, ties to even; ±inf (f8e4m3:
 * NaN) when it is beyond. The state stays. errors: invalid_argument for `state`, `dtype`, `out`
 * (NULL, or not aligned to the element) */
detreduce_status detreduce_state_round(const detreduce_state* state, detreduce_dtype dtype,
                                       void* out) DETREDUCE_NOEXCEPT;

/* Is the sum NaN? Infinite? Have both the same sum of as many elements? 1 or 0, 0 for NULL.
 * Elements added less elements subtracted, INT64_MIN beyond the headroom. */
int32_t detreduce_state_is_nan(const detreduce_state* state) DETREDUCE_NOEXCEPT;
int32_t detreduce_state_is_inf(const detreduce_state* state) DETREDUCE_NOEXCEPT;
int32_t detreduce_state_equal(const detreduce_state* a, const detreduce_state* b) DETREDUCE_NOEXCEPT;
int64_t detreduce_state_count(const detreduce_state* state) DETREDUCE_NOEXCEPT;

/* Writes the state's bytes for other machines to `blob`, which has `size` bytes. errors:
 * invalid_argument for `state`, `blob`, and `size`, which must be DETREDUCE_STATE_SERIALIZED_BYTES
 * or more. */
detreduce_status detreduce_state_serialize(const detreduce_state* state, void* blob, size_t size) DETREDUCE_NOEXCEPT;
/* Reads them back. errors: invalid_argument for `blob` when it is damaged, from elsewhere, of
 * another size or version, or of a state beyond its headroom; `state` is then left as it was. */
detreduce_status detreduce_state_deserialize(const void* blob, size_t size, detreduce_state* state) DETREDUCE_NOEXCEPT;

/* The same of states in device memory, aligned to 8 bytes: state, term, x and out are device
 * pointers. Enqueued on `stream` of the current device, not synchronised, nothing allocated; may be
 * captured in a graph. The bytes are those that the host gives; the state is normalized after add
 * and merge. errors: invalid_argument, no_device, cuda_error */
detreduce_status detreduce_cuda_state_add(detreduce_state* state, detreduce_dtype dtype, const void* x, uint64_t n,
                                          detreduce_stream stream) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_cuda_state_merge(detreduce_state* state, const detreduce_state* term,
                                            detreduce_stream stream) DETREDUCE_NOEXCEPT;
detreduce_status detreduce_cuda_state_round(const detreduce_state* state, detreduce_dtype dtype, void* out,
                                            detreduce_stream stream) DETREDUCE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif
