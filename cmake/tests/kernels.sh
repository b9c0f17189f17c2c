#!/usr/bin/env bash
# kernels.sh KERNELS MOST_KERNELS MOST_LINES: how large the CUDA backend is, and where what is NVIDIA's stands. The ladder, which shows kernels of the literature, is left out.
set -euo pipefail
cd "$1"
mapfile -t files < <(find . \( -name '*.cu' -o -name '*.cuh' -o -name '*.hpp' -o -name '*.cpp' \) -not -path './ladder/*' | sort)
code() { sed -E 's,[[:space:]]*//.*,,' "$@"; } # without comments
failed=''

kernels=$(code "${files[@]}" | grep -c '__global__')
lines=$(code "${files[@]}" | grep -c '[^[:space:]]')
echo "$kernels kernels (at most $2), $lines lines of code (at most $3), in ${#files[@]} files"
((kernels <= $2 && lines <= $3)) || failed=1

for file in "${files[@]}"; do
  [[ $file == ./platform/* ]] && continue
  if found=$(code "$file" | grep -nE '\basm\b|__(shfl|ballot|any_sync|all_sync|reduce_|match_|syncwarp|ldg|ldc|nanosleep|threadfence)|cooperative_groups|cudaLaunch|cudaGridDependency|cudaTriggerProgrammatic'); then
    echo "$file: belongs into kernels/platform: $found"
    failed=1
  fi
done
[[ -z $failed ]]
