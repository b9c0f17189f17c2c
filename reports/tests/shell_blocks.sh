#!/usr/bin/env bash
# Does what a page shows of the program run? Every line of its blocks of bash does, on small files with the names that the page uses.
#   shell_blocks.sh PROGRAM PAGE MPIEXEC      MPIEXEC: empty where the program has no MPI
# Lines for a GPU are left out where there is none, and for MPI where the program has none; it says which.
set -euo pipefail
readonly program=$1 mpiexec=$3
page=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$(realpath "$program")" "$work/bin/detreduce"
if [[ -n $mpiexec ]]; then ln -s "$(realpath "$mpiexec")" "$work/bin/mpiexec"; fi
export PATH="$work/bin:$PATH"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_btl_vader_single_copy_mechanism=none
cd "$work"

# npy FILE DESCR SHAPE: an .npy of version 1.0 with the bytes of standard input behind its header
npy() {
  local header="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >"$1" # 10 + 118 bytes
  cat >>"$1"
}
eight() { printf '\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40\0\0\xc0\x40\0\0\xe0\x40\0\0\0\x41'; } # f32: 1 to 8
for name in data gradient y target half1 half2 part1 part2 part3 part4 loss; do eight | npy $name.npy '<f4' 8,; done
eight | npy matrix.npy '<f4' '2, 4'
for label in 0 0 0 1 1 2 2 2; do printf "\\x0$label\\0\\0\\0\\0\\0\\0\\0"; done | npy labels.npy '<i8' 8,
eight >data.bin
eight | gzip >huge.bin.gz
printf '0\n3\n8\n' >o.txt
printf 'day,close\n1,10.5\n2,11.25\n' >prices.csv
python3 -m zipfile -c run.npz loss.npy

gpus=0
if detreduce devices | grep -q "^cuda:"; then gpus=1; fi
ran=0
while IFS= read -r line; do
  if [[ $line == *'--device cuda'* && $gpus == 0 ]]; then
    echo "not run, as there is no GPU: $line"
  elif [[ $line == mpiexec* && -z $mpiexec ]]; then
    echo "not run, as there is no MPI: $line"
  else
    bash -euo pipefail -c "$line" >out 2>err </dev/null || { echo "$page: does not run: $line" >&2; cat err >&2; exit 1; }
    [[ -s out || $line == *--save-state* ]] || { echo "$page: prints nothing: $line" >&2; exit 1; }
    ran=$((ran + 1))
  fi
done < <(sed -n '/^~~~~bash$/,/^~~~~$/p' "$page" | grep -v '^~~~~')
((ran > 0)) || { echo "$page has no lines of bash" >&2; exit 1; }
echo "$ran lines ran"
