#include "execute/shared_fills.hpp"

#include <bit>

namespace unisono {
namespace {

constexpr std::uint64_t bytes_least = 16 << 10;  // less: nothing to be gained
constexpr std::size_t tries = 3;
constexpr std::size_t again = 32;  // each so many reads the other way is tried
constexpr double clearly = 0.9;
constexpr double from_a_device_s_per_byte = 1e-9;

}  // namespace

bool SharedFills::drops_first(std::uint64_t bytes) const {
    if (bytes < bytes_least) return false;
    std::lock_guard const lock{mutex_};
    auto const& [kept, dropped] = by_size_[static_cast<std::size_t>(std::bit_width(bytes))];
    if (dropped.seen() < tries) return kept.seen() > dropped.seen();
    auto const faster = dropped.best(0) < clearly * kept.best(0);
    return ((kept.seen() + dropped.seen()) % again == 0) != faster;
}

void SharedFills::note(bool dropped, std::uint64_t bytes, double seconds) {
    if (bytes < bytes_least || seconds > from_a_device_s_per_byte * static_cast<double>(bytes))
        return;
    std::lock_guard const lock{mutex_};
    auto& times = by_size_[static_cast<std::size_t>(std::bit_width(bytes))];
    (dropped ? times.dropped : times.kept).note(bytes, seconds);
}

SharedFills& shared_fills() {
    static SharedFills of_this_process;
    return of_this_process;
}

}  // namespace unisono
