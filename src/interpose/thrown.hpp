#pragma once

#include <cxxabi.h>

#include <exception>

namespace unisono::interpose {

/// What the program's own code has thrown, in whose calls the MPI library calls its error handlers.
/// No std::exception, so that nobody takes it for one of Unisono's on its way to the program.
struct ThrownByProgram {
    std::exception_ptr exception;
};

/// For calls in which code of the program's may run.
template <class Call>
auto calling_the_program(Call const& call) {
    try {
        return call();
    } catch (abi::__forced_unwind const&) {  // the thread is cancelled
        throw;
    } catch (...) {
        throw ThrownByProgram{std::current_exception()};
    }
}

}  // namespace unisono::interpose
