#include "execute/staged.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "exchange/piece_list.hpp"
#include "execute/direct.hpp"
#include "execute/windows.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t message_bytes_max = 1 << 30;
// Beyond this ratio of touched range to data, windows look for the next data before each round.
constexpr std::uint64_t sparse_ratio = 16;
// Below this density, an aggregator reads only what was asked for.
constexpr std::uint64_t sieve_ratio = 2;

/// In front of each window in shared memory.
struct alignas(64) WindowHead {
    std::uint64_t valid_bytes;  // reads: so many of the window's bytes are there
};

/// What a message is about; a list of pieces and packed data follow.
struct MessageHead {
    std::uint64_t aggregator;
    std::uint64_t list_bytes;
    std::uint64_t valid_bytes;
};

void put_head(std::vector<std::byte>& message, MessageHead const& head) {
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
        std::array<std::vector<Transfer>, 2> lists;
        std::array<std::vector<std::unique_ptr<PendingIo>>, 2> pending;
    };

    [[nodiscard]] bool shares_memory(std::uint32_t rank) const {
        auto const& node_of = team_.topology().node_of;
        return rank == team_.rank() || (shared_ && node_of[rank] == node_of[team_.rank()]);
    }
    [[nodiscard]] bool takes_part(std::size_t aggregator, std::uint32_t rank) const {
        auto const& node_of = team_.topology().node_of;
        return !plan_.within_nodes || node_of[plan_.aggregators[aggregator]] == node_of[rank];
    }
    [[nodiscard]] bool is_remote_source(std::uint32_t rank, std::size_t aggregator) const {
        return !shares_memory(rank) && takes_part(aggregator, rank) &&
               windows_.meets(aggregator, extents_[rank]);
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

    void place_windows();
    [[nodiscard]] WindowHead* head(std::size_t aggregator) const;
    [[nodiscard]] std::byte* window(std::size_t aggregator) const;
    [[nodiscard]] Coverage coverage(std::size_t aggregator) const;

    bool next_windows();
    [[nodiscard]] std::uint64_t first_own_byte(Realm const& realm, std::uint64_t from) const;
    [[nodiscard]] std::vector<std::byte> list_own_pieces(std::size_t aggregator) const;
    [[nodiscard]] std::vector<Transfer> transfers(std::size_t aggregator,
                                                  std::span<Extent const> in_window) const;

    void write_round();
    void scatter(std::size_t aggregator);
    void send_data(std::size_t aggregator);
    void receive_data(Slot const& slot);
    void start_writing(Slot& slot);
    void start(Direction direction, std::span<Transfer const> list, Slot& slot);
    IoResult finish(Slot& slot, int side);

    void read_round();
    void mark(std::size_t aggregator);
    void send_request(std::size_t aggregator);
    void receive_requests(Slot const& slot);
    void read_window(Slot& slot);
    void read_own_parts();
    void reply(std::uint32_t to, std::vector<std::byte> const& request);
    void gather(std::size_t aggregator);
    void receive_replies();

    void send(std::uint32_t to, Team::Kind kind, std::vector<std::byte> message) {
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

    Windows windows_;
    std::uint64_t granule_bytes_;
    bool sparse_;
    bool exact_reads_;
    bool shared_ = true;
    Extent touched_;  // by this rank
    Extent touched_by_all_;
    std::vector<Extent> extents_;             // by each rank; only when there are messages
    std::vector<std::size_t> place_;          // aggregator -> place in node memory
    std::vector<std::byte> private_windows_;  // when there is no shared memory
    std::vector<std::byte> private_coverage_;
    std::byte* windows_memory_ = nullptr;
    std::byte* coverage_memory_ = nullptr;
    std::vector<Slot> mine_;
    std::size_t first_ = 0;
    int side_ = 0;
    std::size_t sent_ = 0;
    std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> requests_;  // this round's
    std::vector<std::size_t> asked_;                                          // remote aggregators
    IoResult result_;
};

StagedCall::StagedCall(Team& team, Rendezvous& rendezvous, Storage const& storage,
                       Facts const& facts, std::uint64_t alignment, Plan const& plan,
                       Request const& request, CallRecord& record)
    : team_{team},
      rendezvous_{rendezvous},
      storage_{storage},
      plan_{plan},
      request_{request},
      record_{record},
      windows_{plan.realms, std::min(plan.window_bytes, message_bytes_max)},
      touched_{touched(request.view, request.positions)},
      touched_by_all_{facts.touched} {
    alignment |= windows_.alignment();
    granule_bytes_ = alignment & -alignment;
    sparse_ = windows_.rounds() > 2 && facts.touched.bytes() / sparse_ratio > facts.bytes;
    exact_reads_ = facts.touched.bytes() / sieve_ratio > facts.bytes;
    place_windows();
    if (team.topology().nodes() > 1 || !shared_)
        extents_ = team.gather_values(std::span<Extent const>{&touched_, 1});
    watch_.lap(record.waiting_s);
}

void StagedCall::place_windows() {
    auto const me = team_.rank();
    auto const& node_of = team_.topology().node_of;
    std::size_t places = 0;
    for (std::size_t i = 0; i < plan_.aggregators.size(); ++i) {
        auto const rank = plan_.aggregators[i];
        place_.push_back(places);
        if (node_of[rank] == node_of[me]) ++places;
        if (rank < me) first_ = (i + 1) % plan_.aggregators.size();
        if (rank == me) mine_.push_back({.aggregator = i});
    }
    if (places == 0) return;
    auto const windows_bytes =
        2 * places * (sizeof(WindowHead) + round_up(windows_.bytes_max(), 64));
    auto const coverage_bytes = 2 * places * Coverage::bytes_needed(windows_.bytes_max());
    windows_memory_ = team_.node_memory(Team::Area::windows, windows_bytes).data();
    coverage_memory_ = team_.node_memory(Team::Area::coverage, coverage_bytes).data();
    shared_ = windows_memory_ != nullptr && coverage_memory_ != nullptr;
    if (shared_) return;
    private_windows_.resize(windows_bytes + 64);
    private_coverage_.resize(coverage_bytes);
    auto const misalignment = reinterpret_cast<std::uintptr_t>(private_windows_.data()) % 64;
    windows_memory_ = private_windows_.data() + (64 - misalignment);
    coverage_memory_ = private_coverage_.data();
}

WindowHead* StagedCall::head(std::size_t aggregator) const {
    auto const stride = sizeof(WindowHead) + round_up(windows_.bytes_max(), 64);
    auto const index = 2 * place_[aggregator] + static_cast<std::size_t>(side_);
    return std::launder(reinterpret_cast<WindowHead*>(windows_memory_ + index * stride));
}

std::byte* StagedCall::window(std::size_t aggregator) const {
    return reinterpret_cast<std::byte*>(head(aggregator)) + sizeof(WindowHead);
}

Coverage StagedCall::coverage(std::size_t aggregator) const {
    auto const index = 2 * place_[aggregator] + static_cast<std::size_t>(side_);
    auto* words = coverage_memory_ + index * Coverage::bytes_needed(windows_.bytes_max());
    return {reinterpret_cast<Coverage::Word*>(words), granule_bytes_};
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
std::vector<std::byte> StagedCall::list_own_pieces(std::size_t aggregator) const {
    std::vector<std::byte> message(sizeof(MessageHead));
    PieceList::Writer list{message};
    for_own_parts(aggregator, windows_.bytes(aggregator), [&](Positions part, std::uint64_t shift) {
        list.add(request_.view, part, shift);
    });
    return message;
}

// Ascending parts of a window as file accesses: cut where they are not contiguous in the file.
std::vector<Transfer> StagedCall::transfers(std::size_t aggregator,
                                            std::span<Extent const> in_window) const {
    std::vector<Transfer> list;
    list.reserve(in_window.size());
    auto part = windows_.parts(aggregator).begin();
    for (auto [at, end] : in_window)
        while (at < end) {
            while (part->at + part->file.bytes() <= at) ++part;
            auto const bytes = std::min(end, part->at + part->file.bytes()) - at;
            list.push_back({part->file.begin + (at - part->at), window(aggregator) + at, bytes});
            at += bytes;
        }
    return list;
}

void StagedCall::write_round() {
    for_each_window([&](std::size_t aggregator) {
        if (shares_memory(plan_.aggregators[aggregator]))
            scatter(aggregator);
        else
            send_data(aggregator);
    });
    watch_.lap(record_.copying_s);
    for (auto const& slot : mine_) receive_data(slot);
    watch_.lap(record_.exchange_s);
    // The other side's windows are filled after this meeting: their writes must have ended.
    for (auto& slot : mine_) note(finish(slot, 1 - side_));
    watch_.lap(record_.file_s);
    rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    for (auto& slot : mine_) start_writing(slot);
    watch_.lap(record_.file_s);
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

// One message from every rank of another node whose touched extent meets this window. Several
// realms of one rank may get them in any order: the head says which it is for.
void StagedCall::receive_data(Slot const& slot) {
    if (extents_.empty()) return;
    for (std::uint32_t rank = 0; rank < extents_.size(); ++rank) {
        if (!is_remote_source(rank, slot.aggregator)) continue;
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
    }
}

void StagedCall::start_writing(Slot& slot) {
    if (windows_.empty(slot.aggregator)) return;
    auto& list = slot.lists[static_cast<std::size_t>(side_)];
    list =
        transfers(slot.aggregator, coverage(slot.aggregator).take(windows_.bytes(slot.aggregator)));
    if (!result_.error) start(Direction::write, list, slot);
}

// Issues a list, in pieces if the plan says so.
void StagedCall::start(Direction direction, std::span<Transfer const> list, Slot& slot) {
    record_.file_extents += list.size();
    auto const most = plan_.list_extents_max != 0 ? plan_.list_extents_max : list.size();
    for (; !list.empty(); list = list.subspan(std::min<std::size_t>(most, list.size()))) {
        auto const part = list.first(std::min<std::size_t>(most, list.size()));
        slot.pending[static_cast<std::size_t>(side_)].push_back(
            storage_.backend->start(direction, part));
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
    return total;
}

void StagedCall::read_round() {
    requests_.clear();
    asked_.clear();
    for_each_window([&](std::size_t aggregator) {
        if (!shares_memory(plan_.aggregators[aggregator]))
            send_request(aggregator);
        else if (exact_reads_)
            mark(aggregator);
    });
    for (auto const& slot : mine_) receive_requests(slot);
    watch_.lap(record_.exchange_s);
    if (exact_reads_) rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    for (auto& slot : mine_) read_window(slot);
    watch_.lap(record_.file_s);
    if (plan_.prefetch) return read_own_parts();
    rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    for (auto const& [rank, request] : requests_) reply(rank, request);
    watch_.lap(record_.exchange_s);
    for_each_window([&](std::size_t aggregator) {
        if (shares_memory(plan_.aggregators[aggregator])) gather(aggregator);
    });
    watch_.lap(record_.copying_s);
    receive_replies();
    watch_.lap(record_.exchange_s);
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

void StagedCall::receive_requests(Slot const& slot) {
    if (extents_.empty()) return;
    for (std::uint32_t rank = 0; rank < extents_.size(); ++rank) {
        if (!is_remote_source(rank, slot.aggregator)) continue;
        requests_.emplace_back(rank, team_.receive(rank, Team::Kind::request));
        if (!exact_reads_) continue;
        std::span<std::byte const> const message = requests_.back().second;
        auto covered = coverage(head_of(message).aggregator);
        Coverage::Marker marker{covered};
        PieceList::read(message.subspan(sizeof(MessageHead)),
                        [&](PieceRun const& run) { marker.mark(run); });
    }
}

void StagedCall::read_window(Slot& slot) {
    auto const aggregator = slot.aggregator;
    if (windows_.empty(aggregator)) return;
    std::vector<Extent> wanted;
    if (exact_reads_) {
        wanted = coverage(aggregator).take(windows_.bytes(aggregator));
    } else {
        for (auto const& [file, at] : windows_.parts(aggregator)) {
            auto const range = intersect(file, touched_by_all_);
            if (!range.empty())
                wanted.push_back({at + range.begin - file.begin, at + range.end - file.begin});
        }
    }
    auto& list = slot.lists[static_cast<std::size_t>(side_)];
    list = transfers(aggregator, wanted);
    start(Direction::read, list, slot);
    if (plan_.prefetch) return;
    auto const part = finish(slot, side_);
    note(part);
    auto& valid_bytes = head(aggregator)->valid_bytes;
    valid_bytes = windows_.bytes(aggregator);
    for (auto const& [file, at] : windows_.parts(aggregator))
        if (part.stopped_at < file.end)
            valid_bytes =
                std::min(valid_bytes, at + (std::max(part.stopped_at, file.begin) - file.begin));
}

// The direct second phase: what the aggregators read warms the servers' caches and is thrown away,
// its errors with it.
void StagedCall::read_own_parts() {
    Verdict nothing;
    rendezvous_.meet(nothing);  // all have issued their requests
    watch_.lap(record_.waiting_s);
    for_each_window([&](std::size_t aggregator) {
        for_own_parts(aggregator, windows_.bytes(aggregator), [&](Positions part, std::uint64_t) {
            note(perform_direct(request_, part, storage_, false, record_));
        });
    });
    for (auto& slot : mine_) finish(slot, side_);
    watch_.lap(record_.file_s);
}

void StagedCall::gather(std::size_t aggregator) {
    for_own_parts(aggregator, head(aggregator)->valid_bytes,
                  [&](Positions part, std::uint64_t shift) {
                      copy_data(in_window(aggregator, part, shift), request_.in_memory(part));
                  });
}

void StagedCall::reply(std::uint32_t to, std::vector<std::byte> const& request) {
    auto const aggregator = head_of(request).aggregator;
    auto const valid_bytes = head(aggregator)->valid_bytes;
    std::vector<std::byte> message(sizeof(MessageHead));
    put_head(message, {aggregator, 0, valid_bytes});
    PieceList::read(std::span{request}.subspan(sizeof(MessageHead)), [&](PieceRun const& run) {
        for (std::uint64_t i = 0; i < run.count; ++i) {
            auto const at =
                static_cast<std::uint64_t>(run.offset) + i * static_cast<std::uint64_t>(run.stride);
            if (at >= valid_bytes) return;
            auto const* data = window(aggregator) + at;
            message.insert(message.end(), data, data + std::min(run.bytes, valid_bytes - at));
        }
    });
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

}  // namespace

IoResult perform_staged(Team& team, Rendezvous& rendezvous, Storage const& storage,
                        Facts const& facts, std::uint64_t alignment, Plan const& plan,
                        Request const& request, CallRecord& record) {
    return StagedCall{team, rendezvous, storage, facts, alignment, plan, request, record}.run();
}

}  // namespace unisono
