#!/usr/bin/env bash
# The flags of cmake/Hardening.cmake are in what was built. Run by ctest:  hardened.sh PROGRAM ARCHIVE
set -euo pipefail
readonly program=$1 archive=$2
fail() { echo "$1" >&2; exit 1; }
has() { grep -qE "$2" <<<"$1"; }
header=$(readelf -h "$program")
dynamic=$(readelf -d "$program")
segments=$(readelf -lW "$program")
symbols=$(nm "$archive" 2>/dev/null)
has "$header" 'Type: *DYN' || fail "$program is not position-independent"
has "$dynamic" 'FLAGS_1.*NOW' || fail "$program binds symbols as they are used, so that they stay writable"
has "$segments" GNU_RELRO || fail "$program has no RELRO"
has "$segments" 'GNU_STACK.* RW ' || fail "$program has an executable stack"
has "$symbols" ' U __stack_chk_fail$' || fail "$archive has no stack protector"
has "$symbols" ' U __[a-z]+_chk$' || fail "$archive was not compiled with _FORTIFY_SOURCE"
