// Generators at the level of bits, in one include:
//
//     property("…", [] {
//         const Values<float> xs = *values<float>(no_overflow<float>);                  // lengths around tree's boundaries
//         const Values<float> ys = *values<float>(any_bits<float>, {0, 1, 2, 100});          // lengths around these
//         const double x = *value<double>(finite_bits<double>);
//         …
//     });
//
// As plain arguments of a property, Value<T> and Values<T> have the scope `any_bits`.
#pragma once

#include <support/numbers.hpp>
#include <support/vectors.hpp>
