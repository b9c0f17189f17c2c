// The CPU, as the conformance suite sees a backend: results and workspaces that are checked for
// stray writes.
#include "laws/test_backend.hpp"

#include <cstddef>
#include <cstring>
#include <stdexcept>

namespace detreduce::proptests {
namespace {

/// A copy of x that begins `offset` elements after a boundary of 512 bytes.
class Placed {
  public:
    Placed(const void* x, std::size_t bytes, std::size_t offset_bytes) : room_(bytes + 512 + offset_bytes) {
        const auto address = reinterpret_cast<std::uintptr_t>(room_.data());
        std::byte* const begin = room_.data() + (512 - address % 512) % 512 + offset_bytes;
        if (bytes > 0) std::memcpy(begin, x, bytes);
        data_ = begin;
    }
    Placed(const Tensor& x, unsigned offset) : Placed(x.data, x.n * size_of(x.dtype), offset * size_of(x.dtype)) {}
    [[nodiscard]] const void* data() const { return data_; }
    template <class T>
    [[nodiscard]] std::span<const T> span(std::size_t n) const {
        return {reinterpret_cast<const T*>(data_), n};
    }

  private:
    std::vector<std::byte> room_;
    const std::byte* data_ = nullptr;
};

/// No larger than it has to be, garbage at first, and with a pattern behind it that must stay.
class Workspace {
  public:
    explicit Workspace(const Plan& plan) : words_((plan.workspace_bytes() + 7) / 8 + 1, pattern) {}
    [[nodiscard]] void* data() { return words_.data(); }
    void check() const {
        if (words_.back() != pattern) throw std::runtime_error("written behind the workspace");
    }

  private:
    static constexpr std::uint64_t pattern = 0xa5a5a5a5a5a5a5a5;
    std::vector<std::uint64_t> words_;
};

} // namespace

const Backend TestBackend::kind = Backend::cpu;

/// What adds or multiplies, by the calls of host.hpp; the rest without a workspace.
void TestBackend::reduce(const Request& request, const Tensor& x, const Tensor& y, unsigned offset, void* result) {
    const Placed first(x, offset), second(y, offset / 2); // elsewhere than x
    if (info(request.op).kind == Kind::order)
        return throw_if_error(detreduce::run(make_plan(request), first.data(), result));
    with_dtype(x.dtype, [&]<class T>(T) {
        with_dtype(request.output.value_or(x.dtype), [&]<class Out>(Out) {
            const auto other = y.n == 0 ? std::span<const T>() : second.span<T>(y.n);
            *static_cast<Out*>(result) =
                reduce_as<Out>(request.op, first.span<T>(x.n), other, request.method, request.launch);
        });
    });
}

void TestBackend::run(const Request& request, const Tensor& x, const Tensor& y,
                      const std::vector<std::uint64_t>& offsets, unsigned offset, void* results) {
    const Placed first(x, offset), second(y, offset / 2);
    const Plan plan = make_plan(request);
    Workspace workspace(plan);
    const void* const other = info(request.op).inputs == 2 ? second.data() : nullptr;
    throw_if_error(detreduce::run(plan, {first.data(), other, offsets.empty() ? nullptr : offsets.data()}, results,
                                  workspace.data()));
    workspace.check();
}

/// Where they lie: each has memory of its own.
void TestBackend::run_list(const Request& request, std::vector<Tensor> x, std::vector<Tensor> y, unsigned,
                           void* results) {
    throw_if_error(
        detreduce::run(make_plan(request), {x.data(), info(request.op).inputs == 2 ? y.data() : nullptr}, results));
}

template <class Id>
Status TestBackend::offsets_of_ids(std::span<const Id> ids, std::uint64_t groups, std::vector<std::uint64_t>& offsets,
                                   unsigned offset) {
    const Placed placed(ids.data(), ids.size_bytes(), offset * sizeof(Id));
    return detreduce::offsets_of_ids(cpu, placed.span<Id>(ids.size()).data(), ids.size(), groups, offsets.data());
}
template Status TestBackend::offsets_of_ids(std::span<const std::uint32_t>, std::uint64_t, std::vector<std::uint64_t>&,
                                            unsigned);
template Status TestBackend::offsets_of_ids(std::span<const std::uint64_t>, std::uint64_t, std::vector<std::uint64_t>&,
                                            unsigned);

template <class Id>
Status TestBackend::check_ids(std::span<const Id> ids, std::uint64_t groups, unsigned offset) {
    const Placed placed(ids.data(), ids.size_bytes(), offset * sizeof(Id));
    return detreduce::check_ids(cpu, placed.span<Id>(ids.size()).data(), ids.size(), groups);
}
template Status TestBackend::check_ids(std::span<const std::uint32_t>, std::uint64_t, unsigned);
template Status TestBackend::check_ids(std::span<const std::uint64_t>, std::uint64_t, unsigned);

Status TestBackend::check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t n, bool whole) {
    return detreduce::check_offsets(cpu, offsets.data(), offsets.size() - 1, n, nullptr, whole);
}

void TestBackend::add(ExactState& state, const Tensor& x, const Draw& draw) {
    const Placed placed(x, draw.offset);
    with_dtype(x.dtype, [&]<class T>(T) { throw_if_error(state.add(placed.span<T>(x.n), draw.launch)); });
}
void TestBackend::merge(ExactState& state, const ExactState& term) {
    state.merge(term);
}
void TestBackend::round(const ExactState& state, DType dtype, void* result) {
    with_dtype(dtype, [&]<class Out>(Out) { *static_cast<Out*>(result) = state.round<Out>(); });
}

std::vector<Draw> TestBackend::all_draws(Method) {
    std::vector<Draw> draws;
    for (const Isa isa : available_isas()) {
        for (unsigned threads = 1; threads <= 8; ++threads) {
            for (unsigned offset : {0u, 1u, 2u, 3u, 5u, 15u})
                draws.push_back({{.threads = threads, .isa = isa}, offset});
        }
    }
    return draws;
}

} // namespace detreduce::proptests
