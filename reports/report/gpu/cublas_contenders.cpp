// cuBLAS, loaded when it is wanted: it is half a gigabyte that the program would otherwise need everywhere. Of the build only its header is needed.
#include <limits>
#include <memory>

#include <dlfcn.h>

#include <fmt/format.h>

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif

#include "contenders.hpp"

namespace detreduce::report::gpu {

#ifdef CUBLAS_VER_MAJOR
namespace {

void check_cublas(cublasStatus_t status, const char* call) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw program::Failure(std::string("cuBLAS: ") + call + " failed with status " +
                               std::to_string(static_cast<int>(status)));
}

template <class Function>
void load(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    if (function == nullptr) throw program::Failure(std::string("cuBLAS: its library has no ") + name);
}

/// The library and one handle, kept until the program ends: unloading CUDA libraries early is what makes them crash.
struct Cublas {
    decltype(cublasCreate_v2)* create = nullptr;
    decltype(cublasSetStream_v2)* set_stream = nullptr;
    decltype(cublasSetPointerMode_v2)* set_pointer_mode = nullptr;
    decltype(cublasSasum_v2)* asum = nullptr;
    decltype(cublasSdot_v2)* dot = nullptr;
    decltype(cublasSnrm2_v2)* nrm2 = nullptr;
    cublasHandle_t handle = nullptr;

    explicit Cublas(void* library) {
        load(library, "cublasCreate_v2", create);
        load(library, "cublasSetStream_v2", set_stream);
        load(library, "cublasSetPointerMode_v2", set_pointer_mode);
        load(library, "cublasSasum_v2", asum);
        load(library, "cublasSdot_v2", dot);
        load(library, "cublasSnrm2_v2", nrm2);
        check_cublas(create(&handle), "cublasCreate");
        check_cublas(set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
    }
};

constexpr const char* library_name = CUBLAS_VER_MAJOR == 13   ? "libcublas.so.13"
                                     : CUBLAS_VER_MAJOR == 12 ? "libcublas.so.12"
                                                              : "libcublas.so";

template <class Call>
Contender contender(const char* name, const std::shared_ptr<Cublas>& blas, Call call) {
    const auto out = std::make_shared<DeviceMemory>(sizeof(float));
    return {name, "",
            [=](const void* x, cudaStream_t stream) {
                check_cublas(blas->set_stream(blas->handle, stream), "cublasSetStream");
                check_cublas(call(static_cast<const float*>(x), static_cast<float*>(out->get())), "a call");
            },
            static_cast<const float*>(out->get()), 1};
}

} // namespace

std::vector<Contender> cublas_contenders(std::uint64_t n, std::string& why_not) {
    static void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        why_not = fmt::format("cuBLAS was not found ({}; LD_LIBRARY_PATH says where to look).", library_name);
        return {};
    }
    if (n > std::uint64_t{std::numeric_limits<int>::max()}) {
        why_not = "cuBLAS' calls with an int for n take no more than 2^31 - 1 elements.";
        return {};
    }
    static const auto blas = std::make_shared<Cublas>(library);
    const int all = static_cast<int>(n), half = all / 2;
    return {
        contender("cublasSasum", blas,
                  [=](const float* x, float* out) { return blas->asum(blas->handle, all, x, 1, out); }),
        contender("cublasSdot", blas,
                  [=](const float* x, float* out) { return blas->dot(blas->handle, half, x, 1, x + half, 1, out); }),
        contender("cublasSnrm2", blas,
                  [=](const float* x, float* out) { return blas->nrm2(blas->handle, all, x, 1, out); })};
}
#else
std::vector<Contender> cublas_contenders(std::uint64_t, std::string& why_not) {
    why_not = "cuBLAS was not there when this program was built (cublas_v2.h).";
    return {};
}
#endif

} // namespace detreduce::report::gpu
