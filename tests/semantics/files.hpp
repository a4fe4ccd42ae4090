#pragma once

#include <mpi.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace semantics {

using Bytes = std::vector<std::uint8_t>;

/// The byte that belongs at a file offset. Never zero, so that it differs from a hole.
/// `salt` tells different writers, or successive writes, apart.
inline std::uint8_t pattern(MPI_Offset offset, unsigned salt = 0) {
    auto const mixed = static_cast<std::uint64_t>(offset) * 31 +
                       (static_cast<std::uint64_t>(offset) >> 8) * 17 + salt * 101u;
    return static_cast<std::uint8_t>(1 + mixed % 251);
}

/// Owns one datatype handle.
class Type {
public:
    Type() = default;
    explicit Type(MPI_Datatype handle) : handle_(handle) { MPI_Type_commit(&handle_); }
    Type(Type&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
    Type& operator=(Type&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Type() {
        if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
    }
    operator MPI_Datatype() const { return handle_; }

private:
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

Type make_vector(int count, int block, int stride, MPI_Datatype old);
Type make_contiguous(int count, MPI_Datatype old);
Type make_resized(MPI_Aint lower_bound, MPI_Aint extent, MPI_Datatype old);
/// Pieces of `bytes` bytes that begin `apart` bytes apart, as a struct: no view that MPI libraries
/// are told of before they need it.
Type costly_rows(int rows, int bytes, int apart);

/// Owns an info object with these keys.
class Info {
public:
    using Key = std::pair<std::string, std::string>;
    explicit Info(std::initializer_list<Key> keys);
    Info(Info const&) = delete;
    Info& operator=(Info const&) = delete;
    ~Info() { MPI_Info_free(&handle_); }
    operator MPI_Info() const { return handle_; }

private:
    MPI_Info handle_ = MPI_INFO_NULL;
};

/// A view that deals blocks to the ranks like cards: rank r owns blocks r, r + size, ...
class DealtView {
public:
    DealtView(int rank, int size, int block_elements, MPI_Datatype etype = MPI_BYTE,
              MPI_Offset displacement = 0);
    DealtView(Context const& context, int block_elements, MPI_Datatype etype = MPI_BYTE,
              MPI_Offset displacement = 0)
        : DealtView(context.rank, context.size, block_elements, etype, displacement) {}

    /// Sets this view on all ranks of the file. Collective.
    [[nodiscard]] int set(MPI_File file) const;
    /// File offset of the data byte at a byte position of this view.
    [[nodiscard]] MPI_Offset offset(MPI_Offset position) const;
    /// How many of this view's data bytes lie below a file offset.
    [[nodiscard]] MPI_Offset bytes_below(MPI_Offset offset) const;
    /// What belongs at positions [position, position + bytes).
    [[nodiscard]] Bytes data(MPI_Offset position, std::size_t bytes, unsigned salt = 0) const;
    [[nodiscard]] MPI_Datatype filetype() const { return filetype_; }
    [[nodiscard]] MPI_Offset displacement() const { return displacement_; }
    [[nodiscard]] MPI_Offset block_bytes() const { return block_bytes_; }

private:
    int rank_;
    int size_;
    MPI_Offset block_bytes_;
    MPI_Offset displacement_;
    MPI_Datatype etype_;
    Type filetype_;
};

/// Opens on all ranks of the test. A failure is recorded and gives MPI_FILE_NULL.
MPI_File open_file(Context const& context, std::string const& path,
                   int mode = MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_Info info = MPI_INFO_NULL);
/// The test's own file, with this view.
MPI_File open_file(Context const& context, DealtView const& view);
/// The test's own file, with these hints.
MPI_File open_with(Context const& context, std::initializer_list<Info::Key> hints);
/// A file of this rank alone, on which a write takes `microseconds`, under Unisono.
MPI_File open_slow_file(Context const& context, int microseconds);
void close_file(MPI_File& file);
/// What all have written is there for all. Collective.
void sync_on_all(Context const& context, MPI_File file);

/// Checks that no file can be opened on an inter-communicator. Collective over it.
void an_intercommunicator_is_refused(MPI_Comm between, std::string const& path);

/// What belongs at file offsets [offset, offset + bytes).
Bytes pattern_bytes(MPI_Offset offset, std::size_t bytes, unsigned salt = 0);

/// The whole file, by plain system calls. Empty when there is none.
Bytes read_whole(std::string const& path);
/// Replaces the file by plain system calls.
void write_whole(std::string const& path, Bytes const& content);

/// Rank 0 writes a file of `bytes` pattern bytes by system calls; all ranks wait for it.
void prepare_file(Context const& context, std::string const& path, std::size_t bytes,
                  unsigned salt = 0);

/// Checks on rank 0, by system calls, that this is the whole file, once all have come.
void check_file(Context const& context, std::string const& path, Bytes const& expected,
                char const* what = "the file");
/// The same of so many pattern bytes.
void check_file(Context const& context, std::string const& path, std::size_t bytes,
                unsigned salt = 0);

/// Compares and records the first difference.
void check_bytes(Bytes const& actual, Bytes const& expected, char const* what);

/// Checks what all ranks read together, or this one alone, from a place of its view on, in etypes.
void check_read_at_all(MPI_File file, MPI_Offset at, Bytes const& expected,
                       char const* what = "what was read");
void check_read_at(MPI_File file, MPI_Offset at, Bytes const& expected,
                   char const* what = "what was read");

/// Index of the first difference, or the shorter length.
std::size_t matching_prefix(Bytes const& actual, Bytes const& expected);

long long count_of(MPI_Status const& status, MPI_Datatype type = MPI_BYTE);
long long elements_of(MPI_Status const& status, MPI_Datatype type);
long long elements_x_of(MPI_Status const& status, MPI_Datatype type);
long long position_of(MPI_File file);
long long shared_position_of(MPI_File file);
long long size_of(MPI_File file);

/// A file's value for a key; empty when the key is not there.
std::string info_value(MPI_File file, std::string const& key);
/// By the environment, which goes before hints.
bool strategy_is_forced();
/// Unisono takes all ranks to be on one node; likewise.
bool on_one_node(Context const& context);

}  // namespace semantics
