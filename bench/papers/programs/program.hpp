#pragma once

#include <climits>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shapes.hpp"

namespace bench::papers {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;

/// A number that the user may set: option --NAME, with K, M and G as powers of 1024. It may be 0 if
/// that is what it is unless it is given.
struct Parameter {
    std::string_view name;
    std::uint64_t otherwise = 0;  ///< its value unless it is given
    std::string_view meaning;
    std::uint64_t most = INT_MAX;  ///< what MPI counts, or any_number
};

constexpr std::uint64_t any_number = UINT64_MAX;

/// The parameters' values, by name.
class Values {
public:
    std::uint64_t& operator[](std::string_view name) { return values_[std::string(name)]; }
    std::uint64_t operator[](std::string_view name) const { return values_.at(std::string(name)); }

private:
    std::map<std::string, std::uint64_t> values_;
};

/// One benchmark of the papers. It says what each rank asks for; opening, timing, preparing and
/// verifying are the same for all of them (driver.hpp).
struct Program {
    std::string_view name;
    std::string_view summary;
    std::string_view source;  ///< the paper and section that it was written from
    std::span<Parameter const> parameters;
    /// Local. Throws std::invalid_argument with a line for the user. Each call has as many pieces
    /// as the others, and its memory is contiguous: --memory makes it otherwise.
    Access (*access)(Place, Values const&);
};

/// All of them, in the order of the list that users see. To add one: a file that defines a Program,
/// a declaration in all_programs.cpp and a line in its table.
std::span<Program const* const> all_programs();

/// `whole / part` if that is a whole number that is not zero, else an exception that says which
/// option to change.
std::uint64_t parts_of(std::uint64_t whole, std::uint64_t part, std::string_view option);

/// Blocks of all ranks in turn, as columns of a matrix with one block of each rank in a row; a call
/// is for `rows` rows. `file_bytes` must be a multiple of what a call is for.
Access columns(Place place, std::uint64_t block_bytes, std::uint64_t rows,
               std::uint64_t file_bytes);

}  // namespace bench::papers
