#pragma once

#include <mpi.h>

#include <exception>
#include <string_view>
#include <utility>

#include "interpose/mail_carrier.hpp"
#include "interpose/thrown.hpp"
#include "support/helper_threads.hpp"

namespace unisono::interpose {

class File;

/// An entry point of the engine.
struct EntryPoint {
    char const* name;
    bool collective;  ///< all ranks of a file call it together
};

constexpr EntryPoint entry_point(char const* name) {
    std::string_view const call{name};
    auto collective = call.starts_with("MPI_File_") &&
                      (call.find("_all") != call.npos || call.find("_ordered") != call.npos);
    for (auto const* end : {"_open", "_close", "_set_view", "_set_info", "_set_atomicity",
                            "_set_size", "_sync", "_preallocate", "_seek_shared", "_Finalize"})
        collective = collective || call.ends_with(end);
    return {name, collective};
}

/// Where a call belongs, as far as its first argument tells.
struct CallPlace {
    MPI_File file = MPI_FILE_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
};
inline CallPlace place_of(MPI_File file) { return {.file = file}; }
inline CallPlace place_of(MPI_File const* file) { return {.file = *file}; }
inline CallPlace place_of(MPI_Comm comm) { return {.comm = comm}; }
template <class Other>
CallPlace place_of(Other const&) {
    return {};
}
inline CallPlace place_of_call() { return {}; }
template <class First, class... Rest>
CallPlace place_of_call(First const& first, Rest const&...) {
    return place_of(first);
}

/// What a call returns that an exception has ended: an MPI error, which the file's handler has
/// seen. In a collective call the other ranks wait for what this one has left undone, and cannot be
/// told: there it says so and ends the program by MPI_Abort.
int end_by_exception(EntryPoint const& entry, CallPlace const& place,
                     std::exception const& exception);

/// The end of the program, with a line, and by MPI_Abort where this thread may call MPI: this rank
/// was in the middle of a collective call, where others wait for it. `file` may be null.
[[noreturn]] void end_in_collective_call(char const* call, File const* file, MPI_Comm comm,
                                         std::exception const& exception);

/// This thread's calls of entry points that have not returned. The MPI library may call its own
/// functions by names that are Unisono's, too.
class CallDepth {
public:
    CallDepth() { ++depth; }
    ~CallDepth() { --depth; }
    CallDepth(CallDepth const&) = delete;
    CallDepth& operator=(CallDepth const&) = delete;
    /// Whether it is the program that calls, of what calls there are now: neither a helper thread
    /// nor the MPI library.
    [[nodiscard]] static bool is_programs() { return depth == 1 && !HelperThreads::is_one(); }

    /// While it lives the program's error handler runs: what it calls is the program's again.
    class Handler {
    public:
        Handler() : outside_{std::exchange(depth, 0)} {}
        ~Handler() { depth = outside_; }
        Handler(Handler const&) = delete;
        Handler& operator=(Handler const&) = delete;

    private:
        int outside_;
    };

private:
    inline static thread_local int depth = 0;
};

/// `function` for callers in C and Fortran, whom no exception of Unisono's may reach.
template <auto function, EntryPoint const& entry>
struct Guarded;

template <class... Arguments, int (*function)(Arguments...), EntryPoint const& entry>
struct Guarded<function, entry> {
    static int call(Arguments... arguments) {
        CallDepth const depth;
        try {
            return call_or_fail(arguments...);
        } catch (ThrownByProgram const& thrown) {
            std::rethrow_exception(thrown.exception);
        }
    }

private:
    static int call_or_fail(Arguments... arguments) {
        try {
            if (MailCarrier::any() && CallDepth::is_programs()) MailCarrier::carry_all();
            return function(arguments...);
        } catch (std::exception const& exception) {
            return end_by_exception(entry, place_of_call(arguments...), exception);
        }
    }
};

}  // namespace unisono::interpose
