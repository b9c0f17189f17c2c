"""comments.py [--check] FILE…: refills comments that are wider than 100 columns.

Whole-line comments of C, C++, CUDA (// and ///, and the lines of a block /* … */ that begin with *) and CMake (#) are
refilled where a paragraph has a line of more than 100 columns. Lists, tables of `name   text`, indented code, aligned
columns and what has no place to break stay as they are. A comment behind code that makes its line longer than 120
columns moves above the statement. Sources without their comments are the same before and after, or nothing is written.

--check: only says which lines would change; the exit status is 1 if any would.
"""

import re
import sys
from pathlib import Path

COLUMNS = 100  # of a comment
CODE_COLUMNS = 120  # of code, with the comment behind it
LONGEST_FORMULA = 40  # that is kept on one line
WIDEST_NAME = 40  # before the text of a table or list

# ---- sources without their comments --------------------------------------------------------------------------------

_c_token = re.compile(
    r'(?P<raw>R"(?P<d>[^()\\\s]{0,16})\(.*?\)(?P=d)")|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<number>\b\d[\w.']*)|(?P<char>'(?:\\.|[^'\\\n])+')|(?P<line>//(?:[^\n\\]|\\.)*)|(?P<block>/\*.*?\*/)", re.S)
_cmake_token = re.compile(
    r'(?P<block>#\[(?P<c>=*)\[.*?\](?P=c)\])|(?P<raw>\[(?P<d>=*)\[.*?\](?P=d)\])|(?P<string>"(?:\\.|[^"\\])*")'
    r"|(?P<escape>\\.)|(?P<line>#[^\n]*)", re.S)


def comments_of(text, is_cmake):
    """(begin, end, is a block) of every comment."""
    for m in (_cmake_token if is_cmake else _c_token).finditer(text):
        if m["line"] is not None or m["block"] is not None:
            yield m.start(), m.end(), m["block"] is not None


def without_comments(text, is_cmake):
    """The lines of code: what lies between comments, without the space around it and without empty lines."""
    code, at = [], 0
    for begin, end, _ in comments_of(text, is_cmake):
        code.append(text[at:begin])
        at = end
    code = "".join([*code, text[at:]])
    return [line for line in (line.strip() for line in code.split("\n")) if line]


# ---- the text of a comment -----------------------------------------------------------------------------------------

_field = re.compile(r"(\S(?:.{0,22}?\S)?) {2,}(?=\S)")
_item = re.compile(r"(?:[-*•] +|\d{1,2}[.)] +|\(\w\) +)(?=\S)")
_alone = re.compile(r"clang-format |NOLINT|SPDX|--8<--|[-=~]{3,}|\|(?=\s)|https?://\S+$|[@\\]\w")
_rule = re.compile(r"(-{3,} .*? )-{3,}$")
_label = re.compile(r"[A-Z][^.:;,]{2,45}: ")
_operator = re.compile(r"(?:[-−+*/·×÷=<>≤≥≈≠∈|&…→]|==|<=|>=|&&|\|\|)$")
_no_beginning = re.compile(r"(?:\d{1,2}[.)]|[#@]\S*|\(?[A-Z]?\d+\)?[.,;:]?)$")
_named = re.compile(r"[-*•] |\d{1,2}[.)] |[\w, /.]+ {2}")
_together = re.compile(r"\b(?:[Aa]t (?:least|most)|left (?:out|to|for|as|behind|in))\b[.,;:)]*$")  # as .ci/words.tsv reads them
_quoted = re.compile(r"`[^`]*`|\"[^\"]{0,60}\"")


def _words(text):
    """Where a line may break: at spaces, but neither within quotation nor before an operator."""
    held = _quoted.sub(lambda m: m.group(0).replace(" ", "\0"), text)
    out, holds = [], False  # does the next word belong to the last one?
    for word in held.split():
        word = word.replace("\0", " ")
        is_operator = bool(_operator.match(word))
        if out and (is_operator or holds or _no_beginning.match(word)) and len(out[-1]) + len(word) < LONGEST_FORMULA:
            out[-1] += " " + word
        elif out and (is_operator or _no_beginning.match(word) or _together.search(f"{out[-1]} {word}")):
            out[-1] += " " + word
        else:
            out.append(word)
        holds = is_operator
    return out


def _filled(text, first, rest, width):
    """The lines of a text whose first line begins with `first`, the others with `rest`."""
    lines, line, is_empty = [], first, True
    for word in _words(text):
        if not is_empty and len(line) + 1 + len(word) > width:
            lines.append(line)
            line, is_empty = rest, True
        line += word if is_empty else " " + word
        is_empty = False
    return [*lines, line]


def _is_kept(line):
    """Code, a row of a table, a rule: what is no text."""
    body = line.strip()
    return bool(_alone.match(body)) or len(re.findall(r"\S {2,}(?=\S)", body)) > 1


