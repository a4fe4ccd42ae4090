#include "execute/shared_fills.hpp"

#include <bit>

namespace unisono {
namespace {

constexpr std::uint64_t bytes_least = 16 << 10;  // less: nothing to be gained
constexpr double clearly = 0.9;
constexpr double from_a_device_s_per_byte = 1e-9;

}  // namespace

bool SharedFills::drops_first(std::uint64_t bytes) const {
    return bytes >= bytes_least &&
           by_size_[static_cast<std::size_t>(std::bit_width(bytes))].is_next(clearly);
}

void SharedFills::note(bool dropped, std::uint64_t bytes, double seconds) {
    if (bytes < bytes_least) return;
    auto& times = by_size_[static_cast<std::size_t>(std::bit_width(bytes))];
    auto const only_tried = dropped != times.is_faster(clearly);
    if (only_tried || seconds <= from_a_device_s_per_byte * static_cast<double>(bytes))
        times.note(dropped, bytes, seconds);
}

SharedFills& shared_fills() {
    static SharedFills of_this_process;
    return of_this_process;
}

}  // namespace unisono
