// A backend for loss_laws.hpp, made of a machine:
//     static constexpr Device device; static constexpr int cases
//     static std::vector<Launch> launches(const LossRequest&)
//     template <class T> Array(const std::vector<T>&, unsigned offset)                                 data(), fetched()
//     static void execute(const LossPlan&, const LossInputs&, void* out, void* again)                  into the second, too, if there is another way
//     static void execute_gradient(const LossPlan&, const LossInputs&, const void* upstream, void* dx)
#pragma once

#include <cstring>
#include <vector>

#include "laws/loss_draws.hpp"

namespace detreduce::proptests {

template <class Machine>
struct LossBackendOn : Machine {
    template <class Out, class T>
    static std::vector<Out> run(LossRequest r, const LossData<T>& data, unsigned offset) {
        r.output = dtype_of<Out>;
        const Arrays<T> arrays(r, data, offset);
        const std::vector<Out> room(arrays.plan.results());
        const typename Machine::template Array<Out> out(room, offset), again(room, 0);
        Machine::execute(arrays.plan, arrays.inputs(), out.data(), again.data());
        return out.fetched();
    }
    template <class T>
    static std::vector<T> gradient(LossRequest r, const LossData<T>& data, const std::vector<T>& upstream,
                                   unsigned offset) {
        const Arrays<T> arrays(r, data, offset);
        const typename Machine::template Array<T> g(upstream, offset / 4), dx(data.x, offset);
        Machine::execute_gradient(arrays.plan, arrays.inputs(), g.data(), dx.data());
        return dx.fetched();
    }

  private:
    template <class T>
    struct Arrays {
        LossPlan plan;
        typename Machine::template Array<T> x, t, w;
        Arrays(LossRequest r, const LossData<T>& data, unsigned offset)
            : x(data.x, offset), t(data.target, offset / 2), w(data.weight, offset / 3) {
            r.dtype = dtype_of<T>;
            r.n = data.x.size();
            r.device = Machine::device;
            plan = make_loss_plan(r);
            throw_if_error(plan.status());
        }
        [[nodiscard]] LossInputs inputs() const {
            return {x.data(), t.data(), plan.request().weighted ? w.data() : nullptr};
        }
    };
};

} // namespace detreduce::proptests
