// Tables and plots as the page and the Markdown file both show them: made from the model, printed
// by html.cpp and markdown.cpp.
#pragma once

#include <string>
#include <vector>

#include "bench_files.hpp"
#include "compare.hpp"
#include "crossing.hpp"
#include "model.hpp"
#include "plot.hpp"

namespace detreduce::report {

/// What a cell says beyond its text. Nothing is `good` that was not measured.
enum class Mood { plain, absent, good, notable, bad };

/// The mood of what is so or not, and was promised or not: the one meaning of colours in all
/// sections, which the legend explains.
[[nodiscard]] constexpr Mood mood_of(bool promised, bool so) {
    if (promised) return so ? Mood::good : Mood::bad;
    return so ? Mood::plain : Mood::notable;
}
struct LegendEntry {
    Mood mood;
    const char *colour, *meaning;
};
inline constexpr LegendEntry legend[] = {{Mood::good, "Green", "promised and holds"},
                                         {Mood::bad, "Red", "promised and does not hold: a defect"},
                                         {Mood::notable, "Amber", "not promised and does not hold"},
                                         {Mood::plain, "No colour", "not promised but holds, or a plain figure"}};

struct Cell {
    std::string text;
    std::string detail = {}; ///< smaller, below the text
    Mood mood = Mood::plain;
};

struct Column {
    std::string title;
    bool figures = true; ///< aligned to the right
};

struct Table {
    std::string id, caption;
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;
    bool first_column_is_heading = true;
    bool folded = false; ///< long: the page shows it when asked
};

struct Answer {
    std::string question, text;
};

struct Section {
    std::string id, title;
    std::vector<std::string> text;     ///< paragraphs
    std::vector<std::string> findings; ///< sentences made from the figures
    std::vector<LineChart> line_charts;
    std::vector<DotChart> dot_charts;
    std::vector<Table> tables;
    std::vector<Answer> answers = {}; ///< before all else
};

[[nodiscard]] Section summary_section(const Results& results);
[[nodiscard]] Section methods_section();
[[nodiscard]] Section error_section(const Results& results);
[[nodiscard]] Section edges_section(const Results& results);
[[nodiscard]] Section determinism_section(const Results& results);
[[nodiscard]] Section cost_section(const Results& results);
[[nodiscard]] Section op_cost_section(const Results& results);
[[nodiscard]] Section ladder_section(const Results& results);
[[nodiscard]] Section data_section(const Results& results);
[[nodiscard]] Section comparison_section(const Results& results, const std::vector<OtherRun>& others);
[[nodiscard]] Section bench_section(const std::vector<BenchFile>& files);
[[nodiscard]] Table provenance_table(const Provenance& provenance);

/// "tree" in a run on the CPU; "serial (cpu)" in a run on a GPU.
[[nodiscard]] std::string method_label(const Subject& subject, const Results& results);

/// Of a study: the names of its reductions, each once.
[[nodiscard]] std::vector<std::string> own_names(const Results& results);

/// "f32", or "f16 to f32" where the result has another format than the elements.
[[nodiscard]] std::string type_of(const Subject& subject);

} // namespace detreduce::report
