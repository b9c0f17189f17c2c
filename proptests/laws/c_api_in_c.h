/* What c_api_in_c.c, which a C compiler compiles, shows to the tests in C++. */
#ifndef DETREDUCE_PROPTESTS_C_API_IN_C_H
#define DETREDUCE_PROPTESTS_C_API_IN_C_H

#include <detreduce/losses.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes and offsets as C sees them, closed by 0. */
const size_t* layout_in_c(void);

/* 0 when initialiser and call give the same request. */
int request_inits_differ(void);

/* A request from the initialiser, made and run on the CPU. */
detreduce_status reduce_in_c(const char* op, const char* method, const char* dtype, const void* x, const void* y,
                             uint64_t n, void* out);

/* x in two parts, through states and their bytes. */
detreduce_status sum_in_parts_in_c(const double* x, uint64_t n, uint64_t first, double* out);

/* The mean cross entropy of rows of logits. */
detreduce_status cross_entropy_in_c(const float* logits, uint64_t rows, uint64_t classes, const int64_t* targets,
                                    float* loss);

/* Every word that the header has, in the order of its value, by name; 0 when names and values read
 * back, else the line of what did not. */
int words_in_c(void);

#ifdef __cplusplus
}
#endif

#endif
