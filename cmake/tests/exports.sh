#!/usr/bin/env bash
# What a shared detreduce shows is what lib/exports.txt lists. Run by ctest:  exports.sh ARCHIVE LIST [--write]  (in the environment: CXX). The shared library is
# linked from the objects of the static one, which are the same (lib/CMakeLists.txt). Inline functions, which every user has a copy of, are not counted.
set -euo pipefail
readonly archive=$1 list=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CXX:-c++}" -shared -o "$work/detreduce.so" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -pthread
nm -D --defined-only -C "$work/detreduce.so" | sed -nE 's/^[0-9a-f]+ [TDBR] //p' | LC_ALL=C sort -u >"$work/exports.txt"
[[ -s $work/exports.txt ]] || { echo "no symbols were found" >&2; exit 1; }
if [[ ${3:-} == --write ]]; then
  cp "$work/exports.txt" "$list"
elif ! diff -u "$list" "$work/exports.txt"; then
  echo "lib/exports.txt (-) and the library (+) differ. If that is meant: cmake/tests/exports.sh ARCHIVE lib/exports.txt --write" >&2
  exit 1
fi
