#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "execute/collective.hpp"
#include "interpose/file.hpp"
#include "interpose/operations.hpp"

namespace unisono::interpose {

inline constexpr auto beyond_reach = "the offset leads beyond 2^62 bytes";
inline constexpr auto pointer_beyond = "the shared file pointer would be beyond 2^63 etypes";

/// The arguments of a data call, whatever its name.
struct DataCall {
    MPI_File handle;
    Direction direction;
    std::optional<MPI_Offset> offset;  ///< explicit, in etypes; none: the individual file pointer
    void const* buffer;                ///< written to by reads
    MPI_Count count;
    MPI_Datatype type;
    std::uint16_t operation;  ///< the number of its entry point

    [[nodiscard]] char const* name() const { return operation_name(operation); }
};

[[nodiscard]] bool is_open_for(File const& file, Direction direction);

/// A data call translated; when `refusal` is not 0, its arguments are wrong.
struct Prepared {
    Request request;
    std::shared_ptr<FileView const> view;
    std::shared_ptr<Datatype const> type;
    int refusal = 0;  ///< MPI error class
    char const* why = "";
    bool usable = true;  ///< Unisono can do it
    /// The data as the file has them, where the request has these in place of the program's memory.
    std::vector<std::byte> packed;
    MPI_Offset first = 0;  ///< in etypes
};

/// When the last of a call is done: before it returns to the program, or when what it was called
/// with may be gone.
enum class Ends : bool { at_return, later };

/// Translates a call; positions begin at 0. What is wrong with it is in the result. Local.
Prepared prepare(File const& file, DataCall const& call, Ends ends);

/// Data that Unisono cannot walk, or place for them, for a call in which no rank can ask the others
/// to leave it to the MPI library: the request is for a copy from here on, or the call is refused.
void pack(Prepared& prepared, DataCall const& call);

/// What a call whose first `bytes` bytes in the file were moved has done: data that were read are
/// where the program wants them, if they are not yet. Returns how many bytes of the program's
/// memory these are. Needs the call's type no more where it `Ends::later`.
std::uint64_t deliver(Prepared const& prepared, DataCall const& call, std::uint64_t bytes);

/// Lets a translated call begin there.
void place(Prepared& prepared, MPI_Offset first_etype);

MPI_Offset etypes_of(Prepared const& prepared, std::uint64_t bytes);
/// That the call wants moved, also where Unisono does not know its datatype.
MPI_Offset etypes_asked(Prepared const& prepared, DataCall const& call);

/// Wrong arguments: nothing is to be moved.
void refuse(Prepared& prepared, int error_class, char const* why);

/// Of data that must be whole etypes, and a view that must hold them.
void check_amount(Prepared& prepared);

/// What the arguments of a call that went well ask for; UINT64_MAX if 64 bits cannot count it.
std::uint64_t bytes_asked(DataCall const& call);

/// What a rank brings to the collective call beyond what its request and its storage say.
CallerFacts caller_facts(File const& file, Prepared const& prepared);

}  // namespace unisono::interpose
