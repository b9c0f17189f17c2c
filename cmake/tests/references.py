"""references.py INCLUDE MOST: no comment over a declaration of the public headers has more lines than MOST.

A line of more than 100 columns counts as the lines that it takes at 100. What does not fit belongs into docs/.
"""

import re
import sys
from pathlib import Path

COLUMNS = 100


def comments(lines):
    """(first line, lines) of every comment: of consecutive lines that begin with ///, or from /* to */."""
    at = 0
    while at < len(lines):
        first = at
        if re.match(r"\s*///(?!<)", lines[at]):
            while at < len(lines) and re.match(r"\s*///(?!<)", lines[at]):
                at += 1
            yield first, lines[first:at]
        elif re.match(r"\s*/\*", lines[at]):
            while "*/" not in lines[at]:
                at += 1
            at += 1
            yield first, lines[first:at]
        else:
            at += 1


def main(include, most):
    failed = seen = 0
    for path in sorted(Path(include).rglob("*")):
        if path.suffix not in {".h", ".hpp", ".cuh", ".in"}:
            continue
        for first, lines in comments(path.read_text(encoding="utf-8").splitlines()):
            taken = sum(max(1, -(-len(line) // COLUMNS)) for line in lines)
            seen += 1
            if taken > most:
                print(f"{path}:{first + 1}: a comment of {taken} lines; allowed are {most}, the rest belongs into docs/")
                failed += 1
    print(f"{seen} comments, {failed} of more than {most} lines")
    return 1 if failed or not seen else 0


sys.exit(main(sys.argv[1], int(sys.argv[2])))
