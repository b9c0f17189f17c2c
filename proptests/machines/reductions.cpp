// Reductions: those of the golden tables that are not too long for an emulator, and as many that
// are drawn; states; transform_reduce.
#include <map>

#include <detreduce/math.hpp>

#include "agree.hpp"

#include "golden/compute.hpp"

namespace detreduce::machines {

using accuracy::Family;

namespace {

/// Of row ops and losses.
void golden_calls(Agreement& to, const std::vector<golden::CallResult>& table, std::uint64_t largest) {
    std::map<std::string, std::uint64_t> expected;
    for (const golden::CallResult& r : table)
        expected[r.call] = r.bits;
    Fingerprint all;
    std::size_t count = 0;
    for (const Isa isa : available_isas()) {
        for (const golden::CallResult& r :
             golden::call_results(*golden::cpu_memory({.threads = 1, .isa = isa}), largest)) {
            if (r.bits != expected.at(r.call))
                to.fail("golden: " + golden::line_of(r) + ", by " + std::string(name(isa)));
            if (isa != available_isas()[0]) continue;
            all.put(r.bits);
            ++count;
        }
    }
    to.line("golden, " + std::to_string(count) + " row ops and losses", all.value());
}

} // namespace

void golden_results(Agreement& to, std::uint64_t largest) {
    const golden::Table table = golden::parse_table(golden::embedded_table());
    std::vector<golden::Case> cases;
    std::vector<const golden::Entry*> expected;
    for (const golden::Entry& e : table.entries) {
        if (e.of.n > largest) continue;
        cases.push_back(e.of);
        expected.push_back(&e);
    }
    Fingerprint all;
    std::size_t i = 0;
    (void)golden::compute(cases, [&](const golden::Case& c, const golden::Input& in) {
        const golden::Entry& e = *expected[i++];
        for (const Isa isa : available_isas()) {
            const std::uint64_t got = golden::reduce_on_cpu(c, in, {.threads = 1, .isa = isa});
            if (got != e.bits)
                to.fail("golden: " + golden::line_of(e) + ", but " + std::string(name(isa)) + " gives " +
                        golden::bits_text(c, got));
        }
        all.put(e.bits);
        return e.bits;
    });
    to.line("golden, " + std::to_string(cases.size()) + " results", all.value());
    golden_calls(to, table.calls, largest);
}

void drawn_reductions(Agreement& to) {
    Draw draw{1};
    const auto families = accuracy::families();
    for (const OpInfo& op : ops()) {
        for (const DType dtype : dtypes()) {
            for (const MethodInfo& m : methods()) {
                const bool one_is_enough = op.kind == Kind::order || op.kind == Kind::count;
                if (!m.on_cpu || m.guarantee == Guarantee::none || (one_is_enough && m.method != Method::exact))
                    continue;
                const Shape shape = draw.of({Shape::flat, Shape::flat, Shape::rows, Shape::columns});
                const std::uint64_t n =
                    draw.of({2 + draw.below(9), draw.below(300), draw.below(5000), 16380 + draw.below(9)});
                golden::Case c{m.method, dtype, dtype, families[draw.below(families.size())], n, draw.word(), op.op};
                if (m.method == Method::exact && draw.below(2) == 0 && !op.gives_integer)
                    c.output = dtypes()[draw.below(dtypes().size())];
                if (shape != Shape::flat) {
                    c.shape = shape;
                    c.groups = 1 + draw.below(9);
                    c.stride = (shape == Shape::rows ? n : c.groups) + draw.below(3);
                }
                if (!make_plan(golden::request_of(c, cpu)).status().ok()) continue;
                const golden::Input in = golden::input_of(c);
                to.check(golden::line_of({c, 0}), [&](const Launch& launch, Fingerprint& f) {
                    const std::uint64_t bits = golden::reduce_on_cpu(c, in, launch);
                    f.put(bits);
                });
            }
        }
    }
}

namespace {

template <class T>
void add_part(ExactState& state, Draw& draw, const Launch& launch) {
    const std::vector<T> x = elements<T>(draw, Family::wide, draw.below(3000));
    throw_if_error(state.add(std::span<const T>(x), launch));
}

template <class T>
void transforms(Agreement& to) {
    using V = TermOf<T>;
    Draw draw{3};
    const auto x = elements<T>(draw, Family::normal, 20011), y = elements<T>(draw, Family::boundary_mantissas, 20011);
    for (const Method method : {Method::exact, Method::tree, Method::kahan, Method::compensated}) {
        to.check("transform_reduce " + std::string(name(method)) + ' ' + std::string(name(dtype_of<T>)),
                 [&](const Launch& launch, Fingerprint& f) {
                     const TransformOptions options{.method = method, .launch = launch};
                     const T results[] = {transform_reduce([](V a, V b) { return a * b + V{1}; }, x, y,
                                                           options), // contracted: other bits
                                          transform_reduce([](V a) { return math::softplus(-a); }, x, options)};
                     f.put(results);
                 });
    }
}

} // namespace

void states_and_transforms(Agreement& to) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        to.check("state " + std::to_string(seed), [&](const Launch& launch, Fingerprint& f) {
            Draw draw{100 + seed};
            ExactState a, b;
            add_part<float16>(a, draw, launch);
            add_part<double>(a, draw, launch);
            add_part<bfloat16>(b, draw, launch);
            add_part<float>(b, draw, launch);
            a.merge(b);
            f.put(a.serialize());
            f.put(a.round<float16>(), a.round<bfloat16>(), a.round<float>());
            a.subtract(b);
            f.put(a.round<double>());
        });
    }
    with_each_dtype([&]<class T>(T) { transforms<T>(to); });
}

} // namespace detreduce::machines
