// A report about reductions of your own: their error, determinism, edge cases and cost, beside
// detreduce's `tree` and `exact`, measured and written by what `detreduce report` measures and
// writes with.
//
//     #include <detreduce/accuracy/study.hpp>
//
//     int main(int argc, char** argv) {
//         detreduce::accuracy::Study study;
//         study.add<float>("a loop", [](const float* x, std::uint64_t n) {
//             float sum = 0;
//             for (std::uint64_t i = 0; i < n; ++i) sum += x[i];
//             return sum;
//         });
//         study.add_device<float>("atomics", [](const float* x, std::uint64_t n, float* out, cudaStream_t stream) {
//             cudaMemsetAsync(out, 0, sizeof(float), stream);
//             add_atomically<<<256, 256, 0, stream>>>(x, n, out);
//             return cudaGetLastError();
//         });
//         return study.write_report(argc, argv);   // mine --out DIR [--quick] [--device cpu|cuda:N] [--max-n N] …
//     }
//
// Link detreduce::study (CMake; docs/report.md says how). This header needs neither CUDA nor any
// library beside detreduce; examples/own_reduction has both kinds.
//
// WHAT IS COMPUTED: s = Σ xᵢ over n elements of type T, float16, bfloat16, float or double. The
// result is of type ResultOf<T>: T, and float for the 16-bit formats, of whose results most bits
// that could differ would be rounded away. A reduction that ends in 16 bits widens its result,
// which is exact.
//
// WHAT IS MEASURED, each with the data, sizes and figures that the methods beside it have:
// - error: against Σ xᵢ computed in integers without rounding, for every family of
//   accuracy/generators.hpp, every condition number Σ|x| / |Σx| and every n that the report has; in
//   units in the last place of ResultOf<T>, and relative to |s|; how many results have the bits of
//   s rounded once; and, where a bound is claimed, |result − s| / bound.
// - determinism: distinct bit patterns of one sum run again and again in one process, with the
//   data 0 to 15 elements past an aligned address, in random order, with 1 to 8 threads of OpenMP
//   where it uses them, and, on the device, on four streams at once while a fifth keeps the GPU
//   busy.
// - edge cases (float, double): zeros, infinities, NaN, sums that overflow or cancel on the way.
// - cost: the median time of a call, in bytes read a second (1 GB = 10⁹ bytes), and relative to a
//   pass that only reads the same bytes: 1 is that pass' speed. On the host it is wall-clock time;
//   on the device time between events on the stream, with calls queued beforehand.
// In a run on the CPU (--device cpu, or no GPU) device launchers are left out, and it says so; in a
// run on a GPU host functions are measured too, but have no cost.
//
// WHAT YOUR REDUCTION MUST DO:
// - take any n from 1 on (never 0), and any x that is aligned to its element, not to more;
// - read x[0] … x[n − 1], nothing else, and write nothing there;
// - on the host: return the result; it is called from one thread at a time;
// - on the device: queue its work on `stream` and return without waiting for it (no cudaMalloc,
//   cudaFree or synchronization), writing one ResultOf<T> to `out`, device memory that holds
//   anything. x is device memory. It is called from one host thread, with the current device set,
//   but calls on different streams may run at once: use the workspace, of which each stream has its
//   own, and no other memory. Return cudaGetLastError(), or whatever cudaError_t the work gave, or
//   nothing.
//
// WHEN IT FAILS: an exception from the function or the launcher, or a cudaError_t other than
// success, ends the run with one line that names the reduction, the dtype and n, and exit status 1;
// Ctrl-C ends it with 130. What was measured until then is written all the same, marked incomplete.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <detreduce/accuracy/error_bound.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/types.hpp>

namespace detreduce::accuracy {

template <class T>
using ResultOf = fp::Arithmetic<T>;

/// What you say about your reduction: the report checks it, and marks what is broken.
struct Claims {
    /// What the bits of its results depend on: an axis along which this promises one pattern, and
    /// there are more, is red. None: nothing is promised.
    Guarantee guarantee = Guarantee::none;
    /// The bound of a sum of n elements that does not overflow; e.g. {0, gamma, 0}, or
    /// error_bound(…) of accuracy/bounds.hpp. Empty: unknown.
    std::function<ErrorBound(std::uint64_t n)> bound = {};
    /// Host functions: it uses as many threads as OpenMP has (omp_get_max_threads()). Then its
    /// speed is relative to a read pass of as many, and not of one, and their number is one more
    /// thing that is varied to see whether the bits stay.
    bool openmp = false;
};

/// The stream that a device launcher is called with: becomes a cudaStream_t.
class StreamArgument {
  public:
    explicit StreamArgument(void* stream) : stream_(stream) {}
    template <class Stream>
    operator Stream*() const { // NOLINT(google-explicit-constructor): this header does not know cudaStream_t
        return static_cast<Stream*>(stream_);
    }

