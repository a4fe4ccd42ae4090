#include "interpose/data_call.hpp"

#include <new>

#include "devices/device_memory.hpp"
#include "interpose/errors.hpp"

namespace unisono::interpose {
namespace {

void check_access(Prepared& prepared, File const& file, Direction direction) {
    auto const mode = file.access_mode();
    if (direction == Direction::write && (mode & MPI_MODE_RDONLY) != 0)
        refuse(prepared, MPI_ERR_READ_ONLY, "the file is open for reading only");
    if (direction == Direction::read && (mode & MPI_MODE_WRONLY) != 0)
        refuse(prepared, MPI_ERR_ACCESS, "the file is open for writing only");
}

// The memory side, with as many positions as there are data.
void place_memory(Request& request, DataCall const& call, Datatype const& type) {
    request.base = reinterpret_cast<std::uintptr_t>(call.buffer);
    request.memory = {type.shape, 0, type.extent};
    if (call.count > 1) request.memory = with_long_tiles(request.memory);
    request.positions = {0, static_cast<std::uint64_t>(call.count) * type.bytes};
    request.device = device_of(request.in_memory(request.positions));
}

// The CPU cannot access the data, and the driver does not copy them either.
bool out_of_reach(Request const& request) {
    return request.device != nullptr &&
           !can_copy(*request.device, request.in_memory(request.positions));
}

// Memory and view side of the call; positions follow once the file offset is known.
Prepared translate(File const& file, DataCall const& call) {
    Prepared prepared{.view = file.view()};
    auto& request = prepared.request;
    request.direction = call.direction;
    request.view = prepared.view->tiling;
    request.etype_bytes = prepared.view->etype_bytes;
    prepared.usable = file.storage().backend != nullptr && prepared.view->usable;
    check_access(prepared, file, call.direction);
    if (call.count < 0) refuse(prepared, MPI_ERR_COUNT, "the count is negative");
    if (call.offset && *call.offset < 0) refuse(prepared, MPI_ERR_ARG, "the offset is negative");
    if (prepared.refusal != 0) return prepared;

    int mpi_error = unusable(call.type, file.context().comm());
    if (mpi_error == MPI_SUCCESS) prepared.type = decode(call.type, &mpi_error);
    if (prepared.type == nullptr) {
        if (mpi_error == MPI_ERR_UNSUPPORTED_OPERATION)
            prepared.usable = false;
        else if (mpi_error == MPI_ERR_NO_MEM)
            throw std::bad_alloc{};
        else
            refuse(prepared, MPI_ERR_TYPE, "the datatype is null or not committed");
        return prepared;
    }
    place_memory(request, call, *prepared.type);
    if (out_of_reach(request)) prepared.usable = false;
    check_amount(prepared);
    return prepared;
}

// The MPI library knows the view, the datatypes are plain, and nobody else may call it meanwhile.
bool native_ready(File const& file, Prepared const& prepared) {
    auto const plain = !prepared.view->costly && prepared.type != nullptr && prepared.type->plain;
    return plain && prepared.view->mirrored && !file.context().threaded();
}

}  // namespace

void refuse(Prepared& prepared, int error_class, char const* why) {
    prepared.refusal = error_class;
    prepared.why = why;
    prepared.request.positions = {};
}

void check_amount(Prepared& prepared) {
    auto const bytes = prepared.request.positions.bytes();
    if (bytes % prepared.view->etype_bytes != 0)
        refuse(prepared, MPI_ERR_IO, "the data are not a whole number of etypes");
    if (bytes > 0 && prepared.request.view.shape->empty())
        refuse(prepared, MPI_ERR_IO, "the file view holds no data");
}

// A call that this rank has no memory for is refused on all of them, like one with bad arguments.
Prepared prepare(File const& file, DataCall const& call) {
    try {
        return translate(file, call);
    } catch (std::bad_alloc const&) {
        Prepared prepared{.view = file.view()};
        prepared.request.direction = call.direction;
        prepared.request.view = prepared.view->tiling;
        refuse(prepared, MPI_ERR_NO_MEM, "no memory for the datatype");
        return prepared;
    }
}

void place(Prepared& prepared, MPI_Offset first_etype) {
    auto const begin = static_cast<std::uint64_t>(first_etype) * prepared.view->etype_bytes;
    auto& positions = prepared.request.positions;
    prepared.first = first_etype;
    positions = {begin, begin + positions.bytes()};
}

MPI_Offset etypes_of(Prepared const& prepared, std::uint64_t bytes) {
    return static_cast<MPI_Offset>(bytes / prepared.view->etype_bytes);
}

std::uint64_t bytes_asked(DataCall const& call) {
    MPI_Count bytes = 0;
    PMPI_Type_size_x(call.type, &bytes);
    return static_cast<std::uint64_t>(bytes * call.count);
}

bool out_of_reach(DataCall const& call, Datatype const& type) {
    Request request;
    place_memory(request, call, type);
    return out_of_reach(request);
}

CallerFacts caller_facts(File const& file, Prepared const& prepared) {
    return {.objection = {.refusal = prepared.refusal,
                          .refusing_rank = static_cast<std::uint32_t>(file.context().rank()),
                          .must_be_native = !prepared.usable},
            .file_hash = file.path_hash(),
            .native_ready = native_ready(file, prepared)};
}

}  // namespace unisono::interpose
