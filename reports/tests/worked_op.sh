#!/usr/bin/env bash
# Do the patches of CONTRIBUTING.md, the worked op, still apply? Run by ctest:  worked_op.sh ROOT
set -euo pipefail
cd "$1"
patch=$(sed -n '/^```diff$/,/^```$/{/^```/!p}' CONTRIBUTING.md)
[[ -n $patch ]] || { echo "CONTRIBUTING.md has no block of diff" >&2; exit 1; }
git apply --check - <<<"$patch" || { echo "CONTRIBUTING.md: its worked op does not fit the sources any more" >&2; exit 1; }
echo "it applies"
