// A backend, as the conformance suite sees it. The laws are compiled once and linked into a program
// for each backend: what differs is in cpu_test_backend.cpp and cuda_test_backend.cpp, which take
// elements of any dtype.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <detreduce/detreduce.hpp>

#include "laws/draw.hpp"

namespace detreduce::proptests {

struct TestBackend {
    static const Backend kind; ///< of this program

    /// The sum, or the op of x, and of y for ops of two inputs.
    template <class Out, class T>
    static Out reduce(std::span<const T> x, Method method, const Draw& draw = {}) {
        return reduce<Out>(Op::sum, x, std::span<const T>(), method, draw);
    }
    template <class Out, class T>
    static Out reduce(Op op, std::span<const T> x, std::span<const T> y, Method method, const Draw& draw = {}) {
        const Request request{.op = op, .method = method, .dtype = dtype_of<T>, .n = x.size()};
        Out result{};
        reduce(for_launch<Out>(request, draw), tensor(x), tensor(y), draw.offset, &result);
        return result;
    }

    /// `request` has the op, the method, the shape and its sizes; the results are Out, or indices.
    template <class Out, class T>
    static std::vector<Out> reduce_groups(Request request, std::span<const T> x, std::span<const T> y,
                                          const std::vector<std::uint64_t>& offsets, const Draw& draw = {}) {
        request.dtype = dtype_of<T>;
        request = for_launch<Out>(request, draw);
        std::vector<Out> out(make_plan(request).results());
        run(request, tensor(x), info(request.op).inputs == 2 ? tensor(y) : Tensor{}, offsets, draw.offset, out.data());
        return out;
    }

    /// `list`, and `second` of ops of two inputs: of what has dtype, bytes and n().
    template <class Out, class List>
    static std::vector<Out> reduce_tensors(const Request& request, const List& list, const List& second,
                                           const Draw& draw = {}) {
        const auto tensors = [](const List& from) {
            std::vector<Tensor> to;
            for (const auto& t : from)
                to.push_back({t.bytes.data(), t.n(), t.dtype});
            return to;
        };
        const Request r = for_launch<Out>(request, draw);
        std::vector<Out> out(make_plan(r).results());
        run_list(r, tensors(list), tensors(second), draw.offset, out.data());
        return out;
    }
    template <class Out, class List>
    static std::vector<Out> reduce_tensors(const Request& request, const List& list, const Draw& draw = {}) {
        return reduce_tensors<Out>(request, list, List{}, draw);
    }

    /// An element, or for argmin and argmax, of which Out is std::uint64_t, an index.
    template <class Out, class T>
    static Out order(Op op, std::span<const T> x, Method method, NanPolicy nan, const Draw& draw = {}) {
        const Request request{.op = op, .method = method, .dtype = dtype_of<T>, .n = x.size(), .nan = nan};
        Out result{};
        reduce(for_launch<Out>(request, draw), tensor(x), {}, draw.offset, &result);
        return result;
    }

    /// All results of an op of one input.
    template <class Out, class T>
    static std::vector<Out> results(Request request, std::span<const T> x, const Draw& draw = {}) {
        request.dtype = dtype_of<T>;
        if (request.n == 0) request.n = x.size();
        request = for_launch<Out>(request, draw);
        const Plan plan = make_plan(request);
        throw_if_error(plan.status());
        std::vector<Out> out(plan.results());
        run(request, tensor(x), {}, {}, draw.offset, out.data());
        return out;
    }

    /// Ids, of 32 or 64 bits, and offsets of segments. What is written goes to `offsets`, which has
    /// room for groups + 1.
    template <class Id>
    static Status offsets_of_ids(std::span<const Id> ids, std::uint64_t groups, std::vector<std::uint64_t>& offsets,
                                 unsigned offset = 0);
    template <class Id>
    static Status check_ids(std::span<const Id> ids, std::uint64_t groups, unsigned offset = 0);
    static Status check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t n, bool whole);

    /// States may go to a device and come back.
    template <class T>
    static void add(ExactState& state, std::span<const T> x, const Draw& draw = {}) {
        add(state, tensor(x), draw);
    }
    static void merge(ExactState& state, const ExactState& term);
    template <class Out>
    static Out round(const ExactState& state) {
        Out result{};
        round(state, dtype_of<Out>, &result);
        return result;
    }

    /// Every choice that is worth trying with every other.
    static std::vector<Draw> all_draws(Method method);

  private:
    template <class T>
    static Tensor tensor(std::span<const T> x) {
        return {x.data(), x.size(), dtype_of<T>};
    }
    template <class Out>
    static Request for_launch(Request request, const Draw& draw) {
        if constexpr (Element<Out>) request.output = dtype_of<Out>;
        request.device = {kind, -1};
        request.launch = draw.launch;
        return request;
    }

    /// Of a flat array, or two, in host memory: the one result. `offset` is a draw's.
    static void reduce(const Request& request, const Tensor& x, const Tensor& y, unsigned offset, void* result);
    /// Of any shape but a list, in host memory. No offsets: none.
    static void run(const Request& request, const Tensor& x, const Tensor& y, const std::vector<std::uint64_t>& offsets,
                    unsigned offset, void* results);
    static void run_list(const Request& request, std::vector<Tensor> x, std::vector<Tensor> y, unsigned offset,
                         void* results);
    static void add(ExactState& state, const Tensor& x, const Draw& draw);
    static void round(const ExactState& state, DType dtype, void* result);
};

} // namespace detreduce::proptests
