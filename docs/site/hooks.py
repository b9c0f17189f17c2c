"""What MkDocs is told beside mkdocs.yml.

Pages that lie elsewhere in the repository (SPEC.md, CONTRIBUTING.md, …) become pages of the site, and so do the sources
that pages link to and the reference of the API, which api.py takes from the headers. A link of a page is written as it
is in the repository; here it becomes one within the site, or the build fails. Formulas become MathML."""

import html
import importlib.util
import itertools
import posixpath
import re
import subprocess
from pathlib import Path

import latex2mathml.converter
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent.parent

_spec = importlib.util.spec_from_file_location("detreduce_api", SITE / "api.py")
api = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(api)

# Where they are in the repository → where in the site.
ELSEWHERE = {
    "lib/SPEC.md": "specification.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "README.md": "readme.md",
    "SECURITY.md": "security.md",
    "python/README.md": "python.md",
    "reports/results/README.md": "results.md",
}
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".cu": "cuda", ".cuh": "cuda", ".h": "c", ".c": "c", ".py": "python",
             ".sh": "bash", ".txt": "text", ".tsv": "text", ".json": "json", ".cmake": "cmake"}
AS_THEY_ARE = {".svg", ".png", ".csv", ".json", ".npy"}
LONGEST = 200_000  # characters of a source that is shown

_link = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")
_fence = re.compile(r"^ *(```|~~~)")
_place = {site: repository for repository, site in ELSEWHERE.items()}  # of each page, in the repository


def _page_of(path):
    """The address in the site of a path of the repository."""
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    if path.startswith("docs/"):
        return path[len("docs/"):]
    if Path(path).suffix in AS_THEY_ARE:
        return "source/" + path
    return "source/" + path.rstrip("/") + ".md"


def _lines_of_text(markdown):
    """Its lines; of each whether it is outside of code."""
    inside = None
    for line in markdown.split("\n"):
        fence = _fence.match(line)
        if fence and inside is None:
            inside = fence.group(1)
            yield line, False
        elif fence and fence.group(1) == inside:
            inside = None
            yield line, False
        else:
            yield line, inside is None


def _targets(markdown):
    for line, is_text in _lines_of_text(markdown):
        if is_text:
            yield from (m.group(1) for m in _link.finditer(line))


def _is_outside(target):
    return target.startswith("#") or re.match(r"[a-z]+:", target)


def _resolved(target, place):
    """The path in the repository and the anchor of a link on the page at `place`."""
    path, _, anchor = target.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), path)), anchor


def _source_page(path):
    full = ROOT / path
    if full.is_dir():
        listed = subprocess.run(["git", "ls-files", "--", path], cwd=ROOT, capture_output=True, text=True, check=False)
        names = listed.stdout.split() or sorted(str(p.relative_to(ROOT)) for p in full.rglob("*") if p.is_file())
        return f"# {path}/\n\n" + "".join(f"- `{name[len(path) + 1:]}`\n" for name in names)
    text = full.read_text(encoding="utf-8")
    if Path(path).suffix == ".md":
        return text
    if len(text) > LONGEST:
        text = text[:LONGEST] + "\n…\n"
    return f"# {path}\n\n~~~~{LANGUAGES.get(full.suffix, 'text')}\n{text}\n~~~~\n"


_include = re.compile(r'^ *--8<-- "([^":]+)')


def _check_includes(markdown, place):
    """A page is read as a file, too: the paragraph over an included part of a file links to the file."""
    lines = markdown.split("\n")
    for number, line in enumerate(lines):
        include = _include.match(line)
        if not include:
            continue
        above = "\n".join(lines[:number - 1]).rstrip().rpartition("\n\n")[2]  # of the fence
        if include.group(1) not in {_resolved(m.group(1), place)[0] for m in _link.finditer(above)}:
            raise PluginError(f"{place}:{number + 1}: no link to {include.group(1)} in the paragraph over its include")


def on_config(config):
    config["mdx_configs"]["pymdownx.snippets"]["base_path"] = [str(ROOT)]  # whatever the folder of the build
    address = re.search(r'HOMEPAGE_URL "([^"]*)"', (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
    if address:
        config["repo_url"], config["repo_name"] = address, "detreduce"
    return config


def on_files(files, config):
    texts = {f.src_uri: f.content_string for f in files if f.src_uri.endswith(".md")}
    for page, text in texts.items():
        _check_includes(text, _place.get(page, "docs/" + page))
    added = {}

    def add(site, content):
        added[site] = content
        if site.endswith(".md"):
            texts[site] = content

    for repository, site in ELSEWHERE.items():
        add(site, (ROOT / repository).read_text(encoding="utf-8"))
    for site, content in api.pages(ROOT).items():
        _place[site] = "docs/" + site
        add(site, content)
    # Sources that pages link to, and what those that are Markdown link to in turn.
    todo = list(texts)
    while todo:
        page = todo.pop()
        place = _place.get(page, "docs/" + page)
        for target in _targets(texts[page]):
            if _is_outside(target):
                continue
            path, _ = _resolved(target, place)
            site = _page_of(path)
            if site in texts or site in added or (path.startswith("docs/") and files.get_file_from_path(site)):
                continue
            if path.startswith("../") or not (ROOT / path).exists():
                raise PluginError(f"{place}: links to {target}, which is not there")
            if Path(path).suffix in AS_THEY_ARE:
                added[site] = (ROOT / path).read_bytes()
            else:
                _place[site] = path
                add(site, _source_page(path))
                if path.endswith(".md"):
                    todo.append(site)
    in_nav = {"specification.md", "contributing.md", "changes.md", *api.pages(ROOT)}
    for site, content in added.items():
        file = File.generated(config, site, content=content)
        if site not in in_nav:
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    files.append(File.generated(config, "site.css", content=(SITE / "site.css").read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    place = _place.get(page.file.src_uri, "docs/" + page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)

    def moved(match):
        target = match.group(1)
        if _is_outside(target):
            return match.group(0)
        path, anchor = _resolved(target, place)
        site = posixpath.relpath(_page_of(path), here or ".")
        return f"]({site}{'#' + anchor if anchor else ''})"

    return "\n".join(_link.sub(moved, line) if is_text else line for line, is_text in _lines_of_text(markdown))


_formula = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)


# log between letters; a parenthesis or an operator has its own space.
_function = re.compile(r"(?P<before>(?<=</mi>))?<mi>log</mi>(?P<after>(?=<mi>))?")
_space = '<mspace width="0.17em"></mspace>'


_bar = re.compile(r"<mo[^>]*>(?:&#x0007C;|\|)</mo>")


_long_code = re.compile(r"<code>(?=[^<]{33})")  # it may be broken within a table


def on_page_content(content, page, config, files):
    def typeset(match):
        display = "block" if match.group(2) == "[" else "inline"
        typeset = latex2mathml.converter.convert(html.unescape(match.group(3)).strip(), display=display)
        typeset = _function.sub(
            lambda m: (_space if m["before"] is not None else "") + "<mi>log</mi>" + (_space if m["after"] is not None else ""),
            typeset,
        )
        # Bars come in pairs; each is told which it is, and stays as tall as the text.
        forms = itertools.cycle(("prefix", "postfix"))
        return _bar.sub(lambda _: f'<mo form="{next(forms)}" stretchy="false" lspace="0" rspace="0">|</mo>', typeset)

    return _formula.sub(typeset, _long_code.sub(r'<code class="long">', content))
