#include "execute/staged.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "exchange/piece_list.hpp"
#include "execute/direct.hpp"
#include "execute/node_windows.hpp"
#include "execute/windows.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t message_bytes_max = 1 << 30;
// Beyond this ratio of touched range to data, windows look for the next data before each round.
constexpr std::uint64_t sparse_ratio = 16;
// Below this density, an aggregator reads only what was asked for.
constexpr std::uint64_t sieve_ratio = 2;

/// What a message is about; a list of pieces and packed data follow.
struct MessageHead {
    std::uint64_t aggregator;
    std::uint64_t list_bytes;
    std::uint64_t valid_bytes;
};

void put_head(Message& message, MessageHead const& head) {
    std::memcpy(message.data(), &head, sizeof head);
}

MessageHead head_of(std::span<std::byte const> message) {
    MessageHead head;
    std::memcpy(&head, message.data(), sizeof head);
    return head;
}

class StagedCall {
public:
    StagedCall(Team& team, Rendezvous& rendezvous, Storage const& storage, Facts const& facts,
               std::uint64_t alignment, Plan const& plan, Request const& request,
               CallRecord& record);

    IoResult run() {
        while (next_windows()) {
            if (request_.direction == Direction::write)
                write_round();
            else
                read_round();
            ++record_.rounds;
            // At most this round's messages stay under way: bounded memory, bounded fan-in.
            team_.finish_sends(sent_);
            side_ = 1 - side_;
        }
        for (auto& slot : mine_) note(finish(slot, 0)), note(finish(slot, 1));
        team_.finish_sends(0);
        watch_.lap(record_.exchange_s);
        return result_;
    }

private:
    /// One of this rank's own realms.
    struct Slot {
        std::size_t aggregator = 0;
        bool failed = false;
        std::array<std::vector<Transfer>, 2> lists;
        std::array<std::vector<std::unique_ptr<PendingIo>>, 2> pending;
    };

    [[nodiscard]] bool shares_memory(std::uint32_t rank) const {
        auto const& node_of = team_.topology().node_of;
        return rank == team_.rank() ||
               (node_windows_.shared() && node_of[rank] == node_of[team_.rank()]);
    }
    [[nodiscard]] bool takes_part(std::size_t aggregator, std::uint32_t rank) const {
        auto const& node_of = team_.topology().node_of;
        return !plan_.within_nodes || node_of[plan_.aggregators[aggregator]] == node_of[rank];
    }
    // This rank can put its data into a window for the aggregator, its own or one to be sent on.
    [[nodiscard]] bool has_window(std::size_t aggregator) const {
        return two_layers_ || shares_memory(plan_.aggregators[aggregator]);
    }
    // Two layers: which rank of a node sends what the node has for an aggregator.
    [[nodiscard]] std::uint32_t forwarder(std::size_t node, std::size_t aggregator) const {
        auto const& ranks = team_.topology().ranks_of[node];
        return ranks[aggregator % ranks.size()];
    }
    // Ranks that send messages for this round's window of one of this rank's own realms.
    template <class Use>
    void for_remote_sources(std::size_t aggregator, Use&& use) const {
        auto const& topology = team_.topology();
        if (extents_.empty()) return;
        if (two_layers_) {
            for (std::size_t node = 0; node < topology.nodes(); ++node)
                if (node != topology.node_of[team_.rank()] &&
                    windows_.meets(aggregator, node_extents_[node]))
                    use(forwarder(node, aggregator));
            return;
        }
        for (std::uint32_t rank = 0; rank < extents_.size(); ++rank)
            if (!shares_memory(rank) && takes_part(aggregator, rank) &&
                windows_.meets(aggregator, extents_[rank]))
                use(rank);
    }
    // Aggregators of other nodes to which this rank sends what its node has for them.
    template <class Use>
    void for_forwarded(Use&& use) const {
        auto const node = team_.topology().node_of[team_.rank()];
        for (std::size_t aggregator = 0; aggregator < windows_.count(); ++aggregator)
            if (!shares_memory(plan_.aggregators[aggregator]) &&
                forwarder(node, aggregator) == team_.rank() &&
                windows_.meets(aggregator, node_extents_[node]))
                use(aggregator);
    }
    [[nodiscard]] Positions part_in(Extent range) const {
        range = intersect(range, touched_);
        return range.empty() ? Positions{} : within(request_.view, request_.positions, range);
    }
    // Calls use(positions, shift) for what this rank has in the first `bytes` of a window; `shift`
    // makes a file offset one in the window.
    template <class Use>
    void for_own_parts(std::size_t aggregator, std::uint64_t bytes, Use&& use) const {
        for (auto const& [file, at] : windows_.parts(aggregator)) {
            if (at >= bytes) return;
            auto const end = file.begin + std::min(file.bytes(), bytes - at);
            auto const part = part_in({file.begin, end});
            if (!part.empty()) use(part, at - file.begin);
        }
    }
    [[nodiscard]] std::uint64_t own_bytes(std::size_t aggregator, std::uint64_t bytes) const {
        std::uint64_t sum = 0;
        for_own_parts(aggregator, bytes,
                      [&](Positions part, std::uint64_t) { sum += part.bytes(); });
        return sum;
    }
    [[nodiscard]] Placed in_window(std::size_t aggregator, Positions part,
                                   std::uint64_t shift) const {
        return {request_.view, part, reinterpret_cast<std::uintptr_t>(window(aggregator)) + shift};
    }

