"""The reference of the API, from the comments of the headers and the docstrings of the Python package."""

import ast
import re
from pathlib import Path

CPP = ["types.hpp", "host.hpp", "plan.hpp", "status.hpp", "segments.hpp", "exact_state.hpp", "states.hpp",
       "losses.hpp", "loss_words.hpp", "row_ops.hpp", "row_losses.hpp", "cosine_similarity.hpp", "channel_norm.hpp", "distillation.hpp", "clip_grad_norm.hpp",
       "transform_reduce.hpp",
       "fingerprint.hpp", "cuda.hpp", "ranks.hpp", "mpi.hpp", "nccl.hpp", "math.hpp"]
C = ["detreduce.h", "losses.h"]
INCLUDE = "lib/include/detreduce"

_part = re.compile(r"^#include <detreduce/(\w+/\w+\.h(?:pp)?)>\n", re.M)


def _text(folder, name):
    """A header's text, with those of its parts, in a folder of its name, of C in c/, in the place of their #include."""
    of_c = name.endswith(".h")

    def part(include):
        if not include.group(1).startswith("c/" if of_c else f"{Path(name).stem}/"):
            return include.group()
        text = (folder / include.group(1)).read_text(encoding="utf-8")
        return text.split("\nDETREDUCE_C_BEGIN\n")[1].split("\nDETREDUCE_C_END\n")[0] if of_c else text.split("#pragma once\n", 1)[1]

    return _part.sub(part, (folder / name).read_text(encoding="utf-8"))


_member = re.compile(r"^(?:inline )?(?:[\w:<>]+[ *&]+)+\w+::\w+\(", re.M)  # which its class declares
_hidden = re.compile(r"\bnamespace\s+detail\b")


def _declaration(lines, at):
    """The declaration that begins at a line, without a function's body, and the line behind it."""
    taken, depth, round_depth = [], 0, 0
    is_type = None
    while at < len(lines):
        line = lines[at]
        code = re.sub(r"//.*$", "", line)
        taken.append(line)
        at += 1
        if is_type is None and code.strip() and not re.match(r"\s*(template\b|requires\b|#)", code):
            is_type = bool(re.match(r"\s*(enum\s+class|enum|struct|class|union|concept|typedef\s+(struct|enum))\b", code))
        for i, c in enumerate(code):
            if c == "(":
                round_depth += 1
            elif c == ")":
                round_depth -= 1
            elif c == "{":
                depth += 1
            elif c == "}":
                depth -= 1
        if code.rstrip().endswith("\\"):
            continue
        if line.lstrip().startswith("#"):
            break
        if depth == 0 and round_depth == 0 and re.search(r"[;}]\s*(\[\[.*\]\];)?\s*$", code):
            break
        if not code.strip() and depth == 0:
            break
    text = "\n".join(taken)
    if _listed.search(text):  # a list of words that makes an enumeration
        return _enumeration(taken, lines, at)
    if not is_type and "{" in text and not text.lstrip().startswith("#"):
        # A function: what it does is its comment's.
        depth = 0
        for i, c in enumerate(text):
            if c in "(":
                depth += 1
            elif c == ")":
                depth -= 1
            elif c == "{" and depth == 0 and ")" in text[:i]:
                text = text[:i].rstrip() + ";"
                break
    else:  # what is private is nobody's
        text = re.sub(r"\n\s*private:\n.*?(?=\n\s*};)", "", text, flags=re.S)
    return _dedented(text), at


_listed = re.compile(r"^#define DETREDUCE_\w+\([XY]\)", re.M)


def _enumeration(taken, lines, at):
    """The enumeration that a list of X(name, …) makes, and the line behind it."""
    names, before = [], ""
    for line in taken[1:]:
        said = re.search(r"/\* (.*?) \*/", line)
        name = re.match(r"\s*[XY]\((\w+)", line)
        if name:
            names.append((name.group(1), said.group(1) if said else before))
        before = said.group(1) if said and not name else ""
    head = ""
    while at <= len(lines) and "enum" not in head:
        head = next((l for l in taken if l.lstrip().startswith("enum ")), "") or lines[at]
        if head not in taken:
            at += 1
    while at < len(lines) and not lines[at].startswith("};"):
        at += 1
    body = "\n".join(f"    {name}," + (f" // {said}" if said else "") for name, said in names)
    return f"{head.rstrip()}\n{body}\n}};", at + 1


_borrowed = re.compile(r"#define DETREDUCE_ENUMERATOR\(.*\n\s*(\w+)\(DETREDUCE_ENUMERATOR\)\n#undef DETREDUCE_ENUMERATOR\n")


