#pragma once

#include <memory>
#include <string>

#include "coordinate/wire/prover.hpp"

namespace unisono::coordinate::wire {

/// Those who know one secret of 32 bytes trust each other. The secret is a file: 64 hexadecimal
/// digits and a line's end, a regular file of this user or of root that nobody else may read
/// or write. `unisono orchestra key FILE` makes one.
///
/// Throws std::runtime_error when the file is missing, is no key, or others could have read it.
std::shared_ptr<Prover const> make_key_prover(std::string const& path);

}  // namespace unisono::coordinate::wire
