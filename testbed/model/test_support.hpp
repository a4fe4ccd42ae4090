#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/drive.hpp"
#include "model/profile.hpp"

namespace unisono::testbed {

/// A profile that is shipped. Throws if it is not there.
Profile shipped_profile(std::string const& name);
std::string shipped_profile_text(std::string const& name);

/// For people who read the log: where a number comes from, what it should be, what it is.
void print_check(std::string const& derivation, std::string const& expected,
                 std::string const& result);
std::string with_unit(double value, char const* unit);

/// Submits commands one after another, `depth` at a time, and waits for all. Their ids are ignored.
/// @return when each was done, in the order of `commands`
std::vector<Time> run_closed(Drive& drive, std::vector<Command> commands, std::size_t depth,
                             Time start = 0);

/// `count` commands of `sectors` at random places of the whole drive, aligned to their size.
std::vector<Command> random_commands(DriveProfile const& profile, Operation operation,
                                     std::uint64_t sectors, std::size_t count, std::uint64_t seed);

}  // namespace unisono::testbed
