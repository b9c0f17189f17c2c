"""abi.py LIST INCLUDE [--write] (in the environment: CC): what programs in C were compiled with is what lib/abi.txt lists.

A C program, made from the parts of detreduce.h and of losses.h, prints the size and alignment of every public struct, the offset and
size of each of its fields, and the value of every enumerator. Of a processor with 64-bit pointers.
"""

import os
import re
import subprocess
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

HEADERS = ["c/words.h", "c/plans.h", "c/calls.h"], ["c/losses.h", "c/rows.h", "c/norms.h", "c/distillation.h", "c/clip.h"]


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def structs(text):
    """(name, its fields)"""
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(\w+);", text, flags=re.S):
        fields = []
        for member in filter(str.strip, body.split(";")):
            for part in member.split(","):
                fields.append(re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", part).group(1))
        yield name, fields


def enumerators(text):
    for body in re.findall(r"\benum\s*\{(.*?)\}", text, flags=re.S):
        yield from (re.match(r"\s*(\w+)", part).group(1) for part in body.split(",") if part.strip())


def program(include):
    lines = [f"#include <detreduce/{h}.h>" for h in ("losses", "detreduce")] + ["#include <stdio.h>", "int main(void) {"]
    for parts in HEADERS:
        text = without_comments("".join((Path(include) / "detreduce" / part).read_text(encoding="utf-8") for part in parts))
        for name, fields in structs(text):
            lines.append(f'printf("{name} %zu, aligned to %zu\\n", sizeof({name}), _Alignof({name}));')
            lines += [f'printf("  {f} at %zu, %zu\\n", offsetof({name}, {f}), sizeof((({name}*)0)->{f}));' for f in fields]
        lines += [f'printf("{e} = %lld\\n", (long long){e});' for e in enumerators(text)]
    return "\n".join([*lines, "return 0; }", ""])


def main(target, include, write):
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "abi.c", Path(folder) / "abi"
        source.write_text(program(include), encoding="utf-8")
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-I", include, str(source), "-o", str(binary)], check=True)
        found = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    if found.count("\n") < 100:
        sys.exit("abi: hardly any struct was found in the headers")
    if write:
        Path(target).write_text(found, encoding="utf-8")
        return
    was = Path(target).read_text(encoding="utf-8")
    if was != found:
        sys.stdout.writelines(unified_diff(was.splitlines(True), found.splitlines(True), "lib/abi.txt", "the headers"))
        sys.exit("abi: programs that were compiled with the headers of before would break, unless only lines were added.\n"
                 "If that is meant: python3 cmake/tests/abi.py lib/abi.txt lib/include --write")


main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["--write"])
