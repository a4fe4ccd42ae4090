#include "interpose/data_call.hpp"

#include <climits>
#include <new>
#include <span>

#include "access/copy.hpp"
#include "devices/device_memory.hpp"
#include "interpose/native.hpp"
#include "interpose/program.hpp"

namespace unisono::interpose {
namespace {

void check_access(Prepared& prepared, File const& file, Direction direction) {
    if (is_open_for(file, direction)) return;
    if (direction == Direction::write)
        refuse(prepared, MPI_ERR_READ_ONLY, "the file is open for reading only");
    else
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

void use_packed(Prepared& prepared) {
    auto& request = prepared.request;
    request.memory = {make_dense(1), 0, 1};
    request.base = reinterpret_cast<std::uintptr_t>(prepared.packed.data());
    request.positions = {0, prepared.packed.size()};
    request.device = nullptr;
}

// Unisono cannot move such data: the CPU cannot access them and the driver does not copy them
// either, or nobody knows what they are in the view's representation.
bool out_of_reach(FileView const& view, Request const& request, Datatype const& type) {
    if (view.external32())
        return request.device != nullptr || (!request.positions.empty() && !type.units.known());
    return request.device != nullptr &&
           !can_copy(*request.device, request.in_memory(request.positions));
}

// From here on the request is for a copy of the data, as the file has them.
void convert(Prepared& prepared) {
    auto& request = prepared.request;
    auto const& units = prepared.type->units;
    auto const bytes = units.external_bytes(request.positions.bytes());
    if (!prepared.usable) {  // the MPI library will convert them
        request.positions = {0, bytes};
        return;
    }
    prepared.packed.resize(bytes);
    if (request.direction == Direction::write)
        to_external32(units, request.in_memory(request.positions), prepared.packed.data());
    use_packed(prepared);
}

// What was read goes where the program wants it; of data that Unisono cannot walk, whole elements
// only. How many bytes did.
std::uint64_t unpack(DataCall const& call, std::span<std::byte const> read) {
    auto const element_bytes = bytes_asked(call) / static_cast<std::uint64_t>(call.count);
    auto const elements = read.size() / element_bytes;
    int mpi_error = MPI_SUCCESS;
    if (auto const type =
            read.size() % element_bytes != 0 ? decode(call.type, &mpi_error) : nullptr) {
        Request there;
        place_memory(there, call, *type);
        copy_data(Packed{read.size()}.at(read.data()), there.in_memory({0, read.size()}));
        return read.size();
    }
    int end = 0;
    PMPI_Unpack(read.data(), static_cast<int>(read.size()), &end, const_cast<void*>(call.buffer),
                static_cast<int>(elements), call.type, MPI_COMM_SELF);
    return elements * element_bytes;
}

// From here on the request is for a copy of the data, unless the MPI library does not make one.
bool use_copy_by_mpi(Prepared& prepared, DataCall const& call, std::uint64_t bytes) {
    auto& packed = prepared.packed;
    packed.resize(bytes);
    int end = 0;
    if (call.direction == Direction::write &&
        PMPI_Pack(call.buffer, static_cast<int>(call.count), call.type, packed.data(),
                  static_cast<int>(bytes), &end, MPI_COMM_SELF) != MPI_SUCCESS) {
        packed.clear();
        return false;
    }
    use_packed(prepared);
    check_amount(prepared);
    return true;
}

// Open MPI (4.1, 5.0) packs the wrong bytes of MPI_Type_create_hvector(n, 1, -1, MPI_CHAR), on
// whatever level, and is mistaken about its bounds; Intel MPI (2021.19) those of arrays that are
// distributed in several blocks. To look into a type costs more than a small call does otherwise.
bool packed_rightly(MPI_Datatype type) {
    using Family = MpiLibrary::Family;
    static auto const family = mpi_library().family;
    static auto const always = family == Family::mpich && !mpi_library().name.starts_with("Intel");
    auto const none_backwards = family == Family::openmpi && made_backwards != nullptr &&
                                __atomic_load_n(made_backwards, __ATOMIC_RELAXED) == 0;
    return always || none_backwards || plainly_made(type);
}

// Data with holes, within stated bounds from 0 on. Of a type without data Open MPI says true bounds
// that cannot be added.
bool like_part_of_array(MPI_Datatype type) {
    MPI_Count bytes = 0, low = 0, extent = 0, true_low = 0, true_extent = 0;
    PMPI_Type_size_x(type, &bytes);
    PMPI_Type_get_extent_x(type, &low, &extent);
    PMPI_Type_get_true_extent_x(type, &true_low, &true_extent);
    return bytes > 0 && low == 0 && true_low > 0 && bytes < true_extent &&
           true_low + true_extent < extent && packed_rightly(type);
}

// The MPI library packs so few data in less time than it describes a type of many levels in: HDF5
// makes a new one for every call.
bool pack_few(Prepared& prepared, DataCall const& call) {
    constexpr std::uint64_t few = 4096;
    if (prepared.view->external32() || predefined(call.type) || any_driver() ||
        !like_part_of_array(call.type))
        return false;
    if (call.buffer == MPI_BOTTOM) return false;  // MPICH packs nothing from there
    auto const bytes = bytes_asked(call);
    return bytes > 0 && bytes <= few && use_copy_by_mpi(prepared, call, bytes);
}

// Memory and view side of the call; positions follow once the file offset is known.
Prepared translate(File const& file, DataCall const& call, Ends ends) {
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

    int mpi_error = MPI_SUCCESS;
    if (auto const* const named = named_and_decoded(call.type)) {
        prepared.type = *named;
    } else {
        mpi_error = unusable(call.type, file.context().comm());
        // The MPI library's own way is tried only with types that are known.
        auto const may_pack =
            prepared.usable && ends == Ends::at_return && !OnlineTuner::wanted(file.options());
        if (mpi_error == MPI_SUCCESS && may_pack && pack_few(prepared, call)) return prepared;
        if (mpi_error == MPI_SUCCESS) prepared.type = decode(call.type, &mpi_error);
    }
    if (prepared.type == nullptr) {
        if (mpi_error == MPI_ERR_UNSUPPORTED_OPERATION)
            prepared.usable = false;
        else if (mpi_error == MPI_ERR_NO_MEM)
            throw std::bad_alloc{};
        else
            refuse(prepared, MPI_ERR_TYPE, "the datatype is null or not committed");
        return prepared;
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(call.count, prepared.type->bytes, &bytes)) {
        refuse(prepared, MPI_ERR_COUNT, "more bytes than 64 bits can count");
        return prepared;
    }
    place_memory(request, call, *prepared.type);
    auto const in_parts = file.atomic() && request.device != nullptr;
    if (in_parts || out_of_reach(*prepared.view, request, *prepared.type))
        prepared.usable = false;
    else if (prepared.view->external32())
        convert(prepared);
    check_amount(prepared);
    return prepared;
}

// The MPI library knows the view or can be told of it, the datatypes are plain, and nobody else may
// call it meanwhile.
bool native_ready(File const& file, Prepared const& prepared) {
    auto const plain = !prepared.view->costly && prepared.type != nullptr && prepared.type->plain;
    return plain && !prepared.view->external32() && !file.context().threaded();
}

}  // namespace

bool is_open_for(File const& file, Direction direction) {
    auto const write_only = (file.access_mode() & MPI_MODE_WRONLY) != 0;
    return direction == Direction::write ? !file.read_only() : !write_only;
}

void pack(Prepared& prepared, DataCall const& call) {
    auto const bytes = bytes_asked(call);
    auto const fits = bytes <= INT_MAX && call.count <= INT_MAX && !prepared.view->external32();
    if (fits && use_copy_by_mpi(prepared, call, bytes))
        prepared.usable = true;
    else
        refuse(prepared, MPI_ERR_UNSUPPORTED_OPERATION,
               "Unisono cannot do it without the other ranks; unisono_write_behind=disable, "
               "unisono_read_ahead=disable");
}

void refuse(Prepared& prepared, int error_class, char const* why) {
    prepared.refusal = error_class;
    prepared.why = why;
    prepared.request.positions = {};
}

std::uint64_t deliver(Prepared const& prepared, DataCall const& call, std::uint64_t bytes) {
    if (prepared.packed.empty()) return bytes;
    std::span const moved{prepared.packed.data(), bytes};
    auto const reads = call.direction == Direction::read;
    if (!prepared.view->external32()) return reads ? unpack(call, moved) : bytes;
    Request there;
    place_memory(there, call, *prepared.type);
    auto const& units = prepared.type->units;
    if (reads) from_external32(units, moved, there.in_memory(there.positions));
    return units.native_bytes(bytes);
}

void check_amount(Prepared& prepared) {
    auto const bytes = prepared.request.positions.bytes();
    if (bytes % prepared.view->etype_bytes != 0)
        refuse(prepared, MPI_ERR_IO, "the data are not a whole number of etypes");
    if (bytes > 0 && prepared.request.view.shape->empty())
        refuse(prepared, MPI_ERR_IO, "the file view holds no data");
}

// A call that this rank has no memory for is refused on all of them, like one with bad arguments.
Prepared prepare(File const& file, DataCall const& call, Ends ends) {
    try {
        return translate(file, call, ends);
    } catch (std::bad_alloc const&) {
        Prepared prepared{.view = file.view()};
        prepared.request.direction = call.direction;
        prepared.request.view = prepared.view->tiling;
        refuse(prepared, MPI_ERR_NO_MEM, "no memory for the datatype");
        return prepared;
    }
}

void place(Prepared& prepared, MPI_Offset first_etype) {
    auto& positions = prepared.request.positions;
    auto const first = static_cast<std::uint64_t>(first_etype);
    auto const etype_bytes = prepared.view->etype_bytes;
    if (!within_reach(prepared.request.view, first, etype_bytes, positions.bytes())) {
        if (prepared.request.direction == Direction::write)
            return refuse(prepared, MPI_ERR_ARG, beyond_reach);
        positions = {};  // there is nothing to read
    }
    auto const begin = first * etype_bytes;
    prepared.first = first_etype;
    positions = {begin, begin + positions.bytes()};
}

MPI_Offset etypes_of(Prepared const& prepared, std::uint64_t bytes) {
    return static_cast<MPI_Offset>(bytes / prepared.view->etype_bytes);
}

MPI_Offset etypes_asked(Prepared const& prepared, DataCall const& call) {
    return etypes_of(prepared, prepared.type != nullptr ? prepared.request.positions.bytes()
                                                        : bytes_asked(call));
}

std::uint64_t bytes_asked(DataCall const& call) {
    MPI_Count of_one = 0;
    std::int64_t bytes = 0;
    PMPI_Type_size_x(call.type, &of_one);
    return __builtin_mul_overflow(of_one, call.count, &bytes) ? UINT64_MAX
                                                              : static_cast<std::uint64_t>(bytes);
}

CallerFacts caller_facts(File const& file, Prepared const& prepared) {
    auto const rank = static_cast<std::uint32_t>(file.context().rank());
    auto const refused = file.refused_view();
    return {.objection = {.refusal = prepared.refusal,
                          .refusing_rank = rank,
                          .must_be_native = !prepared.usable},
            .since_view = {.refused = refused != 0 ? 1U : 0U,
                           .first = {.refusal = refused, .refusing_rank = rank}},
            .file_hash = file.path_hash(),
            .native_ready = native_ready(file, prepared)};
}

}  // namespace unisono::interpose
