/* Loads a shared detreduce, calls it with threads and unloads it: its threads must go with it,
 * since their code does.
 *     DETREDUCE_NUM_THREADS=4 unload LIBRARY */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <detreduce/detreduce.h>

enum { n = 1 << 20 };
static float x[n];

static int threads_here(void) {
    int count = -2; /* . and .. */
    DIR* const tasks = opendir("/proc/self/task");
    while (readdir(tasks) != NULL)
        ++count;
    closedir(tasks);
    return count;
}

/* In a thread that ends: while one has buffers of the library, that stays. */
static void* use(void* library) {
    float sum = 0;
    detreduce_status (*sum_f32)(const float*, uint64_t, detreduce_method, float*);
    *(void**)&sum_f32 = dlsym(library, "detreduce_sum_f32");
    if (sum_f32(x, n, DETREDUCE_METHOD_EXACT, &sum).code != DETREDUCE_OK || sum != n)
        fprintf(stderr, "the sum is wrong\n");
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t thread;
    int with_library, i;
    void* const library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    for (i = 0; i < n; ++i)
        x[i] = 1;
    pthread_create(&thread, NULL, use, library);
    pthread_join(thread, NULL);
    with_library = threads_here();
    dlclose(library);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL) {
        fprintf(stderr, "the library was not unloaded\n");
        return 1;
    }
    if (with_library < 2 || threads_here() != 1) {
        fprintf(stderr, "%d threads before, %d after\n", with_library, threads_here());
        return 1;
    }
    return 0;
}
