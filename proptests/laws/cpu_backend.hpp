// The CPU, as the conformance suite sees a backend.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include <detreduce/detreduce.hpp>

#include "laws/draw.hpp"

namespace detreduce::proptests {

/// A copy of x that begins where a draw says.
template <class T>
class Placed {
  public:
    Placed(std::span<const T> x, unsigned offset) : room_(x.size() + 512 / sizeof(T) + offset) {
        const auto address = reinterpret_cast<std::uintptr_t>(room_.data());
        T* const begin = room_.data() + (512 - address % 512) % 512 / sizeof(T) + offset;
        if (!x.empty()) std::memcpy(begin, x.data(), x.size_bytes());
        span_ = {begin, x.size()};
    }
    [[nodiscard]] std::span<const T> span() const { return span_; }

  private:
    std::vector<T> room_;
    std::span<const T> span_;
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

struct CpuBackend {
    static constexpr Backend kind = Backend::cpu;
    static constexpr const char* name = "cpu";

    template <class Out, class T>
    static Out reduce(std::span<const T> x, Method method, const Draw& draw = {}) {
        return sum_as<Out>(Placed<T>(x, draw.offset).span(), method, draw.launch);
    }

    template <class Out, class T>
    static Out reduce(Op op, std::span<const T> x, std::span<const T> y, Method method, const Draw& draw = {}) {
        const Placed<T> second(y, draw.offset / 2); // elsewhere than x
        return reduce_as<Out>(op, Placed<T>(x, draw.offset).span(), y.empty() ? std::span<const T>() : second.span(),
                              method, draw.launch);
    }

    /// `request` has the op, the method, the shape and its sizes; the results are Out, or indices.
    template <class Out, class T>
    static std::vector<Out> reduce_groups(Request request, std::span<const T> x, std::span<const T> y,
                                          const std::vector<std::uint64_t>& offsets, const Draw& draw = {}) {
        const Placed<T> first(x, draw.offset), second(y, draw.offset / 2);
        request.dtype = dtype_of<T>;
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        request.device = cpu;
        request.launch = draw.launch;
        const Plan plan = make_plan(request);
        std::vector<Out> out(plan.results());
        const T* const other = info(request.op).inputs == 2 ? second.span().data() : nullptr;
        Workspace workspace(plan);
        throw_if_error(run(plan, {first.span().data(), other, offsets.empty() ? nullptr : offsets.data()}, out.data(),
                           workspace.data()));
        workspace.check();
        return out;
    }

    /// `list`, and `second` of ops of two inputs: of what has dtype, bytes and n().
    template <class Out, class List>
    static std::vector<Out> reduce_tensors(Request request, const List& list, const List& second,
                                           const Draw& draw = {}) {
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        request.device = cpu;
        request.launch = draw.launch;
        const std::vector<Tensor> x = tensors_of(list), y = tensors_of(second);
        const Plan plan = make_plan(request);
        std::vector<Out> out(plan.results());
        throw_if_error(run(plan, {x.data(), info(request.op).inputs == 2 ? y.data() : nullptr}, out.data()));
        return out;
    }
    template <class Out, class List>
    static std::vector<Out> reduce_tensors(const Request& request, const List& list, const Draw& draw = {}) {
        return reduce_tensors<Out>(request, list, List{}, draw);
    }
    template <class List>
    static std::vector<Tensor> tensors_of(const List& list) {
        std::vector<Tensor> tensors;
        for (const auto& t : list)
            tensors.push_back({t.bytes.data(), t.n(), t.dtype});
        return tensors;
    }

    /// An element, or for argmin and argmax, of which Out is std::uint64_t, an index.
    template <class Out, class T>
    static Out order(Op op, std::span<const T> x, Method method, NanPolicy nan, const Draw& draw = {}) {
        const Placed<T> placed(x, draw.offset);
        Request request{.op = op,
                        .method = method,
                        .dtype = dtype_of<T>,
                        .n = x.size(),
                        .device = cpu,
                        .launch = draw.launch,
                        .nan = nan};
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        Out result{};
        throw_if_error(run(make_plan(request), placed.span().data(), &result));
        return result;
    }

    /// All results of an op of one input.
    template <class Out, class T>
    static std::vector<Out> results(Request request, std::span<const T> x, const Draw& draw = {}) {
        const Placed<T> placed(x, draw.offset);
        request.dtype = dtype_of<T>;
        if (request.n == 0) request.n = x.size();
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        request.device = cpu;
        request.launch = draw.launch;
        const Plan plan = make_plan(request);
        throw_if_error(plan.status());
        Workspace workspace(plan);
        std::vector<Out> out(plan.results());
        throw_if_error(run(plan, placed.span().data(), out.data(), workspace.data()));
        workspace.check();
        return out;
    }

    /// Ids and offsets of segments. What is written goes to `offsets`, which has room for groups + 1.
    template <class Id>
    static Status offsets_of_ids(std::span<const Id> ids, std::uint64_t groups, std::vector<std::uint64_t>& offsets,
                                 unsigned offset = 0) {
        const Placed<Id> placed(ids, offset);
        return detreduce::offsets_of_ids(cpu, placed.span().data(), ids.size(), groups, offsets.data());
    }
    template <class Id>
    static Status check_ids(std::span<const Id> ids, std::uint64_t groups, unsigned offset = 0) {
        const Placed<Id> placed(ids, offset);
        return detreduce::check_ids(cpu, placed.span().data(), ids.size(), groups);
    }
    static Status check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t n, bool whole) {
        return detreduce::check_offsets(cpu, offsets.data(), offsets.size() - 1, n, nullptr, whole);
    }

    template <class T>
    static void add(ExactState& state, std::span<const T> x, const Draw& draw = {}) {
        throw_if_error(state.add(Placed<T>(x, draw.offset).span(), draw.launch));
    }
    static void merge(ExactState& state, const ExactState& term) { state.merge(term); }
    template <class Out>
    static Out round(const ExactState& state) {
        return state.round<Out>();
    }

    /// Every choice that is worth trying with every other.
    static std::vector<Draw> all_draws(Method) {
        std::vector<Draw> draws;
        for (const Isa isa : available_isas()) {
            for (unsigned threads = 1; threads <= 8; ++threads) {
                for (unsigned offset : {0u, 1u, 2u, 3u, 5u, 15u})
                    draws.push_back({{.threads = threads, .isa = isa}, offset});
            }
        }
        return draws;
    }
};

} // namespace detreduce::proptests