def refilled(lines, width):
    """The lines of a comment without what marks it, each at most `width` wide."""
    out, at = [], 0
    while at < len(lines):
        line = lines[at]
        indent = len(line) - len(line.lstrip())
        mark = _item.match(line[indent:]) or _field.match(line[indent:])
        is_code = indent >= 2 and not _continues(out, indent) and not (mark and _named.match(line[indent:]))
        if _rule.match(line):
            out.append(line if len(line) <= width else _rule.match(line).group(1).ljust(width, "-"))
            at += 1
            continue
        if not line.strip() or _is_kept(line) or is_code or (mark and indent + mark.end() > WIDEST_NAME):
            out.append(line)
            at += 1
            continue
        # The first line of a paragraph says where the others begin.
        hanging = indent + mark.end() if mark else indent
        taken = [line]
        at += 1
        while at < len(lines):
            more = lines[at]
            begins = len(more) - len(more.lstrip())
            if not more.strip() or _is_kept(more) or begins != hanging or _item.match(more[begins:]):
                break
            if _field.match(more[begins:]) and begins == indent:
                break
            if _ends(taken, more):
                break
            taken.append(more)
            at += 1
        if max(map(len, taken)) <= width:
            out += taken
            continue
        text = " ".join([taken[0][hanging:].strip(), *(t.strip() for t in taken[1:])])
        out += _filled(text, taken[0][:hanging], " " * hanging, width)
    return out


def _continues(out, indent):
    """Does a line with this indentation go on where the list or table above has its text?"""
    for line in reversed(out):
        if not line.strip():
            return False
        begins = len(line) - len(line.lstrip())
        mark = _item.match(line[begins:]) or _field.match(line[begins:])
        if mark and begins + mark.end() == indent:
            return True
        if begins < indent:
            return False
    return False


def _ends(taken, more):
    """Was the line broken here on purpose? The next word had room, and a sentence or a list begins."""
    last, widest = taken[-1], max(map(len, taken))
    room = max(widest, COLUMNS - 15) - len(last)
    if last.rstrip()[-1:] in ".:;)" and _label.match(more.lstrip()):
        return True
    return room > 30 and last.rstrip()[-1:] in ".:;" and len(more.split()[0]) + 1 < room


# ---- a file --------------------------------------------------------------------------------------------------------


def _paragraphs(lines, is_comment, mark_of):
    """Refills runs of whole-line comments with the same mark."""
    out, at = [], 0
    while at < len(lines):
        mark = mark_of(lines[at]) if is_comment[at] else None
        if mark is None:
            out.append(lines[at])
            at += 1
            continue
        first = at
        while at < len(lines) and is_comment[at] and mark_of(lines[at]) == mark:
            at += 1
        block = lines[first:at]
        texts = [line[len(mark):] for line in block]
        if any(len(line) > COLUMNS for line in block) and not _goes_on(lines, first, mark):
            # A text begins one space behind the mark.
            bodies = [t[1:] if t.startswith(" ") else t for t in texts]
            if all(not t or t.startswith(" ") for t in texts):
                block = [(mark + " " + b).rstrip() if b else mark for b in refilled(bodies, COLUMNS - len(mark) - 1)]
        out += block
    return out


def _goes_on(lines, first, mark):
    """Do the lines go on a comment behind code, whose column they have?"""
    if not first:
        return False
    before = lines[first - 1]
    column = len(mark) - len(mark.lstrip())
    return column > 0 and before[column:column + 2] == mark.lstrip()[:2] and bool(before[:column].strip())


def _whole_line_flags(text, is_cmake):
    """Of each line whether it is nothing but a comment to the end of the line."""
    lines = text.split("\n")
    flags = [False] * len(lines)
    starts, n = [], 0
    for line in lines:
        starts.append(n)
        n += len(line) + 1
    at = 0
    for begin, end, is_block in comments_of(text, is_cmake):
        while at + 1 < len(lines) and starts[at + 1] <= begin:
            at += 1
        if not is_block and not lines[at][: begin - starts[at]].strip():
            flags[at] = True
    return lines, flags


def _mark(pattern):
    """What marks a comment, with the space before it; None for other lines."""
    compiled = re.compile(pattern)

    def of(line):
        found = compiled.match(line)
        return found.group(0) if found else None

    return of


_slashes = _mark(r"\s*(?:///?<?|//!)(?=\s|$)")
_hash = _mark(r"\s*#(?=\s|$)")


_goes_into = re.compile(r"\{\s*$|:\s*$|^\s*#")