def _with_lists(source, root):
    """A header whose enumerations say the words of lists that another header has, those of the dtypes."""
    lists = (root / INCLUDE / "fp" / "format.hpp").read_text(encoding="utf-8")

    def words(name):
        found = re.search(rf"^#define {name}\(X\)((?:.*\\\n)*.*)", lists, flags=re.M)
        if not found:
            return None
        parts = re.findall(r"^\s*(\w+)\((\w+)", found.group(1), flags=re.M)
        return [w for call, word in parts for w in ([word] if call == "X" else words(call))]

    def said(match):
        names = words(match.group(1))
        return match.group(0) if names is None else "".join(f"    {n},\n" for n in names)

    return _borrowed.sub(said, source)


def _dedented(text):
    lines = text.rstrip().split("\n")
    margin = min((len(l) - len(l.lstrip()) for l in lines if l.strip()), default=0)
    return "\n".join(l[margin:].rstrip() for l in lines)


def _fields(comment):
    """A comment whose lines are 'word   text' becomes a list of definitions; other text stays."""
    out, last = [], None
    for line in comment:
        field = re.match(r"^([a-zN][a-zA-Z, ]{0,12}?)\s{2,}(\S.*)$", line)
        if field:
            last = [field.group(1).strip(), field.group(2)]
            out.append(last)
        elif last is not None and line.startswith("     "):
            last[1] += " " + line.strip()
        else:
            last = None
            out.append(line)
    text = ""
    for part in out:
        if isinstance(part, list):
            text += f"\n**{part[0]}**\n:   {_escaped(part[1])}\n"
        else:
            text += _escaped(part) + "\n"
    return text


def _escaped(text):
    """Names and formulas are not Markdown: * and _ mean themselves, and < does."""
    return re.sub(r"([*_<\[\]|])", r"\\\1", text)


def _blocks(source):
    """(comment lines, declaration) of every documented declaration outside of namespace detail."""
    lines = source.split("\n")
    at, hidden = 0, 0
    while at < len(lines):
        line = lines[at]
        if _hidden.search(line) and "{" in line and "}" not in line:
            hidden = 1
            depth = line.count("{") - line.count("}")
            at += 1
            while at < len(lines) and depth > 0:
                code = re.sub(r"//.*$", "", lines[at])
                depth += code.count("{") - code.count("}")
                at += 1
            continue
        if re.match(r"\s*///(?!<)", line):
            comment = []
            while at < len(lines) and re.match(r"\s*///", lines[at]):
                comment.append(re.sub(r"^\s*/// ?", "", lines[at]))
                at += 1
            comment = re.sub(r":\s+[XY]\(enumerator\s+and\s+name, .*?\)(?=\.|$)", "", "\n".join(comment), flags=re.S).split("\n")
            if at < len(lines) and lines[at].strip():
                declaration, at = _declaration(lines, at)
                # Overloads right behind it share the comment.
                while at < len(lines) and re.match(r"(\s*)(template\b|\[\[nodiscard\]\]|Status\b)", lines[at]):
                    more, at = _declaration(lines, at)
                    declaration += "\n" + more
                if not _member.search(declaration):
                    yield comment, declaration
            continue
        at += 1


def _head(source):
    lines = []
    for line in source.split("\n"):
        if not line.startswith("//"):
            break
        lines.append(re.sub(r"^// ?", "", line))
    return lines


def _cpp(root):
    text = ("# C++\n\nWhat the headers say, one section a header; `#include <detreduce/detreduce.hpp>` has all but "
            "`math.hpp`, `mpi.hpp`, `nccl.hpp` and `transform_reduce.cuh`. All names are in namespace `detreduce`.\n")
    for name in CPP:
        source = _with_lists(_text(root / INCLUDE, name), root)
        text += f"\n## {name}\n\n" + _paragraph(_head(source))
        for comment, declaration in _blocks(source):
            text += _heading(declaration, text) + "\n~~~~{ .cpp .declared }\n" + _plain(declaration) + "\n~~~~\n\n" + _fields(comment) + "\n"
    if "DETREDUCE_ENUMERATOR" in text or re.search(r"X\(enumerator", text):
        raise ValueError("an enumeration of the C++ reference does not have the words of its list")
    return text


_named = re.compile(r"\b(?:enum class|struct|class|concept)\s+(?:\[\[.*?\]\]\s*)?(\w+)|\b(\w+)\s*\(|\busing\s+(\w+)|\b(\w+)\s*[=;{]")


def _plain(declaration):
    """A comment behind what it is about begins with // as any other."""
    return re.sub(r"///<", "//", declaration)


def _heading(declaration, before):
    """What is declared, unless the section before has the same name."""
    code = re.sub(r"//.*|/\*.*?\*/|^\s*#.*$|\[\[.*?\]\]|\balignas\(\w+\)|decltype\(auto\)|__attribute__\(\(.*?\)\)", "", declaration, flags=re.M)
    code = re.sub(r"^\s*template\s*<.*?>\s*$", "", code, flags=re.M)
    code = re.sub(r"^\s*requires .*$", "", code, flags=re.M)
    found = _named.search(code)
    name = next((g for g in found.groups() if g), "") if found else ""
    last = re.findall(r"^### `(\w+)`$", before.rsplit("\n## ", 1)[-1], flags=re.M)
    return f"\n### `{name}`\n" if name and name not in last else ""


