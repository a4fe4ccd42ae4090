#include "interpose/left_in_memory.hpp"

#include "interpose/messages.hpp"
#include "interpose/open_files.hpp"

namespace unisono::interpose {

std::vector<std::shared_ptr<CachedFile>> caches_of_others(File const& file) {
    std::vector<std::shared_ptr<CachedFile>> caches;
    for_opened_otherwise(file, [&](File const& other) {
        if (auto cache = other.cache(); cache != nullptr && cache->in_use())
            caches.push_back(std::move(cache));
    });
    return caches;
}

bool has_data_in_blocks(File const& file) {
    auto const cache = file.cache();
    return cache != nullptr && cache->in_use();
}

void renew_blocks(File const& file, Request const& request, std::uint64_t bytes) {
    if (!file.context().threaded()) return;
    if (auto const cache = file.cache()) cache->renew(request, bytes);
}

void tell_other_handles(File const& file, Request const& request, std::uint64_t bytes) {
    auto const begin = request.positions.begin;
    for (auto const& other : caches_of_others(file))
        other->take_note_of(request, {begin, begin + bytes});
}

bool prepare_bypass(File const& file) {
    auto possible = true;
    if (auto const cache = file.cache()) possible = cache->prepare_bypass();
    for (auto const& other : caches_of_others(file)) possible = other->prepare_bypass() && possible;
    return possible;
}

void tell_of_writes_in_memory(File const& file, DataCall const& call) {
    if (file.context().rank() != 0) return;
    auto missed = false;
    for_opened_otherwise(file, [&](File const& other) { missed = missed || other.holds_writes(); });
    if (missed)
        print_once({"unisono: " + file.path() + " is open twice, and " + call.name() +
                    " by one handle knows nothing of what collective calls by the other have "
                    "left in memory: call MPI_File_sync before"});
}

}  // namespace unisono::interpose
