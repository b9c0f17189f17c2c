// Row ops on the CPU.
#include <cstring>
#include <vector>

#include <detreduce/detreduce.hpp>

#include <row_reference.hpp>

#include "laws/row_draws.hpp"
#include "laws/row_results.hpp"

namespace detreduce::proptests {
namespace {

/// A copy that begins `offset` elements after a boundary of 64 bytes, or, empty, null.
template <class T>
class Askew {
  public:
    Askew(const std::vector<T>& x, unsigned offset) : n_(x.size()), room_(x.size() * sizeof(T) + 512) {
        const auto start = reinterpret_cast<std::uintptr_t>(room_.data());
        char* const at = room_.data() + (64 - start % 64) + offset * sizeof(T);
        data_ = x.empty() ? nullptr : reinterpret_cast<T*>(at);
        if (!x.empty()) std::memcpy(at, x.data(), x.size() * sizeof(T));
    }
    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::vector<T> fetched() const { return {data_, data_ + n_}; }

  private:
    std::size_t n_;
    std::vector<char> room_;
    T* data_;
};

struct RowBackend {
    static constexpr Device device = cpu;
    static constexpr std::uint64_t longest = 20000;
    template <class T>
    using Array = Askew<T>;
    static std::vector<Launch> launches() {
        std::vector<Launch> list;
        for (const std::uint32_t threads : {1u, 2u, 3u, 7u}) {
            for (const Isa isa : available_isas())
                list.push_back({.threads = threads, .isa = isa});
        }
        return list;
    }
    static void execute(const RowPlan& plan, const RowArrays& arrays) { throw_if_error(run(plan, arrays)); }

    /// One row after the other, from the text.
    template <class Out, class T>
    static RowResults<Out, fp::Arithmetic<T>> expected(const RowRequest& r, const RowData<T>& data) {
        RowResults<Out, fp::Arithmetic<T>> all;
        reference::RowInput<T> in{{}, data.scale, data.shift, data.weights};
        in.ignore_index = r.ignore_index;
        in.smoothing = r.label_smoothing;
        in.epsilon = r.epsilon;
        if (!data.factor.empty()) in.factor = data.factor[0];
        for (std::uint64_t i = 0; i < r.rows; ++i) {
            in.x = std::span(data.x).subspan(i * r.n, r.n);
            if (of_targets(r.op)) in.target = data.targets[i];
            const auto one = reference::row<Out>(r.op, in);
            all.out.insert(all.out.end(), one.out.begin(), one.out.end());
            if (r.op == RowOp::layernorm) all.mean.push_back(one.mean);
            if (!of_exponentials(r.op)) all.rstd.push_back(one.rstd);
            if (r.op == RowOp::cross_entropy) all.weight.push_back(one.weight);
        }
        return all;
    }
};

} // namespace
} // namespace detreduce::proptests

#include "laws/row_laws.hpp"

namespace detreduce::proptests {

TEMPLATE_TEST_CASE("rows: the reference's short way of rounding is its long one", "[rows]", float16, bfloat16, float) {
    for (std::uint64_t i = 0; i < 20000; ++i) {
        const float x = i % 2 ? fp::from_bits<float>(static_cast<std::uint32_t>(accuracy::hash(i, 1)))
                              : fp::widen(fp::from_bits<bfloat16>(static_cast<std::uint16_t>(accuracy::hash(i, 2))));
        const float y = i % 4 < 2 ? x * 0x1p-10f : x * 0x1.8p-3f;
        REQUIRE(fp::to_bits(reference::nearest<TestType>(y)) == fp::to_bits(reference::converted<TestType>(y)));
    }
}

} // namespace detreduce::proptests
