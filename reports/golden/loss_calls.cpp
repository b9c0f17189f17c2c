// Calls of losses: terms, sums and means by each method, with weights or without, and gradients.
#include <limits>

#include <detreduce/losses.hpp>
#include <detreduce/spec/row_math.hpp>
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
    bool special = false; ///< among them are NaN, infinities, and what is no probability
};

std::vector<Elements> elements_of(DType dtype) {
    const Boundaries b = boundaries_of(dtype);
    return {{1, 0, 4000},          {3, 0, 4001},         {b.tile / 8 + 1, 1, 4002},
            {3 * b.tile, 0, 4003}, {300, 2, 4004, true}, {10 * b.tile + 5, 3, 4005}};
}

template <class T>
struct LossNumbers {
    std::vector<T> x, target, weight, upstream;

    LossNumbers(const LossInfo& loss, const Elements& e)
        : x(of(loss.x, e.n, e.seed)), target(of(loss.target, e.n, e.seed + 1000000)),
          weight(numbers<T>(Family::half_zeros, e.n, e.seed + 2000000)),
          upstream(numbers<T>(Family::normal, e.n, e.seed + 3000000)) {
        for (std::uint64_t i = 0; i < e.n && e.special; ++i) {
            const std::uint64_t word = accuracy::hash(e.seed, i);
            if (word % 8 == 0) x[i] = special(word / 8);
            if (word % 8 == 1) target[i] = special(word / 8);
        }
    }

  private:
    static T special(std::uint64_t word) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        constexpr double list[] = {infinity, -infinity, -2, 2, 0, 1};
        if (word % 7 == 6) return spec::quiet_nan<T>;
        return fp::round_to<T>(list[word % 7]);
    }
    static std::vector<T> of(LossDomain domain, std::uint64_t n, std::uint64_t seed) {
        if (domain == LossDomain::probability) return numbers<T>(Family::uniform, n, seed, 1);
        return numbers<T>(Family::normal, n, seed, domain == LossDomain::log_probability ? -1 : 0);
    }
};

/// What a call is, beside its elements.
struct Variant {
    LossRequest request;
    bool is_gradient = false;
    std::uint64_t upstream = 0; ///< of a gradient: how many numbers there are
};

/// The bits of one call.
template <class T>
class Call {
  public:
    Call(const Memory& memory, const Elements& e, const LossNumbers<T>& numbers, const Variant& v)
        : memory_(memory), e_(e), numbers_(numbers), v_(v) {
        v_.request.dtype = dtype_of<T>;
        v_.request.n = e.n;
        v_.request.parameter = 0.375;
        v_.request.device = memory.device();
        v_.request.launch = memory.launch();
        plan_ = make_loss_plan(v_.request);
        throw_if_error(plan_.status());
    }

    [[nodiscard]] std::string text() const {
        std::string option = v_.request.weighted ? "weighted" : "";
        const auto add = [&](const std::string& word) { option.append(option.empty() ? 0 : 1, ',').append(word); };
        if (v_.request.batch != 0) add("batch=" + std::to_string(v_.request.batch));
        if (v_.is_gradient) add("gradient=" + std::string(name(v_.request.with_respect_to)));
        if (v_.upstream != 0) add("upstream=" + std::to_string(v_.upstream));
        const Reduction reduction = v_.request.reduction.value_or(Reduction::mean);
        const bool adds_up = v_.is_gradient ? plan_.is_over_weights() : reduction != Reduction::none;
        return joined({loss_table().kind, name(v_.request.loss), adds_up ? name(v_.request.method) : "-",
                       name(reduction), name(dtype_of<T>), name(v_.is_gradient ? dtype_of<T> : plan_.output()),
                       e_.special ? "special" : "-", std::to_string(e_.n), std::to_string(e_.offset),
                       option.empty() ? "-" : option, std::to_string(e_.seed)});
    }

    [[nodiscard]] std::uint64_t bits() const {
        Arrays all(memory_, e_.offset);
        LossInputs in{nullptr, all.in(numbers_.target), v_.request.weighted ? all.in(numbers_.weight) : nullptr};
        if (v_.is_gradient) { // in place
            const std::vector<T> some(numbers_.upstream.begin(),
                                      numbers_.upstream.begin() + static_cast<std::ptrdiff_t>(v_.upstream));
            T* const x = all.in_and_out(numbers_.x);
            in.x = x;
            throw_if_error(
                run_gradient(plan_, in, all.in(some), x, all.workspace(plan_.gradient_workspace_bytes()), nullptr));
        } else {
            in.x = all.in(numbers_.x);
            void* const out = all.out(plan_.results(), size_of(plan_.output()));
            throw_if_error(run(plan_, in, out, all.workspace(plan_.workspace_bytes())));
        }
        return all.fingerprint();
    }

  private:
    const Memory& memory_;
    const Elements& e_;
    const LossNumbers<T>& numbers_;
    Variant v_;
    LossPlan plan_;
};

/// Every call of a loss with elements of T: what may be given takes turns.
template <class T>
std::vector<Variant> variants_of(const LossInfo& loss, const Elements& e) {
    std::vector<Variant> all;
    std::uint64_t turn = e.seed + static_cast<std::uint64_t>(loss.loss);
    const auto request = [&](Reduction reduction, Method method) {
        ++turn;
        LossRequest r{.loss = loss.loss, .reduction = reduction, .method = method};
        r.weighted = turn % 2 == 0;
        if (reduction == Reduction::mean && turn % 5 == 0) r.batch = 7;
        if (method != Method::exact || turn % 3 == 0) r.output = arithmetic_of(dtype_of<T>);
        return r;
    };
    all.push_back({request(Reduction::none, Method::exact)});
    for (const Method method : golden_methods()) {
        if (e.special && method != Method::exact) continue; // all of them are NaN
        all.push_back({request(Reduction::mean, method)});
        all.push_back({request(Reduction::sum, method)});
    }
    for (const LossArgument argument : {LossArgument::x, LossArgument::target, LossArgument::weight}) {
        for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
            LossRequest r = request(reduction, golden_methods()[turn % golden_methods().size()]);
            r.output = {};
            r.with_respect_to = argument;
            r.weighted = r.weighted || argument == LossArgument::weight;
            all.push_back({r, true, turn % 3 == 0 ? 0 : reduction == Reduction::none ? e.n : 1});
        }
    }
    return all;
}

} // namespace

std::vector<CallResult> loss_results(const Memory& memory, std::uint64_t longest) {
    std::vector<CallResult> results;
    for (const DType dtype : dtypes()) {
        if (has_8_bits(dtype)) continue;
        for (const Elements& e : elements_of(dtype)) {
            if (e.n > longest) continue;
            for (const LossInfo& loss : losses) {
                with_dtype_from_16_bits(dtype, [&]<class T>(T) {
                    const LossNumbers<T> numbers(loss, e);
                    for (const Variant& v : variants_of<T>(loss, e)) {
                        const Call<T> call(memory, e, numbers, v);
                        results.push_back({call.text(), call.bits()});
                    }
                });
            }
        }
    }
    return results;
}

CallTable loss_table() {
    return {"loss", spec_version_of(Loss{}),
            "# kind\tloss\tmethod\treduction\tdtype\toutput\telements\tn\toffset\toption\tseed\tbits", loss_results};
}

} // namespace detreduce::golden
