// A source file as no pure part may have one: unisono_check_purity() compiles it for each part and
// expects that mpi.h is not found.
#include <mpi.h>
