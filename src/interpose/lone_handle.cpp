#include "interpose/lone_handle.hpp"

#include <array>
#include <climits>

#include "interpose/datatypes.hpp"
#include "interpose/mpiio_backend.hpp"
#include "interpose/native.hpp"

namespace unisono::interpose {
namespace {

/// The file's view, as the file's handle has it if that knows it.
class ViewOfFile {
public:
    explicit ViewOfFile(File const& file) : view_{file.view()} {
        if (view_->mirrored)
            code_ = UNISONO_NATIVE(File_get_view)(file.handle(), &displacement_, &etype_,
                                                  &filetype_, representation_.data());
    }
    ~ViewOfFile() {
        for (auto* type : {&etype_, &filetype_})
            if (*type != MPI_DATATYPE_NULL && !predefined(*type)) PMPI_Type_free(type);
    }
    ViewOfFile(ViewOfFile const&) = delete;
    ViewOfFile& operator=(ViewOfFile const&) = delete;

    [[nodiscard]] int give_to(MPI_File handle) const {
        if (code_ != MPI_SUCCESS) return code_;
        if (view_->mirrored)
            return UNISONO_NATIVE(File_set_view)(handle, displacement_, etype_, filetype_,
                                                 representation_.data(), MPI_INFO_NULL);
        return UNISONO_NATIVE(File_set_view)(handle, view_->displacement, view_->etype,
                                             view_->filetype, view_->native_representation(),
                                             MPI_INFO_NULL);
    }

private:
    std::shared_ptr<FileView const> view_;
    int code_ = MPI_SUCCESS;
    MPI_Offset displacement_ = 0;
    MPI_Datatype etype_ = MPI_DATATYPE_NULL;
    MPI_Datatype filetype_ = MPI_DATATYPE_NULL;
    std::array<char, MPI_MAX_DATAREP_STRING + 1> representation_{};
};

}  // namespace

int call_alone(File const& file, DataCall const& call, MPI_Status* status) {
    if (call.count > INT_MAX) return MPI_ERR_COUNT;
    auto* own = open_alone(file.path(), file.access_mode(), file.context().threaded());
    if (own == MPI_FILE_NULL) return MPI_ERR_IO;
    auto* const buffer = const_cast<void*>(call.buffer);
    auto const count = static_cast<int>(call.count);
    auto code = ViewOfFile{file}.give_to(own);
    if (code == MPI_SUCCESS)
        code =
            call.direction == Direction::write
                ? UNISONO_NATIVE(File_write_at)(own, *call.offset, buffer, count, call.type, status)
                : UNISONO_NATIVE(File_read_at)(own, *call.offset, buffer, count, call.type, status);
    auto const closed = UNISONO_NATIVE(File_close)(&own);
    return code == MPI_SUCCESS ? closed : code;
}

}  // namespace unisono::interpose
