#include "interpose/finalize.hpp"

#include <atomic>
#include <deque>
#include <string>

#include "interpose/errors.hpp"
#include "interpose/file.hpp"
#include "interpose/guard.hpp"
#include "interpose/in_call.hpp"
#include "interpose/messages.hpp"

namespace unisono::interpose {
namespace {

void write_out(File& file, char const* why) {
    auto const verdict = file.settle();
    if (file.context().rank() != 0) return;
    print_once({"unisono: " + file.path() + " was open when " + why + "; " +
                (verdict.code == 0 ? "what was in memory is written now"
                                   : "what was in memory is lost: " + describe(verdict)) +
                ". Close files with MPI_File_close."});
}

// MPI frees MPI_COMM_SELF before anything else of MPI_Finalize, and calls this then.
int at_finalize(MPI_Comm, int, void*, void*) {
    {
        auto const files = open_files();
        std::deque<InCall> in_calls;
        for (auto const& file : files) in_calls.emplace_back(*file, operation_finalize);
        for (auto const& file : files) file->end_nonblocking();
        write_what_is_in_memory("MPI_Finalize was called");
        for (auto const& file : files) file->finish_report("MPI_Finalize was called before");
    }
    end_stall_watch();
    return MPI_SUCCESS;
}

constexpr EntryPoint finalize{.name = "MPI_Finalize", .collective = true};

}  // namespace

void watch_finalize() {
    static std::atomic<bool> watched = false;
    int initialised = 0;
    if (watched) return;
    PMPI_Initialized(&initialised);
    if (initialised == 0 || watched.exchange(true)) return;
    int key = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, Guarded<at_finalize, finalize>::call, &key,
                            nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

void write_what_is_in_memory(char const* why, MPI_Comm comm) {
    for (auto const& file : open_files())
        if ((comm == MPI_COMM_NULL || comm == file->opened_on()) && file->holds_writes())
            write_out(*file, why);
}

}  // namespace unisono::interpose
