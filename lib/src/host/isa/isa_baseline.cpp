#define DETREDUCE_ISA baseline
#define DETREDUCE_VECTOR_BYTES 16
#include "host/isa/isa.inc"
