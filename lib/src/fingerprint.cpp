// Fingerprints on the host: each array by all threads, 8 bytes at a time.
#include <detreduce/fingerprint.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>

#include <detreduce/host.hpp>
#include <detreduce/spec/fingerprint.hpp>

#include "check_pointer.hpp"
#include "cuda_call.hpp"
#include "host/arena.hpp"
#include "host/backend.hpp"
#include "host/for_each.hpp"

namespace detreduce {
namespace {

/// Words first … last − 1, of an array of so many bytes.
Fingerprint of_words(const char* bytes, std::uint64_t count, std::uint64_t first, std::uint64_t last) {
    Fingerprint sum{};
    for (std::uint64_t j = first; j < last; ++j) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + 8 * j, std::min<std::uint64_t>(8, count - 8 * j));
        for (std::uint64_t k = 0; k < 2; ++k)
            sum.words[k] += spec::fingerprint_term(word, j, k);
    }
    return sum;
}

Fingerprint of_tensor(const Tensor& tensor, std::uint32_t threads) {
    constexpr std::uint64_t block = 1u << 16;
    const std::uint64_t bytes = tensor.n * size_of(tensor.dtype), words = (bytes + 7) / 8;
    std::atomic<std::uint64_t> sums[2];
    for (std::uint64_t k = 0; k < 2; ++k)
        sums[k] = spec::fingerprint_term(tensor.dtype, tensor.n, k);
    host::for_each((words + block - 1) / block, threads, [&](std::uint64_t i) {
        const Fingerprint part =
            of_words(static_cast<const char*>(tensor.data), bytes, i * block, std::min((i + 1) * block, words));
        for (int k = 0; k < 2; ++k)
            sums[k] += part.words[k];
    });
    return {sums[0], sums[1]};
}

Status check(const Tensor* list, std::uint64_t tensors, const Fingerprint* fingerprints) {
    if (tensors > 0 && (list == nullptr || misaligned(list, alignof(Tensor))))
        return invalid("list", "must point to the list of tensors");
    for (std::uint64_t i = 0; i < tensors; ++i) {
        Status bad;
        if (!is_dtype(list[i].dtype)) {
            bad = invalid("list", "must be of a dtype that there is");
        } else if (list[i].n > max_n) {
            bad = invalid("list", "allowed for a tensor are 0 to 2^40 elements");
        } else {
            bad = check_elements("list", list[i].data, list[i].dtype, list[i].n);
        }
        bad.index = i;
        if (!bad.ok()) return bad;
    }
    if (tensors > 0 && fingerprints == nullptr) return invalid("fingerprints", "must not be null");
    if (misaligned(fingerprints, alignof(Fingerprint))) return invalid("fingerprints", "must be aligned to 8 bytes");
    return {};
}

} // namespace

Status fingerprint(const Tensor* list, std::uint64_t tensors, Fingerprint* fingerprints,
                   std::uint32_t threads) noexcept {
    if (threads > host::max_threads) return invalid("threads", "allowed are 1 to 1024, or 0 for the library's choice");
    if (const Status bad = check(list, tensors, fingerprints); !bad.ok()) return bad;
    const host::ArenaScope arena;
    if (const Status bad = arena.status(); !bad.ok()) return bad;
    for (std::uint64_t i = 0; i < tensors; ++i)
        fingerprints[i] =
            of_tensor(list[i], threads != 0 ? threads : host::default_threads(list[i].n, size_of(list[i].dtype)));
    return {};
}

Status fingerprint(const Tensor* list, std::uint64_t tensors, Fingerprint* fingerprints, Device device,
                   Stream stream) noexcept {
    if (device.backend != Backend::cuda) return fingerprint(list, tensors, fingerprints);
    if (const Status bad = check(list, tensors, fingerprints); !bad.ok()) return bad;
    Request request{.n = 0, .device = device}; // whose plan knows the device
    const Plan plan = make_plan(request);
    if (!plan.status().ok()) return plan.status();
    return cuda::call(&cuda::Functions::enqueue_fingerprint, plan.request().device, list, tensors, fingerprints,
                      stream);
}

} // namespace detreduce
