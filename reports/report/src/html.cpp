#include <algorithm>

#include <fmt/format.h>

#include "page_style.hpp"
#include "render.hpp"
#include "sha256.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

const char* css_class(Mood mood) {
    switch (mood) {
    case Mood::absent:
        return "absent";
    case Mood::good:
        return "good";
    case Mood::notable:
        return "notable";
    case Mood::bad:
        return "bad";
    default:
        return "";
    }
}

std::string class_of(const Cell& cell, const Column& column) {
    std::string names = css_class(cell.mood);
    if (column.figures) names += names.empty() ? "f" : " f";
    return names.empty() ? "" : fmt::format(" class=\"{}\"", names);
}

std::string content(const Cell& cell) {
    std::string text = html_escaped(cell.text);
    for (std::size_t from = 0; from < cell.detail.size();) {
        const std::size_t end = std::min(cell.detail.find('\n', from), cell.detail.size());
        text += "<small>" + html_escaped(cell.detail.substr(from, end - from)) + "</small>";
        from = end + 1;
    }
    return text;
}

std::string row_html(const Table& table, const std::vector<Cell>& row) {
    std::string out = "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
        const bool heading = i == 0 && table.first_column_is_heading;
        out += fmt::format("<{0}{1}{2}>{3}</{0}>", heading ? "th" : "td", heading ? " scope=\"row\"" : "",
                           class_of(row[i], table.columns[i]), content(row[i]));
    }
    return out + "</tr>\n";
}

std::string table_html(const Table& table, const char* kind = "") {
    std::string out = fmt::format("<div class=\"scroll{}\" tabindex=\"0\"><table{}>\n<thead><tr>",
                                  table.rows.size() > 24 ? " tall" : "", kind);
    for (const Column& column : table.columns)
        out += fmt::format("<th scope=\"col\"{}>{}</th>", column.figures ? " class=\"f\"" : "",
                           html_escaped(column.title));
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows)
        out += row_html(table, row);
    out += "</tbody></table></div>\n";
    const std::string caption = html_escaped(table.caption);
    if (table.folded) return fmt::format("<details><summary>{}</summary>\n{}</details>\n", caption, out);
    return fmt::format("<p class=\"caption\">{}</p>\n{}", caption, out);
}

std::string legend_html() {
    std::string out = "<ul class=\"legend\">\n";
    for (const LegendEntry& e : legend)
        out += fmt::format("<li><span class=\"{}\">{}</span> {}</li>\n", css_class(e.mood), e.colour, e.meaning);
    return out + "</ul>\n";
}

std::string answers_html(const std::vector<Answer>& answers) {
    std::string out = "<dl class=\"answers\">\n";
    for (const Answer& a : answers)
        out += fmt::format("<dt>{}</dt>\n<dd>{}</dd>\n", html_escaped(a.question), html_escaped(a.text));
    return out + "</dl>\n" + legend_html();
}

bool has_answers(const Page& page) {
    return std::any_of(page.sections.begin(), page.sections.end(), [](const Section& s) { return !s.answers.empty(); });
}

std::string section_html(const Section& section, const std::vector<Plot>& plots) {
    std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", section.id, html_escaped(section.title));
    if (!section.answers.empty()) out += answers_html(section.answers);
    if (section.tables.empty()) out += "<p class=\"quiet\">Not measured.</p>\n";
    if (!section.findings.empty()) {
        out += "<ul class=\"findings\">\n";
        for (const std::string& finding : section.findings)
            out += "<li>" + html_escaped(finding) + "</li>\n";
        out += "</ul>\n";
    }
    for (const std::string& text : section.text)
        out += "<p>" + html_escaped(text) + "</p>\n";
    if (!plots.empty()) {
        out += "<div class=\"plots\">\n";
        for (const Plot& plot : plots)
            out += "<figure>\n" + plot.svg + "</figure>\n";
        out += "</div>\n";
    }
    for (const Table& table : section.tables)
        out += table_html(table);
    return out + "</section>\n";
}

} // namespace

std::string html(const Page& page) {
    // What is in the page may run, and nothing else, whatever a results file brought into it.
    const std::string style = "\n" + page_style(), script = page_script();
    std::string out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{5}'; "
        "script-src 'sha256-{6}'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n<p>{2}</p>\n"
        "<p>The methods under test ran on <strong>{3}</strong> ({4}).</p>\n<nav>",
        html_escaped(page.title), style, html_escaped(page.summary), html_escaped(page.provenance.device),
        html_escaped(page.provenance.device_choice), sha256_base64(style), sha256_base64(script));
    for (const Section& section : page.sections)
        out += fmt::format("<a href=\"#{}\">{}</a> ", section.id, html_escaped(section.title));
    out += "<a href=\"#provenance\">Provenance</a></nav>\n";
    if (!page.provenance.incomplete.empty())
        out += "<p class=\"note bad\">Incomplete: " + html_escaped(page.provenance.incomplete) + "</p>\n";
    for (const std::string& note : page.provenance.notes)
        out += "<p class=\"note\">" + html_escaped(note) + "</p>\n";
    if (!has_answers(page)) out += legend_html();
    out += "</header>\n<main>\n";
    for (std::size_t i = 0; i < page.sections.size(); ++i)
        out += section_html(page.sections[i], page.plots[i]);
    out += "<section id=\"provenance\">\n<h2>Provenance</h2>\n" +
           table_html(provenance_table(page.provenance), " class=\"values\"");
    out += "</section>\n</main>\n<footer class=\"quiet\"><p>Figures: the *.csv and *.json beside this "
           "page.</p></footer>\n";
    return out + "<script>" + script + "</script>\n</body>\n</html>\n";
}

std::string standalone_svg(const Plot& plot) {
    const std::size_t head = plot.svg.find(">\n");
    return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + plot.svg.substr(0, head + 2) + "<style>\n" + plot_style() +
           "</style>\n" + plot.svg.substr(head + 2);
}

} // namespace detreduce::report
