#include "strategies/all.hpp"

namespace unisono {

// Whatever the program's MPI library does: ROMIO in MPICH, OMPIO in Open MPI.
constinit Strategy const native{
    .name = "native",
    .summary = "the MPI library's own collective I/O",
    .source = "ROMIO, OMPIO",
    .unfit = [](Facts const&) { return std::string_view{}; },
    .plan = [](Facts const&, Options const&) { return Plan{.way = Plan::Way::native}; },
};

}  // namespace unisono
