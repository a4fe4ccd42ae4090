#include "interpose/mpiio_backend.hpp"

#include <algorithm>
#include <cerrno>

#include "interpose/native.hpp"
#include "interpose/numbers.hpp"
#include "interpose/world.hpp"

namespace unisono::interpose {
namespace {

constexpr std::uint64_t call_bytes_max = 1 << 30;

int errno_of(int mpi_error) {
    int error_class = MPI_ERR_IO;
    PMPI_Error_class(mpi_error, &error_class);
    switch (error_class) {
        case MPI_ERR_NO_SPACE:
            return ENOSPC;
        case MPI_ERR_QUOTA:
            return EDQUOT;
        case MPI_ERR_ACCESS:
            return EACCES;
        case MPI_ERR_READ_ONLY:
            return EROFS;
        default:
            return EIO;
    }
}

class MpiioBackend final : public Backend {
public:
    explicit MpiioBackend(MPI_File file) : file_{file} {}
    ~MpiioBackend() override { close(); }

    [[nodiscard]] std::string_view name() const override { return "mpiio"; }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        IoResult result;
        for (auto const& transfer : list) {
            for (std::uint64_t done = 0; done < transfer.bytes;) {
                auto const at = transfer.offset + done;
                auto const wanted = std::min(transfer.bytes - done, call_bytes_max);
                int moved = 0;
                if (auto const code = call(direction, at, transfer.memory + done, wanted, moved))
                    result.error = {
                        code,
                        direction == Direction::read ? "MPI_File_read_at" : "MPI_File_write_at",
                        at};
                done += static_cast<std::uint64_t>(moved);
                result.bytes += static_cast<std::uint64_t>(moved);
                if (moved > 0 && !result.error) continue;
                result.stopped_at = at + static_cast<std::uint64_t>(moved);
                return result;
            }
        }
        return result;
    }

    // The MPI library has written it, so its sync knows what to sync.
    Error sync() override { return outcome(UNISONO_NATIVE(File_sync)(file_), "MPI_File_sync"); }

    Error close() override {
        if (file_ == MPI_FILE_NULL) return {};
        return outcome(UNISONO_NATIVE(File_close)(&file_), "MPI_File_close");
    }

private:
    static Error outcome(int mpi_error, char const* call) {
        if (mpi_error == MPI_SUCCESS) return {};
        return {errno_of(mpi_error), call, Error::whole_file};
    }

    int call(Direction direction, std::uint64_t offset, std::byte* memory, std::uint64_t bytes,
             int& moved) {
        MPI_Status status{};
        auto const at = static_cast<MPI_Offset>(offset);
        auto const count = static_cast<int>(bytes);
        auto const error =
            direction == Direction::read
                ? UNISONO_NATIVE(File_read_at)(file_, at, memory, count, MPI_BYTE, &status)
                : UNISONO_NATIVE(File_write_at)(file_, at, memory, count, MPI_BYTE, &status);
        if (error != MPI_SUCCESS) return errno_of(error);
        PMPI_Get_count(&status, MPI_BYTE, &moved);
        // A write that moves nothing and gives no reason would be repeated for ever.
        return moved == 0 && direction == Direction::write ? EIO : 0;
    }

    MPI_File file_;
};

}  // namespace

// Who hears of a failure is kept with MPI_FILE_NULL for the whole process: not a handler of the
// program, which has not opened this. Where another thread may open a file meanwhile, that handler
// has to stay, so nothing is opened.
MPI_File open_alone(std::string const& path, int access_mode, bool threaded) {
    MPI_File file = MPI_FILE_NULL;
    if (!world_is_there()) return file;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
    auto const in_the_way = handler != numbers().errors_return;
    if (!in_the_way || !threaded) {
        auto const mode = access_mode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
        if (in_the_way) PMPI_File_set_errhandler(MPI_FILE_NULL, numbers().errors_return);
        auto const result =
            UNISONO_NATIVE(File_open)(MPI_COMM_SELF, path.c_str(), mode, MPI_INFO_NULL, &file);
        // MPICH 5.0.2's standard ABI gives 0 for a file that it could not open.
        if (result != MPI_SUCCESS) file = MPI_FILE_NULL;
        if (in_the_way) PMPI_File_set_errhandler(MPI_FILE_NULL, handler);
    }
    PMPI_Errhandler_free(&handler);
    if (file != MPI_FILE_NULL) PMPI_File_set_errhandler(file, numbers().errors_return);
    return file;
}

std::unique_ptr<Backend> make_mpiio_backend(std::string const& path, int access_mode,
                                            bool threaded) {
    auto* const file = open_alone(path, access_mode, threaded);
    return file == MPI_FILE_NULL ? nullptr : std::make_unique<MpiioBackend>(file);
}

}  // namespace unisono::interpose
