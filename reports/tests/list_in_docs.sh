#!/usr/bin/env bash
# The table of docs/guarantees.md is what the program says. Run by ctest:  list_in_docs.sh [--write] PROGRAM FILE
set -euo pipefail
write=
if [[ $1 == --write ]]; then write=1; shift; fi
readonly program=$1 file=$2 begin='<!-- matrix: begin -->' end='<!-- matrix: end -->'
[[ $(grep -cxF -e "$begin" -e "$end" "$file") == 2 ]] || { echo "$file: '$begin' and '$end' must each be there once" >&2; exit 1; }
table=$("$program" list --markdown)
new=$(TABLE=$table awk -v begin="$begin" -v end="$end" '$0 == end { inside = 0 } !inside { print } $0 == begin { inside = 1; print "\n" ENVIRON["TABLE"] "\n" }' "$file")
if [[ -n $write ]]; then
  printf '%s\n' "$new" >"$file"
else
  diff "$file" - <<<"$new" || { echo "$file is not what the program says; $0 --write $program $file writes it anew" >&2; exit 1; }
fi
