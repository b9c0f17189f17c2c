#!/usr/bin/env bash
# comments.sh COMMENTS_PY: what .ci/comments.py does to comments that are too wide, and what it leaves alone.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/a.hpp" <<'TEXT'
// One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen x = y + z.
/// Adds.
///
/// formula      the sum of all elements, each of which is multiplied by its weight, rounded once to the output 2 − 3
/// errors       none
/// - a list whose item is as long as this one is, and which therefore has to go on in a second line below it
///     int code(of, an, example) { stays = as + it + is; } // however wide it may be, since nobody can break it
const char* s = "// no comment, however long this string may be: nothing of it is ever touched by a tool that refills";
// ---- A title ---------------------------------------------------------------------------------------------------
struct A {
    int first_of_two_fields_with_a_long_name =
        0; ///< what makes the line longer than 120 columns goes above the statement that it belongs to, in full, right here
    /* A block that is wider than a hundred columns, and which has to be cut into lines that begin with a star. */
    int b; // short
};
TEXT
cat >"$work/expected" <<'TEXT'
// One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
// x = y + z.
/// Adds.
///
/// formula      the sum of all elements, each of which is multiplied by its weight, rounded once to
///              the output 2 − 3
/// errors       none
/// - a list whose item is as long as this one is, and which therefore has to go on in a second line
///   below it
///     int code(of, an, example) { stays = as + it + is; } // however wide it may be, since nobody can break it
const char* s = "// no comment, however long this string may be: nothing of it is ever touched by a tool that refills";
// ---- A title ------------------------------------------------------------------------------------
struct A {
    /// what makes the line longer than 120 columns goes above the statement that it belongs to, in
    /// full, right here
    int first_of_two_fields_with_a_long_name =
        0;
    /* A block that is wider than a hundred columns, and which has to be cut into lines that begin
     * with a star. */
    int b; // short
};
TEXT
if python3 -B "$1" --check "$work/a.hpp" >"$work/log"; then echo "--check says nothing of lines that are too wide" >&2; exit 1; fi
grep -q 'a.hpp:1: comments are at most 100 columns wide' "$work/log"
python3 -B "$1" "$work/a.hpp" >>"$work/log"
diff -u "$work/expected" "$work/a.hpp"
python3 -B "$1" --check "$work/a.hpp" >>"$work/log"