def _moved(text, is_cmake):
    """With comments behind code above it where the line is longer than code may be."""
    while True:
        lines = text.split("\n")
        starts, n = [], 0
        for line in lines:
            starts.append(n)
            n += len(line) + 1
        at = 0
        bare = list(text)
        for begin, end, _ in comments_of(text, is_cmake):
            bare[begin:end] = ["\n" if c == "\n" else " " for c in text[begin:end]]
        bare = "".join(bare).split("\n")
        for begin, end, is_block in comments_of(text, is_cmake):
            while at + 1 < len(lines) and starts[at + 1] <= begin:
                at += 1
            code = lines[at][: begin - starts[at]].rstrip()
            line = lines[at]
            if len(line) <= CODE_COLUMNS or not code.strip() or end != starts[at] + len(line):
                continue
            last = at + 1  # lines that go on with it, in its column
            column = begin - starts[at]
            while not is_block and last < len(lines) and lines[last][:column].strip() == "" and lines[last][column:column + 2] == "//":
                last += 1
            first = at  # of its statement
            while first and re.search(r"[^\s;{}:,>)\\]$", bare[first - 1].rstrip()) and not bare[first - 1].lstrip().startswith("#"):
                first -= 1
            words = [line[column:], *(other.strip() for other in lines[last - (last - at - 1):last])]
            indent = re.match(r"\s*", lines[first]).group(0)
            if is_block:
                above = [indent + line[column:]]
            else:
                mark = "#" if is_cmake else ("///" if line[column:].startswith("///") else "//")
                said = " ".join(re.sub(r"^(?:///?<?|#)\s?", "", w) for w in words)
                if _goes_into.search(code) and not is_cmake and code.strip() != "":
                    inside = indent + "    "
                    lines[at:last] = [code, *_filled(said, inside + mark + " ", inside + mark + " ", COLUMNS)]
                    break
                above = _filled(said, indent + mark + " ", indent + mark + " ", COLUMNS)
            lines[at:last] = [code]
            lines[first:first] = above
            break
        else:
            return text
        text = "\n".join(lines)


def _blocks(text):
    """With the lines of /* … */ that begin with * refilled, and a comment of one line cut into several."""
    out, at = [], 0
    for begin, end, is_block in comments_of(text, False):
        if not is_block:
            continue
        head = text.rfind("\n", 0, begin) + 1
        tail = text.find("\n", end)
        tail = len(text) if tail < 0 else tail
        indent = text[head:begin]
        if indent.strip() or text[end:tail].strip() or head < at:
            continue  # beside code, or in a macro
        lines = text[begin:end].split("\n")
        rule = re.fullmatch(r"(/\* -{3,} .*? )-{3,} \*/", text[begin:end])
        if rule and len(indent + lines[0]) > COLUMNS:
            out += [text[at:begin], rule.group(1).ljust(COLUMNS - len(indent) - 3, "-"), " */"]
            at = end
            continue
        if max(len(indent + line) if i == 0 else len(line) for i, line in enumerate(lines)) <= COLUMNS:
            continue
        bodies = [lines[0][2:], *(re.sub(r"^\s*\*(?!/)", "", line) for line in lines[1:])]
        if any(b and not b.startswith(" ") for b in bodies):
            continue
        bodies[-1] = bodies[-1].removesuffix("*/").rstrip()
        bodies = [b[1:] for b in bodies]
        closes_alone = not bodies[-1].strip() and len(bodies) > 1
        if closes_alone:
            bodies.pop()
        width = COLUMNS - len(indent) - 3
        new = refilled(bodies, width)
        if not closes_alone and len(new[-1]) + 3 > width:  # the last line has to have room for the end
            new = refilled(bodies, width - 3)
        if closes_alone or len(new[-1]) + 3 > width:
            new.append("*/")
            closes_alone = True
        else:
            new[-1] += " */"
        marked = [indent + "/* " + new[0], *((indent + " * " + n).rstrip() for n in new[1:])]
        if closes_alone:
            marked[-1] = indent + " */"
        out += [text[at:head], "\n".join(marked)]
        at = end
    return "".join([*out, text[at:]])


def refill(text, is_cmake):
    text = _moved(text, is_cmake)
    if not is_cmake:
        text = _blocks(text)
    lines, flags = _whole_line_flags(text, is_cmake)
    return "\n".join(_paragraphs(lines, flags, _hash if is_cmake else _slashes))


def main(arguments):
    check = arguments[:1] == ["--check"]
    changed = failed = 0
    for name in arguments[check:]:
        path = Path(name)
        text = path.read_text(encoding="utf-8")
        is_cmake = path.name == "CMakeLists.txt" or ".cmake" in path.suffixes
        new = refill(text, is_cmake)
        if new == text:
            continue
        if without_comments(new, is_cmake) != without_comments(text, is_cmake):
            print(f"{name}: would change more than comments, and stays as it is")
            failed += 1
            continue
        changed += 1
        if check:
            old, now = text.split("\n"), new.split("\n")
            at = next((i for i, (a, b) in enumerate(zip(old, now)) if a != b), min(len(old), len(now)))
            print(f"{name}:{at + 1}: comments are at most {COLUMNS} columns wide")
        else:
            path.write_text(new, encoding="utf-8")
    print(f"comments: {changed} of {len(arguments) - check} files {'differ' if check else 'changed'}")
    return 1 if failed or (check and changed) else 0


sys.exit(main(sys.argv[1:]))
