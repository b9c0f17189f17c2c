// `detreduce list`: what can be asked for, from the registry and from what make_plan() refuses.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <detreduce/detreduce.hpp>

#include "command.hpp"
#include "output.hpp"

namespace detreduce::program {
namespace {

constexpr Shape all_shapes[] = {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors};

/// A plan that nothing is wrong with but that this machine may have no GPU for.
bool is_offered(const Request& request) {
    const StatusCode code = make_plan(request).status().code;
    return code != StatusCode::invalid_argument && code != StatusCode::unsupported;
}

/// What is offered of an op by a method.
struct Offer {
    Method method;
    Guarantee guarantee;
    std::vector<std::string_view> cpu, cuda;               ///< dtypes of flat arrays
    std::vector<std::string_view> cpu_shapes, cuda_shapes; ///< of f32
    bool by_ranks;
    friend bool operator==(const Offer&, const Offer&) = default;
};

Request request_of(Op op, Method method, const Device& device) {
    return {.op = op, .method = method, .n = 4, .device = device};
}

std::vector<std::string_view> dtypes_of(Request request) {
    std::vector<std::string_view> names;
    for (const DType dtype : dtypes()) {
        request.dtype = dtype;
        if (is_offered(request)) names.push_back(name(dtype));
    }
    return names;
}

std::vector<std::string_view> shapes_of(Request request) {
    std::vector<std::string_view> names;
    for (const Shape shape : all_shapes) {
        request.shape = shape;
        if (is_offered(request)) names.push_back(name(shape));
    }
    return names;
}

std::vector<Offer> offers_of(Op op) {
    std::vector<Offer> offers;
    for (const MethodInfo& m : methods()) {
        Request on_cpu = request_of(op, m.method, cpu);
        if (!is_offered(on_cpu)) continue;
        const Request on_cuda = request_of(op, m.method, current_gpu);
        const Guarantee guarantee = make_plan(on_cpu).guarantee();
        Offer offer{m.method,           guarantee, dtypes_of(on_cpu), dtypes_of(on_cuda), shapes_of(on_cpu),
                    shapes_of(on_cuda), false};
        on_cpu.state = true;
        offer.by_ranks = is_offered(on_cpu);
        offers.push_back(std::move(offer));
    }
    return offers;
}

// "all", or which.
std::string words_of(const std::vector<std::string_view>& names, std::size_t all) {
    if (names.empty()) return "no";
    return names.size() == all ? "all" : fmt::format("{}", fmt::join(names, ", "));
}

/// A line of the table: ops and methods of which the same is offered.
struct Line {
    std::string ops, methods, guarantee, cpu, cuda, shapes, ranks;
    /// The same but for the methods.
    [[nodiscard]] bool goes_with(const Line& o) const {
        return guarantee == o.guarantee && cpu == o.cpu && cuda == o.cuda && shapes == o.shapes && ranks == o.ranks;
    }
};

Line line_of(const Offer& o) {
    const std::size_t all = dtypes().size(), shapes = std::size(all_shapes);
    std::string where = words_of(o.cpu_shapes, shapes);
    if (!o.cuda_shapes.empty() && o.cuda_shapes != o.cpu_shapes)
        where += fmt::format("; GPU: {}", words_of(o.cuda_shapes, shapes));
    return {
        "",    std::string(name(o.method)), std::string(name(o.guarantee)), words_of(o.cpu, all), words_of(o.cuda, all),
        where, o.by_ranks ? "yes" : "no"};
}

std::vector<Line> lines_of(const std::vector<Offer>& offers) {
    std::vector<Line> lines;
    for (const Offer& o : offers) {
        const Line line = line_of(o);
        const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.goes_with(line); });
        if (same == lines.end()) {
            lines.push_back(line);
        } else {
            same->methods += ", " + line.methods;
        }
    }
    return lines;
}

// Ops of which the same is offered are in one group of lines.
std::vector<Line> table() {
    std::vector<std::pair<std::vector<Offer>, std::string>> groups;
    for (const OpInfo& op : ops()) {
        const std::vector<Offer> offers = offers_of(op.op);
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == offers; });
        if (same == groups.end()) {
            groups.emplace_back(offers, op.name);
        } else {
            same->second += fmt::format(", {}", op.name);
        }
    }
    std::vector<Line> lines;
    for (const auto& [offers, names] : groups)
        for (Line line : lines_of(offers)) {
            line.ops = names;
            lines.push_back(std::move(line));
        }
    return lines;
}

constexpr const char *dtypes_on_cpu = "dtypes, CPU", *dtypes_on_gpu = "dtypes, GPU", *by_many = "by many ranks";

void print_markdown() {
    std::string before;
    print(fmt::format("| ops | methods | level | {} | {} | shapes | {} |\n|---|---|---|---|---|---|---|\n",
                      dtypes_on_cpu, dtypes_on_gpu, by_many));
    for (const Line& l : table()) {
        print(fmt::format("| {} | {} | `{}` | {} | {} | {} | {} |\n", l.ops == before ? "" : l.ops, l.methods,
                          l.guarantee, l.cpu, l.cuda, l.shapes, l.ranks));
        before = l.ops;
    }
}

void print_lines() {
    std::string before;
    for (const Line& l : table()) {
        if (l.ops != before) print(fmt::format("{}{}\n", before.empty() ? "" : "\n", l.ops));
        before = l.ops;
        print(fmt::format("  {}\n    level {}; {} {}; {} {}; shapes {}; {} {}\n", l.methods, l.guarantee, dtypes_on_cpu,
                          l.cpu, dtypes_on_gpu, l.cuda, l.shapes, by_many, l.ranks));
    }
}

void print_json() {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const OpInfo& op : ops())
        for (const Offer& o : offers_of(op.op))
            json.push_back({{"op", op.name},
                            {"formula", op.formula},
                            {"inputs", op.inputs},
                            {"method", name(o.method)},
                            {"guarantee", name(o.guarantee)},
                            {"cpu", {{"dtypes", o.cpu}, {"shapes", o.cpu_shapes}}},
                            {"cuda", {{"dtypes", o.cuda}, {"shapes", o.cuda_shapes}}},
                            {"by_ranks", o.by_ranks}});
    print(json.dump() + "\n");
}

} // namespace

void add_list(CLI::App& app) {
    struct Options {
        bool json = false, markdown = false;
    };
    const auto o = std::make_shared<Options>();
    CLI::App* const command =
        app.add_subcommand("list", "List ops, methods, dtypes and shapes, and what is guaranteed");
    CLI::Option* const json =
        command->add_flag("--json", o->json, "print a JSON array, an object for each op and method");
    json->disable_flag_override();
    command->add_flag("--markdown", o->markdown, "print a table for documents")
        ->disable_flag_override()
        ->excludes(json);
    command->footer("What make_plan() takes. The level says what the bits depend on:\n"
                    "  none         luck\n"
                    "  device       the sequence of numbers: the same on every CPU and GPU\n"
                    "  order        the numbers only: in any order, split in any way\n"
                    "By many ranks: of the processes of an MPI job, or the GPUs of an NCCL communicator.\n"
                    "\n"
                    "Examples:\n"
                    "  detreduce list               ops of which the same is offered, together\n"
                    "  detreduce list --json        the same for other programs");
    command->callback([o] {
        if (o->json) return print_json();
        o->markdown ? print_markdown() : print_lines();
    });
}

} // namespace detreduce::program
