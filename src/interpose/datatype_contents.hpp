#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>

#include "interpose/datatypes.hpp"

namespace unisono::interpose {

// What MPI says about a datatype.

using DatatypePtr = std::shared_ptr<Datatype const>;

struct DecodeFailure {
    int mpi_error;
};

inline void check(int mpi_error) {
    if (mpi_error != MPI_SUCCESS) throw DecodeFailure{mpi_error};
}

/// Is a decoded type kept with the type? Parts that are made for one type and are cheap to decode
/// had better not: keeping costs as much.
enum class Keep : bool { if_long, always };

/// Throws DecodeFailure and std::bad_alloc.
using Decoder = DatatypePtr (*)(MPI_Datatype, Keep);
/// Of types as memory has them.
DatatypePtr decode_or_throw(MPI_Datatype type, Keep keep);

struct Envelope {
#if MPI_VERSION >= 4
    using Number = MPI_Count;
#else
    using Number = int;
#endif
    Number integers = 0;
    Number addresses = 0;
    Number large_counts = 0;
    Number datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;

    /// Predefined types, with or without a name: they have no parts and are never freed.
    [[nodiscard]] bool predefined() const {
        return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
               combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
    }
    [[nodiscard]] bool is_struct() const {
#ifdef MPICH_VERSION
        if (combiner == MPI_COMBINER_STRUCT_INTEGER) return true;
#endif
        return combiner == MPI_COMBINER_STRUCT;
    }
    [[nodiscard]] bool is_index_list() const {
        return combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED ||
               combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    }
};

Envelope envelope_of(MPI_Datatype type);

/// The arguments that a derived type was made with, in one order for small and large constructors:
/// that of the large one, with subarray's and darray's sizes where the small one has them.
class Contents {
public:
    /// `decoder`: for the parts.
    Contents(MPI_Datatype type, Envelope const& envelope, Decoder decoder);
    ~Contents();
    Contents(Contents const&) = delete;
    Contents& operator=(Contents const&) = delete;

    [[nodiscard]] std::int64_t number(std::size_t index) const {
        if (!large_.empty()) return static_cast<std::int64_t>(large_[index]);
        if (index < integers_.size()) return integers_[index];
        return static_cast<std::int64_t>(addresses_[index - integers_.size()]);
    }
    [[nodiscard]] std::uint64_t count(std::size_t index) const {
        return static_cast<std::uint64_t>(number(index));
    }
    /// What a type consists of that is no struct.
    [[nodiscard]] DatatypePtr const& child() const {
        if (child_ == nullptr) child_ = decoder_(datatypes_.at(0), Keep::if_long);
        return child_;
    }
    /// A struct's, where one type may come often.
    [[nodiscard]] DatatypePtr child(std::size_t index) const {
        return decoder_(datatypes_.at(index), Keep::always);
    }
    [[nodiscard]] std::span<MPI_Datatype const> parts() const { return datatypes_; }
    [[nodiscard]] bool any_negative() const {
        auto const any = [](auto const& numbers) {
            return std::ranges::any_of(numbers, [](auto number) { return number < 0; });
        };
        return any(integers_) || any(addresses_) || any(large_);
    }

private:
#if MPI_VERSION >= 4
    void take_up_integers(int combiner);
#endif

    Decoder decoder_;
    mutable DatatypePtr child_;
    std::array<std::byte, 256> room_;  // for short descriptions
    std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
    std::pmr::vector<int> integers_;
    std::pmr::vector<MPI_Aint> addresses_;
    std::pmr::vector<MPI_Count> large_;  // all numbers of a type made by a large constructor
    std::pmr::vector<MPI_Datatype> datatypes_;
};

/// Where an index list has the length and the displacement of entry i.
struct IndexList {
    std::size_t entries;
    std::size_t first_length;
    std::size_t length_step;  ///< 0: one length for all
    std::size_t first_displacement;
    std::int64_t unit_bytes;  ///< what displacements count
};

inline IndexList with_lengths(Contents const& contents, std::int64_t unit_bytes) {
    auto const entries = static_cast<std::size_t>(contents.number(0));
    return {entries, 1, 1, 1 + entries, unit_bytes};
}

inline IndexList with_one_length(Contents const& contents, std::int64_t unit_bytes) {
    return {static_cast<std::size_t>(contents.number(0)), 1, 0, 2, unit_bytes};
}

}  // namespace unisono::interpose
