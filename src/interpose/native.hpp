#pragma once

#include <mpi.h>

#include <array>

#include "interpose/entry_points.h"
#include "interpose/own_communicator.hpp"
#include "interpose/thrown.hpp"

namespace unisono::interpose {

/// The functions of the MPI library (or of the next tool in the chain), by unisono_entry_*.
extern std::array<unisono_function, unisono_entry_count> native_functions;

/// Whether the program has made a datatype whose stride or extent is negative; null: not known.
extern int const* made_backwards;

/// One of them, with its own type.
template <class Function>
class Native;

template <class... Arguments>
class Native<int (*)(Arguments...)> {
public:
    explicit Native(unisono_function function)
        : function_{reinterpret_cast<int (*)(Arguments...)>(function)} {}
    int operator()(Arguments... arguments) const {
        return calling_the_program([&] { return function_(arguments...); });
    }

private:
    int (*function_)(Arguments...);
};

}  // namespace unisono::interpose

/// The native function of an entry point: UNISONO_NATIVE(File_open)(comm, ...). Names no symbol of
/// the MPI library.
#define UNISONO_NATIVE(name)                               \
    (::unisono::interpose::Native<decltype(&PMPI_##name)>{ \
        ::unisono::interpose::native_functions[unisono_entry_##name]})

namespace unisono::interpose {

/// Whether the MPI library has done with a request of Unisono's own on `comm`; then it is null.
inline bool is_over(MPI_Request& request, MPI_Comm comm) {
    int over = 0;
    require_success(UNISONO_NATIVE(Test)(&request, &over, MPI_STATUS_IGNORE), comm);
    return over != 0;
}

}  // namespace unisono::interpose
