#define DETREDUCE_EVALUATOR avx512_evaluator
#define DETREDUCE_NAME "avx512"
#include "math/evaluate.inc"
