#include "interpose/file_calls.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "coordinate/program_id.hpp"
#include "interpose/errors.hpp"
#include "interpose/messages.hpp"
#include "interpose/native.hpp"
#include "interpose/program.hpp"
#include "interpose/transfer.hpp"
#include "strategies/all.hpp"
#include "strategies/plugins.hpp"

namespace unisono::interpose {
namespace {

// Beyond this many pieces, telling the MPI library of a view is put off: it may take seconds
// there. So is telling it of what it may stumble over.
constexpr std::uint64_t large_view_pieces = 1 << 16;

OptionSources const& option_sources() {
    static std::vector<Choice> const choices = [] {
        if (auto const* paths = std::getenv("UNISONO_PLUGINS")) print_once(load_plugins(paths));
        std::vector<Choice> all;
        for (auto const* strategy : all_strategies())
            all.push_back({strategy->name, strategy->summary});
        return all;
    }();
    static OptionSources const sources{Surroundings::real(), choices};
    return sources;
}

std::vector<KeyValue> pairs_of(MPI_Info info) {
    std::vector<KeyValue> pairs;
    if (info == MPI_INFO_NULL) return pairs;
    int keys = 0;
    PMPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; ++i) {
        std::array<char, MPI_MAX_INFO_KEY + 1> key{};
        std::array<char, MPI_MAX_INFO_VAL + 1> value{};
        int found = 0;
        PMPI_Info_get_nthkey(info, i, key.data());
        PMPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found);
        if (found != 0) pairs.emplace_back(key.data(), value.data());
    }
    return pairs;
}

void merge_into(std::vector<KeyValue>& hints, std::vector<KeyValue> const& newer) {
    for (auto const& [key, value] : newer) {
        auto const known = std::find_if(hints.begin(), hints.end(),
                                        [&](auto const& hint) { return hint.first == key; });
        if (known != hints.end())
            known->second = value;
        else
            hints.emplace_back(key, value);
    }
}

Options own_options(std::string const& path, std::vector<KeyValue> const& hints, bool print) {
    auto chosen = option_sources().options_for(path, hints);
    if (print) print_once(chosen.messages);
    return chosen.options;
}

// Rank 0's word: ranks may see different environments and files, but must do the same. With it
// comes which program they are.
Options agree_on(Options const& own, Context const& context) {
    if (context.ranks() == 1) return own;
    std::array<std::byte, coordinate::program_id_length_max + 1> id{};
    std::vector<std::byte> bytes;
    if (context.rank() == 0) {
        auto const program = own_program();
        std::memcpy(id.data(), program.data(), program.size());
        bytes.assign(id.begin(), id.end());
        auto const options = to_bytes(own);
        bytes.insert(bytes.end(), options.begin(), options.end());
    }
    bytes = context.from_rank_0(std::move(bytes));
    remember_program(reinterpret_cast<char const*>(bytes.data()));
    return options_from_bytes(std::span{bytes}.subspan(id.size())).value_or(own);
}

// A strategy that some rank has not loaded cannot be used. Every rank learns it here, and that all
// have got here.
void leave_out_unshared_plugin(File& file) {
    auto const& context = file.context();
    auto options = file.options();
    int known = options.strategy == "auto" || find_strategy(options.strategy) != nullptr ? 1 : 0;
    if (context.ranks() > 1)
        PMPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, context.comm());
    if (known != 0) return;
    if (context.rank() == 0)
        print_once({"unisono: " + options.strategy + ": not every rank has loaded this plug-in"});
    options.strategy = "auto";
    file.use(std::move(options));
}

// Before the first call that is examined. Collective.
void begin_measuring(File& file) {
    if (Measured::wanted(file.options()))
        print_once(file.context().begin_measuring(file.options()));
}

void take_hints(File& file, MPI_Info info) {
    auto const newer = pairs_of(info);
    merge_into(file.hints, newer);
    auto const& context = file.context();
    file.use(agree_on(own_options(file.path(), file.hints, context.rank() == 0), context));
    leave_out_unshared_plugin(file);
    begin_measuring(file);
}

