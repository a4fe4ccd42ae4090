#include "execute/cached/newer_bytes.hpp"

#include <cstring>

namespace unisono {
namespace {

void copy_runs(BlockBuffer const& from, std::vector<BufferRange> const& runs, BufferRange place,
               std::byte* to) {
    for (auto const& run : runs)
        std::memcpy(to + (run.begin - place.begin), from.data() + run.begin, run.bytes());
}

}  // namespace

// Calls use(buffer, place, memory) for what is in buffers of a range, whose data begin at `memory`.
template <class Use>
void NewerBytes::for_buffers(Extent range, std::byte* memory, Use&& use) const {
    memory_.for_blocks(range, [&](std::uint64_t block, Extent part) {
        use(memory_.buffer(block), memory_.within_block(part, block),
            memory + (part.begin - range.begin));
    });
}

void NewerBytes::remember(Request const& request) {
    for_pieces(request, request.positions, [&](Extent range, std::byte const* memory) {
        own_.put(range.begin, memory, range.bytes(), /*in_file=*/false);
    });
}

void NewerBytes::look_up(Request const& request, Positions part) const {
    for_pieces(request, part, [&](Extent range, std::byte* memory) {
        if (several_nodes()) return own_.overlay(range.begin, memory, range.bytes());
        for_buffers(range, memory, [](BlockBuffer const& buffer, BufferRange place, auto* to) {
            copy_runs(buffer, buffer.known(place), place, to);
        });
    });
}

void NewerBytes::look_up_written(Request const& request, Positions part) const {
    for_pieces(request, part, [&](Extent range, std::byte* memory) {
        if (several_nodes()) return own_.overlay(range.begin, memory, range.bytes());
        for_buffers(range, memory, [&](BlockBuffer const& buffer, BufferRange place, auto* to) {
            auto const lock = memory_.locked(buffer);
            copy_runs(buffer, buffer.written(place), place, to);
        });
    });
}

void NewerBytes::replace(Request const& request, Positions part) {
    for_pieces(request, part, [&](Extent range, std::byte* memory) {
        if (several_nodes()) return own_.replace(range.begin, memory, range.bytes());
        for_buffers(range, memory, [&](BlockBuffer const& buffer, BufferRange place, auto* from) {
            auto const lock = memory_.locked(buffer);
            buffer.renew(from, place);
            for (auto const& run : buffer.written(place))
                buffer.store(from + (run.begin - place.begin), run);
        });
    });
}

// What is in a buffer is dirty there when an older value may be on its way to the file; else it
// must not go there once more, after what others may do to the file.
void NewerBytes::note_write(Request const& request, Positions part, bool written) {
    for_pieces(request, part, [&](Extent range, std::byte* memory) {
        if (several_nodes()) return keep_newer(range, memory);
        for_buffers(range, memory, [&](BlockBuffer const& buffer, BufferRange place, auto* from) {
            auto const lock = memory_.locked(buffer);
            if (written)
                buffer.store(from, place);
            else
                buffer.store_valid(from, place);
        });
    });
}

// Between nodes: of what is in no buffer nothing older can reach the file any more, and nothing is
// kept but what this rank would read instead.
void NewerBytes::keep_newer(Extent range, std::byte const* memory) {
    auto const replace_before = [&](std::uint64_t offset) {
        own_.replace(range.begin, memory, offset - range.begin);
        memory += offset - range.begin;
        range.begin = offset;
    };
    memory_.for_blocks(range, [&](std::uint64_t, Extent part) {
        replace_before(part.begin);
        own_.put(part.begin, memory, part.bytes(), /*in_file=*/true);
        memory += part.bytes();
        range.begin = part.end;
    });
    replace_before(range.end);
}

}  // namespace unisono