  private:
    void* stream_;
};

/// A reduction without its types, as the report runs it; Study makes it. Either `host` or `launch`
/// is there.
struct OwnReduction {
    std::string name;
    DType dtype;
    Claims claims;
    std::function<void(const void* x, std::uint64_t n, void* result)> host = {};
    /// Gives a cudaError_t.
    std::function<int(const void* x, std::uint64_t n, void* out, void* workspace, void* stream)> launch = {};
    std::function<std::size_t(std::uint64_t n)> workspace_bytes = {}; ///< with `launch`
};

template <class F, class T>
concept HostReduction = std::is_invocable_r_v<ResultOf<T>, F&, const T*, std::uint64_t>;
template <class F, class T>
concept DeviceLauncher = std::invocable < F&,
        const T*, std::uint64_t, ResultOf<T>
*, StreamArgument > ;
template <class F, class T>
concept DeviceLauncherWithWorkspace = std::invocable < F&,
        const T*, std::uint64_t, ResultOf<T>
*, void*, StreamArgument > ;

class Study {
  public:
    /// A host function. All three throw std::invalid_argument when `name` is empty, has control
    /// characters, is that of a method or a peer that the report measures, or was given before for
    /// this T and this kind of reduction; one name for several T is as it should be.
    template <class T, HostReduction<T> F>
    Study& add(std::string name, F reduce, Claims claims = {}) {
        OwnReduction own{std::move(name), dtype_of<T>, std::move(claims)};
        own.host = [reduce = std::move(reduce)](const void* x, std::uint64_t n, void* result) mutable {
            *static_cast<ResultOf<T>*>(result) = reduce(static_cast<const T*>(x), n);
        };
        return add(std::move(own));
    }

    /// A device launcher: launch(x, n, out, stream).
    template <class T, DeviceLauncher<T> F>
    Study& add_device(std::string name, F launch, Claims claims = {}) {
        const auto with_workspace = [launch = std::move(launch)](const T* x, std::uint64_t n, ResultOf<T>* out, void*,
                                                                 StreamArgument stream) mutable {
            return launch(x, n, out, stream);
        };
        return add_device<T>(
            std::move(name), [](std::uint64_t) { return std::size_t{0}; }, with_workspace, std::move(claims));
    }

    /// One with device memory to work in: launch(x, n, out, workspace, stream) with
    /// workspace_bytes(n) bytes, aligned as by cudaMalloc, which the report allocates and does not
    /// time. They hold anything.
    template <class T, std::invocable<std::uint64_t> W, DeviceLauncherWithWorkspace<T> F>
    Study& add_device(std::string name, W workspace_bytes, F launch, Claims claims = {}) {
        OwnReduction own{std::move(name), dtype_of<T>, std::move(claims)};
        own.workspace_bytes = std::move(workspace_bytes);
        own.launch = [launch = std::move(launch)](const void* x, std::uint64_t n, void* out, void* workspace,
                                                  void* stream) mutable {
            const auto call = [&] {
                return launch(static_cast<const T*>(x), n, static_cast<ResultOf<T>*>(out), workspace,
                              StreamArgument(stream));
            };
            if constexpr (std::is_void_v<decltype(call())>)
                return call(), 0;
            else
                return static_cast<int>(call());
        };
        return add(std::move(own));
    }

    [[nodiscard]] const std::vector<OwnReduction>& reductions() const noexcept { return reductions_; }

    /// What main() returns: reads the options (--help shows them), measures, and writes
    /// results.json (reports/schema), index.html, report.md, *.csv and plots. 0: done; 1: failed,
    /// and one line on standard error says why; 2: wrong usage. Throws nothing.
    [[nodiscard]] int write_report(int argc, const char* const* argv) const noexcept;

  private:
    Study& add(OwnReduction own);

    std::vector<OwnReduction> reductions_;
};

} // namespace detreduce::accuracy
