#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "unisono/plan.hpp"

namespace unisono {

/// What two collective calls must have in common for their speeds to be comparable. Equal on all
/// ranks. Source: Orthrus, ISC 2014, section 2.1; direction, request_hash and storage_key are ours.
struct Signature {
    Direction direction = Direction::write;
    std::uint32_t ranks = 0;
    std::uint32_t nodes = 0;
    std::uint64_t requests = 0;  ///< contiguous pieces of all ranks
    std::uint64_t bytes = 0;
    /// Mean distance from the end of one piece to the beginning of the next, in file order. The
    /// paper's sum over sorted requests telescopes to (span - bytes) / (n - 1): nothing is sorted.
    std::int64_t relative_offset = 0;
    /// Order-independent hash of the file and of what each rank asks for: tells apart patterns
    /// whose sums are equal.
    std::uint64_t request_hash = 0;
    /// File system, layout and hints, as a hash: speeds there say nothing about other places.
    std::uint64_t storage_key = 0;

    [[nodiscard]] auto key() const {
        return std::tie(storage_key, direction, ranks, nodes, requests, bytes, relative_offset,
                        request_hash);
    }
    friend bool operator==(Signature const&, Signature const&) = default;
    friend bool operator<(Signature const& a, Signature const& b) { return a.key() < b.key(); }
};

/// The signature of a call, exact.
Signature signature_of(Facts const& facts);

/// The same for calls that vary a little: sizes fall into classes (powers of two), and patterns are
/// told apart by the size of their pieces and of the gaps between them only.
Signature class_of(Signature const& signature);

/// A class for people: "writes of 1 MiB or more, in 1,024 pieces or more,
/// 4 ranks on 1 node".
std::string describe_class(Signature const& signature_class);

}  // namespace unisono
