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

#include <detreduce/c/words.h>
#include <detreduce/c/plans.h>
#include <detreduce/c/calls.h>

#endif