// The program's info object with the hints that sites and users add for the MPI library.
MPI_Info with_native_hints(MPI_Info info, Options const& options) {
    MPI_Info merged = MPI_INFO_NULL;
    if (info == MPI_INFO_NULL)
        PMPI_Info_create(&merged);
    else
        PMPI_Info_dup(info, &merged);
    for (auto const& [key, value] : options.native_hints)
        PMPI_Info_set(merged, key.c_str(), value.c_str());
    return merged;
}

// May free it whatever it is: duplicates of named types are types like any other.
MPI_Datatype duplicate(MPI_Datatype type) {
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    PMPI_Type_dup(type, &copy);
    return copy;
}

// What get_view hands out may not be freed when it is a predefined type, and must be otherwise.
MPI_Datatype handed_out(MPI_Datatype kept) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    PMPI_Type_get_envelope(kept, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_DUP) return duplicate(kept);
    MPI_Datatype original = MPI_DATATYPE_NULL;
    PMPI_Type_get_contents(kept, 0, 0, 1, nullptr, nullptr, &original);
    return original;
}

bool is_native(char const* representation) {
    return std::strcmp(representation, "native") == 0 ||
           std::strcmp(representation, "internal") == 0;
}

std::shared_ptr<FileView> make_view(MPI_Offset displacement, MPI_Datatype etype,
                                    MPI_Datatype filetype, char const* representation) {
    auto view = std::make_shared<FileView>();
    int mpi_error = MPI_SUCCESS;
    auto const element = decode(etype, &mpi_error);
    auto const tile = element == nullptr ? nullptr : decode(filetype, &mpi_error);
    view->native_representation = is_native(representation);
    view->displacement = displacement;
    view->usable =
        tile != nullptr && element->bytes > 0 && (tile->bytes == 0 || tile->shape->low >= 0);
    if (!view->usable) return view;
    view->tiling = with_long_tiles({tile->shape, displacement, tile->extent});
    view->costly = !element->plain || !tile->plain || tile->shape->pieces > large_view_pieces;
    view->etype_bytes = element->bytes;
    return view;
}

// What all ranks have to say about their new views: wrong ones (refusal), ones that Unisono cannot
// walk, ones that the MPI library had better not be told of now. Collective.
Proposal agree_on_views(File& file, FileView const& view) {
    Proposal notice;
    notice.refusal = view.displacement < 0 ? MPI_ERR_ARG : 0;
    notice.refusing_rank = static_cast<std::uint32_t>(file.context().rank());
    notice.costly_view = view.costly;
    notice.must_be_native = !view.usable || !view.native_representation;
    if (file.context().ranks() > 1) file.team().rendezvous().meet(notice);
    return notice;
}

std::uint64_t file_bytes(File const& file) {
    MPI_Offset size = 0;
    PMPI_File_get_size(file.handle(), &size);
    return static_cast<std::uint64_t>(size);
}

// The end of the file in etypes of the view, rounded up.
MPI_Offset end_in_etypes(File const& file, FileView const& view) {
    if (view.tiling.shape->empty()) return 0;
    auto const bytes = position_of(view.tiling, static_cast<std::int64_t>(file_bytes(file)));
    return static_cast<MPI_Offset>(div_ceil(bytes, view.etype_bytes));
}

int fail(File const& file, int error_class, char const* call, std::string const& why) {
    return raise(file.handle(),
                 error_code(error_class, std::string{call} + " on " + file.path() + ": " + why));
}

// What deferred writes could not do comes out where the program waits for them.
int raise_deferred(File& file, char const* call) {
    auto const verdict = file.settle();
    if (verdict.code == 0) return MPI_SUCCESS;
    return fail(file, error_class_of(verdict.code), call, describe(verdict));
}

}  // namespace

