#include "golden/compute.hpp"

#include <bit>
#include <ostream>

#include <detreduce/version.hpp>

namespace detreduce::golden {
namespace {

static_assert(std::endian::native == std::endian::little, "a result is written to the lowest bytes of an integer");

template <class T>
std::shared_ptr<const void> elements(const Case& c) {
    const auto all = std::make_shared<std::vector<T>>(accuracy::generate<T>(c.family, c.n, c.seed));
    return {all, all->data()};
}

} // namespace

Request request_of(const Case& c, const Device& device) {
    return {.method = c.method, .dtype = c.dtype, .output = c.output, .n = c.n, .device = device};
}

std::uint64_t reduce_on_cpu(const Case& c, const void* x, const Launch& launch) {
    Request request = request_of(c, cpu);
    request.launch = launch;
    std::uint64_t bits = 0;
    throw_if_error(run(make_plan(request), x, &bits));
    return bits;
}

std::shared_ptr<const void> input_of(const Case& c) {
    switch (c.dtype) {
    case DType::f16:
        return elements<float16>(c);
    case DType::bf16:
        return elements<bfloat16>(c);
    case DType::f32:
        return elements<float>(c);
    case DType::f64:
        break;
    }
    return elements<double>(c);
}

std::vector<std::uint64_t> compute(const std::vector<Case>& cases, const Reduce& reduce) {
    std::vector<std::uint64_t> results;
    std::shared_ptr<const void> input;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (i == 0 || !same_input(cases[i - 1], cases[i])) {
            input.reset(); // two of the large ones at once would be one too many
            input = input_of(cases[i]);
        }
        results.push_back(reduce(cases[i], input.get()));
    }
    return results;
}

void write_table(std::ostream& out, const std::string& device, const Reduce& reduce) {
    const std::vector<Case> cases = all_cases();
    const std::vector<std::uint64_t> results = compute(cases, reduce);
    out << "# spec_version " << spec_version << ", from " << device << '\n' << columns << '\n';
    for (std::size_t i = 0; i < cases.size(); ++i)
        out << line_of({cases[i], results[i]}) << '\n';
}

} // namespace detreduce::golden
