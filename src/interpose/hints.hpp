#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/file.hpp"

namespace unisono::interpose {

/// The keys and values of an info object; none for MPI_INFO_NULL.
std::vector<KeyValue> pairs_of(MPI_Info info);

/// Of a null communicator nobody is: it is left to the MPI library to refuse it.
bool is_first_of(MPI_Comm comm);

/// Puts it into an info object; false where the MPI library takes no such key or value, which would
/// end the program.
bool set_in(MPI_Info info, std::string const& key, std::string const& value);

/// What this rank would do with a file: its environment, files of site and user, the program's
/// hints. Loads plug-ins the first time. Rank 0 of `comm` says what was wrong with them, once per
/// process. Local.
std::shared_ptr<Options const> own_options(std::string_view path,
                                           std::vector<KeyValue> const& hints, MPI_Comm comm);

/// Rank 0's word: ranks may see different environments and files, but must do the same. With it
/// comes which program they are. Collective.
std::shared_ptr<Options const> agree_on(std::shared_ptr<Options const> const& own,
                                        Context& context);

/// What must be known of the file's options before the first call: which ranks have the strategy,
/// and what was learnt earlier where calls are measured. Collective; no rank returns before all
/// have come. False where rank 0 has `new_options`: other ones than the file was made with.
bool settle_options(File& file, bool new_options);

/// They say something that the file does not know yet. Local.
bool has_new_hints(File const& file, MPI_Info info);

/// The program gives hints for a file that is open: they are there, and count once they are taken.
/// Local.
void keep_hints(File& file, MPI_Info info);

/// What the file's hints say by now counts from here on. Collective.
void take_hints(File& file);

/// The program's hints for a file that is open, as the MPI library is told of them: without a size
/// of collective buffers. MPICH 4.0.2 makes its own at the open, and overruns them once they are
/// said to be larger.
class LaterHints {
public:
    LaterHints(File const& file, MPI_Info info);
    LaterHints(LaterHints const&) = delete;
    LaterHints& operator=(LaterHints const&) = delete;
    ~LaterHints();

    [[nodiscard]] MPI_Info info() const { return own_ == MPI_INFO_NULL ? programs_ : own_; }

private:
    MPI_Info programs_;
    MPI_Info own_ = MPI_INFO_NULL;
};

/// Gives the program's hints to the MPI library, where they came with a view that it has not been
/// told of. Collective, as MPI_File_set_info is; what that says is nobody's business.
void pass_hints_on(File& file);

}  // namespace unisono::interpose
