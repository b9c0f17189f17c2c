#define DETREDUCE_ISA avx512
#define DETREDUCE_VECTOR_BYTES 64
#include "host/isa/isa.inc"