def _paragraph(lines):
    """A comment as text; what is indented in it is code."""
    out, code = [], []
    for line in lines + [""]:
        if line.startswith("    "):
            code.append(line[4:])
            continue
        if code:
            out += ["", "~~~~cpp", *code, "~~~~", ""]
            code = []
        out.append(_escaped(line))
    return "\n".join(out) + "\n"


def _c_parts(source):
    """Comments, and what stands behind each up to an empty line, of a C header: (comment, declarations) one after the other."""
    body = re.sub(r"^#(ifndef|endif|include|define DETREDUCE_\w+_H\b).*\n", "", source, flags=re.M)
    for part in re.split(r"\n\s*\n(?=\S)", body.strip()):
        said = re.match(r"/\*(.*?)\*/\n?", part, flags=re.S)
        yield (said.group(1), part[said.end():]) if said else ("", part)


def _c_comment(text):
    """The lines of a comment; a heading between dashes is one of the page."""
    title = re.fullmatch(r"\s*-{3,} (.*?) -{3,}\s*", text)
    if title:
        return None, title.group(1)
    return _fields(_c_lines(text)), None


def _c_lines(text):
    return [re.sub(r"^\s?\*? ?", "", line.rstrip(), count=1) for line in text.strip("\n").split("\n")]


_c_call = re.compile(r"^(?:const )?\w+[ *]+(detreduce_\w+)\(", re.M)
_c_type = re.compile(r"^typedef (?:struct \w+ \{.*?^\} (\w+);|[^;{]*?(\w+);)|^#define (\w+)", re.M | re.S)


def _c(root):
    """A section a header, an anchor a call: of calls that share a comment it stands behind the last."""
    text = "# C\n\nC99 and later, and C++. A call's anchor is its name.\n"
    for name in C:
        source = _text(root / INCLUDE, name).rstrip()
        text += f"\n## {name}\n"
        for number, (comment, code) in enumerate(_c_parts(source)):
            said, title = _c_comment(comment)
            if title:
                text += f"\n## {name}: {title}\n"
                continue
            if number == 0:
                text += "\n" + _paragraph(_c_lines(comment))
                continue
            calls = [m.start() for m in _c_call.finditer(code)]
            pieces = [code[i:j] for i, j in zip(calls, calls[1:] + [len(code)])] if calls else []
            before = code[: calls[0]] if calls else code
            if before.strip():
                named = _c_type.search(before)
                word = next((g for g in named.groups() if g), "") if named else ""
                text += (f"\n### `{word}`\n" if word else "") + f"\n~~~~{{ .c .declared }}\n{before.strip()}\n~~~~\n"
            for piece in pieces:
                text += f"\n### `{_c_call.match(piece).group(1)}`\n\n~~~~{{ .c .declared }}\n{piece.strip()}\n~~~~\n"
            text += "\n" + (said or "") + "\n"
        missing = set(re.findall(r"\b(detreduce_\w+)\([^;]*?DETREDUCE_NOEXCEPT;", source)) - set(re.findall(r"^### `(\w+)`$", text, flags=re.M))
        if missing:
            raise ValueError(f"{name}: no section has {', '.join(sorted(missing))}")
    return text


def _signature(node):
    return f"{node.name}({ast.unparse(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def _module(folder, name):
    """A module's words, and what its __all__ names."""
    top = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    public = next((ast.literal_eval(n.value) for n in top.body
                   if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"), [])
    found = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in public:
                found.setdefault(node.name, node)
    text = f"\n## {name}\n\n" + _said(top)
    for word in sorted(found, key=str.lower):
        node = found[word]
        text += f"\n### {name}.{word}\n\n~~~~{{ .python .declared }}\n"
        if isinstance(node, ast.FunctionDef):
            text += _signature(node)
        else:
            text += f"class {node.name}\n"
            text += "".join(f"    {ast.unparse(n)}\n" for n in node.body if isinstance(n, ast.AnnAssign))
            text += "".join(f"    {_signature(n)}\n" for n in node.body
                            if isinstance(n, ast.FunctionDef) and (n.name == "__init__" or not n.name.startswith("_")))
        text += "\n~~~~\n\n" + _said(node)
    return text


def _said(node):
    """The docstring; a line that was full goes on in the next, as far as the page is wide."""
    doc = ast.get_docstring(node)
    return "~~~~{ .text .said }\n" + re.sub(r"^(\S.{79,})\n(?=\S)", r"\1 ", doc, flags=re.M) + "\n~~~~\n" if doc else ""


def _python(root):
    package = root / "python" / "detreduce"
    text = "# Python\n" + _module(package, "detreduce")
    for folder in sorted(p.parent for p in package.glob("*/__init__.py")):
        text += _module(folder, f"detreduce.{folder.name}")
    return text


def pages(root):
    root = Path(root)
    return {"api-cpp.md": _cpp(root), "api-c.md": _c(root), "api-python.md": _python(root)}
