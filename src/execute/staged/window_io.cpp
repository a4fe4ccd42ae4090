#include "execute/staged/window_io.hpp"

#include <algorithm>
#include <cassert>

#include "backends/run.hpp"
#include "execute/shared_fills.hpp"

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

// Takes what lies behind the first bytes of a transfer; nothing if it has no more.
std::optional<Transfer> split_off(Transfer& transfer, std::uint64_t first_bytes) {
    if (transfer.bytes <= first_bytes) return {};
    Transfer const rest{transfer.offset + first_bytes, transfer.memory + first_bytes,
                        transfer.bytes - first_bytes};
    transfer.bytes = first_bytes;
    return rest;
}

}  // namespace

void WindowIo::start_writing(Round const& round) {
    if (round.empty(aggregator_)) return;
    auto const written = call_.seamless() ? touched(round) : marked(round);
    if (round.parts[aggregator_].front().file.begin < failed_at_)
        start(Direction::write, round, written);
}

void WindowIo::start_reading(Round const& round) {
    if (round.empty(aggregator_)) return;
    call_.record.lap(Phase::file);
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

// The same bytes in pieces that end where `unit` does, dealt to as many lists as have so many units
// under way: more of short pieces, which would wait for servers.
WindowIo::Lists WindowIo::deal(std::span<Transfer const> list, std::uint64_t unit,
                               std::size_t units) {
    constexpr std::size_t most = 32;
    auto const pieces = cut_at(unit, list);
    auto const bytes = total_bytes(list);
    assert(bytes > 0);
    Lists lists{std::clamp(div_ceil(units * unit * pieces.size(), bytes), units, most)};
    for (std::size_t i = 0; i < pieces.size(); ++i) lists[i % lists.size()].push_back(pieces[i]);
    return lists;
}

// The same, with as many stripes under way as may be while messages to other nodes wait behind
// them.
WindowIo::Lists WindowIo::deal_beside_messages(Round const& round,
                                               std::span<Transfer const> list) const {
    constexpr std::uint64_t little = 8;
    auto const few = bytes_from_elsewhere(round) < round.bytes(aggregator_) / little;
    return deal(list, call_.facts.layout->unit_at(call_.facts.touched.begin), few ? 6 : 3);
}

// Not all of it lies side by side in one server's object.
bool WindowIo::on_several_servers(std::span<Transfer const> list) const {
    auto const* const layout = call_.facts.layout;
    if (layout == nullptr || !layout->known() || list.empty()) return false;
    auto const server = layout->server_of(list.front().offset);
    for (auto const& piece : list)
        for (auto at = piece.offset; at < piece.offset + piece.bytes; at = layout->unit_end(at))
            if (layout->server_of(at) != server) return true;
    return false;
}

// In which lists a window is read. Pieces on several servers go in any order; beside messages to
// other nodes a few stripes at a time: they wait behind what fills the queue of this node's link,
// or are dropped there. But whole over fast links, and from servers too slow to fill any: else
// their disks seek between aggregators, stripe by stripe (docs/lab/tried.md). The first window of
// all tells what links are like.
Order WindowIo::deal_to_read(Round const& round, Lists& lists) {
    if (call_.exact_reads()) return Order::any;
    if (!on_several_servers(lists[0]) || links() == Links::idle) return Order::ascending;
    auto const contiguous = lists[0].size() == 1;
    if (links() != Links::busy || !is_read_beside_messages(round))
        return contiguous ? Order::ascending : Order::any;
    auto const others_wait = round.number == 0 && bytes_from_elsewhere(round) > 0;
    if (others_wait && contiguous && lists[0][0].bytes >= 4 * telling_bytes)
        rest_ = split_off(lists[0][0], lists[0][0].bytes / 4);
    lists = deal_beside_messages(round, lists[0]);
    return Order::ascending;
}

// Nodes ask each other for data meanwhile, over the link on which it comes; not in a call that has
// just one window, for this node alone.
bool WindowIo::is_read_beside_messages(Round const& round) const {
    auto const alone = round.number == 0 && round.last && bytes_from_elsewhere(round) == 0;
    return !alone && call_.facts.layout != nullptr && call_.facts.layout->known() &&
           !call_.exact_reads() && !call_.plan.prefetch_then_read &&
           call_.storage.backend->overlaps() && call_.sends_messages();
}

// Of the window's bytes, what also goes to other memories, or comes from there.
std::uint64_t WindowIo::bytes_from_elsewhere(Round const& round) const {
    return call_.bytes_from_elsewhere(round, aggregator_);
}

// At once where there is nothing to do meanwhile. A whole window of a server lies there side by
// side; disks and read-ahead want it ascending.
void WindowIo::start(Direction direction, Round const& round,
                     std::span<BufferRange const> in_window) {
    auto& side = sides_[static_cast<std::size_t>(round.side())];
    auto& lists = side.lists;
    assert(side.pending.empty());
    lists.clear();
    lists.push_back(
        transfers(round.parts[aggregator_], call_.window(round, aggregator_), in_window));
    if (direction == Direction::write && call_.plan.writes_holes) take_in_holes(lists[0]);
    auto const order = direction == Direction::read ? deal_to_read(round, lists) : Order::any;
    auto const alone = call_.own_aggregators().size() == 1;
    auto const idle =
        direction == Direction::read
            ? round.number == 0 && (call_.exact_reads() || bytes_from_elsewhere(round) == 0)
            : round.last;
    auto const at_once = alone && idle && (order == Order::any || lists[0].size() == 1);
    auto const go = [&] { issue(side, direction, order, at_once); };
    if (direction == Direction::read && fills_at_once())
        shared_fills().fill(lists[0], go);
    else
        go();
}

// Other ranks read what was read into the window, and it is there when that has been issued.
bool WindowIo::fills_at_once() const {
    auto const& team = call_.team;
    return call_.shares_windows() && !call_.storage.backend->overlaps() &&
           team.topology().ranks_near(team.rank()).size() > 1;
}

// Pieces with short holes between them become one access, which writes what is in the holes once
// more, or nulls behind the end of the file. Where that cannot be read they stay as they are.
// Source: data sieving (Thakur, Gropp, Lusk, Frontiers '99); here only where the user says so, as
// nobody else may write into the holes meanwhile.
void WindowIo::take_in_holes(std::vector<Transfer>& list) const {
    constexpr std::uint64_t short_hole_bytes = 4096;
    auto const follows = [](Transfer const& one, Transfer const& next) {
        auto const hole = next.offset - (one.offset + one.bytes);
        return hole <= short_hole_bytes && next.memory == one.memory + one.bytes + hole;
    };
    std::vector<Transfer> taken;
    std::vector<std::byte> there;
    for (auto first = list.begin(); first != list.end();) {
        auto last = first;
        while (last + 1 != list.end() && follows(*last, last[1])) ++last;
        if (first == last) {
            taken.push_back(*first++);
            continue;
        }
        auto const bytes = last->offset + last->bytes - first->offset;
        there.assign(bytes, std::byte{0});
        Transfer const all{first->offset, there.data(), bytes};
        if (!call_.storage.backend->perform(Direction::read, {&all, 1}).error) {
            for (auto piece = first; piece != last; ++piece) {
                auto const hole = piece->offset + piece->bytes;
                std::copy_n(there.begin() + std::ptrdiff_t(hole - first->offset),
                            piece[1].offset - hole, piece->memory + piece->bytes);
            }
            taken.push_back({first->offset, first->memory, bytes});
        } else {
            taken.insert(taken.end(), first, last + 1);
        }
        first = last + 1;
    }
    list = std::move(taken);
}

// In pieces if the plan says so.
void WindowIo::issue(Side& side, Direction direction, Order order, bool at_once) {
    side.began_s = call_.record.now_s();
    auto const most = call_.plan.list_extents_max;
    for (std::span<Transfer const> rest : side.lists)
        while (!rest.empty()) {
            auto const part = most == 0 ? rest : rest.first(std::min(most, rest.size()));
            side.pending.push_back(at_once ? call_.storage.backend->Backend::start(direction, part)
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
    auto& accessed = sides_[static_cast<std::size_t>(side)];
    for (auto& list : accessed.pending) {
        call_.let_messages_pass_until([&] { return list->ended(); });
        total.add(list->wait());
    }
    accessed.pending.clear();
    if (total.error) failed_at_ = std::min(failed_at_, total.stopped_at);
    call_.record.lap(Phase::file);
    learn_from(accessed, total.bytes);
    return total;
}

// Pages that clients write back later tell nothing of links.
void WindowIo::learn_from(Side const& side, std::uint64_t bytes) const {
    constexpr double certainly = 1.5;
    auto const& facts = call_.facts;
    auto const over_links = call_.sends_messages() && facts.layout != nullptr &&
                            facts.layout->known() && !call_.exact_reads() && !facts.page_cached;
    if (over_links && bytes >= telling_bytes)
        call_.storage.servers_seen->note_window(facts.direction,
                                                share_of_link(side, bytes) > certainly);
}

// As far as this aggregator or any other one has seen: whose window comes first sees fast disks.
Links WindowIo::links() const {
    return std::max(call_.storage.servers_seen->links(call_.facts.direction), call_.facts.links);
}

// What has gone over this node's link, as a share of what the slowest link carries meanwhile.
double WindowIo::share_of_link(Side const& side, std::uint64_t bytes) const {
    constexpr double slowest_bytes_per_s = 125e6;
    auto const seconds = call_.record.now_s() - side.began_s;
    auto const& node_of = call_.team.topology().node_of;
    auto const here = std::ranges::count_if(call_.plan.aggregators, [&](auto rank) {
        return node_of[rank] == node_of[call_.team.rank()];
    });
    return static_cast<double>(here) * static_cast<double>(bytes) / (slowest_bytes_per_s * seconds);
}

// Beside a call's first window nothing else comes, so it tells how fast the servers are, and its
// first quarter how the rest is read. If it was here before the requests, they are fast; what is
// short tells nothing. Connections that have long been idle are slow at first: the rest has the
// last word.
IoResult WindowIo::finish_first(Round const& round) {
    auto& side = sides_[static_cast<std::size_t>(round.side())];
    auto const waits =
        !std::ranges::all_of(side.pending, [](auto const& list) { return list->ended(); });
    auto result = finish(round.side());
    auto slow = waits && share_of_link(side, result.bytes) < much_room;
    auto const tells = result.bytes >= telling_bytes;
    if (rest_ && result.stopped_at == IoResult::nowhere) {
        side.lists = slow || links() != Links::busy ? Lists{{*rest_}}
                                                    : deal_beside_messages(round, {&*rest_, 1});
        issue(side, Direction::read, Order::ascending, /*at_once=*/false);
        auto const rest = finish(round.side());
        slow = slow && share_of_link(side, rest.bytes) < much_room;
        result.add(rest);
    }
    rest_.reset();
    if (tells) {
        auto const first = aggregator_ == call_.own_aggregators().front();
        auto& known_slow = call_.storage.servers_seen->slow;
        known_slow = slow || (!first && known_slow);
    }
    return result;
}

IoResult WindowIo::finish_reading(Round const& round) {
    if (round.empty(aggregator_)) return {};
    auto const first = round.number == 0 && is_read_beside_messages(round);
    auto const result = first ? finish_first(round) : finish(round.side());
    auto& valid = call_.valid_bytes(round, aggregator_);
    valid = round.bytes(aggregator_);
    for (auto const& [file, at] : round.parts[aggregator_])
        if (result.stopped_at < file.end)
            valid = std::min(valid, at + (std::max(result.stopped_at, file.begin) - file.begin));
    return result;
}

}  // namespace unisono
