#!/usr/bin/env bash
# The recipes have the version of CMakeLists.txt, or read it there. Run by ctest:  version.sh VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
readonly version=$1
fail() { echo "$1 does not have version $version" >&2; exit 1; }
grep -qx "  \"version\": \"$version\"," vcpkg/detreduce/vcpkg.json || fail vcpkg.json
grep -qx "    version(\"$version\")" spack/packages/detreduce/package.py || fail package.py
grep -qx "version: $version" ../CITATION.cff || fail CITATION.cff
for reader in conan/conanfile.py conda/meta.yaml; do grep -q 'project..\?(detreduce VERSION' "$reader" || fail "$reader"; done
