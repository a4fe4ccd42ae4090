// Files and directories without permission. Root may do everything, so the ranks act as nobody.
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "files.hpp"

namespace semantics {
namespace {

/// File accesses of this thread are those of an ordinary user, until destroyed.
class AsNobody {
public:
    explicit AsNobody(bool wanted = true) : active_(wanted && geteuid() == 0) {
        if (active_) become(65534);
    }
    ~AsNobody() {
        if (active_) become(0);
    }

private:
    // A change of user makes a process undumpable, which would forbid MPI to read its memory.
    static void become(unsigned user) {
        setfsuid(user);
        prctl(PR_SET_DUMPABLE, 1);
    }
    bool active_;
};

// On all ranks alike.
bool can_act_as_two(Context const& context) {
    if (geteuid() != 0) {
        skip("needs root, to act as two users");
        return false;
    }
    AsNobody const nobody;
    int const folder = open(context.path(".").c_str(), O_PATH);
    if (folder < 0) {
        skip("others may not go into the folder that tests run in");
        return false;
    }
    close(folder);
    return true;
}

TEST(a_directory_without_permission) {
    auto const closed = context.path("closed");
    if (context.root()) mkdir(closed.c_str(), 0700);
    if (context.root() && geteuid() != 0) chmod(closed.c_str(), 0000);
    context.barrier();
    {
        AsNobody const nobody;
        MPI_File file = MPI_FILE_NULL;
        int const code = MPI_File_open(context.comm, (closed + "/data").c_str(),
                                       MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        CHECK(code != MPI_SUCCESS);
        CHECK(same_on_all(context, error_class(code)));
    }
    context.barrier();
    if (context.root()) chmod(closed.c_str(), 0700);
}

void prepare_with_mode(Context const& context, mode_t mode) {
    prepare_file(context, context.path(), 20000);
    if (context.root()) chmod(context.path().c_str(), mode);
    context.barrier();
}

TEST(a_file_without_write_permission) {
    if (geteuid() == 0 && !can_act_as_two(context)) return;
    prepare_with_mode(context, 0444);
    AsNobody const nobody;
    MPI_File file = MPI_FILE_NULL;
    int const code =
        MPI_File_open(context.comm, context.path().c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(code)));
    file = open_file(context, context.path(), MPI_MODE_RDONLY);
    DealtView const view(context, 12);
    CHECK_MPI(view.set(file));
    Bytes back(1200);
    CHECK_MPI(MPI_File_read_all(file, back.data(), 1200, MPI_BYTE, MPI_STATUS_IGNORE));
    check_bytes(back, view.data(0, 1200), "what was read");
    close_file(file);
}

// Mapping a file needs read permission: without it Unisono has to take another way.
TEST(a_file_without_read_permission, unisono_mpich,
     "OMPIO itself opens write-only files for reading, too; ROMIO's sieving reads") {
    if (!can_act_as_two(context)) return;
    prepare_with_mode(context, 0222);
    {
        AsNobody const nobody;
        MPI_File file = open_file(context, context.path(), MPI_MODE_WRONLY);
        Type const tile = make_resized(0, 24LL * context.size, make_contiguous(8, MPI_BYTE));
        CHECK_MPI(
            MPI_File_set_view(file, 24LL * context.rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
        Bytes const data(800, 255);
        MPI_Status status;
        CHECK_MPI(MPI_File_write_all(file, data.data(), 800, MPI_BYTE, &status));
        CHECK_EQUAL(count_of(status), 800);
        close_file(file);
    }
    Bytes expected = pattern_bytes(0, 20000);
    for (std::size_t piece = 0; piece < 100u * context.size; ++piece)
        std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(24 * piece), 8, 255);
    check_file(context, context.path(), expected);
}

TEST(one_rank_without_permission, unisono_mpich | native_mpich,
     "OMPIO of Open MPI 4.1.4 hangs in the open itself") {
    if (!can_act_as_two(context)) return;
    prepare_with_mode(context, 0600);
    AsNobody const nobody(context.rank == context.size - 1);
    MPI_File file = MPI_FILE_NULL;
    int const code =
        MPI_File_open(context.comm, context.path().c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, code != MPI_SUCCESS));
}

}  // namespace

}  // namespace semantics
