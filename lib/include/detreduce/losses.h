/* Losses, row ops, norms of channels, cosine similarity, distillation and clip_grad_norm for C: C99
 * and later, and C++. The same library, the same bits, as <detreduce/losses.hpp>,
 * <detreduce/row_ops.hpp> and <detreduce/clip_grad_norm.hpp>. What detreduce.h says of statuses,
 * words, structs and plans holds here.
 *
 *     detreduce_row_request request = DETREDUCE_ROW_REQUEST_INIT;
 *     request.op = DETREDUCE_ROW_OP_CROSS_ENTROPY;
 *     request.n = classes;
 *     request.rows = batch;
 *     detreduce_row_plan plan;
 *     detreduce_status status = detreduce_make_row_plan(&request, &plan);
 *     detreduce_row_arrays arrays = DETREDUCE_ROW_ARRAYS_INIT;
 *     arrays.x = logits, arrays.targets = targets, arrays.out = loss;
 *     if (status.code == DETREDUCE_OK) status = detreduce_run_rows(&plan, &arrays, workspace,
 *     stream);
 */
#ifndef DETREDUCE_LOSSES_H
#define DETREDUCE_LOSSES_H

#include <detreduce/detreduce.h>
#include <detreduce/c/losses.h>
#include <detreduce/c/rows.h>
#include <detreduce/c/norms.h>
#include <detreduce/c/distillation.h>
#include <detreduce/c/clip.h>

#endif
