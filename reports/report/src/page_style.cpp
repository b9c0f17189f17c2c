#include "page_style.hpp"

#include <fmt/format.h>

#include "palette.hpp"

namespace detreduce::report {
namespace {

// gnuplot writes light colours into the SVG; in dark mode each is replaced by its twin.
std::string dark_plot_rules() {
    std::string css;
    for (const Colour& c : all_colours)
        css += fmt::format(
            "svg [stroke=\"{0}\"]{{stroke:{1}}}svg [fill=\"{0}\"]{{fill:{1}}}svg [color=\"{0}\"]{{color:{1}}}\n",
            c.light, c.dark);
    return css;
}

constexpr const char* layout = R"css(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main,header,footer{max-width:1120px;margin:0 auto;padding:0 20px}
header{padding-top:28px}
h1{font-size:1.7rem;margin:0 0 .3rem}
h2{font-size:1.3rem;margin:2.6rem 0 .5rem;padding-top:.9rem;border-top:1px solid var(--line)}
p{max-width:78ch;margin:.5rem 0}
.quiet{color:var(--quiet)}
.answers{margin:.4rem 0 .8rem;max-width:78ch}
.answers dt{font-weight:700;margin-top:.7rem}.answers dd{margin:.1rem 0 0}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:.8rem 0;padding:0;font-size:.86rem}
.legend span{padding:.1rem .45rem;border:1px solid var(--line);border-radius:4px;font-weight:600}
nav a{margin-right:1.1em}
a{color:var(--link)}p{overflow-wrap:break-word}
.note{border-left:4px solid var(--link);background:var(--panel);padding:.5rem .8rem;max-width:none}
ul.findings{padding-left:1.2em;max-width:78ch;font-weight:600}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr));gap:18px;margin:1rem 0}
figure{margin:0;border:1px solid var(--line);border-radius:8px;padding:6px;background:var(--paper)}
figure svg{display:block;width:100%;height:auto}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;margin:.4rem 0 1.2rem}
.tall{max-height:34rem;overflow-y:auto}
table{border-collapse:collapse;width:100%;font-size:.86rem;font-variant-numeric:tabular-nums}
.caption{font-weight:600;margin:1.2rem 0 .3rem;max-width:none}
thead button{all:unset;cursor:pointer}
thead button:focus-visible{outline:2px solid var(--link)}
thead button:hover{text-decoration:underline}
[aria-sort=ascending] button::after{content:" ↑"}[aria-sort=descending] button::after{content:" ↓"}
th,td{padding:.38rem .5rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);overflow-wrap:normal}
thead th{position:sticky;top:0;z-index:2;background:var(--panel);vertical-align:bottom}
thead th.f{white-space:normal}
tbody tr:last-child>*{border-bottom:0}
.f{text-align:right;white-space:nowrap}
tbody th{font-weight:600;position:sticky;left:0;z-index:1;background:var(--paper);white-space:nowrap}
thead th:first-child{left:0;z-index:3}
.f small{white-space:normal;min-width:6em}
small{display:block;color:var(--quiet);font-size:.78rem;font-weight:400}
.absent{color:var(--quiet)}
.good{background:var(--good)}.notable{background:var(--notable)}.bad{background:var(--bad);font-weight:700}
.values td{overflow-wrap:anywhere}
details>summary{cursor:pointer;font-weight:600;margin:.9rem 0 .3rem}
footer{padding-bottom:40px}
@media (max-width:600px){main,header,footer{padding-left:12px;padding-right:12px}th,td{padding:.3rem .45rem}
tbody th{white-space:normal;overflow-wrap:anywhere;min-width:5.6em;max-width:8em}figure{padding:2px}}
@media print{.tall{max-height:none}thead th,tbody th{position:static}}
)css";

} // namespace

std::string page_style() {
    return fmt::format(":root{{color-scheme:light "
                       "dark;--paper:{};--ink:{};--quiet:#5b6470;--line:{};--panel:#f5f6f8;--link:#0b62a8;"
                       "--good:#d9f2e3;--notable:#ffe9c7;--bad:#ffc9c2}}\n",
                       paper.light, ink.light, grid.light) +
           fmt::format(
               "@media "
               "(prefers-color-scheme:dark){{\n:root{{--paper:{};--ink:{};--quiet:#9aa3ad;--line:{};--panel:#1d232a;"
               "--link:#6cb6ff;--good:#16412c;--notable:#4f390d;--bad:#6b1f1a}}\n{}}}",
               paper.dark, ink.dark, grid.dark, dark_plot_rules()) +
           layout;
}

std::string plot_style() {
    return fmt::format("svg{{background:{}}}\n@media (prefers-color-scheme:dark){{svg{{background:{}}}\n{}}}",
                       paper.light, paper.dark, dark_plot_rules());
}

} // namespace detreduce::report
