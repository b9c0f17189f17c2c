#!/usr/bin/env bash
# Installs the packages of a folder on a machine that has nothing, and uses them as a stranger would:
#   try.sh FOLDER EXAMPLES
# For a fresh Debian 12, as root: a container, or what debootstrap makes. EXAMPLES is examples/ of the sources.
set -euo pipefail
readonly folder=$(realpath "$1") examples=$(realpath "$2")
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "$folder"/libdetreduce0.2_*.deb "$folder"/detreduce_*.deb
[[ $(seq 1 100 | detreduce reduce -) == 5050 ]]
detreduce verify | tail -1
apt-get install -y -qq --no-install-recommends "$folder"/libdetreduce-dev_*.deb g++ cmake make pkg-config
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
c++ -std=c++20 "$examples/first.cpp" -o "$work/first" $(pkg-config --cflags --libs detreduce)
"$work/first"
cc "$examples/c_sum.c" -o "$work/c_sum" $(pkg-config --cflags --libs detreduce)
"$work/c_sum"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(p CXX)\nfind_package(detreduce CONFIG REQUIRED)\nadd_executable(ops "%s")\ntarget_link_libraries(ops PRIVATE detreduce::detreduce)\n' \
  "$examples/ops.cpp" >"$work/CMakeLists.txt"
cmake -S "$work" -B "$work/build" >"$work/log"
cmake --build "$work/build" >>"$work/log"
"$work/build/ops"
apt-get remove -y -qq detreduce libdetreduce-dev libdetreduce0.2
! command -v detreduce
echo "the packages can be installed, used and removed"
