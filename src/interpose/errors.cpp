#include "interpose/errors.hpp"

#include <cerrno>
#include <map>
#include <mutex>

namespace unisono::interpose {

int error_class_of(int code) {
    switch (code) {
        case ENOSPC: return MPI_ERR_NO_SPACE;
        case EDQUOT: return MPI_ERR_QUOTA;
        case EACCES:
        case EPERM: return MPI_ERR_ACCESS;
        case EROFS: return MPI_ERR_READ_ONLY;
        case ENOENT: return MPI_ERR_NO_SUCH_FILE;
        case ENOMEM: return MPI_ERR_NO_MEM;
        default: return MPI_ERR_IO;
    }
}

int error_code(int error_class, std::string const& message) {
    static std::mutex mutex;
    static std::map<int, int> codes;  // by class
    std::lock_guard const lock{mutex};
    auto const [entry, is_new] = codes.try_emplace(error_class, error_class);
    if (is_new && PMPI_Add_error_code(error_class, &entry->second) != MPI_SUCCESS)
        entry->second = error_class;
    if (entry->second != error_class) {
        auto text = message.substr(0, MPI_MAX_ERROR_STRING - 1);
        PMPI_Add_error_string(entry->second, text.data());
    }
    return entry->second;
}

int raise(MPI_File file, int code) {
    if (code != MPI_SUCCESS) PMPI_File_call_errhandler(file, code);
    return code;
}

void set_count(MPI_Status* status, std::uint64_t bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    // With a derived type the two MPI families count different things; bytes mean the same.
    PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
    PMPI_Status_set_cancelled(status, 0);
}

}  // namespace unisono::interpose
