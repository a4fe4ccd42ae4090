#include "interpose/errors.hpp"
#include "interpose/file_calls.hpp"
#include "interpose/hints.hpp"
#include "interpose/lone_rank.hpp"
#include "interpose/messages.hpp"
#include "interpose/native.hpp"
#include "interpose/open_files.hpp"
#include "interpose/program.hpp"
#include "interpose/roll_call.hpp"
#include "interpose/timed.hpp"

namespace unisono::interpose {
namespace {

// The program's info object with the hints that sites and users add for the MPI library.
MPI_Info with_native_hints(MPI_Info info, Options const& options, MPI_Comm comm) {
    MPI_Info merged = MPI_INFO_NULL;
    if (info == MPI_INFO_NULL)
        PMPI_Info_create(&merged);
    else
        PMPI_Info_dup(info, &merged);
    for (auto const& [key, value] : options.native_hints)
        if (!set_in(merged, key, value) && is_first_of(comm))
            print_once({"unisono: the hint " + key + " of " + std::to_string(value.size()) +
                        " characters is not given to the MPI library, which takes names of 1 to " +
                        std::to_string(MPI_MAX_INFO_KEY - 1) + " and values of 1 to " +
                        std::to_string(MPI_MAX_INFO_VAL - 1)});
    return merged;
}

// The handle is null unless the MPI library gives one. It tells more than the result: an error
// handler of the program may have made a success of an error, perhaps on this rank only.
int open_natively(MPI_Comm comm, char const* path, int access_mode, MPI_Info info,
                  Options const& options, MPI_File* handle) {
    if (handle != nullptr) *handle = MPI_FILE_NULL;
    auto const merged = !options.native_hints.empty();
    if (merged) info = with_native_hints(info, options, comm);
    auto const result = UNISONO_NATIVE(File_open)(comm, path, access_mode, info, handle);
    // The standard ABI's library of MPICH 5.0.2 gives 0 for a file that is not
    // there, which is another number than that ABI's null handle.
    if (handle != nullptr && *handle == MPI_File{}) *handle = MPI_FILE_NULL;
    if (merged) PMPI_Info_free(&info);
    return result;
}

// All ranks agree: a collective open fails on all, and they give the same mode.
bool concerns_unisono(int result, MPI_File const* handle, int access_mode) {
    return result == MPI_SUCCESS && *handle != MPI_FILE_NULL &&
           (access_mode & MPI_MODE_SEQUENTIAL) == 0;
}

// There will be no other report on the file: rank 0 says why at its open.
void report_left_alone(MPI_Comm comm, char const* path, Options const& options,
                       std::string const& why) {
    int rank = 0, ranks = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    if (rank != 0 || options.report == "none") return;
    auto const number = static_cast<std::uint32_t>(ranks);
    auto program = program_report();
    program.cores.clear();  // the other ranks' are not known
    print_report(options, {.file = path,
                           .ranks = number,
                           .opened_by = number,
                           .program = std::move(program),
                           .settings = options.settings,
                           .left_alone = why});
}

// Before the first call on a file that was taken over. Collective. False where rank 0 has
// `new_options`; the others have none.
bool prepare(File& file, bool new_options) {
    auto const in_call = InCall::open(file);
    auto const stripes = file.context().rank() == 0 && !new_options;
    if ((file.access_mode() & MPI_MODE_CREATE) != 0 && stripes) file.stripe();
    // No rank returns before all have opened their descriptors: the program may unlink the path.
    if (!settle_options(file, new_options)) return false;
    if ((file.access_mode() & MPI_MODE_APPEND) == 0) return true;
    MPI_Offset end = 0;
    UNISONO_NATIVE(File_get_position)(file.handle(), &end);
    file.set_pointer(end);
    return true;
}

// Null: the MPI library keeps the file, and the report says why. Collective.
std::shared_ptr<File> take_over(MPI_File handle, MPI_Comm comm, char const* path, int access_mode,
                                std::vector<KeyValue> const& hints,
                                std::shared_ptr<Options const> const& own) {
    if (!all_take_part(comm, /*takes_part=*/true)) {
        report_left_alone(comm, path, *own, "its ranks differ");
        return nullptr;
    }
    auto const context = Context::of(comm);
    auto const with = [&](std::shared_ptr<Options const> const& options, bool new_options) {
        auto file = std::make_shared<File>(handle, comm, context, path, access_mode, options);
        file->keep_hints(hints);
        return prepare(*file, new_options) ? file : nullptr;
    };
    // Mostly rank 0 has the same to say as the last time, and nobody has to wait for that.
    if (auto const& last = context->last_options(); last && !last->native_only)
        if (auto file = with(last, context->rank() == 0 && own != last && *own != *last))
            return file;
    auto const options = agree_on(own, *context);
    if (!options->native_only) return with(options, /*new_options=*/false);
    report_left_alone(comm, path, *options, options->left_alone_by);
    return nullptr;
}

// The ranks that are in another call stop deposits, and this one no longer has the file.
Durability::Synced close(File& file) try { return file.close(); } catch (CallsDiffer const&) {
    file.team().stop_deposits();
    throw;
}

}  // namespace

int File_open(MPI_Comm comm, char const* path, int access_mode, MPI_Info info, MPI_File* handle) {
    if (path == nullptr)  // whatever that is to the MPI library
        return UNISONO_NATIVE(File_open)(comm, path, access_mode, info, handle);
    Timed timed{nullptr, FilePhase::open};
    auto const hints = pairs_of(info);
    // Says what is wrong before the MPI library's open, which ends programs over some hints.
    auto own = own_options(path, hints, comm);
    refuse_lone_rank(path, *own);
    auto const result = open_natively(comm, path, access_mode, info, *own, handle);
    if (!concerns_unisono(result, handle, access_mode)) {
        if ((access_mode & MPI_MODE_SEQUENTIAL) != 0 && result == MPI_SUCCESS)
            report_left_alone(comm, path, *own, "MPI_MODE_SEQUENTIAL");
        else if (!own->report_traces.empty())
            leave_mark(own->report_traces, "not-opened");
        return result;
    }
    auto file = take_over(*handle, comm, path, access_mode, hints, own);
    if (file == nullptr) return result;
    timed.file = file;
    remember(std::move(file));
    return result;
}

int open_switched_off(MPI_Comm comm, char const* path, int access_mode, MPI_Info info,
                      MPI_File* handle) {
    auto const result = open_natively(comm, path, access_mode, info, /*options=*/{}, handle);
    if (concerns_unisono(result, handle, access_mode)) all_take_part(comm, /*takes_part=*/false);
    return result;
}

int File_close(MPI_File* handle) {
    if (handle == nullptr) return UNISONO_NATIVE(File_close)(handle);
    // Handles are used again after the close: forget first.
    auto const file = forget(*handle);
    if (file == nullptr) return UNISONO_NATIVE(File_close)(handle);
    int result = MPI_SUCCESS;
    auto const keep_first = [&](int next) {
        if (result == MPI_SUCCESS) result = next;
    };
    {
        TimedCollective const timed{file, FilePhase::close, unisono_entry_File_close};
        // Ours first: the first one to close a file may be the only one to hear of an error.
        auto const ended = close(*file);
        result = raise(*file, ended.verdict, "MPI_File_close");
        if (ended.native) keep_first(UNISONO_NATIVE(File_sync)(*handle));
        keep_first(UNISONO_NATIVE(File_close)(handle));
    }
    file->finish_report();
    print_once(file->context().keep_tuning_records(/*last=*/false));
    return result;
}

}  // namespace unisono::interpose
