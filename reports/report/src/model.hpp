// The model of results: all that measuring finds out and all that rendering reads. Plain values;
// json.hpp writes and reads them, reports/schema/results.schema.json describes the file. A section
// is a list of flat rows, so that a new op, dtype, method, shape or axis is new rows and not new
// structure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace detreduce::report {

inline constexpr const char* schema_name = "detreduce-results";
inline constexpr int schema_version = 2;

/// Of every count in a file, so that no sum of counts overflows: rows are fewer than 2^23
/// (read_file() takes 2^28 bytes).
inline constexpr std::int64_t largest_count = std::int64_t{1} << 40;

/// ErrorRow::family of ill-conditioned data of one n and rising condition numbers.
inline constexpr const char* condition_sweep = "condition sweep";

/// CostRow::data that all candidates are timed on: what tables and plots show unless they say
/// otherwise.
inline constexpr const char* plain_data = "normal";

/// A measured figure; may be infinite. Nothing: it was not measured, or is not defined (shown as a
/// dash, never as a zero).
using Metric = std::optional<double>;

struct Gpu {
    std::string name;
    std::string compute_capability; ///< "9.0"
    std::int64_t multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t l2_bytes = 0;
    Metric peak_gb_per_s; ///< from the device's own properties
    std::string driver;   ///< newest CUDA version that the driver runs
    std::string toolkit;  ///< CUDA runtime that the program was built with
    std::string cub;      ///< version of the CUB that is compared with
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// Everything needed to repeat the run.
struct Provenance {
    std::string created; ///< UTC, ISO 8601
    std::string command;
    std::string mode; ///< "quick" or "full"
    std::uint64_t seed = 0;
    std::string version;
    std::int64_t spec_version = 0;
    std::string commit; ///< "unknown" when not built from a checkout
    bool dirty = false; ///< built with changes that are not in `commit`
    std::string compiler;
    std::string flags;
    std::string cpu;
    std::int64_t cpu_threads = 0;
    std::string isa;           ///< widest instruction set that the CPU backend used
    std::string system;        ///< operating system and machine
    std::string device;        ///< "cpu", "cuda:0": where the methods under test ran
    std::string device_choice; ///< why that device
    std::optional<Gpu> gpu;
    std::vector<std::string> notes; ///< whatever a reader has to know, e.g. sizes that did not fit
    std::string incomplete = {};    ///< why measuring ended early; empty, and not in the file: it did not
    friend bool operator==(const Provenance&, const Provenance&) = default;
};

/// What was reduced, by what, where: the part that all rows share.
struct Subject {
    std::string op = "sum";
    std::string shape = "flat";
    std::string dtype;  ///< of the elements
    std::string output; ///< dtype of the result
    std::string method;
    std::string device; ///< "cpu" or "cuda:0"
    friend bool operator==(const Subject&, const Subject&) = default;
};

/// Error of one method on one family of data: the figures of that of `trials` data sets that has
/// the largest relative error.
struct ErrorRow {
    Subject subject;
    std::string family;
    std::uint64_t n = 0;
    std::int64_t trials = 0;
    std::int64_t correctly_rounded = 0; ///< trials whose result has the bits of the exact sum rounded once
    Metric error_ulp;                   ///< largest distance to the exact sum, in units in the last place of the output
    Metric relative_error;              ///< largest |result − exact| / |exact|
    Metric bound;                       ///< a priori, on the relative error; nothing where the result may overflow
    Metric error_over_bound; ///< |result − exact| / bound on it, the largest of all trials; above 1 is a defect
    Metric condition;        ///< Σ|x| / |Σx|
    friend bool operator==(const ErrorRow&, const ErrorRow&) = default;
};

/// One of the results that came out, and how often.
struct Pattern {
    std::string bits; ///< "0x3f800000": all digits of the format
    std::int64_t count = 0;
    friend bool operator==(const Pattern&, const Pattern&) = default;
};
inline constexpr std::size_t most_patterns = 8; ///< of a row

/// Distinct bit patterns of one method along one axis. `runs` is nothing when the axis was not
/// measured.
struct DeterminismRow {
    Subject subject;
    std::string axis;
    std::string varied; ///< what was varied, in words
    std::string family;
    std::uint64_t n = 0;
    bool promised = false; ///< does the method's guarantee promise one pattern along this axis?
    std::optional<std::int64_t> runs;
    std::optional<std::int64_t> distinct;
    Metric spread_ulp; ///< largest distance between two of the results
    /// The most frequent, most_patterns at most, of equals the smallest bits first; not in files of
    /// before they were kept.
    std::vector<Pattern> patterns = {};
    friend bool operator==(const DeterminismRow&, const DeterminismRow&) = default;
};

/// What one candidate made of a sum that is easy to get wrong. Figures as text, shortest that reads
/// back: JSON has no NaN.
struct EdgeRow {
    std::string data; ///< "1e300 + 1e300"
    std::string dtype;
    std::uint64_t n = 0;
    std::string exact;     ///< the true sum, rounded once to dtype
    std::string candidate; ///< a method, "cub::DeviceReduce::Sum", or one with published figures
    std::string device;    ///< "cpu", "cuda:0"; empty for a published figure
    std::string result;
    bool right = false; ///< the bits of `exact`, or any NaN where that is NaN
    friend bool operator==(const EdgeRow&, const EdgeRow&) = default;
};

/// Cost of one pass over the data by one candidate.
struct CostRow {
    std::string dtype;
    std::string candidate; ///< "read", "tree", "std::accumulate", "cub::DeviceReduce::Sum", …
    std::string variant;   ///< "1 thread", "last_block", …; empty when there is only one
    std::string device;
    std::string data; ///< what was summed: normal, half_zeros and others (cost_data.hpp)
    std::uint64_t n = 0;
    std::uint64_t bytes = 0;
    std::int64_t repeats = 0;
    Metric median_s;
    Metric deviation;     ///< median absolute deviation / median
    Metric gb_per_s;      ///< 1e9 bytes a second, at the median
    Metric ratio_to_read; ///< speed relative to the read-only pass of the same bytes in the same run; 1 is its speed
    friend bool operator==(const CostRow&, const CostRow&) = default;
};

/// One rung of the ladder (kernels/ladder/), or a library beside it, of f32, in one table.
struct LadderRow {
    std::string table; ///< ladder_tables of ladder_tables.hpp
    /// flat, batched, three-level, softmax, library; "read" and "copy" for what the others are
    /// compared with
    std::string family;
    std::string rung;
    std::string title;                        ///< what changed since the rung below
    std::uint64_t n = 0;                      ///< elements in all
    std::uint64_t rows = 0;                   ///< of n / rows elements each
    std::int64_t threads = 0, per_thread = 0; ///< a block, elements; 0: not a parameter
    bool coalesced = true;
    std::int64_t repeats = 0;
    Metric median_s, deviation, gb_per_s,
        ratio_to_read;     ///< as in CostRow, of the bytes that are read once (softmax: read and written)
    std::string guarantee; ///< empty: nobody says
    std::optional<std::int64_t> passes, launches;
    std::optional<std::int64_t> runs, distinct; ///< bit patterns in so many runs, on other data than what is timed
    Metric error_ulp;                           ///< of those runs' last result; of softmax the largest
    std::string note;
    friend bool operator==(const LadderRow&, const LadderRow&) = default;
};

/// A file that the user gave. Numbers as text, shortest that reads back: JSON has no NaN.
struct DataRow {
    std::string file; ///< as it was named
    std::string dtype;
    std::uint64_t n = 0;
    std::string fingerprint;     ///< FNV-1a of its elements' bytes, 64 bits: are two files the same data?
    std::string least, greatest; ///< of its finite elements; empty where there are none
    std::string smallest;        ///< magnitude of a finite element that is not zero
    std::int64_t nans = 0, infinities = 0;
    std::string sum;  ///< the true one, rounded once to f64
    Metric condition; ///< Σ|x| / |Σx|; nothing where an element is not finite
    friend bool operator==(const DataRow&, const DataRow&) = default;
};

/// The sum of such a file by one method. Nothing in place of errors where an element is not finite.
struct DataSumRow {
    std::string file; ///< DataRow::file
    Subject subject;
    std::string result, bits;       ///< shortest decimal that reads back; 0x and as many digits as the dtype has
    bool correctly_rounded = false; ///< the bits of the true sum rounded once
    Metric error_ulp, relative_error, bound, error_over_bound; ///< as in ErrorRow
    friend bool operator==(const DataSumRow&, const DataSumRow&) = default;
};

/// What a method makes of data that is the same in every run, whatever its options: for comparing
/// runs bit by bit.
struct ReferenceRow {
    Subject subject;
    std::string family;
    std::uint64_t n = 0, seed = 0;
    std::string bits;
    friend bool operator==(const ReferenceRow&, const ReferenceRow&) = default;
};

/// Cost of an op or a shape, on normal data. Ops of two inputs read half of the n elements as x and
/// half as y.
struct OpCostRow {
    std::string op;    ///< "dot", "softmax", …; "read" and "copy" of all bytes: what the others are compared with
    std::string shape; ///< "flat", "rows of 4096", "segments of 1 to 4096", "300 tensors"; of the mean of a loss "loss"
    std::string dtype;
    std::string candidate; ///< a method, "cub::DeviceReduce::ArgMax", "std::inner_product", …
    std::string variant;   ///< on the CPU how many threads
    std::string device;
    std::uint64_t n = 0, bytes = 0; ///< of all inputs
    std::int64_t repeats = 0;
    Metric median_s, deviation, gb_per_s, ratio_to_read; ///< as in CostRow
    friend bool operator==(const OpCostRow&, const OpCostRow&) = default;
};

/// A reduction of somebody's own, of one dtype, and what it claims (detreduce/accuracy/study.hpp).
struct OwnRow {
    std::string name, dtype;
    std::string device;    ///< where it runs: "cpu" or "cuda:0"
    std::string guarantee; ///< what its author says
    friend bool operator==(const OwnRow&, const OwnRow&) = default;
};

struct Results {
    Provenance provenance;
    std::vector<ErrorRow> error;
    std::vector<EdgeRow> edges;
    std::vector<DeterminismRow> determinism;
    std::vector<CostRow> cost;
    std::vector<LadderRow> ladder;  ///< not in files without one
    std::vector<DataRow> data = {}; ///< this and what follows: not in files without any
    std::vector<DataSumRow> data_sums = {};
    std::vector<ReferenceRow> reference = {};
    std::vector<OpCostRow> op_cost = {};
    std::vector<OwnRow> own = {};
    friend bool operator==(const Results&, const Results&) = default;
};

} // namespace detreduce::report
