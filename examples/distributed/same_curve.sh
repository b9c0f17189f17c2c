#!/usr/bin/env bash
# Is the curve that N ranks train the same, byte for byte, for each N, each time with other
# micro-batches, dealt out otherwise? And do the curves part where floats are added up?
#   same_curve.sh TRAINING RANKS COMMAND…    RANKS: "1 2 3 4", say; the word N of COMMAND is their number
# Exit: 77 if COMMAND skips the first of them; at the first that it skips later the rest is left out.
set -euo pipefail
training=$1 all_ranks=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Open MPI's leave to run as root and with more processes than cores; another MPI needs none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
"$training" >"$work/exact0" # of no processes but itself
run() { # RANKS OUT ARG…
  local out=$2 words=() word
  for word in "${command[@]}"; do
    if [[ $word == N ]]; then words+=("$1"); else words+=("$word"); fi
  done
  shift 2
  "${words[@]}" "$@" >"$out"
}
command=("$@") times=0
for ranks in $all_ranks; do
  deal=(--micro-batches $((ranks * 5)) --deal "$ranks") status=0
  run "$ranks" "$work/exact$ranks" "${deal[@]}" || status=$?
  if [[ $status == 77 ]]; then
    cat "$work/exact$ranks"
    if ((times == 0)); then exit 77; fi
    break
  fi
  ((status == 0)) || exit "$status"
  cmp "$work/exact$ranks" "$work/exact0" || { echo "$ranks ranks: another curve" >&2; exit 1; }
  run "$ranks" "$work/float$ranks" "${deal[@]}" --method float
  echo "$ranks ranks: exact $(tail -n 1 "$work/exact$ranks"), float $(tail -n 1 "$work/float$ranks")"
  ((++times))
done
curves=$(tail -qn 1 "$work"/float? | sort -u | wc -l)
[[ $curves -gt 1 || $times == 1 ]] || { echo "sums of floats do not part: is this a comparison?" >&2; exit 1; }
echo "exact: 1 curve, that of $(basename "$training"); float: $curves curves"
