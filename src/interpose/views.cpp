#include <cstring>
#include <new>

#include "interpose/errors.hpp"
#include "interpose/file_calls.hpp"
#include "interpose/hints.hpp"
#include "interpose/native.hpp"
#include "interpose/open_files.hpp"
#include "interpose/program.hpp"
#include "interpose/timed.hpp"
#include "support/hash.hpp"

namespace unisono::interpose {
namespace {

// Beyond this many pieces, telling the MPI library of a view is put off: it may take seconds
// there. So is telling it of what it may stumble over.
constexpr std::uint64_t large_view_pieces = 1 << 16;

// What is no longer there when the program frees it is kept. The same the other way round: what
// get_view hands out may not be freed when it is a predefined type, and must be otherwise.
MPI_Datatype lasting(MPI_Datatype type) {
    if (predefined(type)) return type;
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    PMPI_Type_dup(type, &copy);
    return copy;
}

void say_representation(FileView const& view, char* text) {
    std::memcpy(text, view.representation.c_str(), view.representation.size() + 1);
}

/// What the two types of a view are in the file; null where Unisono does not know.
struct InFile {
    std::shared_ptr<Datatype const> element, tile;
    int mpi_error = MPI_SUCCESS;

    [[nodiscard]] bool usable() const {
        return element != nullptr && tile != nullptr && element->bytes > 0;
    }
    [[nodiscard]] bool same_layout(InFile const& other) const {
        return element->bytes == other.element->bytes && tile->bytes == other.tile->bytes &&
               tile->extent == other.tile->extent && tile->shape->low == other.tile->shape->low &&
               tile->shape->high == other.tile->shape->high;
    }
};

InFile in_file(MPI_Datatype etype, MPI_Datatype filetype,
               std::shared_ptr<Datatype const> (*decoder)(MPI_Datatype, int*)) {
    InFile types;
    types.element = decoder(etype, &types.mpi_error);
    if (types.element != nullptr) types.tile = decoder(filetype, &types.mpi_error);
    return types;
}

bool goes_backwards(Datatype const& type) {
    auto backwards = false;
    auto last = type.shape->low;
    walk({type.shape, 0, type.extent}, {0, type.bytes}, [&](std::int64_t at, std::uint64_t) {
        backwards = backwards || at < last;
        last = at;
    });
    return backwards;
}

// Types of files have no data before their beginning, and go forwards; they overlap only where
// nothing may be written.
bool fits_into_files(Datatype const& type, File const& file) {
    auto const read_only = file.read_only();
    return type.bytes == 0 || (type.shape->low >= 0 &&
                               (type.shape->ascending || (read_only && !goes_backwards(type))));
}

// As the libraries say it.
int class_of_misfits() {
    return mpi_library().family == MpiLibrary::Family::mpich ? MPI_ERR_IO : MPI_ERR_TYPE;
}

// An MPI error class, or 0.
int refusal_of(File const& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
               InFile const& types) {
    if (displacement < 0) return MPI_ERR_ARG;
    auto const comm = file.context().comm();
    if (unusable(etype, comm) != MPI_SUCCESS || unusable(filetype, comm) != MPI_SUCCESS)
        return MPI_ERR_TYPE;
    auto const& [element, tile, mpi_error] = types;
    if (element == nullptr || tile == nullptr)
        return mpi_error == MPI_ERR_UNSUPPORTED_OPERATION ? 0 : mpi_error;
    if (!fits_into_files(*element, file) || !fits_into_files(*tile, file))
        return class_of_misfits();
    return element->bytes > 0 && tile->bytes % element->bytes != 0 ? MPI_ERR_ARG : 0;
}

std::shared_ptr<FileView> view_of(File const& file, MPI_Offset displacement, MPI_Datatype etype,
                                  MPI_Datatype filetype, char const* representation) {
    auto view = std::make_shared<FileView>();
    view->representation = representation == nullptr ? "" : representation;
    view->displacement = displacement;
    auto const native = in_file(etype, filetype, decode_once);
    auto const types = view->external32() ? in_file(etype, filetype, decode_external32) : native;
    view->usable = native.usable() && types.usable();
    view->refusal = refusal_of(file, displacement, etype, filetype, types);
    if (!view->usable || view->refusal != 0) return view;
    auto const& [element, tile, mpi_error] = types;
    view->as_given = {tile->shape, displacement, tile->extent};
    view->tiling = with_long_tiles(view->as_given);
    view->costly =
        !native.element->plain || !native.tile->plain || tile->shape->pieces > large_view_pieces;
    view->native_layout_differs = !types.same_layout(native);
    view->etype_bytes = element->bytes;
    return view;
}

// Null when there is no memory for it.
std::shared_ptr<FileView> make_view(File const& file, MPI_Offset displacement, MPI_Datatype etype,
                                    MPI_Datatype filetype, char const* representation) {
    try {
        return view_of(file, displacement, etype, filetype, representation);
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

// Whether ranks wait for each other: where they have something to agree on, and after calls for
// which they have not waited, as programs may rely on seeing then what others have written. Equal
// on all ranks.
bool has_to_meet(File const& file, std::string const& representation) {
    auto const cache = file.cache();
    auto const alone = cache != nullptr && (cache->in_use() || cache->window_was_used());
    return !file.keeps_views_back().value_or(false) || alone || file.view()->mirrored ||
           !file.may_keep_back(representation);
}

// What this rank has to say about its new view: wrong or missing ones (refusal), ones that Unisono
// cannot walk, ones that the MPI library had better not be told of.
Notice notice_of(File const& file, FileView const* view, bool new_hints) {
    Notice notice{.new_hints = new_hints};
    notice.objection.refusing_rank = static_cast<std::uint32_t>(file.context().rank());
    if (view == nullptr) {
        notice.objection.refusal = MPI_ERR_NO_MEM;
        return notice;
    }
    notice.objection.refusal = view->refusal;
    notice.representation = Digest{hash64(view->native_representation())};
    notice.defer_native_view = view->costly;
    notice.native_layout_differs = view->native_layout_differs;
    notice.objection.must_be_native = !view->usable || !view->known_representation();
    return notice;
}

// Collective.
void agree_on_views(File& file, Notice& notice) {
    auto const first = !file.keeps_views_back();
    if (first) file.propose_to_keep_views_back(notice);
    file.meet(notice);
    if (first) file.learn_to_keep_views_back(notice);
}

int refuse_view(File& file, Objection const& objection) {
    auto const* const what =
        objection.refusal == MPI_ERR_NO_MEM ? " has no memory for its view"
        : objection.refusal == MPI_ERR_ARG
            ? " gave a negative displacement, or a filetype that is not made of whole etypes"
            : " gave a datatype that is null, not committed, or whose data overlap, go backwards "
              "or lie before its beginning";
    return fail(file, objection.refusal, "MPI_File_set_view",
                "rank " + std::to_string(objection.refusing_rank) + what);
}

void keep_types(FileView& view, MPI_Datatype etype, MPI_Datatype filetype) {
    view.mirrored = false;
    view.etype = lasting(etype);
    view.filetype = lasting(filetype);
}

// No rank waits for another one: what is wrong comes out at the next call that they agree on.
int set_view_alone(File& file, std::shared_ptr<FileView> view, Notice const& notice,
                   MPI_Datatype etype, MPI_Datatype filetype, MPI_Info info) {
    file.note_refused_view(notice.objection.refusal);
    if (notice.objection.refusal != 0) {
        file.keep_shared_pointer();  // in step with ranks whose view is right
        return refuse_view(file, notice.objection);
    }
    keep_types(*view, etype, filetype);
    view->kept_back = true;
    file.use(std::move(view));
    if (notice.new_hints) {
        keep_hints(file, info);
        file.put_hints_off();
    }
    return MPI_SUCCESS;
}

}  // namespace

int File_set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype etype,
                  MPI_Datatype filetype, char const* representation, MPI_Info info) {
    auto const native = [&](char const* known_as, MPI_Info hints) {
        return UNISONO_NATIVE(File_set_view)(handle, displacement, etype, filetype, known_as,
                                             hints);
    };
    auto const file = find(handle);
    if (file == nullptr) return native(representation, info);
    TimedCollective const timed{file, FilePhase::other, unisono_entry_File_set_view};
    auto const known_as = std::string{representation == nullptr ? "" : representation};
    auto view = make_view(*file, displacement, etype, filetype, representation);
    auto notice = notice_of(*file, view.get(), has_new_hints(*file, info));
    auto const alone = !has_to_meet(*file, known_as);
    if (!alone) agree_on_views(*file, notice);
    file->note_new_views();
    if (alone) return set_view_alone(*file, std::move(view), notice, etype, filetype, info);
    if (notice.objection.refusal != 0) return refuse_view(*file, notice.objection);
    if (!notice.representation.alike())
        return fail(*file, MPI_ERR_NOT_SAME, "MPI_File_set_view",
                    "ranks give different data representations");
    file->note_refused_view(0);
    auto const must_be_native = notice.objection.must_be_native;
    view->kept_back = *file->keeps_views_back() && file->may_keep_back(known_as) && !must_be_native;
    auto const dangerous = notice.defer_native_view || notice.native_layout_differs;
    auto const told = !view->kept_back && (!dangerous || must_be_native);
    if (!told)
        keep_types(*view, etype, filetype);
    else if (auto const result =
                 native(view->native_representation(), LaterHints{*file, info}.info());
             result != MPI_SUCCESS) {
        file->keep_shared_pointer();  // others may have more luck
        return result;
    }
    view->native_only = must_be_native;
    view->native_layout_differs = notice.native_layout_differs;
    // Independent calls with views that Unisono cannot walk go to the MPI library.
    if (must_be_native) file->drain();
    file->use(std::move(view));
    if (notice.new_hints) {
        keep_hints(*file, info);
        if (!told) pass_hints_on(*file);
        take_hints(*file);
    }
    return MPI_SUCCESS;
}

int File_get_view(MPI_File handle, MPI_Offset* displacement, MPI_Datatype* etype,
                  MPI_Datatype* filetype, char* representation) {
    auto const file = find(handle);
    auto const held = file == nullptr ? std::shared_lock<std::shared_mutex>{} : file->hold();
    auto const view = file == nullptr ? nullptr : file->view();
    auto const for_all = displacement != nullptr && etype != nullptr && filetype != nullptr &&
                         representation != nullptr;
    if (view == nullptr || view->mirrored || !for_all) {
        auto const result =
            UNISONO_NATIVE(File_get_view)(handle, displacement, etype, filetype, representation);
        // MPICH 4.0.2 itself answers "native" to "internal".
        if (view != nullptr && for_all && result == MPI_SUCCESS)
            say_representation(*view, representation);
        return result;
    }
    *displacement = view->displacement;
    *etype = lasting(view->etype);
    *filetype = lasting(view->filetype);
    say_representation(*view, representation);
    return MPI_SUCCESS;
}

namespace {

// Both libraries have types in external32 as long as in memory.
template <class Function, class Extent>
int get_type_extent(Native<Function> const& native, MPI_File handle, MPI_Datatype type,
                    Extent* extent) {
    auto const file = find(handle);
    int mpi_error = MPI_SUCCESS;
    auto const decoded = file != nullptr && extent != nullptr && file->view()->external32()
                             ? decode_external32(type, &mpi_error)
                             : nullptr;
    if (decoded == nullptr) return native(handle, type, extent);
    *extent = decoded->extent;
    return MPI_SUCCESS;
}

}  // namespace

int File_get_type_extent(MPI_File handle, MPI_Datatype type, MPI_Aint* extent) {
    return get_type_extent(UNISONO_NATIVE(File_get_type_extent), handle, type, extent);
}

#ifdef UNISONO_LARGE_COUNTS
int File_get_type_extent_c(MPI_File handle, MPI_Datatype type, MPI_Count* extent) {
    return get_type_extent(UNISONO_NATIVE(File_get_type_extent_c), handle, type, extent);
}
#endif

}  // namespace unisono::interpose
