#!/usr/bin/env bash
# dev_installs.sh DEV: `./dev` says what it will install before it runs sudo or apt-get, and a check installs nothing.
set -euo pipefail
dev=$1 dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { printf '%s\n' "$1" >&2; exit 1; }
# Nothing is there, and whatever would install it fails, and says that it ran.
printf '#!/bin/sh\nexit 1\n' >"$dir/dpkg-query"
for tool in apt-get sudo; do printf '#!/bin/sh\necho "%s ran" >&2\nexit 1\n' "$tool" >"$dir/$tool"; done
chmod +x "$dir"/*
unset DETREDUCE_NO_INSTALL
export PATH="$dir:$PATH" CXX=false

if said=$("$dev" readme --check 2>&1 </dev/null); then fail "readme --check passed without its packages: $said"; fi
[[ $said == 'dev: missing, by Debian package name: '*libfmt-dev* ]] || fail "readme --check says: $said"
[[ $said != *' ran'* ]] || fail "readme --check installs: $said"

if said=$("$dev" readme 2>&1 </dev/null); then fail "readme passed without its packages: $said"; fi
[[ $said == '==> to install, by '*'apt-get: '*libfmt-dev*' ran'* ]] || fail "readme does not say first what it installs: $said"
