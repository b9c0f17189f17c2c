#!/usr/bin/env bash
# Are the curves of training programs (the CPU's, the GPU's) the same, byte for byte, for 1, 2, 3 and 4 micro-batches and 1 and 3 threads?
#   same_curve.sh PROGRAM…
# A program without a GPU says so and is left out. That the loss fell, and that the model is good, each program checks by itself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in "$@"; do
  for micro_batches in 1 2 3 4; do
    for threads in 1 3; do
      status=0
      "$program" --micro-batches $micro_batches --threads $threads >"$work/curve" || status=$?
      if [[ $status == 77 ]]; then
        cat "$work/curve"
        continue 3
      fi
      [[ $status == 0 ]] || { echo "$program ended with $status" >&2; exit 1; }
      [[ -e $work/first ]] || cp "$work/curve" "$work/first"
      cmp "$work/curve" "$work/first" || { echo "$program: another curve with $micro_batches micro-batches and $threads threads" >&2; exit 1; }
    done
  done
  echo "$program: the same bits each time"
done
if [[ -e $work/first ]]; then tail -n 2 "$work/first"; fi