    [[nodiscard]] std::byte* window(std::size_t aggregator) const {
        return node_windows_.data(aggregator, side_);
    }
    // Known when nothing is skipped.
    [[nodiscard]] bool is_last_round() const {
        return !sparse_ && record_.rounds + 1 == windows_.rounds();
    }
    [[nodiscard]] std::uint64_t& valid_bytes(std::size_t aggregator) const {
        return node_windows_.valid_bytes(aggregator, side_);
    }
    [[nodiscard]] Coverage coverage(std::size_t aggregator) const {
        return node_windows_.coverage(aggregator, side_);
    }

    void find_own_realms();
    void learn_extents();
    bool next_windows();
    [[nodiscard]] std::uint64_t first_own_byte(Realm const& realm, std::uint64_t from) const;
    [[nodiscard]] Message list_own_pieces(std::size_t aggregator) const;

    void write_round();
    void grow_file();
    void settle_file();
    void scatter(std::size_t aggregator);
    void send_data(std::size_t aggregator);
    void forward_data();
    void receive_data(Slot const& slot);
    void start_writing(Slot& slot);
    void start(Direction direction, std::vector<Transfer> list, Slot& slot, int side);
    IoResult finish(Slot& slot, int side);

    void read_round();
    void mark(std::size_t aggregator);
    void send_request(std::size_t aggregator);
    void forward_requests();
    void receive_requests(Slot const& slot);
    void start_reading(Slot& slot, std::span<Windows::Part const> parts, int side);
    void finish_reading(Slot& slot);
    void read_own_parts();
    void reply(std::uint32_t to, Message const& request);
    void gather(std::size_t aggregator);
    void receive_replies();
    void receive_forwarded_replies();

    void send(std::uint32_t to, Team::Kind kind, Message message) {
        ++sent_;
        ++record_.messages;
        record_.message_bytes += message.size();
        team_.send(to, kind, std::move(message));
    }
    void note(IoResult const& part) {
        record_.file_bytes += part.bytes;
        result_.bytes += part.bytes;
        if (part.stopped_at < result_.stopped_at) result_.stopped_at = part.stopped_at;
        if (part.error && !result_.error) result_.error = part.error;
    }
    // This rank's own realms first, then the others in turn: not all at one aggregator at once.
    template <class Use>
    void for_each_window(Use&& use) {
        auto const count = windows_.count();
        for (std::size_t i = 0; i < count; ++i) {
            auto const aggregator = (first_ + i) % count;
            if (windows_.meets(aggregator, touched_) && takes_part(aggregator, team_.rank()))
                use(aggregator);
        }
    }

