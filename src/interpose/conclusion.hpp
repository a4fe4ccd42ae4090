#pragma once

#include "execute/collective.hpp"
#include "interpose/data_call.hpp"

namespace unisono::interpose {

/// Which ranks are told of an error.
enum class Told { all_ranks, this_rank };

/// The code of an error, which is in the report from then on; nothing is raised yet. Local.
int code_of(File& file, DataCall const& call, int error_class, std::string const& why, Told told);

/// The same of what an access has come to: MPI_SUCCESS, or such a code.
int code_of(File& file, DataCall const& call, Verdict const& verdict, Told told);

/// What a collective call returns that Unisono did: MPI_SUCCESS, or a code as above.
int code_of(File& file, DataCall const& call, Prepared const& prepared, Outcome const& outcome);

// What calls did, for reports.

/// Whose time a call took.
enum class Beside : bool { nothing, the_program };

/// `bytes`: what the program asked for with it.
void add_call(DirectionReport& report, CallRecord const& record, std::uint64_t bytes = 0);
/// Of a call that was done by a helper thread: none of its time was the program's.
void add_call_beside(DirectionReport& report, CallRecord const& record, std::uint64_t bytes);
/// A call that moved no data, by the steady clock.
void add_file_call(FileReport& report, FilePhase phase, double begin_s, double end_s);
void add_request(DirectionReport& report, Request const& request);
void add_native(DirectionReport& report, std::uint64_t bytes);
/// What the MPI library says of a call that it did; the program has its code already.
void note_native_failure(File& file, DataCall const& call, int code);
/// A collective call of this rank's, as far as it can be described.
void add_to_recording(FileReport& report, Prepared const& prepared);
/// The same for one that is not Unisono's to do. `has_place`: it is not by the shared pointer.
void add_to_recording(File& file, DataCall const& call, bool has_place);
void record_collective(File& file, Prepared const& prepared, Outcome const& outcome,
                       CallRecord const& record, Beside beside = Beside::nothing);

}  // namespace unisono::interpose
