#include "interpose/numbers.hpp"

#include <array>
#include <string_view>

#include "interpose/world.hpp"

#ifndef MPI_ERRORS_ABORT  // before MPI-4
#define MPI_ERRORS_ABORT MPI_ERRORS_ARE_FATAL
#endif

namespace unisono::interpose {

#ifdef UNISONO_STANDARD_ABI
namespace {

// Asked for an attribute that every library has, under the header's key, which is MPI_APPNUM's in
// Intel MPI: where keys have other numbers, the rest has, too. (MPI_COMBINER_F90_* have as well,
// which Unisono treats alike.) A program of sessions alone has no communicator to ask.
bool are_as_in_header() {
    if (!world_is_there()) {
        std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
        int length = 0;
        PMPI_Get_library_version(text.data(), &length);
        return std::string_view{text.data()}.find("Intel") == std::string_view::npos;
    }
    int const* last_code = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last_code, &found);
    return found != 0 && *last_code >= MPI_ERR_LASTCODE;
}

}  // namespace
#endif

Numbers const& numbers() {
    static Numbers const in_header{MPI_ERRORS_RETURN, MPI_ERRORS_ABORT, MPI_SEEK_SET, MPI_SEEK_CUR,
                                   MPI_SEEK_END};
#ifdef UNISONO_STANDARD_ABI
    static Numbers const earlier{MPI_ERRORS_ABORT, MPI_ERRORS_RETURN, MPI_SEEK_CUR, MPI_SEEK_END,
                                 MPI_SEEK_SET};
    static bool const as_in_header = are_as_in_header();
    if (!as_in_header) return earlier;
#endif
    return in_header;
}

}  // namespace unisono::interpose
