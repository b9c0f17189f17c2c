// Plans own their route: what Plan::launch() says is what was asked for, and asking for it gives
// the same plan.
#include <optional>

#include <support/catch.hpp>

#include "laws/test_backend.hpp"

namespace detreduce::proptests {
namespace {

bool same(const Launch& a, const Launch& b) {
    return a.schedule == b.schedule && a.grid == b.grid && a.block == b.block && a.threads == b.threads &&
           a.isa == b.isa;
}

bool same(const Plan& a, const Plan& b) {
    const detail::Route &x = detail::route_of(a), &y = detail::route_of(b);
    return same(a.launch(), b.launch()) && a.workspace_bytes() == b.workspace_bytes() && x.engine == y.engine &&
           x.scope == y.scope;
}

/// Does the plan of `r` have what was asked for? What was left open has a value, unless no kernel
/// runs. Nothing, where it is refused.
std::optional<std::string> fault_of(const Request& r, std::size_t& accepted) {
    const Plan plan = make_plan(r);
    const Launch &asked = r.launch, &got = plan.launch();
    if (!plan.status().ok()) {
        const std::string argument = plan.status().argument;
        if (argument.rfind("launch", 0) == 0 || same(asked, {})) return {};
        return "refused for " + argument;
    }
    ++accepted;
    Request again = r;
    again.launch = got;
    if (!make_plan(again).status().ok() || !same(plan, make_plan(again)))
        return "asked for its own launch, it is another";
    const auto is = [](auto ours, auto theirs, auto open) { return theirs == open ? ours != open : ours == theirs; };
    if (r.device.backend == Backend::cpu)
        return is(got.threads, asked.threads, 0u) && is(got.isa, asked.isa, Isa::automatic)
                   ? std::nullopt
                   : std::optional<std::string>("has other threads, or another isa");
    if (detail::route_of(plan).engine == detail::Engine::zeros)
        return got.block == 0 && got.schedule == Schedule::automatic
                   ? std::nullopt
                   : std::optional<std::string>("has a launch, and nothing to do");
    if (got.grid != asked.grid) return "has another grid";
    if (!is(got.block, asked.block, 0u)) return "has another block";
    return is(got.schedule, asked.schedule, Schedule::automatic) ? std::nullopt
                                                                 : std::optional<std::string>("has another schedule");
}

std::vector<Launch> launches() {
    std::vector<Launch> all{{}};
    if (TestBackend::kind == Backend::cpu) {
        for (const Isa isa : available_isas())
            all.push_back({.threads = 3, .isa = isa});
        all.push_back({.threads = 1});
        return all;
    }
    for (const Schedule schedule :
         {Schedule::automatic, Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        for (const std::uint32_t block : {0u, 128u, 256u}) {
            for (const std::uint32_t grid : {0u, 3u})
                all.push_back({.schedule = schedule, .grid = grid, .block = block});
        }
    }
    return all;
}

} // namespace

TEST_CASE("a launch that is asked for is that of the plan, or refused", "[route]") {
    const auto all = launches();
    std::size_t accepted = 0;
    for (const OpInfo& op : ops()) {
        for (const MethodInfo& method : methods()) {
            for (const DType dtype : dtypes()) {
                for (const Shape shape : {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors}) {
                    for (const std::uint64_t n : {0u, 1u, 500u, 10000u, 100000u, 10000000u, 20000000u}) {
                        for (const std::uint64_t groups : {0u, 1u, 5000u}) {
                            if (shape == Shape::flat && groups != 1) continue;
                            Request r{.op = op.op,
                                      .method = method.method,
                                      .dtype = dtype,
                                      .shape = shape,
                                      .n = n,
                                      .groups = groups,
                                      .device = {TestBackend::kind, -1}};
                            for (const Launch& launch : all) {
                                r.launch = launch;
                                const auto fault = fault_of(r, accepted);
                                if (fault)
                                    FAIL(op.name << ' ' << method.name << ' ' << name(dtype) << ' ' << name(shape)
                                                 << " n " << n << " groups " << groups << " schedule "
                                                 << name(launch.schedule) << " block " << launch.block << " grid "
                                                 << launch.grid << " threads " << launch.threads << ": " << *fault);
                                if (same(launch, {}) && !make_plan(r).status().ok()) break; // whatever the launch
                            }
                        }
                    }
                }
            }
        }
    }
    REQUIRE(accepted > 5000);
}

} // namespace detreduce::proptests
