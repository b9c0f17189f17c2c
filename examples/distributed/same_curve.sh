#!/usr/bin/env bash
# Is the curve that N processes train the same, byte for byte, for N = 1, 2, 3 and 4, each time with
# other micro-batches, dealt out otherwise? And do the curves part where MPI adds up floats?
#   same_curve.sh MPIEXEC DISTRIBUTED TRAINING
set -euo pipefail
mpiexec=$1 distributed=$2 training=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Open MPI's leave to run as root and with more processes than cores; another MPI needs none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
"$training" >"$work/exact0" # of no processes but itself
for ranks in 1 2 3 4; do
  deal=(--micro-batches $((ranks * 5)) --deal $ranks)
  "$mpiexec" -n $ranks "$distributed" "${deal[@]}" >"$work/exact$ranks"
  cmp "$work/exact$ranks" "$work/exact0" || { echo "$ranks processes: another curve" >&2; exit 1; }
  "$mpiexec" -n $ranks "$distributed" "${deal[@]}" --method float >"$work/float$ranks"
  echo "$ranks processes: exact $(tail -n 1 "$work/exact$ranks"), float $(tail -n 1 "$work/float$ranks")"
done
curves=$(tail -qn 1 "$work"/float? | sort -u | wc -l)
[[ $curves -gt 1 ]] || { echo "sums of floats do not part: is this a comparison?" >&2; exit 1; }
echo "exact: 1 curve, that of $(basename "$training"); float: $curves curves"