    Team& team_;
    Rendezvous& rendezvous_;
    Storage const& storage_;
    Plan const& plan_;
    Request const& request_;
    CallRecord& record_;
    Stopwatch watch_;

    bool two_layers_;
    Windows windows_;
    std::uint64_t granule_bytes_;
    bool sparse_;
    bool exact_reads_;
    bool reads_ahead_;
    bool grows_first_;
    NodeWindows node_windows_;
    Extent touched_;  // by this rank
    Extent touched_by_all_;
    std::vector<Extent> extents_;       // by each rank; only when there are messages
    std::vector<Extent> node_extents_;  // by each node's ranks; only with two layers
    std::vector<Slot> mine_;
    std::size_t first_ = 0;
    int side_ = 0;
    std::size_t sent_ = 0;
    std::vector<std::pair<std::uint32_t, Message>> requests_;             // this round's
    std::vector<std::size_t> asked_;                                      // remote aggregators
    std::vector<std::pair<std::size_t, std::vector<Extent>>> forwarded_;  // and what of them
    IoResult result_;
};

// Nodes send to nodes, not ranks to ranks, where an aggregator would hear from very many ranks. For
// fewer, the copy and the meeting more cost more than they save (docs/performance.md).
bool wants_two_layers(Topology const& topology, Plan const& plan, Switch wish) {
    if (topology.nodes() == 1 || plan.within_nodes || wish == Switch::disable) return false;
    constexpr std::uint32_t fan_in_max = 64;
    auto const merges = topology.ranks() > topology.nodes();
    return wish == Switch::enable || (merges && topology.ranks() > fan_in_max);
}

// With two layers a node holds windows for every aggregator: smaller ones where these are many, so
// that a rank's share of them stays the same.
std::uint64_t window_bytes_of(Topology const& topology, Plan const& plan, bool two_layers) {
    constexpr std::uint64_t least = 64 * 1024;
    auto const most = std::min(plan.window_bytes, message_bytes_max);
    if (!two_layers) return most;
    auto const smallest =
        std::ranges::min(topology.ranks_of, {}, &std::vector<std::uint32_t>::size);
    auto const fair = most * 2 * smallest.size() / plan.aggregators.size();
    return std::min(most, std::max(fair, least));
}

std::uint64_t lowest_bit(std::uint64_t bits) { return bits & -bits; }

StagedCall::StagedCall(Team& team, Rendezvous& rendezvous, Storage const& storage,
                       Facts const& facts, std::uint64_t alignment, Plan const& plan,
                       Request const& request, CallRecord& record)
    : team_{team},
      rendezvous_{rendezvous},
      storage_{storage},
      plan_{plan},
      request_{request},
      record_{record},
      two_layers_{wants_two_layers(team.topology(), plan, facts.options->two_layers)},
      windows_{plan.realms, window_bytes_of(team.topology(), plan, two_layers_)},
      granule_bytes_{lowest_bit(alignment | windows_.alignment())},
      node_windows_{
          team,           plan.aggregators, windows_.bytes_max(), windows_.rounds() > 1 ? 2U : 1U,
          granule_bytes_, two_layers_},
      touched_{touched(request.view, request.positions)},
      touched_by_all_{facts.touched} {
    sparse_ = windows_.rounds() > 2 && facts.touched.bytes() / sparse_ratio > facts.bytes;
    std::uint64_t realm_bytes = 0;  // with core_first more than are touched: nodes' realms overlap
    for (auto const& realm : plan.realms) realm_bytes += realm.bytes();
    exact_reads_ = realm_bytes / sieve_ratio > facts.bytes;
    reads_ahead_ = !exact_reads_ && !sparse_ && !plan.prefetch && storage.backend->overlaps();
    grows_first_ = facts.mappable && facts.direction == Direction::write &&
                   facts.touched.end > facts.file_bytes && facts.bytes < facts.touched.bytes();
    find_own_realms();
    if (team.topology().nodes() > 1 || !node_windows_.shared()) learn_extents();
    watch_.lap(record.waiting_s);
}

