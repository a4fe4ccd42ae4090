#include "backends/run.hpp"

#include <algorithm>
#include <cassert>
#include <climits>

namespace unisono {

ListPosition advance(std::span<Transfer const> list, ListPosition from, std::uint64_t bytes) {
    from.done_bytes += bytes;
    while (from.index < list.size() && from.done_bytes >= list[from.index].bytes) {
        from.done_bytes -= list[from.index].bytes;
        ++from.index;
    }
    return from;
}

Run collect_run(std::span<Transfer const> list, ListPosition from, std::uint64_t bytes_max,
                std::vector<iovec>& memory) {
    assert(from.index < list.size() && from.done_bytes < list[from.index].bytes);
    memory.clear();
    Run run{list[from.index].offset + from.done_bytes, 0};
    for (; from.index < list.size() && run.bytes < bytes_max && memory.size() < IOV_MAX;
         ++from.index, from.done_bytes = 0) {
        auto const& transfer = list[from.index];
        if (transfer.bytes == 0) continue;
        if (transfer.offset + from.done_bytes != run.offset + run.bytes) break;
        auto const bytes = std::min(transfer.bytes - from.done_bytes, bytes_max - run.bytes);
        memory.push_back({transfer.memory + from.done_bytes, bytes});
        run.bytes += bytes;
    }
    return run;
}

std::vector<Transfer> cut_at(std::uint64_t unit, std::span<Transfer const> list) {
    std::vector<Transfer> pieces;
    for (auto rest : list)
        while (rest.bytes > 0) {
            auto const first = std::min(rest.bytes, unit - rest.offset % unit);
            pieces.push_back({rest.offset, rest.memory, first});
            rest = {rest.offset + first, rest.memory + first, rest.bytes - first};
        }
    return pieces;
}

std::uint64_t total_bytes(std::span<Transfer const> list) {
    std::uint64_t bytes = 0;
    for (auto const& transfer : list) bytes += transfer.bytes;
    return bytes;
}

std::uint64_t bytes_before(std::span<Transfer const> list, std::uint64_t end) {
    std::uint64_t bytes = 0;
    for (auto const& transfer : list) {
        if (transfer.offset >= end) break;
        bytes += std::min(transfer.bytes, end - transfer.offset);
    }
    return bytes;
}

}  // namespace unisono
