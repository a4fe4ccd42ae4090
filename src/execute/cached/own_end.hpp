#pragma once

#include <cstddef>
#include <cstdint>

#include "execute/direct.hpp"

namespace unisono {

/// How long this rank's deposits want the file: what it has written may be in memory only, and yet
/// it may ask for the size, or read up to there. Local.
class OwnEnd {
public:
    /// `storage` must outlive this.
    explicit OwnEnd(Storage const& storage) : storage_{storage} {}

    /// The request, which is not empty, has been deposited; the file needs `end` bytes for it.
    void note(Request const& request, std::uint64_t end) {
        if (end < end_) return;
        end_ = end;
        auto const last = request.positions.end;
        auto const memory = request.in_memory({last - 1, last});
        last_ = *memory.at(offset_of(memory.tiling, memory.positions.begin));
    }
    /// Makes the file as long: by its last byte.
    IoResult grow_file() {
        if (end_ == 0 || file_bytes_of(storage_) >= end_) return {};
        Transfer const last_byte{end_ - 1, &last_, 1};
        return storage_.backend->perform(Direction::write, {&last_byte, 1});
    }
    void forget() { end_ = 0; }

private:
    Storage const& storage_;
    std::uint64_t end_ = 0;
    std::byte last_{};  // the byte before it
};

}  // namespace unisono
