#include "interpose/errors.hpp"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "interpose/file.hpp"
#include "interpose/guard.hpp"
#include "interpose/native.hpp"
#include "interpose/numbers.hpp"
#include "interpose/program.hpp"

namespace unisono::interpose {
namespace {

struct OwnCode {
    int code;
    std::string text;
};

// Of an error class. MPI wants codes to live until the end: the oldest is used again.
struct CodesOfClass {
    static constexpr std::size_t most = 16;
    std::vector<OwnCode> codes;
    std::size_t next = 0;
};

struct OwnCodes {
    std::mutex mutex;
    std::map<int, CodesOfClass> by_class;
};

OwnCodes& own_codes() {
    static auto* const codes = new OwnCodes;  // errors may be asked about until the very end
    return *codes;
}

std::optional<std::string> own_text(int code) {
    std::lock_guard const lock{own_codes().mutex};
    for (auto const& [error_class, of_class] : own_codes().by_class)
        for (auto const& own : of_class.codes)
            if (own.code == code) return own.text;
    return {};
}

// MPICH (4.0.2) has the text of a code only where its class was added, too, and ends programs with
// an unrelated one else. Where the program ends, the class is of no matter.
int code_that_shows(int code) {
    auto text = own_text(code);
    int added_class = 0, added = code;
    if (!text || mpi_library().family != MpiLibrary::Family::mpich ||
        PMPI_Add_error_class(&added_class) != MPI_SUCCESS ||
        PMPI_Add_error_code(added_class, &added) != MPI_SUCCESS)
        return code;
    PMPI_Add_error_string(added, text->data());
    return added;
}

enum class Handler { returns, ends_program, is_programs };

Handler handler_of(MPI_File file) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (PMPI_File_get_errhandler(file, &handler) != MPI_SUCCESS) return Handler::is_programs;
    if (handler == numbers().errors_return) return Handler::returns;
    if (handler == MPI_ERRORS_ARE_FATAL || handler == numbers().errors_abort)
        return Handler::ends_program;
#ifdef MPIR_ERRORS_THROW_EXCEPTIONS  // MPICH's C++ bindings look at what calls return
    if (handler == MPIR_ERRORS_THROW_EXCEPTIONS) return Handler::returns;
#endif
    PMPI_Errhandler_free(&handler);
    return Handler::is_programs;
}

}  // namespace

int error_class_of(int code) {
    switch (code) {
        case ENOSPC:
            return MPI_ERR_NO_SPACE;
        case EDQUOT:
            return MPI_ERR_QUOTA;
        case EACCES:
        case EPERM:
            return MPI_ERR_ACCESS;
        case EROFS:
            return MPI_ERR_READ_ONLY;
        case ENOENT:
            return MPI_ERR_NO_SUCH_FILE;
        case ENOMEM:
            return MPI_ERR_NO_MEM;
        default:
            return MPI_ERR_IO;
    }
}

int error_code(int error_class, std::string const& message) {
    std::lock_guard const lock{own_codes().mutex};
    auto& [codes, next] = own_codes().by_class[error_class];
    int code = 0;
    if (codes.size() < CodesOfClass::most && PMPI_Add_error_code(error_class, &code) == MPI_SUCCESS)
        codes.push_back({code, {}});
    if (codes.empty()) return error_class;
    auto& own = codes[next++ % codes.size()];
    own.text = message.substr(0, MPI_MAX_ERROR_STRING - 1);
    PMPI_Add_error_string(own.code, own.text.data());
    return own.code;
}

std::string describe_errno(int code) {
    return std::string{strerror(code)} + " (errno " + std::to_string(code) + ")";
}

std::string describe(Verdict const& verdict) {
    auto const where = verdict.offset == Error::whole_file
                           ? std::string{}
                           : " at offset " + std::to_string(verdict.offset);
    auto text = std::string{verdict.call.data()} + " failed" + where + " on rank " +
                std::to_string(verdict.rank) + ": " + describe_errno(verdict.code);
    if (verdict.lost_bytes > 0)
        text += "; " + std::to_string(verdict.lost_bytes) + " bytes written earlier to [" +
                std::to_string(verdict.offset) + ", " + std::to_string(verdict.lost_end) +
                ") are lost";
    return text;
}

int Error_string(int code, char* text, int* length) {
    if (auto const own = own_text(code); own && text != nullptr && length != nullptr) {
        *length = static_cast<int>(own->size());
        std::memcpy(text, own->c_str(), own->size() + 1);
        return MPI_SUCCESS;
    }
    return UNISONO_NATIVE(Error_string)(code, text, length);
}

int raise(MPI_File file, int code) {
    if (code == MPI_SUCCESS) return code;
    auto const handler = handler_of(file);
    if (handler == Handler::returns) return code;
    CallDepth::Handler const calls_are_the_programs;
    auto const shown = handler == Handler::ends_program ? code_that_shows(code) : code;
    calling_the_program([&] { return PMPI_File_call_errhandler(file, shown); });
    return code;
}

int fail(File& file, int error_class, char const* call, std::string const& why) {
    auto const text = std::string{call} + " on " + file.path() + ": " + why;
    file.record([&](FileReport& report) { report.add_error(text); });
    if (file.context().rank() == 0) file.report_if_fatal(text);
    return raise(file.handle(), error_code(error_class, text));
}

int raise(File& file, Verdict const& verdict, char const* call) {
    if (verdict.code == 0) return MPI_SUCCESS;
    return fail(file, error_class_of(verdict.code), call, describe(verdict));
}

bool handler_ends_program(MPI_File file) { return handler_of(file) == Handler::ends_program; }

void set_count(MPI_Status* status, std::uint64_t bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    // With a derived type the two MPI families count different things; bytes mean the same.
    PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
    PMPI_Status_set_cancelled(status, 0);
}

std::uint64_t bytes_of(MPI_Status const& status) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    return static_cast<std::uint64_t>(bytes);
}

}  // namespace unisono::interpose
