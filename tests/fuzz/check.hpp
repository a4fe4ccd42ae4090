#pragma once

#include <optional>
#include <string>
#include <vector>

#include "case.hpp"

namespace fuzz {

/// Compares what a POSIX reader finds in the open file with the model, whole pages and holes alike;
/// all writes must be settled. Returns what is wrong.
std::optional<std::string> check_file(int descriptor, FileModel const& model);

/// The same, but changes one byte first, to show that it would be noticed; `spoilt` says whether
/// there was a byte that can have only one value.
std::optional<std::string> check_spoilt_file(int descriptor, FileModel const& model, bool& spoilt);

/// Of two ranks that have just written the same bytes in atomic mode, the same one must be on top
/// in all of them. Returns what is wrong.
std::optional<std::string> check_unmixed(int descriptor, std::vector<Access> const& accesses,
                                         FileState const& file);

/// Makes the model certain by what is in the file (which check_file has accepted).
void adopt_file(int descriptor, FileModel& model);

/// Checks the data that a read delivered: `bytes` as its status says, `packed` in data order;
/// `background` is what the buffer held before.
std::optional<std::string> check_read(Access const& access, View const& view, int rank,
                                      FileModel const& model, std::uint64_t bytes,
                                      std::vector<std::uint8_t> const& packed,
                                      std::vector<std::uint8_t> const& background);

}  // namespace fuzz
