#include "interpose/finalize.hpp"

#include <atomic>
#include <deque>

#include "interpose/context.hpp"
#include "interpose/errors.hpp"
#include "interpose/in_call.hpp"
#include "interpose/messages.hpp"
#include "interpose/open_files.hpp"

namespace unisono::interpose {
namespace {

void write_out(File& file) {
    auto const verdict = file.settle();
    if (file.context().rank() != 0) return;
    print_once({"unisono: " + file.path() + " was open when MPI_Finalize was called; " +
                (verdict.code == 0 ? "what was in memory is written now"
                                   : "what was in memory is lost: " + describe(verdict)) +
                ". Close files with MPI_File_close."});
}

}  // namespace

int before_finalize() {
    static std::atomic<bool> begun = false;
    if (begun.exchange(true)) return MPI_SUCCESS;  // both names come here where a tool wraps one
    auto const files = open_files();
    std::deque<InCall> in_calls;
    File const* at = nullptr;
    try {
        for (auto const& file : files) {
            at = file.get();
            in_calls.emplace_back(*file, unisono_entry_Finalize);
        }
        for (auto const& file : files) file->end_nonblocking();
        for (auto const& file : files)
            if (file->holds_writes()) write_out(*file);
    } catch (CallsDiffer const& differ) {
        print_once({"unisono: MPI_Finalize with " + at->path() + " open: " + differ.what()});
    }
    for (auto const& file : files) file->finish_report("MPI_Finalize was called before");
    end_stall_watch();
    end_contexts();
    return MPI_SUCCESS;
}

void before_free(MPI_Comm comm) {
    for (auto const& file : open_files_on(comm)) {
        file->forget_communicator();
        if (!file->holds_writes()) continue;
        auto const verdict = file->settle_for_later();
        if (verdict.code != 0 && file->context().rank() == 0)
            print_once({"unisono: " + file->path() +
                        ": what was in memory when its communicator was freed is lost: " +
                        describe(verdict)});
    }
}

}  // namespace unisono::interpose
