/* One step of training in C: the mean cross entropy of a batch, its gradient, and the gradient
 * clipped.
 * Exit: 0 when one thread and four give the same bits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <detreduce/losses.h>

enum { batch = 512, classes = 1000, elements = batch * classes };

static void check(detreduce_status status) {
    char text[256];
    if (status.code == DETREDUCE_OK) return;
    detreduce_status_message(&status, text, sizeof text);
    fprintf(stderr, "detreduce: %s\n", text);
    exit(EXIT_FAILURE);
}

static void* allocated(size_t bytes) {
    void* const memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) exit(EXIT_FAILURE);
    return memory;
}

/* One row op over the batch. On a GPU it would be the same, with device pointers and a stream. */
static void run_rows(detreduce_row_op op, uint32_t threads, const float* logits, const int64_t* targets, float* out) {
    detreduce_row_request request = DETREDUCE_ROW_REQUEST_INIT;
    detreduce_row_arrays arrays = DETREDUCE_ROW_ARRAYS_INIT;
    detreduce_row_plan plan;
    void* workspace;
    request.op = op;
    request.n = classes;
    request.rows = batch; /* the mean of their losses, or its gradient: that is the default */
    request.label_smoothing = 0.1;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    request.launch.threads = threads;
    check(detreduce_make_row_plan(&request, &plan));
    workspace = allocated(detreduce_row_plan_workspace_bytes(&plan));
    arrays.x = logits;
    arrays.targets = targets;
    arrays.out = out;
    check(detreduce_run_rows(&plan, &arrays, workspace, NULL));
    free(workspace);
}

/* Scales the gradient to a norm of at most 0.01; gives the norm that it had. */
static double clip(uint32_t threads, float* gradient) {
    detreduce_clip_request request = DETREDUCE_CLIP_REQUEST_INIT;
    detreduce_clip_plan plan;
    detreduce_tensor list[1];
    double norm = 0;
    memset(list, 0, sizeof list); /* what is reserved is 0 */
    list[0].data = gradient;
    list[0].n = elements;
    list[0].dtype = DETREDUCE_DTYPE_F32;
    request.n = elements;
    request.tensors = 1;
    request.max_norm = 0.01;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    request.launch.threads = threads;
    check(detreduce_make_clip_plan(&request, &plan));
    check(detreduce_run_clip(&plan, list, &norm, NULL, NULL));
    return norm;
}

int main(void) {
    static const uint32_t threads[2] = {1, 4};
    float* const logits = allocated(elements * sizeof *logits);
    int64_t* const targets = allocated(batch * sizeof *targets);
    float loss[2] = {0, 0}, *gradient[2];
    double norm[2];
    uint32_t random = 1;
    int same, i;
    for (i = 0; i < elements; ++i) {
        random = random * 1664525u + 1013904223u;
        logits[i] = (float)(random >> 8) / 1048576.0f - 8.0f;
    }
    for (i = 0; i < batch; ++i)
        targets[i] = i * 7 % classes;
    for (i = 0; i < 2; ++i) {
        gradient[i] = allocated(elements * sizeof(float));
        run_rows(DETREDUCE_ROW_OP_CROSS_ENTROPY, threads[i], logits, targets, &loss[i]);
        run_rows(DETREDUCE_ROW_OP_CROSS_ENTROPY_GRADIENT, threads[i], logits, targets, gradient[i]);
        norm[i] = clip(threads[i], gradient[i]);
        printf("%" PRIu32 " threads: cross entropy %.9g, norm of its gradient %.17g\n", threads[i], (double)loss[i],
               norm[i]);
    }
    same = memcmp(&loss[0], &loss[1], sizeof loss[0]) == 0 && memcmp(&norm[0], &norm[1], sizeof norm[0]) == 0 &&
           memcmp(gradient[0], gradient[1], elements * sizeof(float)) == 0;
    puts(same ? "the same bits every time" : "DIFFERENT BITS");
    free(gradient[0]);
    free(gradient[1]);
    free(targets);
    free(logits);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
