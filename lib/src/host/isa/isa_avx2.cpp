#define DETREDUCE_ISA avx2
#define DETREDUCE_VECTOR_BYTES 32
#include "host/isa/isa.inc"
