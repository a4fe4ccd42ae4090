#include "abandoned.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "random.hpp"

namespace fuzz {

Abandoned::Abandoned(std::uint64_t seed, std::string const& folder, MPI_Comm everyone)
    : seed_(seed), files_(1 + Random(seed).below(3)) {
    for (std::size_t i = 0; i < files_.size(); ++i)
        begin(files_[i], folder + "/abandoned" + std::to_string(i), everyone);
}

Abandoned::~Abandoned() {
    for (auto const& file : files_) ::close(file.descriptor);
}

// Pieces of all ranks in turn; each call writes some of them.
void Abandoned::begin(OpenFile& file, std::string const& path, MPI_Comm everyone) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(everyone, &rank);
    MPI_Comm_size(everyone, &ranks);
    Random random(++seed_);
    auto const piece = 1 + random.small_below(100'000);
    auto const pieces = 1 + random.below(4);
    auto const calls = 1 + random.below(4);
    static std::vector<char const*> const strategies = {"auto", "two_phase", "independent"};

    file.contents.resize(piece * pieces * calls * static_cast<unsigned>(ranks));
    fill_pattern(seed_, file.contents);
    for (std::size_t i = 0; i < pieces * calls; ++i) {
        auto const* const from = file.contents.data() + (i * ranks + rank) * piece;
        file.mine.insert(file.mine.end(), from, from + piece);
    }

    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "unisono_overlap", "enable");
    MPI_Info_set(info, "unisono_strategy", random.pick(strategies));
    MPI_File handle = MPI_FILE_NULL;
    MPI_File_open(everyone, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &handle);
    MPI_Info_free(&info);
    file.descriptor = ::open(path.c_str(), O_RDONLY);
    MPI_Barrier(everyone);
    if (rank == 0) ::unlink(path.c_str());

    MPI_Datatype own = MPI_DATATYPE_NULL, tile = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &own);
    MPI_Type_create_resized(own, 0, static_cast<MPI_Aint>(piece) * ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(handle, static_cast<MPI_Offset>(piece) * rank, MPI_BYTE, tile, "native",
                      MPI_INFO_NULL);
    MPI_Type_free(&own);
    MPI_Type_free(&tile);
    for (std::size_t call = 0; call < calls; ++call) {
        auto const at = call * pieces * piece;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_File_iwrite_at_all(handle, static_cast<MPI_Offset>(at), file.mine.data() + at,
                               static_cast<int>(pieces * piece), MPI_BYTE, &request);
        if (random.chance(20)) MPI_Request_free(&request);
    }
}

bool Abandoned::all_written() const {
    for (std::size_t i = 0; i < files_.size(); ++i) {
        auto const& contents = files_[i].contents;
        std::vector<std::uint8_t> found(contents.size() + 1);
        auto const bytes = ::pread(files_[i].descriptor, found.data(), found.size(), 0);
        if (bytes == static_cast<ssize_t>(contents.size()) &&
            std::equal(contents.begin(), contents.end(), found.begin()))
            continue;
        std::printf(
            "FAILED: file %zu that MPI_Finalize found with calls pending has %zd bytes of"
            " %zu, or other ones\n",
            i, bytes, contents.size());
        return false;
    }
    return true;
}

}  // namespace fuzz
