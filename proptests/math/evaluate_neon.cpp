#define DETREDUCE_EVALUATOR neon_evaluator
#define DETREDUCE_NAME "neon"
#include "math/evaluate.inc"