int file_open(MPI_Comm comm, char const* path, int access_mode, MPI_Info info, MPI_File* handle) {
    auto const hints = pairs_of(info);
    auto own = own_options(path, hints, /*print=*/false);
    int result = MPI_SUCCESS;
    if (own.native_hints.empty()) {
        result = UNISONO_NATIVE(File_open)(comm, path, access_mode, info, handle);
    } else {
        auto merged = with_native_hints(info, own);
        result = UNISONO_NATIVE(File_open)(comm, path, access_mode, merged, handle);
        PMPI_Info_free(&merged);
    }
    if (result != MPI_SUCCESS || (access_mode & MPI_MODE_SEQUENTIAL) != 0) return result;

    auto context = Context::of(comm);
    if (context->rank() == 0) own = own_options(path, hints, /*print=*/true);
    auto options = agree_on(own, *context);
    if (options.leave_alone) return result;
    auto file =
        std::make_shared<File>(*handle, std::move(context), path, access_mode, std::move(options));
    file->hints = hints;
    if ((access_mode & MPI_MODE_CREATE) != 0 && file->context().rank() == 0) file->stripe();
    // No rank returns before all have opened their descriptors: the program may unlink the path.
    leave_out_unshared_plugin(*file);
    begin_measuring(*file);
    if ((access_mode & MPI_MODE_APPEND) != 0) {
        MPI_Offset end = 0;
        UNISONO_NATIVE(File_get_position)(*handle, &end);
        file->set_pointer(end);
    }
    remember(std::move(file));
    return result;
}

int file_close(MPI_File* handle) {
    // Handles are used again after the close: forget first.
    auto file = forget(*handle);
    int result = MPI_SUCCESS;
    if (file != nullptr) {
        result = raise_deferred(*file, "MPI_File_close");
        file->finish_report();
        print_once(file->context().keep_lessons(/*last=*/false));
        file.reset();
    }
    auto const closed = UNISONO_NATIVE(File_close)(handle);
    return result == MPI_SUCCESS ? closed : result;
}

int file_sync(MPI_File handle) {
    auto const file = find(handle);
    auto const result = file == nullptr ? MPI_SUCCESS : raise_deferred(*file, "MPI_File_sync");
    auto const synced = UNISONO_NATIVE(File_sync)(handle);
    return result == MPI_SUCCESS ? synced : result;
}

int file_set_size(MPI_File handle, MPI_Offset size) {
    if (auto const file = find(handle)) file->drain();
    return UNISONO_NATIVE(File_set_size)(handle, size);
}

int file_set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype etype,
                  MPI_Datatype filetype, char const* representation, MPI_Info info) {
    auto const native = [&] {
        return UNISONO_NATIVE(File_set_view)(handle, displacement, etype, filetype, representation,
                                             info);
    };
    auto const file = find(handle);
    if (file == nullptr) return native();
    auto view = make_view(displacement, etype, filetype, representation);
    auto const agreed = agree_on_views(*file, *view);
    if (agreed.refusal != 0)
        return fail(
            *file, agreed.refusal, "MPI_File_set_view",
            "rank " + std::to_string(agreed.refusing_rank) + " gave a negative displacement");
    if (agreed.costly_view && !agreed.must_be_native) {
        view->mirrored = false;
        view->etype = duplicate(etype);
        view->filetype = duplicate(filetype);
    } else if (auto const result = native(); result != MPI_SUCCESS) {
        return result;
    }
    // Independent calls with views that Unisono cannot walk go to the MPI library.
    if (agreed.must_be_native) file->drain();
    file->use(std::move(view));
    if (info != MPI_INFO_NULL) take_hints(*file, info);
    return MPI_SUCCESS;
}

int file_get_view(MPI_File handle, MPI_Offset* displacement, MPI_Datatype* etype,
                  MPI_Datatype* filetype, char* representation) {
    auto const file = find(handle);
    auto const view = file == nullptr ? nullptr : file->view();
    if (view == nullptr || view->mirrored)
        return UNISONO_NATIVE(File_get_view)(handle, displacement, etype, filetype, representation);
    *displacement = view->displacement;
    *etype = handed_out(view->etype);
    *filetype = handed_out(view->filetype);
    std::strcpy(representation, "native");
    return MPI_SUCCESS;
}

