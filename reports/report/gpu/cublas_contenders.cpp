// cuBLAS, loaded when it is wanted: it is half a gigabyte that the program would otherwise need
// everywhere. Of the build only its header is needed.
#include <array>
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

/// The calls of one type.
template <class T>
struct Calls {
    using Reduce = cublasStatus_t (*)(cublasHandle_t, int, const T*, int, T*);
    using Dot = cublasStatus_t (*)(cublasHandle_t, int, const T*, int, const T*, int, T*);
    Reduce asum = nullptr, nrm2 = nullptr;
    Dot dot = nullptr;
};

/// The library and one handle, kept until the program ends: unloading CUDA libraries early is what
/// makes them crash.
struct Cublas {
    decltype(cublasCreate_v2)* create = nullptr;
    decltype(cublasSetStream_v2)* set_stream = nullptr;
    decltype(cublasSetPointerMode_v2)* set_pointer_mode = nullptr;
    Calls<float> f32;
    Calls<double> f64;
    cublasHandle_t handle = nullptr;

    explicit Cublas(void* library) {
        load(library, "cublasCreate_v2", create);
        load(library, "cublasSetStream_v2", set_stream);
        load(library, "cublasSetPointerMode_v2", set_pointer_mode);
        load(library, "cublasSasum_v2", f32.asum);
        load(library, "cublasSdot_v2", f32.dot);
        load(library, "cublasSnrm2_v2", f32.nrm2);
        load(library, "cublasDasum_v2", f64.asum);
        load(library, "cublasDdot_v2", f64.dot);
        load(library, "cublasDnrm2_v2", f64.nrm2);
        check_cublas(create(&handle), "cublasCreate");
        check_cublas(set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
    }
};

constexpr const char* library_name = CUBLAS_VER_MAJOR == 13   ? "libcublas.so.13"
                                     : CUBLAS_VER_MAJOR == 12 ? "libcublas.so.12"
                                                              : "libcublas.so";

using Library = std::shared_ptr<Cublas>;

template <class T, class Call>
Contender contender(const char* name, const char* op, const Library& blas, Call call) {
    const auto out = std::make_shared<DeviceMemory>(sizeof(T));
    return {name, op,
            [=](const void* x, cudaStream_t stream) {
                check_cublas(blas->set_stream(blas->handle, stream), "cublasSetStream");
                check_cublas(call(static_cast<const T*>(x), static_cast<T*>(out->get())), "a call");
            },
            static_cast<const float*>(out->get()), sizeof(T) == sizeof(float) ? 1u : 0u};
}

using Names = std::array<const char*, 3>;

template <class T>
std::vector<Contender> contenders(const Library& blas, const Calls<T>& calls, const Names& names, int n) {
    const cublasHandle_t handle = blas->handle;
    const int half = n / 2;
    return {contender<T>(names[0], "asum", blas, [=](const T* x, T* out) { return calls.asum(handle, n, x, 1, out); }),
            contender<T>(names[1], "dot", blas,
                         [=](const T* x, T* out) { return calls.dot(handle, half, x, 1, x + half, 1, out); }),
            contender<T>(names[2], "nrm2", blas, [=](const T* x, T* out) { return calls.nrm2(handle, n, x, 1, out); })};
}

} // namespace

std::vector<Contender> cublas_contenders(DType dtype, std::uint64_t n, std::string& why_not) {
    static void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        why_not = fmt::format("cuBLAS was not found ({}; LD_LIBRARY_PATH says where to look).", library_name);
        return {};
    }
    if (n > std::uint64_t{std::numeric_limits<int>::max()}) {
        why_not = "cuBLAS' calls with an int for n take no more than 2^31 - 1 elements.";
        return {};
    }
    static std::string failed;
    static const Library blas = [] {
        try {
            return std::make_shared<Cublas>(library);
        } catch (const program::Failure& error) { // there may be no memory left for it
            failed = error.what();
            return Library();
        }
    }();
    if (!blas) {
        why_not = failed + ".";
        return {};
    }
    const int count = static_cast<int>(n);
    if (dtype == DType::f64)
        return contenders(blas, blas->f64, Names{"cublasDasum", "cublasDdot", "cublasDnrm2"}, count);
    return contenders(blas, blas->f32, Names{"cublasSasum", "cublasSdot", "cublasSnrm2"}, count);
}
#else
std::vector<Contender> cublas_contenders(DType, std::uint64_t, std::string& why_not) {
    why_not = "cuBLAS was not there when this program was built (cublas_v2.h).";
    return {};
}
#endif

} // namespace detreduce::report::gpu
