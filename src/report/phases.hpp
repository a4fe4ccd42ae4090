#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// X(name, meaning)

// What a data call spends its time on.
#define UNISONO_CALL_PHASES(X)                                                          \
    X(arrival, "waiting for the last rank to come to a collective call")                \
    X(waiting, "waiting for other ranks within calls")                                  \
    X(exchange, "exchange between ranks: messages between nodes, and looking for them") \
    X(copying, "between the program's memory and collective buffers")                   \
    X(file, "file I/O, as far as nothing else was done meanwhile")                      \
    X(native, "the MPI library's own calls; of a nonblocking one only its beginning")   \
    X(other, "finding out what the program asks for, and all else")

// What calls on a file that move no data are.
#define UNISONO_FILE_PHASES(X)                                             \
    X(open, "`MPI_File_open`")                                             \
    X(sync, "`MPI_File_sync`; also writes what a strategy kept in memory") \
    X(close, "`MPI_File_close`; the same")                                 \
    X(other, "views, sizes and hints")

namespace unisono {

#define UNISONO_PHASE(name, meaning) name,
#define UNISONO_PHASE_NAME(name, meaning) #name,

/// What a data call spends its time on. Phases exclude each other: `whole` is their sum.
enum class Phase : std::uint8_t { UNISONO_CALL_PHASES(UNISONO_PHASE) whole };

/// The same for calls on a file that move no data.
enum class FilePhase : std::uint8_t { UNISONO_FILE_PHASES(UNISONO_PHASE) whole };

/// Of an enum of phases, in its order.
template <class AnyPhase>
inline constexpr std::array<std::string_view, 0> phase_names;
template <>
inline constexpr std::array phase_names<Phase> =
    std::to_array<std::string_view>({UNISONO_CALL_PHASES(UNISONO_PHASE_NAME) "whole"});
template <>
inline constexpr std::array phase_names<FilePhase> =
    std::to_array<std::string_view>({UNISONO_FILE_PHASES(UNISONO_PHASE_NAME) "whole"});

#undef UNISONO_PHASE
#undef UNISONO_PHASE_NAME

}  // namespace unisono
