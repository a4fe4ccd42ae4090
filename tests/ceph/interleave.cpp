// interleave FILE WORDS at-once|by-blocks [HINT=VALUE ...]: the ranks write a new file of WORDS
// times their number 32-bit words in blocks that take turns, each word its own index in the file,
// and read it back: in one call through a view, or each block by a collective write and an
// independent read of its own. Exit code 0 if all of that worked and every word came back.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int block_words = 1000;  // no stripe unit is a multiple of that

MPI_Info make_hints(int count, char** hints) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (int index = 0; index < count; ++index) {
        std::string const hint = hints[index];
        auto const equals = hint.find('=');
        MPI_Info_set(info, hint.substr(0, equals).c_str(), hint.substr(equals + 1).c_str());
    }
    return info;
}

void set_view(MPI_File file, int rank, int ranks) {
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Datatype every_turn = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(block_words, MPI_UINT32_T, &block);
    MPI_Type_create_resized(block, 0, MPI_Aint{ranks} * block_words * 4, &every_turn);
    MPI_Type_commit(&every_turn);
    MPI_File_set_view(file, MPI_Offset{rank} * block_words * 4, MPI_UINT32_T, every_turn, "native",
                      MPI_INFO_NULL);
    MPI_Type_free(&every_turn);
    MPI_Type_free(&block);
}

std::vector<std::uint32_t> words_of(int rank, int ranks, int count) {
    std::vector<std::uint32_t> words;
    for (int index = 0; index < count; ++index) {
        auto const block = index / block_words * ranks + rank;
        words.push_back(static_cast<std::uint32_t>(block * block_words + index % block_words));
    }
    return words;
}

int moved_words(MPI_Status const& status) {
    int count = 0;
    MPI_Get_count(&status, MPI_UINT32_T, &count);
    return count;
}

// Errors of files end the job.
MPI_File open_file(char const* path, int mode, MPI_Info info) {
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File file = MPI_FILE_NULL;
    MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file);
    return file;
}

// How a rank's words are written and read, and how many were.
struct Way {
    int (*write)(MPI_File, std::vector<std::uint32_t> const&, int rank, int ranks);
    int (*read)(MPI_File, std::vector<std::uint32_t>&, int rank, int ranks);
};

int write_at_once(MPI_File file, std::vector<std::uint32_t> const& words, int rank, int ranks) {
    MPI_Status status;
    set_view(file, rank, ranks);
    MPI_File_write_all(file, words.data(), static_cast<int>(words.size()), MPI_UINT32_T, &status);
    return moved_words(status);
}

int read_at_once(MPI_File file, std::vector<std::uint32_t>& words, int, int) {
    MPI_Status status;
    MPI_File_read_at_all(file, 0, words.data(), static_cast<int>(words.size()), MPI_UINT32_T,
                         &status);
    return moved_words(status);
}

// Calls move(offset, first word, how many) for each block.
template <class Move>
int for_blocks(std::size_t words, int rank, int ranks, Move&& move) {
    int moved = 0;
    MPI_Offset offset = MPI_Offset{rank} * block_words * 4;
    for (std::size_t first = 0; first < words; first += block_words) {
        moved += move(offset, first,
                      static_cast<int>(std::min<std::size_t>(block_words, words - first)));
        offset += MPI_Offset{ranks} * block_words * 4;
    }
    return moved;
}

int write_blocks(MPI_File file, std::vector<std::uint32_t> const& words, int rank, int ranks) {
    return for_blocks(
        words.size(), rank, ranks, [&](MPI_Offset offset, std::size_t first, int count) {
            MPI_Status status;
            MPI_File_write_at_all(file, offset, &words[first], count, MPI_UINT32_T, &status);
            return moved_words(status);
        });
}

int read_blocks(MPI_File file, std::vector<std::uint32_t>& words, int rank, int ranks) {
    return for_blocks(
        words.size(), rank, ranks, [&](MPI_Offset offset, std::size_t first, int count) {
            MPI_Status status;
            MPI_File_read_at(file, offset, &words[first], count, MPI_UINT32_T, &status);
            return moved_words(status);
        });
}

bool write_and_read(char const* path, std::vector<std::uint32_t> const& words, Way way,
                    MPI_Info info, int rank, int ranks) {
    auto const count = static_cast<int>(words.size());
    MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, info);
    auto const written = way.write(file, words, rank, ranks);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    std::vector<std::uint32_t> read(words.size(), ~std::uint32_t{0});
    auto const read_back = way.read(file, read, rank, ranks);
    MPI_File_close(&file);
    if (written == count && read_back == count && read == words) return true;
    auto const wrong = std::mismatch(words.begin(), words.end(), read.begin()).first;
    std::fprintf(stderr, "rank %d: %d words written and %d read of %d, word %td is wrong\n", rank,
                 written, read_back, count, wrong - words.begin());
    return false;
}

}  // namespace

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argument_count < 4) MPI_Abort(MPI_COMM_WORLD, 2);
    auto const way = std::string_view{arguments[3]} == "by-blocks"
                         ? Way{write_blocks, read_blocks}
                         : Way{write_at_once, read_at_once};
    auto info = make_hints(argument_count - 4, arguments + 4);
    auto const words = words_of(rank, ranks, std::atoi(arguments[2]));
    int right = write_and_read(arguments[1], words, way, info, rank, ranks) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Info_free(&info);
    MPI_Finalize();
    return right == 1 ? 0 : 1;
}
