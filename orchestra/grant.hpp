#pragma once

#include "orchestra/time.hpp"

namespace unisono::orchestra {

/// Whose turn it is for a program's request.
enum class Turn : std::uint8_t {
    everyone,  ///< the gate is open
    own,       ///< the program's own dedicated service
    pool,      ///< that of all programs that have none of their own
    other      ///< another's: the request was let in before
};

/// A turn, and since when it has lasted.
struct Grant {
    Turn turn = Turn::everyone;
    Time since = 0;
};

}  // namespace unisono::orchestra
