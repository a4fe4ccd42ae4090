#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulated/scenario.hpp"

namespace unisono::simulated {

/// What a file may hold: for each offset, any of these. Where ranks overlap, each of theirs may
/// have come last.
using Contents = std::map<std::uint64_t, std::vector<std::byte>>;

/// Before the first call, and after each.
std::vector<Contents> states_of(Scenario const& scenario);

std::uint64_t bytes_of(Contents const& contents);

/// What a rank's memory holds before a call; what it writes stands there.
std::vector<std::byte> memory_before(Scenario const& scenario, std::size_t call,
                                     std::uint32_t rank);

/// A byte that a rank writes in a call.
std::byte value_written(std::size_t call, std::uint32_t rank, std::uint64_t position_in_request);

/// Where the file is not as it should be; empty: nowhere.
std::string compare(std::vector<std::byte> const& found, Contents const& expected);

/// Where the file has a byte that no call up to `last` wrote, and that was not there before.
std::string find_foreign_byte(std::vector<std::byte> const& found,
                              std::vector<Contents> const& states, std::size_t last);

/// Where the memory of a read is not as it should be; it was `bytes` bytes up to the file's end.
std::string compare_read(Request const& request, std::vector<std::byte> const& memory,
                         Contents const& contents, std::uint64_t bytes);

/// Where the first `bytes` bytes of a request are not in the file.
std::string find_miscounted(Request const& request, std::vector<std::byte> const& file,
                            Contents const& expected, std::uint64_t bytes);

}  // namespace unisono::simulated
