#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fuzz {

/// `bytes` data bytes at `offset` from the type's origin, made of elements of `element_bytes`.
struct Run {
    std::int64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t element_bytes = 1;
};

/// The plain meaning of a datatype: its runs in data order and its bounds, as the MPI standard
/// defines them. Computed beside the MPI constructor calls, never from them.
class TypeMap {
public:
    std::vector<Run> runs;
    std::int64_t lower = 0;
    std::int64_t upper = 0;

    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::int64_t extent() const { return upper - lower; }
    [[nodiscard]] std::int64_t true_lower() const { return true_lower_; }
    [[nodiscard]] std::int64_t true_upper() const { return true_upper_; }
    [[nodiscard]] std::int64_t true_extent() const { return true_upper_ - true_lower_; }
    /// Data bytes before run i.
    [[nodiscard]] std::uint64_t bytes_before(std::size_t i) const { return before_[i]; }
    /// Index of the run with data byte `position` (below size_bytes).
    [[nodiscard]] std::size_t run_at(std::uint64_t position) const;
    /// Runs ascend and do not overlap.
    [[nodiscard]] bool ascending() const;
    /// `tiles` copies, an extent apart, do not overlap each other or themselves.
    [[nodiscard]] bool disjoint_when_tiled(std::uint64_t tiles) const;

    /// Appends a run; neighbours of the same element size become one.
    void append(Run run);
    /// Appends `child` `count` times, its extent apart, and widens the bounds as MPI does.
    void place(TypeMap const& child, std::int64_t offset, std::uint64_t count);

private:
    std::vector<std::uint64_t> before_;
    std::uint64_t size_bytes_ = 0;
    std::int64_t true_lower_ = 0;
    std::int64_t true_upper_ = 0;
    bool bounded_ = false;
};

struct Type;
using TypePtr = std::shared_ptr<Type const>;

/// One node of a tree of datatypes: its meaning, how to write it down, and how to make it in MPI.
struct Type {
    TypeMap map;
    std::string text;
    unsigned depth = 1;
    bool plain = true;  ///< only constructors that every MPI library is known to get right
    bool predefined = false;
    bool same_in_external32 = true;      ///< no longer or shorter there, nor closer together
    std::function<MPI_Datatype()> make;  ///< the caller frees it, unless `predefined`
};

/// An MPI datatype for the length of a scope.
class Datatype {
public:
    explicit Datatype(TypePtr type) : type_(std::move(type)), handle_(type_->make()) {}
    ~Datatype() { release(); }
    Datatype(Datatype const&) = delete;
    Datatype& operator=(Datatype const&) = delete;

    void commit() { MPI_Type_commit(&handle_); }
    void release() {
        if (!type_->predefined && handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
    }
    [[nodiscard]] MPI_Datatype get() const { return handle_; }

private:
    TypePtr type_;
    MPI_Datatype handle_;
};

/// Packed data of so many elements of the type as external32 has them, or the other way round:
/// number by number in the other order. Only for types that are the same there.
void swap_numbers(TypeMap const& map, std::vector<std::uint8_t>& packed);
/// Of the first `bytes` data bytes, those that make whole numbers.
std::uint64_t whole_numbers(TypeMap const& map, std::uint64_t bytes);

// One function per MPI constructor. Displacements and strides of the h variants and of structure
// are in bytes, of the others in extents of the child, as in MPI.
std::size_t basic_count();
TypePtr basic(std::size_t index);
TypePtr basic_byte();
TypePtr contiguous(int count, TypePtr child);
TypePtr vector(int count, int block_length, int stride, TypePtr child);
TypePtr hvector(int count, int block_length, MPI_Aint stride, TypePtr child);
TypePtr indexed(std::vector<int> lengths, std::vector<int> displacements, TypePtr child);
TypePtr hindexed(std::vector<int> lengths, std::vector<MPI_Aint> displacements, TypePtr child);
TypePtr indexed_block(int length, std::vector<int> displacements, TypePtr child);
TypePtr hindexed_block(int length, std::vector<MPI_Aint> displacements, TypePtr child);
/// Always resized to its bounds: how an MPI library pads a structure is its own choice.
TypePtr structure(std::vector<int> lengths, std::vector<MPI_Aint> displacements,
                  std::vector<TypePtr> children);
TypePtr subarray(std::vector<int> sizes, std::vector<int> subsizes, std::vector<int> starts,
                 int order, TypePtr child);
TypePtr darray(int processes, int rank, std::vector<int> sizes, std::vector<int> distributions,
               std::vector<int> arguments, std::vector<int> grid, int order, TypePtr child);
TypePtr resized(MPI_Aint lower, MPI_Aint extent, TypePtr child);
TypePtr duplicate(TypePtr child);

/// Calls visit(offset, data_index, bytes) for the data bytes [first, first + count) of `map` laid
/// end to end from `origin`, in data order.
template <class Visit>
void for_each_run(TypeMap const& map, std::int64_t origin, std::uint64_t first, std::uint64_t count,
                  Visit&& visit) {
    if (count == 0) return;
    std::uint64_t tile = first / map.size_bytes();
    std::uint64_t inside = first % map.size_bytes();
    std::size_t run = map.run_at(inside);
    inside -= map.bytes_before(run);
    for (std::uint64_t done = 0; done < count;) {
        Run const& piece = map.runs[run];
        std::uint64_t const bytes = std::min(piece.bytes - inside, count - done);
        visit(origin + static_cast<std::int64_t>(tile) * map.extent() + piece.offset +
                  static_cast<std::int64_t>(inside),
              done, bytes);
        done += bytes;
        inside = 0;
        if (++run == map.runs.size()) {
            run = 0;
            ++tile;
        }
    }
}

}  // namespace fuzz
