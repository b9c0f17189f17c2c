/* Sums from C: one call for an array, a plan for everything else, a state for a sum in parts.
 * Exit: 0 when every way to the exact sum gave the same bits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <detreduce/detreduce.h>

enum { count = 1000000 };

static void check(detreduce_status status) {
    char text[256];
    if (status.code == DETREDUCE_OK) return;
    detreduce_status_message(&status, text, sizeof text);
    fprintf(stderr, "detreduce: %s\n", text);
    exit(EXIT_FAILURE);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void show(const char* how, float value) {
    printf("%-24s %.9g  bits 0x%08" PRIx32 "\n", how, (double)value, bits_of(value));
}

/* Any op, method, dtype and launch goes through a plan. On a GPU it would be the same, with device
 * pointers, a workspace and a stream. */
static float sum_by_plan(const float* x, uint32_t threads) {
    detreduce_request request;
    detreduce_plan plan;
    float sum = 0;
    detreduce_request_init(&request, sizeof request);
    request.n = count;
    request.device.backend = DETREDUCE_BACKEND_CPU;
    request.launch.threads = threads;
    check(detreduce_make_plan(&request, &plan));
    check(detreduce_run(&plan, x, NULL, NULL, &sum, NULL, NULL));
    return sum;
}

/* The same numbers in two parts, which could be on two machines. */
static float sum_in_parts(const float* x) {
    const size_t part = count / 3;
    detreduce_state first = DETREDUCE_STATE_INIT, rest = DETREDUCE_STATE_INIT;
    float sum = 0;
    check(detreduce_state_add(&first, DETREDUCE_DTYPE_F32, x, part, NULL));
    check(detreduce_state_add(&rest, DETREDUCE_DTYPE_F32, x + part, count - part, NULL));
    check(detreduce_state_merge(&rest, &first));
    check(detreduce_state_round(&rest, DETREDUCE_DTYPE_F32, &sum));
    return sum;
}

int main(void) {
    float plain = 0, exact = 0, tree = 0, planned, parts;
    uint32_t random = 1;
    float* x = malloc(count * sizeof *x);
    if (x == NULL) return EXIT_FAILURE;
    for (size_t i = 0; i < count; ++i) {
        random = random * 1664525u + 1013904223u;
        x[i] = (float)(random >> 8) / 16777216.0f - 0.5f;
        plain += x[i];
    }
    check(detreduce_sum_f32(x, count, DETREDUCE_METHOD_EXACT, &exact));
    check(detreduce_sum_f32(x, count, DETREDUCE_METHOD_TREE, &tree));
    planned = sum_by_plan(x, 4);
    parts = sum_in_parts(x);
    free(x);
    show("a plain loop", plain);
    show("detreduce tree", tree);
    show("detreduce exact", exact);
    show("exact, 4 threads", planned);
    show("exact, in two parts", parts);
    if (bits_of(planned) != bits_of(exact) || bits_of(parts) != bits_of(exact)) {
        puts("DIFFERENT BITS");
        return EXIT_FAILURE;
    }
    puts("exact: the same bits every time");
    return EXIT_SUCCESS;
}