void StagedCall::find_own_realms() {
    auto const me = team_.rank();
    for (std::size_t i = 0; i < plan_.aggregators.size(); ++i) {
        if (plan_.aggregators[i] < me) first_ = (i + 1) % plan_.aggregators.size();
        if (plan_.aggregators[i] == me) mine_.push_back({.aggregator = i});
    }
}

// What each rank touches; and whether all nodes have the windows that two layers need.
void StagedCall::learn_extents() {
    struct Presence {
        Extent touched;
        std::uint64_t shares_windows;
    };
    Presence const mine{touched_, node_windows_.shared() ? 1U : 0U};
    for (auto const& rank : team_.gather_values(std::span{&mine, 1})) {
        extents_.push_back(rank.touched);
        two_layers_ = two_layers_ && rank.shares_windows != 0;
    }
    if (!two_layers_) return;
    for (auto const& ranks : team_.topology().ranks_of) {
        Extent all;
        for (auto const rank : ranks) all = hull(all, extents_[rank]);
        node_extents_.push_back(all);
    }
}

// Makes the next round's windows; false when nothing is left. Sparse accesses move each realm's
// next window to the first byte that any rank still asks for: 8 bytes at 0 and 8 at 1 TB take a
// few rounds.
bool StagedCall::next_windows() {
    sent_ = 0;
    if (sparse_) {
        auto offsets = windows_.next_offsets();
        for (std::size_t i = 0; i < offsets.size(); ++i)
            offsets[i] = takes_part(i, team_.rank()) ? first_own_byte(plan_.realms[i], offsets[i])
                                                     : IoResult::nowhere;
        team_.minimum(offsets);
        windows_.skip_to(offsets);
    }
    return windows_.advance();
}

// The first byte at or behind `from` that this rank asks for and the realm has; after some steps
// between one's gaps and the other's, a byte before it.
std::uint64_t StagedCall::first_own_byte(Realm const& realm, std::uint64_t from) const {
    constexpr int steps_max = 64;
    for (int step = 0; step < steps_max; ++step) {
        auto const own = part_in({from, touched_.end});
        if (own.empty()) return IoResult::nowhere;
        auto const offset = static_cast<std::uint64_t>(offset_of(request_.view, own.begin));
        auto const owned = within(realm, {offset, touched_.end});
        if (owned.empty()) return IoResult::nowhere;
        from = touched(owned).begin;
        if (from == offset) break;
    }
    return from;
}

// A message that lists this rank's pieces in a window; its head is still to be filled in.
Message StagedCall::list_own_pieces(std::size_t aggregator) const {
    Message message(sizeof(MessageHead));
    PieceList::Writer list{message};
    for_own_parts(aggregator, windows_.bytes(aggregator), [&](Positions part, std::uint64_t shift) {
        list.add(request_.view, part, shift);
    });
    return message;
}

