#!/usr/bin/env bash
# Has each folder a README of at most 25 lines, and does what it tells to run, run?
#   readmes.sh NAME=BUILD FOLDER…     NAME: what the READMEs call the folder BUILD, in which all was built
# What stands in a block of sh is run, but the lines that build. Lines that compare (cmp) are part of it.
set -euo pipefail
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly name=${1%%=*} build=${1#*=} most=25
shift
fail() { echo "$1" >&2; exit 1; }
for folder in "$examples"/*/; do
  [[ -s $folder/README.md ]] || fail "$folder has no README.md"
  lines=$(wc -l <"$folder/README.md")
  [[ $lines -le $most ]] || fail "$folder/README.md has $lines lines; allowed are $most"
done
# Open MPI's leave to run as root and with more processes than cores; another MPI needs none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in "$@"; do
  commands=$(sed -n '/^```sh$/,/^```$/p' "$examples/$folder/README.md" | grep -vE '^(```|cmake |pip )' || true)
  [[ -n $commands ]] || fail "$folder/README.md tells nothing to run"
  mkdir "$work/$folder"
  ln -s "$build" "$work/$folder/$name"
  ln -s "$examples" "$work/$folder/examples"
  echo "== $folder"
  (cd "$work/$folder" && bash -euxo pipefail -c "$commands") || fail "$folder/README.md: what it tells to run does not run"
done