int file_get_info(MPI_File handle, MPI_Info* info) {
    auto const result = UNISONO_NATIVE(File_get_info)(handle, info);
    auto const file = find(handle);
    if (result != MPI_SUCCESS || file == nullptr) return result;
    // Some libraries echo hints that they do not know.
    for (auto const& [key, value] : pairs_of(*info))
        if (key.starts_with("unisono_")) PMPI_Info_delete(*info, key.c_str());
    for (auto const& [key, value] : effective_hints(file->options()))
        PMPI_Info_set(*info, key.c_str(), value.c_str());
    return result;
}

int file_set_info(MPI_File handle, MPI_Info info) {
    auto const result = UNISONO_NATIVE(File_set_info)(handle, info);
    auto const file = find(handle);
    if (result == MPI_SUCCESS && file != nullptr) take_hints(*file, info);
    return result;
}

int file_set_atomicity(MPI_File handle, int atomic) {
    auto const file = find(handle);
    if (file != nullptr) file->drain();
    auto const result = UNISONO_NATIVE(File_set_atomicity)(handle, atomic);
    if (result == MPI_SUCCESS && file != nullptr) file->set_atomic(atomic != 0);
    return result;
}

// Open MPI 4.1.4 fills the new part with what is in its memory, and fails at random when the file
// is longer already.
int file_preallocate(MPI_File handle, MPI_Offset size) {
    auto const file = find(handle);
    if (file != nullptr) file->drain();
    auto const usable = file != nullptr && file->storage().descriptor >= 0 && size >= 0 &&
                        (file->access_mode() & MPI_MODE_RDONLY) == 0;
    Proposal notice;
    notice.must_be_native = !usable;
    if (file != nullptr) file->team().rendezvous().meet(notice);
    if (file == nullptr || notice.must_be_native)
        return UNISONO_NATIVE(File_preallocate)(handle, size);
    IoResult result;
    if (file->context().rank() == 0 && size > 0)
        result.error = {posix_fallocate(file->storage().descriptor, 0, size), "posix_fallocate",
                        static_cast<std::uint64_t>(size)};
    Verdict verdict{result, static_cast<std::uint32_t>(file->context().rank())};
    file->team().rendezvous().meet(verdict);
    if (verdict.code == 0) return MPI_SUCCESS;
    return fail(*file, error_class_of(verdict.code), "MPI_File_preallocate", describe(verdict));
}

int file_seek(MPI_File handle, MPI_Offset offset, int whence) {
    auto const file = find(handle);
    if (file == nullptr) return UNISONO_NATIVE(File_seek)(handle, offset, whence);
    auto const view = file->view();
    if (!view->usable || (whence == MPI_SEEK_END && !view->tiling.ascending()))
        return pass_on(handle, known_view_and_pointer, "MPI_File_seek",
                       [&] { return UNISONO_NATIVE(File_seek)(handle, offset, whence); });
    auto target = offset;
    if (whence == MPI_SEEK_CUR)
        target += file->pointer();
    else if (whence == MPI_SEEK_END)
        target += end_in_etypes(*file, *view);
    else if (whence != MPI_SEEK_SET)
        return fail(*file, MPI_ERR_ARG, "MPI_File_seek", "whence is none of MPI_SEEK_*");
    if (target < 0)
        return fail(*file, MPI_ERR_ARG, "MPI_File_seek", "before the start of the view");
    file->set_pointer(target);
    return MPI_SUCCESS;
}

int file_get_position(MPI_File handle, MPI_Offset* offset) {
    auto const file = find(handle);
    if (file == nullptr) return UNISONO_NATIVE(File_get_position)(handle, offset);
    *offset = file->pointer();
    return MPI_SUCCESS;
}

int file_get_byte_offset(MPI_File handle, MPI_Offset offset, MPI_Offset* displacement) {
    auto const file = find(handle);
    auto const view = file == nullptr ? nullptr : file->view();
    if (view == nullptr || !view->usable || view->tiling.shape->empty())
        return UNISONO_NATIVE(File_get_byte_offset)(handle, offset, displacement);
    if (offset < 0)
        return fail(*file, MPI_ERR_ARG, "MPI_File_get_byte_offset", "the offset is negative");
    *displacement = offset_of(view->tiling, static_cast<std::uint64_t>(offset) * view->etype_bytes);
    return MPI_SUCCESS;
}

}  // namespace unisono::interpose
