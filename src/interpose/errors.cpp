#include "interpose/errors.hpp"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "interpose/file.hpp"
#include "interpose/guard.hpp"
#include "interpose/native.hpp"
#include "interpose/numbers.hpp"

namespace unisono::interpose {
namespace {

struct OwnCode {
    int code;
    std::string text;
};

struct OwnCodes {
    std::mutex mutex;
    std::map<int, OwnCode> by_class;
};

OwnCodes& own_codes() {
    static auto* const codes = new OwnCodes;  // errors may be asked about until the very end
    return *codes;
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
    auto& by_class = own_codes().by_class;
    auto entry = by_class.find(error_class);
    if (entry == by_class.end()) {
        int code = error_class;
        if (PMPI_Add_error_code(error_class, &code) != MPI_SUCCESS) return error_class;
        entry = by_class.emplace(error_class, OwnCode{code, {}}).first;
    }
    entry->second.text = message.substr(0, MPI_MAX_ERROR_STRING - 1);
    PMPI_Add_error_string(entry->second.code, entry->second.text.data());
    return entry->second.code;
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

int error_string(int code, char* text, int* length) {
    {
        std::lock_guard const lock{own_codes().mutex};
        for (auto const& [error_class, own] : own_codes().by_class) {
            if (own.code != code) continue;
            *length = static_cast<int>(own.text.size());
            std::memcpy(text, own.text.c_str(), own.text.size() + 1);
            return MPI_SUCCESS;
        }
    }
    return UNISONO_NATIVE(Error_string)(code, text, length);
}

int raise(MPI_File file, int code) {
    if (code == MPI_SUCCESS) return code;
    CallDepth::Handler const calls_are_the_programs;
    PMPI_File_call_errhandler(file, code);
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

bool handler_ends_program(MPI_File file) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (PMPI_File_get_errhandler(file, &handler) != MPI_SUCCESS) return false;
    if (handler == numbers().errors_return) return false;
    if (handler == MPI_ERRORS_ARE_FATAL || handler == numbers().errors_abort) return true;
    PMPI_Errhandler_free(&handler);
    return false;
}

void set_count(MPI_Status* status, std::uint64_t bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    // With a derived type the two MPI families count different things; bytes mean the same.
    PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
    PMPI_Status_set_cancelled(status, 0);
}

}  // namespace unisono::interpose