// Ascending extents of a window as file accesses: cut where they are not contiguous in the file.
std::vector<Transfer> transfers(std::span<Windows::Part const> parts, std::byte* window,
                                std::span<Extent const> in_window) {
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

void StagedCall::write_round() {
    for_each_window([&](std::size_t aggregator) {
        if (has_window(aggregator))
            scatter(aggregator);
        else
            send_data(aggregator);
    });
    watch_.lap(record_.copying_s);
    if (two_layers_) {
        rendezvous_.barrier();
        watch_.lap(record_.waiting_s);
        forward_data();
    }
    for (auto const& slot : mine_) receive_data(slot);
    watch_.lap(record_.exchange_s);
    if (grows_first_ && record_.rounds == 0) grow_file();
    // The other side's windows are filled after this meeting: their writes must have ended.
    for (auto& slot : mine_) note(finish(slot, 1 - side_));
    watch_.lap(record_.file_s);
    rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    if (grows_first_ && record_.rounds == 0) settle_file();
    for (auto& slot : mine_) start_writing(slot);
    watch_.lap(record_.file_s);
}

// Pieces with holes go through a mapping where they can, and only what has been in the file for a
// while may (backends/mapped.hpp). So one rank of each node makes the file as long as the call
// will, before the first meeting: by an allocation, which never shortens it and changes no byte.
void StagedCall::grow_file() {
    auto const& topology = team_.topology();
    if (topology.ranks_of[topology.node_of[team_.rank()]].front() != team_.rank()) return;
    auto const last = static_cast<off_t>(touched_by_all_.end - 1);
    while (fallocate(storage_.descriptor, 0, last, 1) != 0 && errno == EINTR) {
    }  // any other error comes back when that byte is written
}

void StagedCall::settle_file() {
    struct stat status {};
    if (fstat(storage_.descriptor, &status) != 0) return;
    auto const file_bytes = static_cast<std::uint64_t>(status.st_size);
    if (file_bytes >= touched_by_all_.end) *storage_.settled = touched_by_all_.end;
}

void StagedCall::scatter(std::size_t aggregator) {
    auto covered = coverage(aggregator);
    Coverage::Marker marker{covered};
    for_own_parts(aggregator, windows_.bytes(aggregator), [&](Positions part, std::uint64_t shift) {
        auto const from = request_.in_memory(part);
        auto const to = in_window(aggregator, part, shift);
        auto const in_marks = static_cast<std::int64_t>(shift);
        walk_both_runs(
            from.tiling, from.positions, to.tiling, to.positions, [&](RunPair const& pair) {
                copy_pieces(to.at(pair.to), pair.to_stride, from.at(pair.from), pair.from_stride,
                            pair.bytes, pair.count);
                marker.mark({pair.to + in_marks, pair.bytes, pair.to_stride, pair.count});
            });
    });
}

void StagedCall::send_data(std::size_t aggregator) {
    auto message = list_own_pieces(aggregator);
    auto const window_bytes = windows_.bytes(aggregator);
    auto const list_end = message.size();
    put_head(message, {aggregator, list_end - sizeof(MessageHead), window_bytes});
    message.resize(list_end + own_bytes(aggregator, window_bytes));
    auto* at = message.data() + list_end;
    for_own_parts(aggregator, window_bytes, [&](Positions part, std::uint64_t) {
        copy_data(request_.in_memory(part), Packed{part.bytes()}.at(at));
        at += part.bytes();
    });
    send(plan_.aggregators[aggregator], Team::Kind::data, std::move(message));
}

// A message about parts of a window that ranks of this node have marked; its head is to be filled
// in, and the parts are data to be sent or wanted.
Message list_of(std::span<Extent const> parts) {
    Message message(sizeof(MessageHead));
    PieceList::Writer list{message};
    for (auto const& part : parts) list.add(part);
    return message;
}

void StagedCall::forward_data() {
    for_forwarded([&](std::size_t aggregator) {
        auto const parts = coverage(aggregator).take(windows_.bytes(aggregator));
        auto message = list_of(parts);
        put_head(message,
                 {aggregator, message.size() - sizeof(MessageHead), windows_.bytes(aggregator)});
        auto const list_end = message.size();
        std::uint64_t data_bytes = 0;
        for (auto const& part : parts) data_bytes += part.bytes();
        message.resize(list_end + data_bytes);
        auto* at = message.data() + list_end;
        for (auto const& part : parts) {
            std::memcpy(at, window(aggregator) + part.begin, part.bytes());
            at += part.bytes();
        }
        send(plan_.aggregators[aggregator], Team::Kind::data, std::move(message));
    });
}

// One message from every source whose extent meets this window. Several realms of one rank may get
// them in any order: the head says which it is for.
void StagedCall::receive_data(Slot const& slot) {
    for_remote_sources(slot.aggregator, [&](std::uint32_t rank) {
        auto const message = team_.receive(rank, Team::Kind::data);
        auto const head = head_of(message);
        auto covered = coverage(head.aggregator);
        Coverage::Marker marker{covered};
        auto* const target = window(head.aggregator);
        auto const* data = message.data() + sizeof(MessageHead) + head.list_bytes;
        PieceList::read({message.data() + sizeof(MessageHead), head.list_bytes},
                        [&](PieceRun const& run) {
                            copy_pieces(target + run.offset, run.stride, data,
                                        static_cast<std::int64_t>(run.bytes), run.bytes, run.count);
                            marker.mark(run);
                            data += run.bytes * run.count;
                        });
    });
}

void StagedCall::start_writing(Slot& slot) {
    auto const aggregator = slot.aggregator;
    if (windows_.empty(aggregator)) return;
    auto const written = coverage(aggregator).take(windows_.bytes(aggregator));
    // What follows an error lies behind it in this realm, but not in the others of this rank.
    if (!slot.failed)
        start(Direction::write, transfers(windows_.parts(aggregator), window(aggregator), written),
              slot, side_);
}

// Issues a list, in pieces if the plan says so. At once where there is nothing to do meanwhile.
// A whole window of a server lies there side by side; disks and read-ahead want it ascending.
void StagedCall::start(Direction direction, std::vector<Transfer> list, Slot& slot, int side) {
    record_.file_extents += list.size();
    auto& kept = slot.lists[static_cast<std::size_t>(side)] = std::move(list);
    auto& pending = slot.pending[static_cast<std::size_t>(side)];
    auto const most = plan_.list_extents_max != 0 ? plan_.list_extents_max : kept.size();
    auto const order =
        direction == Direction::read && !exact_reads_ ? Order::ascending : Order::any;
    auto const meanwhile =
        mine_.size() > 1 || (direction == Direction::read ? side != side_ : !is_last_round());
    auto const at_once = !meanwhile && (order == Order::any || kept.size() == 1);
    std::span<Transfer const> rest = kept;
    while (!rest.empty()) {
        auto const part = rest.first(std::min<std::size_t>(most, rest.size()));
        pending.push_back(at_once ? storage_.backend->Backend::start(direction, part)
                                  : storage_.backend->start(direction, part, order));
        rest = rest.subspan(part.size());
    }
}

// Waits for the lists of one side: all that they moved before the first byte that was missed.
IoResult StagedCall::finish(Slot& slot, int side) {
    IoResult total;
    auto& pending = slot.pending[static_cast<std::size_t>(side)];
    for (auto& list : pending) {
        auto const part = list->wait();
        if (total.stopped_at != IoResult::nowhere) continue;
        total.bytes += part.bytes;
        total.stopped_at = part.stopped_at;
        total.error = part.error;
    }
    pending.clear();
    if (total.error) slot.failed = true;
    return total;
}

void StagedCall::read_round() {
    requests_.clear();
    asked_.clear();
    forwarded_.clear();
    for_each_window([&](std::size_t aggregator) {
        if (!has_window(aggregator))
            send_request(aggregator);
        else if (exact_reads_ || !shares_memory(plan_.aggregators[aggregator]))
            mark(aggregator);
    });
    if (two_layers_) {
        watch_.lap(record_.copying_s);
        rendezvous_.barrier();
        watch_.lap(record_.waiting_s);
        forward_requests();
    }
    for (auto const& slot : mine_) receive_requests(slot);
    watch_.lap(record_.exchange_s);
    if (exact_reads_) rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    if (!reads_ahead_ || record_.rounds == 0)
        for (auto& slot : mine_) start_reading(slot, windows_.parts(slot.aggregator), side_);
    watch_.lap(record_.file_s);
    if (plan_.prefetch) return read_own_parts();
    for (auto& slot : mine_) finish_reading(slot);
    watch_.lap(record_.file_s);
    rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    // Nobody uses the other side's windows any more: the next ones come while these are handed out.
    if (reads_ahead_ && !is_last_round())
        for (auto& slot : mine_)
            start_reading(slot, windows_.next_parts(slot.aggregator), 1 - side_);
    watch_.lap(record_.file_s);
    for (auto const& [rank, request] : requests_) reply(rank, request);
    watch_.lap(record_.exchange_s);
    for_each_window([&](std::size_t aggregator) {
        if (shares_memory(plan_.aggregators[aggregator])) gather(aggregator);
    });
    watch_.lap(record_.copying_s);
    receive_replies();
    if (two_layers_) receive_forwarded_replies();
    watch_.lap(record_.exchange_s);
    if (!two_layers_) return;
    rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    for_each_window([&](std::size_t aggregator) {
        if (!shares_memory(plan_.aggregators[aggregator])) gather(aggregator);
    });
    watch_.lap(record_.copying_s);
}

void StagedCall::mark(std::size_t aggregator) {
    auto covered = coverage(aggregator);
    Coverage::Marker marker{covered};
    for_own_parts(aggregator, windows_.bytes(aggregator), [&](Positions part, std::uint64_t shift) {
        walk_runs(request_.view, part, [&](PieceRun run) {
            run.offset += static_cast<std::int64_t>(shift);
            marker.mark(run);
        });
    });
}

void StagedCall::send_request(std::size_t aggregator) {
    auto message = list_own_pieces(aggregator);
    put_head(message, {aggregator, message.size() - sizeof(MessageHead), 0});
    asked_.push_back(aggregator);
    send(plan_.aggregators[aggregator], Team::Kind::request, std::move(message));
}

void StagedCall::forward_requests() {
    for_forwarded([&](std::size_t aggregator) {
        auto& parts =
            forwarded_
                .emplace_back(aggregator, coverage(aggregator).take(windows_.bytes(aggregator)))
                .second;
        auto message = list_of(parts);
        put_head(message, {aggregator, message.size() - sizeof(MessageHead), 0});
        send(plan_.aggregators[aggregator], Team::Kind::request, std::move(message));
    });
}

void StagedCall::receive_requests(Slot const& slot) {
    for_remote_sources(slot.aggregator, [&](std::uint32_t rank) {
        requests_.emplace_back(rank, team_.receive(rank, Team::Kind::request));
        if (!exact_reads_) return;
        std::span<std::byte const> const message = requests_.back().second;
        auto covered = coverage(head_of(message).aggregator);
        Coverage::Marker marker{covered};
        PieceList::read(message.subspan(sizeof(MessageHead)),
                        [&](PieceRun const& run) { marker.mark(run); });
    });
}

void StagedCall::start_reading(Slot& slot, std::span<Windows::Part const> parts, int side) {
    std::vector<Extent> wanted;
    if (exact_reads_) {
        if (!parts.empty())
            wanted = coverage(slot.aggregator).take(windows_.bytes(slot.aggregator));
    } else {
        for (auto const& [file, at] : parts) {
            auto const range = intersect(file, touched_by_all_);
            if (!range.empty())
                wanted.push_back({at + range.begin - file.begin, at + range.end - file.begin});
        }
    }
    start(Direction::read, transfers(parts, node_windows_.data(slot.aggregator, side), wanted),
          slot, side);
}

void StagedCall::finish_reading(Slot& slot) {
    auto const aggregator = slot.aggregator;
    if (windows_.empty(aggregator)) return;
    auto const part = finish(slot, side_);
    note(part);
    auto& valid = valid_bytes(aggregator);
    valid = windows_.bytes(aggregator);
    for (auto const& [file, at] : windows_.parts(aggregator))
        if (part.stopped_at < file.end)
            valid = std::min(valid, at + (std::max(part.stopped_at, file.begin) - file.begin));
}

// The direct second phase: what the aggregators read warms the servers' caches and is thrown away,
// its errors with it.
void StagedCall::read_own_parts() {
    Verdict nothing;
    rendezvous_.meet(nothing);  // all have issued their requests
    watch_.lap(record_.waiting_s);
    for_each_window([&](std::size_t aggregator) {
        for_own_parts(aggregator, windows_.bytes(aggregator), [&](Positions part, std::uint64_t) {
            note(perform_direct(request_, part, storage_, record_));
        });
    });
    for (auto& slot : mine_) finish(slot, side_);
    watch_.lap(record_.file_s);
}

void StagedCall::gather(std::size_t aggregator) {
    for_own_parts(aggregator, valid_bytes(aggregator), [&](Positions part, std::uint64_t shift) {
        copy_data(in_window(aggregator, part, shift), request_.in_memory(part));
    });
}

void StagedCall::reply(std::uint32_t to, Message const& request) {
    auto const aggregator = head_of(request).aggregator;
    auto const valid = valid_bytes(aggregator);
    auto const list = std::span{request}.subspan(sizeof(MessageHead));
    std::uint64_t wanted = 0;
    PieceList::read(list, [&](PieceRun const& run) { wanted += run.bytes * run.count; });
    Message message(sizeof(MessageHead) + wanted);
    put_head(message, {aggregator, 0, valid});
    auto* at = message.data() + sizeof(MessageHead);
    PieceList::read(list, [&](PieceRun const& run) {
        auto const begin = static_cast<std::uint64_t>(run.offset);
        auto const stride = static_cast<std::uint64_t>(run.stride);
        if (begin + (run.count - 1) * stride + run.bytes <= valid) {
            copy_pieces(at, static_cast<std::int64_t>(run.bytes), window(aggregator) + begin,
                        run.stride, run.bytes, run.count);
            at += run.bytes * run.count;
            return;
        }
        for (std::uint64_t i = 0; i < run.count && begin + i * stride < valid; ++i) {
            auto const bytes = std::min(run.bytes, valid - begin - i * stride);
            std::memcpy(at, window(aggregator) + begin + i * stride, bytes);
            at += bytes;
        }
    });
    message.resize(static_cast<std::size_t>(at - message.data()));
    send(to, Team::Kind::data, std::move(message));
}

void StagedCall::receive_replies() {
    for (auto const aggregator : asked_) {
        auto const message = team_.receive(plan_.aggregators[aggregator], Team::Kind::data);
        auto const* at = message.data() + sizeof(MessageHead);
        for_own_parts(aggregator, head_of(message).valid_bytes, [&](Positions part, std::uint64_t) {
            copy_data(Packed{part.bytes()}.at(at), request_.in_memory(part));
            at += part.bytes();
        });
    }
}

void StagedCall::receive_forwarded_replies() {
    for (auto const& [aggregator, parts] : forwarded_) {
        auto const message = team_.receive(plan_.aggregators[aggregator], Team::Kind::data);
        auto const valid = valid_bytes(aggregator) = head_of(message).valid_bytes;
        auto const* at = message.data() + sizeof(MessageHead);
        for (auto const& part : parts) {
            auto const there = intersect(part, {0, valid});
            if (there.empty()) break;
            std::memcpy(window(aggregator) + there.begin, at, there.bytes());
            at += there.bytes();
        }
    }
}

}  // namespace

IoResult perform_staged(Team& team, Rendezvous& rendezvous, Storage const& storage,
                        Facts const& facts, std::uint64_t alignment, Plan const& plan,
                        Request const& request, CallRecord& record) {
    return StagedCall{team, rendezvous, storage, facts, alignment, plan, request, record}.run();
}

}  // namespace unisono
