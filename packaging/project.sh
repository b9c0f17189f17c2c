#!/usr/bin/env bash
# The recipes have the version and the address of CMakeLists.txt, or read them there. Run by ctest:  project.sh VERSION URL
# URL is empty while the project has no public address. Then those that cannot read it have none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
readonly version=$1 url=$2
fail() { echo "$1 does not have $2" >&2; exit 1; }
has() { # FILE LINE…
  local file=$1 line
  shift
  for line in "$@"; do grep -qxF -- "$line" "$file" || fail "$file" "the line: $line"; done
}
has vcpkg/detreduce/vcpkg.json "  \"version\": \"$version\","
has spack/packages/detreduce/package.py "    version(\"$version\")"
has ../CITATION.cff "version: $version"
for reader in conan/conanfile.py conda/meta.yaml; do
  grep -q 'project..\?(detreduce VERSION' "$reader" || fail "$reader" "a pattern for the version"
  grep -q 'HOMEPAGE_URL "' "$reader" || fail "$reader" "a pattern for the address"
done
if [[ -n $url ]]; then
  has vcpkg/detreduce/vcpkg.json "  \"homepage\": \"$url\","
  has spack/packages/detreduce/package.py "    homepage = \"$url\""
  has ../CITATION.cff "repository-code: \"$url\""
  has ../pyproject.toml "Homepage = \"$url\"" '[project.urls]'
elif grep -nE '"homepage"|^ *homepage = "|^repository-code:|^Homepage' vcpkg/detreduce/vcpkg.json spack/packages/detreduce/package.py ../CITATION.cff ../pyproject.toml; then
  fail CMakeLists.txt "the address that stands there"
fi
