// What `detreduce reduce --help` and --help-all say behind the options.
#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "help.hpp"
#include "reduce_help.hpp"

namespace detreduce::program {
namespace {

constexpr std::size_t width = 96;

std::string where(const MethodInfo& m) {
    if (m.on_cpu && m.on_cuda) return "cpu, cuda";
    return m.on_cpu ? "cpu" : "cuda";
}

template <class Infos>
std::string names_in_line(const Infos& infos) {
    std::string names;
    for (const auto& one : infos)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return names;
}

} // namespace

std::string reduce_footer() {
    return wrapped("Ops: " + names_in_line(ops()), width) + "\n" +
           wrapped("Methods: " + names_in_line(methods()), width) +
           "\n\n"
           "Examples:\n"
           "  detreduce reduce data.npy                          sum of a NumPy array, correctly rounded\n"
           "  detreduce reduce data.bin --dtype f32 --json       raw floats; value, bits and guarantee as JSON\n"
           "  seq 1 100 | detreduce reduce -                     numbers as text from another program\n"
           "  detreduce reduce y.npy --with target.npy --op mse  mean squared error of two arrays\n"
           "  detreduce reduce matrix.npy --axis 1               one sum a row; --axis 0: one a column\n"
           "  detreduce reduce prices.csv --column close --op std  a column of CSV";
}

std::string reduce_explanation() {
    std::string text =
        "Prints the shortest decimal that reads back to the same bits. Ops, of the numbers x of FILE and, for some, "
        "y of --with:\n";
    for (const OpInfo& o : ops()) {
        text += fmt::format("  {:<13} {}\n", o.name, o.formula);
    }
    text += "Methods, what they guarantee and where they run:\n";
    for (const MethodInfo& m : methods()) {
        text += fmt::format("  {:<12} guarantee {:<7} {:<9} {}\n", m.name, name(m.guarantee), where(m), m.summary);
    }
    text += "Of prod there are compensated, tree and serial; of variance, stddev and moments exact, tree and serial; "
            "ops that\n"
            "compare or count have the same result by all but atomic, which on cuda is there for sum alone.\n";
    return text +
           "Guarantees, what the bits of the result depend on:\n"
           "  none         nothing: two runs may differ\n"
           "  run_to_run   the same input on the same machine, build and launch\n"
           "  device       the input sequence only: the same bits on every CPU and GPU, for every number of threads\n"
           "  order        the numbers only: in any order, split in any way\n"
           "\n"
           "Text holds one number a line: decimal, hexadecimal (0x1.8p+1), nan, inf or -inf; # starts a comment, and\n"
           "blank lines are skipped. Each number is rounded once, directly into the dtype; 1e400 is refused, while\n"
           "1e-400 becomes 0. Text or raw data without a number sum to +0. - reads text, and all else with --format.\n"
           "Of lines with more than one number, apart by blanks or, in CSV, by commas, --column says which. Fields of\n"
           "CSV may be in quotes. A column that is named is that of the name in the first line. A whole number is\n"
           "never a name, as first lines may hold numbers: a name of digits takes quotes of its own, '\"2024\"'.\n"
           "\n"
           "A .npy holds floats of 16, 32 or 64 bits, float8 as V1 or f1 with --dtype, integers or booleans, in either "
           "byte order. Integers of up to "
           "16\n"
           "bits and booleans become f32, others f64, or what --dtype says; one that this does not hold exactly is\n"
           "refused. Of floats --dtype must match. An .npz of more than one member needs its name: data.npz:x.\n"
           "\n"
           "A .npy of any dimensions, in C order, is reduced as a whole; with --axis along one of them, in C or "
           "Fortran\n"
           "order. --offsets cuts the numbers into segments: 0, 3, 3 and 5 are the first three numbers, none, "
           "and\n"
           "two more. Numbers before the first offset and from the last on are in no segment; a note on standard "
           "error\n"
           "says how many. --ids says of each number which segment it is in: 0, 0, 0, 2 and 2 cut them in the same "
           "way.\n"
           "Each result has the bits that its numbers would have alone. Indices count from the beginning of the row, "
           "column\n"
           "or segment; that of an empty segment is printed as none, in JSON as null.\n"
           "\n"
           "On the CPU, sums, norms, means and moments by exact, and ops that compare or count_nonzero, read FILE, "
           "and\n"
           "--with, a few MiB at a time, so that pipes and files may be larger than the memory; on cuda sum and mean "
           "by\n"
           "exact do. All else, also with --axis, --offsets or --ids, maps a file, which needs no memory either, but\n"
           "reads all of a pipe, and of what must be converted, into memory.\n"
           "\n"
           "Reductions can also stop and go on, but prod, count_unique and methods other than exact: --save-state "
           "writes\n"
           "what has been found, without any rounding, to a file that any machine can read (of a sum or mean 616 "
           "bytes).\n"
           "--add-state starts from such a file, or from many put together, of the same op and dtype. The result has "
           "the\n"
           "bits of that of the whole. In --json, n then counts all their numbers, or is null where a state does not "
           "know.\n"
           "That of a sum or mean does not know the dtype of its numbers: without FILE the result is f64, unless "
           "--output\n"
           "names another, and \"dtype\" is null. argmin and argmax take one: its numbers come before those of "
           "FILE.\n"
           "\n"
           "In --json, n is how many numbers were reduced: of segments in all of them, with --axis in each result. "
           "method\n"
           "is null for ops that compare or count, which are the same by every method.\n"
           "\n"
           "Examples:\n"
           "  detreduce reduce data.npy                          sum of a NumPy array, correctly rounded\n"
           "  detreduce reduce data.bin --dtype f32 --json       raw floats; value, bits and guarantee as JSON\n"
           "  detreduce reduce data.npy --output f64             an f16 or f32 array, its sum as f64\n"
           "  seq 1 100 | detreduce reduce -                     numbers as text from another program\n"
           "  zcat data.bin.gz | detreduce reduce - --format raw --dtype bf16 --output f32\n"
           "                                                     a stream of any length\n"
           "  detreduce reduce gradient.npy --op nrm2            L2 norm: the root is rounded once\n"
           "  detreduce reduce y.npy --with target.npy --op mse  mean squared error of two arrays\n"
           "  detreduce reduce data.npy --op argmax --nan ignore index of the maximum\n"
           "  detreduce reduce data.npy --op minmax              two numbers: minimum and maximum\n"
           "  detreduce reduce matrix.npy --axis 1               one sum a row; --axis 0: one a column\n"
           "  detreduce reduce run.npz:loss --op mean            an array of an .npz\n"
           "  detreduce reduce prices.csv --column close --op std  a column of CSV\n"
           "  detreduce reduce data.npy --op max --offsets o.txt one result a segment\n"
           "  detreduce reduce m.npy --op minmax --axis 0        two numbers a line: those of a column\n"
           "  detreduce reduce data.npy --ids labels.npy         one sum for each label, of data that is sorted by it\n"
           "  detreduce reduce data.npy --method tree            another method, with bits of its own\n"
           "  detreduce reduce data.npy --device cuda:0          on the first GPU, same bits\n"
           "  mpirun -n 8 detreduce reduce part*.npy --mpi       eight processes, same bits\n"
           "\n"
           "  A sum of f32 split over two machines, then put together, with the bits of the sum in one place:\n"
           "    detreduce reduce part1.npy --save-state 1.state                              here\n"
           "    detreduce reduce part2.npy --save-state 2.state                              there\n"
           "    detreduce reduce --add-state 1.state --add-state 2.state --output f32        when both are done\n"
           "  A sum that goes on every day:\n"
           "    detreduce reduce monday.npy --save-state sum.state\n"
           "    detreduce reduce tuesday.npy --add-state sum.state --save-state sum.state";
}

} // namespace detreduce::program
