#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "execute/collective.hpp"
#include "interpose/file.hpp"
#include "interpose/operations.hpp"

namespace unisono::interpose {

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

/// A data call translated; when `refusal` is not 0, its arguments are wrong.
struct Prepared {
    Request request;
    std::shared_ptr<FileView const> view;
    std::shared_ptr<Datatype const> type;
    int refusal = 0;  ///< MPI error class
    char const* why = "";
    bool usable = true;    ///< Unisono can do it
    MPI_Offset first = 0;  ///< in etypes
};

/// Translates a call; positions begin at 0. What is wrong with it is in the result. Local.
Prepared prepare(File const& file, DataCall const& call);

/// Lets a translated call begin there.
void place(Prepared& prepared, MPI_Offset first_etype);

MPI_Offset etypes_of(Prepared const& prepared, std::uint64_t bytes);

/// Wrong arguments: nothing is to be moved.
void refuse(Prepared& prepared, int error_class, char const* why);

/// Of data that must be whole etypes, and a view that must hold them.
void check_amount(Prepared& prepared);

/// What the arguments of a call that went well ask for.
std::uint64_t bytes_asked(DataCall const& call);

/// The CPU cannot access the data, and the driver does not copy them either.
bool out_of_reach(DataCall const& call, Datatype const& type);

/// What a rank brings to the collective call beyond what its request and its storage say.
CallerFacts caller_facts(File const& file, Prepared const& prepared);

}  // namespace unisono::interpose
