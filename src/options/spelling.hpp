#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace unisono {

/// How many letters must be put in, taken out or replaced, or neighbours swapped, to make `a` into
/// `b`. Cost: O(a x b) time.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `names` that `word` is a misspelling of; empty if none is near: more than a third of
/// the word's letters would be wrong.
std::string_view likely_meant(std::string_view word, std::span<std::string_view const> names);

}  // namespace unisono
