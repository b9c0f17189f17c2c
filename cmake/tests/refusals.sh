#!/usr/bin/env bash
# What must not compile, and what the compiler says then. Run by ctest:  refusals.sh INCLUDE…  (in the environment: CXX)
set -euo pipefail
flags=()
for folder in "$@"; do flags+=("-I$folder"); done
failed=0

# says TEXT FLAG…: the source on standard input does not compile, and the first errors have the text.
says() {
  local text=$1 output first
  shift
  if output=$("${CXX:-c++}" -std=c++20 "${flags[@]}" "$@" -fsyntax-only -x c++ - 2>&1); then
    echo "compiled, but should say: $text" >&2
    failed=1
  elif first=$(grep -m 3 -F 'error: ' <<<"$output" || true) && [[ $first != *"$text"* ]]; then
    printf 'does not say: %s\n%s\n' "$text" "$output" >&2
    failed=1
  fi
}
# compiles FLAG…: the source on standard input does compile, or the others would prove nothing.
compiles() {
  "${CXX:-c++}" -std=c++20 "${flags[@]}" "$@" -Wall -Wextra -Werror -fsyntax-only -x c++ - || failed=1
}

readonly rows='#include <detreduce/row_losses.hpp>
std::vector<float> x(6), w(2);
std::vector<double> wide(6);
template <class T> std::vector<T> classes(2);'
readonly half='#include <detreduce/detreduce.hpp>
using detreduce::float16, detreduce::bfloat16;'

for header in detreduce types plan host row_ops row_losses losses transform_reduce; do
  says 'detreduce: needs C++20' -std=c++17 <<<"#include <detreduce/$header.hpp>"
done
for flag in -ffast-math -Ofast -ffinite-math-only; do
  says 'fast-math changes the bits' "$flag" <<<'#include <detreduce/detreduce.hpp>'
done
if [[ $("${CXX:-c++}" -freciprocal-math -dM -E -x c++ /dev/null) == *__RECIPROCAL_MATH__* ]]; then # GCC says so
  says 'fast-math changes the bits' -freciprocal-math <<<'#include <detreduce/detreduce.hpp>'
  says 'fast-math changes the bits' -fno-signed-zeros <<<'#include <detreduce/detreduce.hpp>'
fi

compiles <<<"$half float16 a(2.f), b(0.1), c = float16::from_bits(0x3c00); float f = float(a) + float(bfloat16(1.0)) + float(b) + float(c);"
for type in float16 bfloat16; do
  says deleted <<<"$half $type x{0x3c00};"
  says deleted <<<"$half $type x(2);"
  says deleted <<<"$half $type x[] = {$type(true)};"
  says "$type" <<<"$half $type x = 2.f;"
  says "$type" <<<"$half float f($type x) { return x; }"
done

compiles <<<"$rows float a = detreduce::cross_entropy(x, 2, classes<std::int64_t>), b = detreduce::cross_entropy(x, 2, x), c = detreduce::nll(x, 2, classes<std::int64_t>);"
for type in int unsigned 'long long' 'unsigned char'; do
  says 'targets that are classes must be std::int64_t' <<<"$rows float a = detreduce::cross_entropy(x, 2, classes<$type>);"
  says 'targets that are classes must be std::int64_t' <<<"$rows float a = detreduce::nll(x, 2, classes<$type>);"
done
says 'targets that are probabilities must have the type of x' <<<"$rows float a = detreduce::cross_entropy(x, 2, wide);"
says 'nll has classes for targets' <<<"$rows float a = detreduce::nll(x, 2, x);"

exit "$failed"
