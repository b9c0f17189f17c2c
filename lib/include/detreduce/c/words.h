/* Words, statuses and versions for C. */
#ifndef DETREDUCE_C_WORDS_H
#define DETREDUCE_C_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Around the declarations of each C header: they are C, and the library has them for all. */
#ifdef __cplusplus
#define DETREDUCE_NOEXCEPT noexcept
#define DETREDUCE_EXTERN_C extern "C" {
#define DETREDUCE_EXTERN_C_END }
#else
#define DETREDUCE_NOEXCEPT
#define DETREDUCE_EXTERN_C
#define DETREDUCE_EXTERN_C_END
#endif
#ifdef __GNUC__
#define DETREDUCE_C_BEGIN _Pragma("GCC visibility push(default)") DETREDUCE_EXTERN_C
#define DETREDUCE_C_END DETREDUCE_EXTERN_C_END _Pragma("GCC visibility pop")
#else
#define DETREDUCE_C_BEGIN DETREDUCE_EXTERN_C
#define DETREDUCE_C_END DETREDUCE_EXTERN_C_END
#endif

DETREDUCE_C_BEGIN

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

DETREDUCE_C_END

#endif
