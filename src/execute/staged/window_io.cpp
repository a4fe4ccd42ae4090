#include "execute/staged/window_io.hpp"

#include <algorithm>
#include <cassert>

namespace unisono {
namespace {

// Ascending extents of a window as file accesses: cut where they are not contiguous in the file.
std::vector<Transfer> transfers(std::span<Round::Part const> parts, std::byte* window,
                                std::span<BufferRange const> in_window) {
    std::vector<Transfer> list;
    list.reserve(in_window.size());
    auto part = parts.begin();
    for (auto [at, end] : in_window)
        while (at < end) {
            while (part->at + part->file.bytes() <= at) ++part;
            auto const bytes = std::min(end, part->at + part->file.bytes()) - at;
            list.push_back({part->file.begin + (at - part->at), window + at, bytes});
            at += bytes;
        }
    return list;
}

}  // namespace

void WindowIo::start_writing(Round const& round) {
    if (round.empty(aggregator_)) return;
    auto const written = call_.seamless() ? touched(round) : marked(round);
    if (round.parts[aggregator_].front().file.begin < failed_at_)
        start(Direction::write, round, written);
}

void WindowIo::start_reading(Round const& round) {
    if (round.empty(aggregator_)) return start(Direction::read, round, {});
    start(Direction::read, round, call_.exact_reads() ? marked(round) : touched(round));
}

std::vector<BufferRange> WindowIo::marked(Round const& round) const {
    return call_.coverage(round, aggregator_).take(round.bytes(aggregator_));
}

std::vector<BufferRange> WindowIo::touched(Round const& round) const {
    std::vector<BufferRange> ranges;
    for (auto const& [file, at] : round.parts[aggregator_]) {
        auto const range = intersect(file, call_.facts.touched);
        if (!range.empty())
            ranges.push_back({at + range.begin - file.begin, at + range.end - file.begin});
    }
    return ranges;
}

// The same bytes in pieces that end where `unit` does, dealt to `count` lists.
WindowIo::Lists WindowIo::deal(std::span<Transfer const> list, std::uint64_t unit,
                               std::size_t count) {
    Lists lists;
    std::size_t pieces = 0;
    for (auto rest : list)
        while (rest.bytes > 0) {
            auto const bytes = std::min(rest.bytes, unit - rest.offset % unit);
            lists[pieces++ % count].push_back({rest.offset, rest.memory, bytes});
            rest = {rest.offset + bytes, rest.memory + bytes, rest.bytes - bytes};
        }
    return lists;
}

// Each server has some of it: nothing of it lies side by side in one server's object.
bool WindowIo::on_several_servers(std::span<Transfer const> list) const {
    auto const* const layout = call_.facts.layout;
    if (layout == nullptr || !layout->known() || list.empty()) return false;
    auto const server = layout->server_of(list.front().offset);
    return !std::ranges::all_of(list, [&](Transfer const& piece) {
        return layout->server_of(piece.offset) == server &&
               layout->server_of(piece.offset + piece.bytes - 1) == server;
    });
}

// In which lists a window is read that servers share. Beside messages to other nodes a few stripes
// at a time: they wait behind what fills the queue of this node's link, or are dropped there
// (docs/lab/tried.md).
Order WindowIo::deal_to_read(Round const& round, Lists& lists) const {
    if (call_.exact_reads()) return Order::any;
    if (!on_several_servers(lists[0])) return Order::ascending;
    auto const goes_bytes = bytes_from_elsewhere(round);
    if (goes_bytes == 0) return lists[0].size() == 1 ? Order::ascending : Order::any;
    constexpr std::uint64_t little = 8;
    auto const count =
        goes_bytes < round.bytes(aggregator_) / little ? lists_at_once : lists_at_once / 2;
    lists = deal(lists[0], call_.facts.layout->unit_at(call_.facts.touched.begin), count);
    return Order::ascending;
}

// Of the window's bytes, what also goes to other memories, or comes from there.
std::uint64_t WindowIo::bytes_from_elsewhere(Round const& round) const {
    return call_.bytes_from_elsewhere(round, aggregator_);
}

// Issues a list, in pieces if the plan says so. At once where there is nothing to do meanwhile.
// A whole window of a server lies there side by side; disks and read-ahead want it ascending.
void WindowIo::start(Direction direction, Round const& round,
                     std::span<BufferRange const> in_window) {
    auto& [lists, pending] = sides_[static_cast<std::size_t>(round.side())];
    assert(pending.empty());
    lists[0] = transfers(round.parts[aggregator_], call_.window(round, aggregator_), in_window);
    std::for_each(lists.begin() + 1, lists.end(), [](auto& list) { list.clear(); });
    auto const order = direction == Direction::read ? deal_to_read(round, lists) : Order::any;
    auto const alone = call_.own_aggregators().size() == 1;
    auto const requests_come = bytes_from_elsewhere(round) > 0 && !call_.exact_reads();
    auto const idle =
        direction == Direction::read ? round.number == 0 && !requests_come : round.last;
    auto const at_once = alone && idle && (order == Order::any || lists[0].size() == 1);
    auto const most = call_.plan.list_extents_max;
    for (std::span<Transfer const> rest : lists)
        while (!rest.empty()) {
            auto const part = most == 0 ? rest : rest.first(std::min(most, rest.size()));
            pending.push_back(at_once ? call_.storage.backend->Backend::start(direction, part)
                                      : call_.storage.backend->start(direction, part, order));
            rest = rest.subspan(part.size());
        }
}

IoResult WindowIo::finish_all() {
    auto total = finish(0);
    total.add(finish(1));
    return total;
}

// Lists that go side by side may each miss something: the first byte of all counts.
IoResult WindowIo::finish(int side) {
    IoResult total;
    auto& pending = sides_[static_cast<std::size_t>(side)].pending;
    for (auto& list : pending) {
        call_.let_messages_pass_until([&] { return list->ended(); });
        total.add(list->wait());
    }
    pending.clear();
    if (total.error) failed_at_ = std::min(failed_at_, total.stopped_at);
    return total;
}

IoResult WindowIo::finish_reading(Round const& round) {
    if (round.empty(aggregator_)) return {};
    auto const result = finish(round.side());
    auto& valid = call_.valid_bytes(round, aggregator_);
    valid = round.bytes(aggregator_);
    for (auto const& [file, at] : round.parts[aggregator_])
        if (result.stopped_at < file.end)
            valid = std::min(valid, at + (std::max(result.stopped_at, file.begin) - file.begin));
    return result;
}

}  // namespace unisono
