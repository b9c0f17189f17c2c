#include <arm_neon.h>

#define DETREDUCE_ISA neon
#define DETREDUCE_ISA_IS_NEON // baseline has the same registers, but none of their instructions by name
#define DETREDUCE_VECTOR_BYTES 16
#include "host/isa/isa.inc"
