// Two runs of any rows, as `render --compare` shows them side by side. Rows are made from bytes by
// the list of their fields, so that most inputs are results that can be read; the target `results`
// has the texts.
#include <cmath>
#include <cstring>
#include <limits>

#include <model_fields.hpp>

#include "pages.hpp"

namespace detreduce::fuzz {
namespace {

using namespace report;

/// Gives each field of a row a value that means something, or any.
struct Drawer {
    FuzzedDataProvider& in;

    void operator()(const char* key, std::string& value) {
        constexpr const char* words[] = {"",
                                         "sum",
                                         "dot",
                                         "softmax",
                                         "flat",
                                         "rows of 4096",
                                         "f16",
                                         "bf16",
                                         "f32",
                                         "f64",
                                         "exact",
                                         "tree",
                                         "atomic",
                                         "serial",
                                         "cpu",
                                         "cuda:0",
                                         "normal",
                                         "worst",
                                         "read",
                                         "copy",
                                         "quick",
                                         "full",
                                         "0",
                                         "1e308",
                                         "nan",
                                         "-inf",
                                         "0x7fc0",
                                         "gpu",
                                         "numpy",
                                         "grids",
                                         "1 thread",
                                         "std::accumulate",
                                         "condition sweep",
                                         "repeated runs",
                                         "lognormal",
                                         "2024-05-06T07:08:09Z",
                                         "cub::DeviceReduce::Sum",
                                         "<script>'\"`$(x)\\\n"};
        (void)key;
        if (in.ConsumeIntegralInRange(0, 7) == 0) {
            value = in.ConsumeRandomLengthString(20);
            for (char& c : value) // text that is not UTF-8 is written with marks in its place, which is another text
                c = static_cast<char>(c & 0x7f);
        } else {
            value = in.PickValueInArray(words);
        }
    }
    void operator()(const char*, bool& value) { value = in.ConsumeBool(); }
    void operator()(const char*, std::uint64_t& value) { value = any_integer(in); }
    void operator()(const char*, std::int64_t& value) {
        value = static_cast<std::int64_t>(any_integer(in) % ((std::uint64_t{1} << 40) + 1)); // all that may be
    }
    void operator()(const char* key, std::optional<std::int64_t>& value) {
        if (in.ConsumeBool()) (*this)(key, value.emplace());
    }
    void operator()(const char*, Metric& value) {
        constexpr double numbers[] = {
            0, -0.0, 1, 0.5, 1e-300, 5e-324, 1e300, std::numeric_limits<double>::max(), INFINITY, -1, -INFINITY};
        switch (in.ConsumeIntegralInRange(0, 4)) {
        case 0:
            break;
        case 1:
            value = in.PickValueInArray(numbers);
            break;
        case 2: {
            const auto bits = in.ConsumeIntegral<std::uint64_t>();
            double number = 0;
            std::memcpy(&number, &bits, sizeof number);
            if (!std::isnan(number)) value = number; // which is written as nothing
            break;
        }
        default:
            value = std::ldexp(in.ConsumeIntegral<std::uint8_t>(), in.ConsumeIntegralInRange(-40, 40));
        }
    }
    void operator()(const char* key, std::vector<std::string>& value) {
        for (int i = in.ConsumeIntegralInRange(0, 2); i > 0; --i)
            (*this)(key, value.emplace_back());
    }
    template <class Row>
    void operator()(const char*, std::vector<Row>& rows) {
        for (int i = in.ConsumeIntegralInRange(0, 3); i > 0; --i)
            fields(*this, rows.emplace_back());
    }
    void operator()(const char*, std::optional<Gpu>& value) {
        if (in.ConsumeBool()) fields(*this, value.emplace());
    }
    template <class T>
    void optional(const char* key, T& value) {
        (*this)(key, value);
    }
};

Results any_results(FuzzedDataProvider& in) {
    Drawer draw{in};
    Results r;
    fields(draw, r.provenance);
    const auto kinds = in.ConsumeIntegral<std::uint16_t>(); // few at a time leave more bytes for each
    int kind = 0;
    const auto rows = [&](auto& list) {
        if (kinds >> kind++ & 1) draw("", list);
    };
    rows(r.error), rows(r.edges), rows(r.determinism), rows(r.cost), rows(r.ladder);
    rows(r.data), rows(r.data_sums), rows(r.reference), rows(r.op_cost);
    return r;
}

} // namespace
} // namespace detreduce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace detreduce::fuzz;
    FuzzedDataProvider in(data, size);
    const auto here = require_reads_back(any_results(in));
    // The same with another head has more to compare than two of which no row is in both.
    auto other = require_reads_back(any_results(in));
    if (in.ConsumeBool()) {
        const auto provenance = other.provenance;
        other = here;
        other.provenance = provenance;
    }
    write_pages(here, {{"other.json", other}, {"here.json", here}});
    return 0;
}
