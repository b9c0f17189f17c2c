#define DETREDUCE_EVALUATOR avx2_evaluator
#define DETREDUCE_NAME "avx2"
#include "math/evaluate.inc"
