#!/usr/bin/env bash
# exported.sh LIBRARY OBJECT: what an object that was compiled with installed headers alone asks of the library, the library must export, or a shared one
# cannot be linked with it.
set -euo pipefail
mapfile -t wanted < <(nm -u "$2" | grep -oE '_ZNK?9detreduce[^ ]*' | sort -u)
((${#wanted[@]})) || { echo "$2 asks for nothing"; exit 1; }
failed=''
for name in "${wanted[@]}"; do
  readelf -sW "$1" 2>/dev/null | awk -v name="$name" '$8 == name && $7 != "UND" && $6 == "DEFAULT" { found = 1 } END { exit !found }' || { echo "not exported: $(c++filt "$name")"; failed=1; }
done
echo "$2: ${#wanted[@]} names"
[[ -z $failed ]]
