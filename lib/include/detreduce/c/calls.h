/* Ops of arrays in host memory and exact states for C. */
#ifndef DETREDUCE_C_CALLS_H
#define DETREDUCE_C_CALLS_H

#include <detreduce/c/plans.h>

DETREDUCE_C_BEGIN

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

DETREDUCE_C_END

#endif
