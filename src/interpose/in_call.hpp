#pragma once

#include <mpi.h>

#include <optional>

#include "interpose/file.hpp"
#include "interpose/operations.hpp"

namespace unisono::interpose {

/// While it lives, this rank is in a collective call on the file, as others on its node can see.
/// One at a time on a file; nonblocking ones on it are over before. Cost: a few stores.
class InCall {
public:
    InCall(File& file, std::uint16_t operation, std::optional<MPI_Offset> offset = {}) {
        file.finish_nonblocking();
        enter(file, operation, file.next_call(),
              offset ? static_cast<std::uint64_t>(*offset) : CallSeen::no_offset);
    }
    /// In the open, which is no call on the file yet.
    static InCall open(File& file) {
        return InCall{file, unisono_entry_File_open, /*number=*/0, CallSeen::no_offset};
    }
    ~InCall() {
        if (note_ != nullptr) note_->leave();
    }
    InCall(InCall const&) = delete;
    InCall& operator=(InCall const&) = delete;

private:
    InCall(File& file, std::uint16_t operation, std::uint64_t number, std::uint64_t offset) {
        enter(file, operation, number, offset);
    }
    void enter(File& file, std::uint16_t operation, std::uint64_t number, std::uint64_t offset) {
        if (file.context().ranks() == 1) return;
        note_ = &file.team().rendezvous().note();
        note_->enter(call_tag(file.number(), operation), number, offset);
    }

    CallNote* note_ = nullptr;  // belongs to the context, which outlives its files
};

}  // namespace unisono::interpose
