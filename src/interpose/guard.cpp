#include "interpose/guard.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "interpose/errors.hpp"
#include "interpose/messages.hpp"
#include "interpose/open_files.hpp"
#include "interpose/world.hpp"
#include "support/text.hpp"

namespace unisono::interpose {
namespace {

// The class alone where there is no memory for a message.
int code_with_message(int error_class, EntryPoint const& entry, char const* why) {
    try {
        return error_code(error_class, std::string{entry.name} + ": " + why);
    } catch (std::bad_alloc const&) {
        return error_class;
    }
}

// All ranks come here at once.
int refuse_different_calls(EntryPoint const& entry, MPI_File handle, CallsDiffer const& differ) {
    auto const file = find(handle);
    if (file == nullptr)
        return raise(handle, code_with_message(MPI_ERR_NOT_SAME, entry, differ.what()));
    file->team().stop_deposits();
    auto const why = describe(differ, file->team());
    if (file->context().rank() == 0)
        print_once({"unisono: " + std::string{entry.name} + " on " + file->path() + ": " + why});
    return fail(*file, MPI_ERR_NOT_SAME, entry.name, why);
}

[[noreturn]] void end_program(MPI_Comm comm, int error_class) {
    if (comm == MPI_COMM_NULL && world_is_there()) comm = MPI_COMM_WORLD;
    if (comm != MPI_COMM_NULL) PMPI_Abort(comm, error_class);
    std::abort();
}

struct Failure {
    int error_class;
    char const* why;
};

Failure failure_of(std::exception const& exception) {
    if (dynamic_cast<std::bad_alloc const*>(&exception) != nullptr)
        return {MPI_ERR_NO_MEM, "there is no memory left"};
    return {MPI_ERR_INTERN, exception.what()};
}

void say_without_memory(char const* call, char const* file, char const* why, int rank) {
    if (!has_standard_error()) return;
    std::array<char, PATH_MAX + 512> line;
    auto const wanted = std::snprintf(
        line.data(), line.size(),
        "unisono: %s on %s: %s on rank %d, in the middle of a collective call: the program ends\n",
        call, file, why, rank);
    if (wanted < 0) return;
    auto const length = std::min(static_cast<std::size_t>(wanted), line.size() - 1);
    std::fwrite(line.data(), 1, make_visible({line.data(), length}), stderr);
}

}  // namespace

void end_in_collective_call(char const* call, File const* file, MPI_Comm comm,
                            std::exception const& exception) {
    auto const [error_class, why] = failure_of(exception);
    int rank = 0;
    if (file != nullptr)
        rank = file->context().rank();
    else if (comm != MPI_COMM_NULL)
        PMPI_Comm_rank(comm, &rank);
    say_without_memory(call, file == nullptr ? "a file" : file->path().c_str(), why, rank);
    // The program's own thread may be in MPI: the launcher ends the others.
    if (HelperThreads::is_one() && !(file != nullptr && file->context().helpers_may_call_mpi()))
        std::abort();
    end_program(file == nullptr ? comm : file->context().comm(), error_class);
}

int end_by_exception(EntryPoint const& entry, CallPlace const& place,
                     std::exception const& exception) {
    if (auto const* const differ = dynamic_cast<CallsDiffer const*>(&exception))
        return refuse_different_calls(entry, place.file, *differ);
    auto const [error_class, why] = failure_of(exception);
    if (!entry.collective) return raise(place.file, code_with_message(error_class, entry, why));
    end_in_collective_call(entry.name, find(place.file).get(), place.comm, exception);
}

}  // namespace unisono::interpose
