// Calls of losses: terms, sums and means by each method, with weights or without, and gradients.
#include <detreduce/losses.hpp>
#include <detreduce/version.hpp>

#include "golden/arrays.hpp"
#include "golden/boundaries.hpp"
#include "golden/calls.hpp"
#include "golden/cases.hpp"
#include "golden/table.hpp"

namespace detreduce::golden {
namespace {

using accuracy::Family;

struct Elements {
    std::uint64_t n, offset, seed;
};

std::vector<Elements> elements_of(DType dtype) {
    const Boundaries b = boundaries_of(dtype);
    return {{1, 0, 4000}, {b.chunk + 1, 1, 4001}, {3 * b.tile, 0, 4002}, {10 * b.tile + 5, 3, 4003}};
}

template <class T>
struct LossNumbers {
    std::vector<T> x, target, weight;

    LossNumbers(const LossInfo& loss, const Elements& e)
        : x(of(loss.x, e.n, e.seed)), target(of(loss.target, e.n, e.seed + 1000000)),
          weight(numbers<T>(Family::half_zeros, e.n, e.seed + 2000000)) {}

  private:
    static std::vector<T> of(LossDomain domain, std::uint64_t n, std::uint64_t seed) {
        if (domain == LossDomain::probability) return numbers<T>(Family::uniform, n, seed, 1);
        return numbers<T>(Family::normal, n, seed, domain == LossDomain::log_probability ? -1 : 0);
    }
};

/// The bits of one call, a loss, or a gradient of it with respect to an argument.
template <class T>
class Call {
  public:
    Call(const Memory& memory, const Elements& e, const LossNumbers<T>& numbers, const LossRequest& request,
         bool is_gradient)
        : memory_(memory), e_(e), numbers_(numbers), request_(request), is_gradient_(is_gradient) {
        request_.dtype = dtype_of<T>;
        request_.n = e.n;
        request_.parameter = 0.375;
        request_.device = memory.device();
        request_.launch = memory.launch();
    }

    [[nodiscard]] std::string text() const {
        std::string option = request_.weighted ? "weighted" : "";
        if (is_gradient_)
            option += (option.empty() ? "gradient=" : ",gradient=") + std::string(name(request_.with_respect_to));
        const Reduction reduction = request_.reduction.value_or(Reduction::mean);
        return joined({"loss", name(request_.loss), reduction == Reduction::none ? "-" : name(request_.method),
                       name(reduction), name(dtype_of<T>), std::to_string(e_.n), std::to_string(e_.offset),
                       option.empty() ? "-" : option, std::to_string(e_.seed)});
    }

    [[nodiscard]] std::uint64_t bits() const {
        const LossPlan plan = make_loss_plan(request_);
        throw_if_error(plan.status());
        Arrays all(memory_, e_.offset);
        const LossInputs in{all.in(numbers_.x), all.in(numbers_.target),
                            request_.weighted ? all.in(numbers_.weight) : nullptr};
        void* const out = all.out(is_gradient_ ? e_.n : plan.results(), sizeof(T));
        std::byte* const workspace =
            all.workspace(is_gradient_ ? plan.gradient_workspace_bytes() : plan.workspace_bytes());
        throw_if_error(is_gradient_ ? run_gradient(plan, in, nullptr, out, workspace, nullptr)
                                    : run(plan, in, out, workspace));
        return all.fingerprint();
    }

  private:
    const Memory& memory_;
    const Elements& e_;
    const LossNumbers<T>& numbers_;
    LossRequest request_;
    bool is_gradient_;
};

/// Every call of a loss with these elements.
template <class T>
void add_results(const Memory& memory, const LossInfo& loss, const Elements& e, std::vector<CallResult>& results) {
    const LossNumbers<T> numbers(loss, e);
    const auto add = [&](Reduction reduction, Method method, bool weighted, const LossArgument* argument) {
        LossRequest request{.loss = loss.loss, .reduction = reduction, .method = method, .weighted = weighted};
        if (argument != nullptr) request.with_respect_to = *argument;
        const Call<T> call(memory, e, numbers, request, argument != nullptr);
        results.push_back({call.text(), call.bits()});
    };
    std::uint64_t turn = e.seed + static_cast<std::uint64_t>(loss.loss);
    add(Reduction::none, Method::exact, turn % 2 == 0, nullptr);
    for (const Method method : golden_methods()) {
        ++turn;
        add(Reduction::mean, method, turn % 2 == 0, nullptr);
        add(Reduction::sum, method, turn % 2 != 0, nullptr);
    }
    for (const LossArgument argument : {LossArgument::x, LossArgument::target, LossArgument::weight}) {
        ++turn;
        const bool weighted = argument == LossArgument::weight || turn % 2 == 0;
        const Method method = golden_methods()[turn % golden_methods().size()];
        add(turn % 3 == 0 ? Reduction::none : Reduction::mean, method, weighted, &argument);
    }
}

} // namespace

std::vector<CallResult> loss_results(const Memory& memory, std::uint64_t longest) {
    std::vector<CallResult> results;
    for (const DType dtype : dtypes()) {
        if (has_8_bits(dtype)) continue;
        for (const Elements& e : elements_of(dtype)) {
            if (e.n > longest) continue;
            for (const LossInfo& loss : losses)
                with_dtype_from_16_bits(dtype, [&]<class T>(T) { add_results<T>(memory, loss, e, results); });
        }
    }
    return results;
}

CallTable loss_table() {
    return {spec_version_of(Loss{}), "# kind\tloss\tmethod\treduction\tdtype\tn\toffset\toption\tseed\tbits",
            loss_results};
}

} // namespace detreduce::golden
