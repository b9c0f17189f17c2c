#include <fmt/format.h>

#include "render.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

std::string cell_text(const Cell& cell) {
    std::string text = markdown_escaped(cell.text);
    if (!cell.detail.empty()) {
        std::string detail = cell.detail;
        for (std::size_t at; (at = detail.find('\n')) != std::string::npos;)
            detail.replace(at, 1, ", ");
        text += " (" + markdown_escaped(detail) + ")";
    }
    switch (cell.mood) {
    case Mood::good:
        return "✓ " + text;
    case Mood::bad:
        return "✗ " + text;
    default:
        return text;
    }
}

std::string meaning_of(Mood mood) {
    for (const LegendEntry& e : legend)
        if (e.mood == mood) return e.meaning;
    return "";
}

// Markdown cannot fold: what is too long to read is left to the CSV files.
constexpr std::size_t too_long = 100;

std::string table_text(const Table& table) {
    std::string out = fmt::format("**{}**\n\n", markdown_escaped(table.caption));
    if (table.folded && table.rows.size() > too_long)
        return out + fmt::format("{} rows: see the CSV files beside this page.\n\n", table.rows.size());
    out += "|";
    for (const Column& column : table.columns)
        out += " " + markdown_escaped(column.title) + " |";
    out += "\n|";
    for (const Column& column : table.columns)
        out += column.figures ? " ---: |" : " --- |";
    out += "\n";
    for (const auto& row : table.rows) {
        out += "|";
        for (const Cell& cell : row)
            out += " " + cell_text(cell) + " |";
        out += "\n";
    }
    return out + "\n";
}

} // namespace

std::string markdown(const Page& page) {
    std::string out =
        fmt::format("# {}\n\n{}\n\nThe methods under test ran on **{}** ({}).\n\n", markdown_escaped(page.title),
                    markdown_escaped(page.summary), markdown_escaped(page.provenance.device),
                    markdown_escaped(page.provenance.device_choice));
    if (!page.provenance.incomplete.empty())
        out += "> **Incomplete:** " + markdown_escaped(page.provenance.incomplete) + "\n\n";
    for (const std::string& note : page.provenance.notes)
        out += "> " + markdown_escaped(note) + "\n\n";
    out += fmt::format("✓ {}. ✗ {}.\n\n", meaning_of(Mood::good), meaning_of(Mood::bad));
    for (std::size_t i = 0; i < page.sections.size(); ++i) {
        const Section& section = page.sections[i];
        out += fmt::format("## {}\n\n", markdown_escaped(section.title));
        for (const Answer& a : section.answers)
            out += fmt::format("**{}** {}\n\n", markdown_escaped(a.question), markdown_escaped(a.text));
        if (section.tables.empty()) out += "Not measured.\n\n";
        for (const std::string& finding : section.findings)
            out += "- " + markdown_escaped(finding) + "\n";
        if (!section.findings.empty()) out += "\n";
        for (const std::string& text : section.text)
            out += markdown_escaped(text) + "\n\n";
        for (const Plot& plot : page.plots[i])
            out += fmt::format("![{}]({}.svg)\n\n", markdown_escaped(plot.title), plot.id);
        for (const Table& table : section.tables)
            out += table_text(table);
    }
    return out + "## Provenance\n\n" + table_text(provenance_table(page.provenance));
}

std::string markdown_tables(const Results& results) {
    const Section section = ladder_section(results);
    std::string out;
    for (const std::string& finding : section.findings)
        out += "- " + markdown_escaped(finding) + "\n";
    for (const Table& table : section.tables)
        out += "\n" + table_text(table);
    return out;
}

} // namespace detreduce::report
