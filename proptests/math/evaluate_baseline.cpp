#define DETREDUCE_EVALUATOR baseline_evaluator
#define DETREDUCE_NAME "baseline"
#include "math/evaluate.inc"
