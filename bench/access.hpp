#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>

namespace bench {

struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

/// `piece_bytes` used, then nothing until `stride_bytes`, again and again. Equal: contiguous.
struct Comb {
    std::uint64_t piece_bytes = 1;
    std::uint64_t stride_bytes = 1;

    [[nodiscard]] bool dense() const { return piece_bytes == stride_bytes; }

    /// Where byte number `position` of the used bytes lies, and how many follow it there.
    [[nodiscard]] Piece at(std::uint64_t position) const {
        if (dense()) return {position, UINT64_MAX - position};
        std::uint64_t const within = position % piece_bytes;
        return {position / piece_bytes * stride_bytes + within, piece_bytes - within};
    }
};

/// What the benchmark asks of one rank, said twice and independently: as MPI datatypes, which the
/// library under test gets, and as plain arithmetic, which the contents are verified with.
struct Access {
    // For MPI. The view's etype is MPI_BYTE.
    MPI_Datatype filetype = MPI_BYTE;
    MPI_Datatype memtype = MPI_BYTE;
    std::uint64_t displacement_bytes = 0;
    std::uint64_t count = 0;  ///< of memtype, in each call
    std::uint64_t calls = 1;
    bool explicit_offsets = false;  ///< byte view and *_at_all; piece i belongs to call i

    // For the verification.
    std::uint64_t bytes = 0;  ///< useful bytes of this rank, all calls together
    Comb memory;              ///< of the user's buffer
    std::uint64_t piece_count = 0;
    std::function<Piece(std::uint64_t)> file_piece;  ///< in the order of the bytes in memory
    std::uint64_t file_bytes = 0;                    ///< end of what all ranks ask for together
    Comb coverage;                                   ///< of the file by all ranks together

    [[nodiscard]] std::uint64_t bytes_per_call() const { return bytes / calls; }
    [[nodiscard]] std::uint64_t buffer_bytes() const {
        return memory.dense() ? bytes : bytes / memory.piece_bytes * memory.stride_bytes;
    }

    /// Calls visit(buffer offset, file offset, bytes) for every run that is contiguous in both.
    template <typename Visit>
    void for_each_run(Visit visit) const {
        std::uint64_t position = 0;
        for (std::uint64_t index = 0; index < piece_count; ++index) {
            Piece const piece = file_piece(index);
            for (std::uint64_t done = 0; done < piece.bytes;) {
                Piece const room = memory.at(position);
                std::uint64_t const run = std::min(room.bytes, piece.bytes - done);
                visit(room.offset, piece.offset + done, run);
                done += run;
                position += run;
            }
        }
    }
};

}  // namespace bench
