#!/usr/bin/env bash
# Builds detreduce_machine_bits for another processor or by another compiler, and compares what it says with what this build's own says. Run by ctest:
#     compare.sh aarch64|clang SOURCE WORK OURS          (in the environment: CMAKE, and LAUNCHER, a compiler launcher, if any)
# 77: what that needs is not installed.
set -euo pipefail
readonly machine=$1 source=$2 work=$3 ours=$4
cmake=${CMAKE:-cmake}

needs() { # COMMAND PACKAGE
  command -v "$1" >/dev/null && return
  echo "SKIPPED: nothing is known of $machine, as there is no $1 here (Debian: apt install $2)"
  exit 77
}

case $machine in
  aarch64)
    needs aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
    needs qemu-aarch64 qemu-user
    how=(--toolchain "$source/cmake/aarch64-linux-gnu.cmake")
    run=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
    ;;
  clang)
    needs clang++ clang
    how=(-DCMAKE_CXX_COMPILER=clang++)
    run=()
    ;;
  *)
    echo "no machine '$machine'" >&2
    exit 2
    ;;
esac

rm -rf "$work"
mkdir -p "$work"
"$ours" >"$work/ours.txt" &
mine=$!
env -u CXXFLAGS -u LDFLAGS "$cmake" -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" \
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER:-}" -DDETREDUCE_CUDA=OFF -DDETREDUCE_BUILD_PROGRAM=OFF -DDETREDUCE_BUILD_TESTS=OFF \
  -DDETREDUCE_BUILD_MACHINE_BITS=ON -DDETREDUCE_INSTALL=OFF "${how[@]}" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/build" --target detreduce_machine_bits
"${run[@]}" "$work/build/bin/detreduce_machine_bits" >"$work/theirs.txt"
wait $mine
lines=$(wc -l <"$work/ours.txt")
((lines > 500)) || { echo "only $lines results were compared" >&2; exit 1; }
diff --unified=0 "$work/ours.txt" "$work/theirs.txt" || { echo "$machine gives other bits" >&2; exit 1; }
echo "$machine: $lines lines, all the same"
rm -rf "$work/build"
