#include "execute/staged.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "exchange/piece_list.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t message_bytes_max = 1 << 30;
// Beyond this ratio of touched range to data, windows look for the next data before each round.
constexpr std::uint64_t sparse_ratio = 16;
// Below this density, an aggregator reads only what was asked for.
constexpr std::uint64_t sieve_ratio = 2;

/// In front of each window in shared memory.
struct alignas(64) WindowHead {
    std::uint64_t valid_end;  // reads: file offset up to which the window holds data
};

/// What a message is about; a list of pieces and packed data follow.
struct MessageHead {
    std::uint64_t aggregator;
    std::uint64_t list_bytes;
    std::uint64_t valid_end;
};

std::vector<std::byte> begin_message(MessageHead const& head) {
    std::vector<std::byte> message(sizeof(MessageHead));
    std::memcpy(message.data(), &head, sizeof head);
    return message;
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
        for (auto& slot : mine_) finish(slot, 0), finish(slot, 1);
        team_.finish_sends(0);
        watch_.lap(record_.exchange_s);
        return result_;
    }

private:
    /// One of this rank's own realms.
    struct Slot {
        std::size_t aggregator = 0;
        std::array<std::vector<Transfer>, 2> lists;
        std::array<std::unique_ptr<PendingIo>, 2> pending;
    };

    [[nodiscard]] bool shares_memory(std::uint32_t rank) const {
        auto const& node_of = team_.topology().node_of;
        return rank == team_.rank() || (shared_ && node_of[rank] == node_of[team_.rank()]);
    }
    [[nodiscard]] bool is_remote_source(std::uint32_t rank, Extent window) const {
        return !shares_memory(rank) && !intersect(extents_[rank], window).empty();
    }
    [[nodiscard]] Positions part_in(Extent window) const {
        return window.empty() ? Positions{} : within(request_.view, request_.positions, window);
    }

    void place_windows();
    [[nodiscard]] WindowHead* head(std::size_t aggregator) const;
    [[nodiscard]] std::byte* window(std::size_t aggregator) const;
    [[nodiscard]] Coverage coverage(std::size_t aggregator) const;

    bool next_windows();
    bool seek_windows();

    void write_round();
    void scatter(std::size_t aggregator, Positions part);
    void send_data(std::size_t aggregator, Positions part);
    void receive_data(Slot const& slot);
    void start_writing(Slot& slot);
    void finish(Slot& slot, int side);

    void read_round();
    void mark(std::size_t aggregator, Positions part);
    void send_request(std::size_t aggregator, Positions part);
    void receive_requests(Slot const& slot);
    void read_window(Slot& slot);
    void reply(std::uint32_t to, std::vector<std::byte> const& request);
    void gather(std::size_t aggregator, Positions part);
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
        auto const count = windows_.size();
        for (std::size_t i = 0; i < count; ++i) {
            auto const aggregator = (first_ + i) % count;
            if (!windows_[aggregator].empty()) use(aggregator, windows_[aggregator]);
        }
    }

    Team& team_;
    Rendezvous& rendezvous_;
    Storage const& storage_;
    Plan const& plan_;
    Request const& request_;
    CallRecord& record_;
    Stopwatch watch_;

    std::uint64_t window_bytes_;
    std::uint64_t granule_bytes_;
    bool sparse_;
    bool exact_reads_;
    bool shared_ = true;
    Extent touched_;  // by this rank
    Extent touched_by_all_;
    std::vector<Extent> extents_;             // by each rank; only when there are messages
    std::vector<Extent> windows_;             // this round's, by aggregator
    std::vector<std::uint64_t> next_;         // where each realm's next window is looked for
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
    std::vector<std::pair<std::size_t, Positions>> asked_;  // of remote aggregators
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
      touched_{touched(request.view, request.positions)},
      touched_by_all_{facts.touched},
      windows_(plan.realms.size()) {
    std::uint64_t largest_realm = 1;
    for (auto const& realm : plan.realms) {
        largest_realm = std::max(largest_realm, realm.bytes());
        next_.push_back(realm.begin);
        alignment |= realm.begin | realm.end;
    }
    window_bytes_ = std::min({plan.window_bytes, largest_realm, message_bytes_max});
    alignment |= window_bytes_;
    granule_bytes_ = alignment & -alignment;
    auto const rounds = div_ceil(largest_realm, window_bytes_);
    sparse_ = rounds > 2 && facts.touched.bytes() / sparse_ratio > facts.bytes;
    exact_reads_ = facts.touched.bytes() / sieve_ratio > facts.bytes;
    place_windows();
    if (team.topology().nodes() > 1 || !shared_) extents_ = team.gather(touched_);
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
    auto const windows_bytes = 2 * places * (sizeof(WindowHead) + round_up(window_bytes_, 64));
    auto const coverage_bytes = 2 * places * Coverage::bytes_needed(window_bytes_);
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
    auto const stride = sizeof(WindowHead) + round_up(window_bytes_, 64);
    auto const index = 2 * place_[aggregator] + static_cast<std::size_t>(side_);
    return std::launder(reinterpret_cast<WindowHead*>(windows_memory_ + index * stride));
}

std::byte* StagedCall::window(std::size_t aggregator) const {
    return reinterpret_cast<std::byte*>(head(aggregator)) + sizeof(WindowHead);
}

Coverage StagedCall::coverage(std::size_t aggregator) const {
    auto const index = 2 * place_[aggregator] + static_cast<std::size_t>(side_);
    auto* words = coverage_memory_ + index * Coverage::bytes_needed(window_bytes_);
    return {reinterpret_cast<Coverage::Word*>(words), granule_bytes_};
}

// Fills windows_; false when nothing is left.
bool StagedCall::next_windows() {
    sent_ = 0;
    if (sparse_ && !seek_windows()) return false;
    bool any = false;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        windows_[i] = intersect({next_[i], next_[i] + window_bytes_}, plan_.realms[i]);
        if (windows_[i].empty()) continue;
        next_[i] = windows_[i].end;
        any = true;
    }
    return any;
}

// Moves each realm's next window to the first byte that any rank still asks for: 8 bytes at 0
// and 8 at 1 TB take a few rounds.
bool StagedCall::seek_windows() {
    for (std::size_t i = 0; i < next_.size(); ++i) {
        auto const left = part_in({next_[i], plan_.realms[i].end});
        next_[i] = left.empty() ? IoResult::nowhere
                                : static_cast<std::uint64_t>(offset_of(request_.view, left.begin));
    }
    team_.minimum(next_);
    bool any = false;
    for (std::size_t i = 0; i < next_.size(); ++i) {
        next_[i] = std::min(next_[i], plan_.realms[i].end);
        any = any || next_[i] < plan_.realms[i].end;
    }
    return any;
}

void StagedCall::write_round() {
    for_each_window([&](std::size_t aggregator, Extent window) {
        auto const part = part_in(window);
        if (shares_memory(plan_.aggregators[aggregator]))
            scatter(aggregator, part);
        else if (!intersect(touched_, window).empty())
            send_data(aggregator, part);
    });
    watch_.lap(record_.copying_s);
    for (auto const& slot : mine_) receive_data(slot);
    watch_.lap(record_.exchange_s);
    // The other side's windows are filled after this meeting: their writes must have ended.
    for (auto& slot : mine_) finish(slot, 1 - side_);
    watch_.lap(record_.file_s);
    rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    for (auto& slot : mine_) start_writing(slot);
    watch_.lap(record_.file_s);
}

void StagedCall::scatter(std::size_t aggregator, Positions part) {
    if (part.empty()) return;
    auto const begin = windows_[aggregator].begin;
    auto covered = coverage(aggregator);
    Coverage::Marker marker{covered};
    auto const from = request_.in_memory(part);
    Placed const to{request_.view, part,
                    reinterpret_cast<std::uintptr_t>(window(aggregator)) - begin};
    walk_both_runs(from.tiling, from.positions, to.tiling, to.positions, [&](RunPair const& pair) {
        copy_pieces(to.at(pair.to), pair.to_stride, from.at(pair.from), pair.from_stride,
                    pair.bytes, pair.count);
        marker.mark(
            {pair.to - static_cast<std::int64_t>(begin), pair.bytes, pair.to_stride, pair.count});
    });
}

void StagedCall::send_data(std::size_t aggregator, Positions part) {
    auto message = begin_message({aggregator, 0, 0});
    PieceList::write(message, request_.view, part, windows_[aggregator].begin);
    auto const list_bytes = message.size() - sizeof(MessageHead);
    MessageHead const head{aggregator, list_bytes, 0};
    std::memcpy(message.data(), &head, sizeof head);
    auto const data_begin = message.size();
    message.resize(data_begin + part.bytes());
    Tiling const packed{make_dense(part.bytes()), 0, static_cast<std::int64_t>(part.bytes())};
    copy_data(
        request_.in_memory(part),
        {packed, {0, part.bytes()}, reinterpret_cast<std::uintptr_t>(message.data() + data_begin)});
    send(plan_.aggregators[aggregator], Team::Kind::data, std::move(message));
}

// One message from every rank of another node whose touched extent meets this window. Several
// realms of one rank may get them in any order: the head says which it is for.
void StagedCall::receive_data(Slot const& slot) {
    if (extents_.empty()) return;
    for (std::uint32_t rank = 0; rank < extents_.size(); ++rank) {
        if (!is_remote_source(rank, windows_[slot.aggregator])) continue;
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
    auto const range = windows_[slot.aggregator];
    if (range.empty()) return;
    auto& list = slot.lists[static_cast<std::size_t>(side_)];
    list.clear();
    for (auto const& extent : coverage(slot.aggregator).take(range.bytes()))
        list.push_back(
            {range.begin + extent.begin, window(slot.aggregator) + extent.begin, extent.bytes()});
    if (list.empty() || result_.error) return;
    record_.file_extents += list.size();
    slot.pending[static_cast<std::size_t>(side_)] = storage_.backend->start(Direction::write, list);
}

void StagedCall::finish(Slot& slot, int side) {
    auto& pending = slot.pending[static_cast<std::size_t>(side)];
    if (pending == nullptr) return;
    note(pending->wait());
    pending.reset();
}

void StagedCall::read_round() {
    requests_.clear();
    asked_.clear();
    for_each_window([&](std::size_t aggregator, Extent window) {
        auto const part = part_in(window);
        if (shares_memory(plan_.aggregators[aggregator]))
            mark(aggregator, part);
        else if (!intersect(touched_, window).empty())
            send_request(aggregator, part);
    });
    for (auto const& slot : mine_) receive_requests(slot);
    watch_.lap(record_.exchange_s);
    if (exact_reads_) rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    for (auto& slot : mine_) read_window(slot);
    watch_.lap(record_.file_s);
    rendezvous_.barrier();
    watch_.lap(record_.waiting_s);
    for (auto const& [rank, request] : requests_) reply(rank, request);
    watch_.lap(record_.exchange_s);
    for_each_window([&](std::size_t aggregator, Extent window) {
        if (shares_memory(plan_.aggregators[aggregator])) gather(aggregator, part_in(window));
    });
    watch_.lap(record_.copying_s);
    receive_replies();
    watch_.lap(record_.exchange_s);
}

void StagedCall::mark(std::size_t aggregator, Positions part) {
    if (!exact_reads_ || part.empty()) return;
    auto covered = coverage(aggregator);
    Coverage::Marker marker{covered};
    walk_runs(request_.view, part, [&](PieceRun const& run) {
        marker.mark({run.offset - static_cast<std::int64_t>(windows_[aggregator].begin), run.bytes,
                     run.stride, run.count});
    });
}

void StagedCall::send_request(std::size_t aggregator, Positions part) {
    auto message = begin_message({aggregator, 0, 0});
    PieceList::write(message, request_.view, part, windows_[aggregator].begin);
    asked_.emplace_back(aggregator, part);
    send(plan_.aggregators[aggregator], Team::Kind::request, std::move(message));
}

void StagedCall::receive_requests(Slot const& slot) {
    if (extents_.empty()) return;
    for (std::uint32_t rank = 0; rank < extents_.size(); ++rank) {
        if (!is_remote_source(rank, windows_[slot.aggregator])) continue;
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
    auto const range = intersect(windows_[slot.aggregator], touched_by_all_);
    if (range.empty()) return;
    auto* const memory = window(slot.aggregator);
    auto const begin = windows_[slot.aggregator].begin;
    auto& list = slot.lists[0];
    list.clear();
    if (exact_reads_) {
        for (auto const& extent : coverage(slot.aggregator).take(windows_[slot.aggregator].bytes()))
            list.push_back({begin + extent.begin, memory + extent.begin, extent.bytes()});
    } else {
        list.push_back({range.begin, memory + (range.begin - begin), range.bytes()});
    }
    auto const part = storage_.backend->perform(Direction::read, list);
    record_.file_extents += list.size();
    note(part);
    head(slot.aggregator)->valid_end = part.stopped_at;
}

void StagedCall::gather(std::size_t aggregator, Positions part) {
    auto const range = windows_[aggregator];
    auto const valid_end = std::min(range.end, head(aggregator)->valid_end);
    part = intersect(part, part_in({range.begin, valid_end}));
    if (part.empty()) return;
    Placed const from{request_.view, part,
                      reinterpret_cast<std::uintptr_t>(window(aggregator)) - range.begin};
    copy_data(from, request_.in_memory(part));
}

void StagedCall::reply(std::uint32_t to, std::vector<std::byte> const& request) {
    auto const aggregator = head_of(request).aggregator;
    auto const range = windows_[aggregator];
    auto const valid_end = std::min(range.end, head(aggregator)->valid_end);
    auto message = begin_message({aggregator, 0, valid_end});
    PieceList::read(std::span{request}.subspan(sizeof(MessageHead)), [&](PieceRun const& run) {
        for (std::uint64_t i = 0; i < run.count; ++i) {
            auto const at = static_cast<std::uint64_t>(run.offset + i * run.stride);
            if (range.begin + at >= valid_end) return;
            auto const bytes = std::min(run.bytes, valid_end - range.begin - at);
            auto const* data = window(aggregator) + at;
            message.insert(message.end(), data, data + bytes);
        }
    });
    send(to, Team::Kind::data, std::move(message));
}

void StagedCall::receive_replies() {
    for (auto const& [aggregator, part] : asked_) {
        auto const message = team_.receive(plan_.aggregators[aggregator], Team::Kind::data);
        auto const window = windows_[aggregator];
        auto const valid = intersect(part, part_in({window.begin, head_of(message).valid_end}));
        auto const bytes = valid.bytes();
        if (bytes == 0) continue;
        Tiling const packed{make_dense(bytes), 0, static_cast<std::int64_t>(bytes)};
        copy_data({packed,
                   {0, bytes},
                   reinterpret_cast<std::uintptr_t>(message.data() + sizeof(MessageHead))},
                  request_.in_memory(valid));
    }
}

}  // namespace

IoResult perform_staged(Team& team, Rendezvous& rendezvous, Storage const& storage,
                        Facts const& facts, std::uint64_t alignment, Plan const& plan,
                        Request const& request, CallRecord& record) {
    return StagedCall{team, rendezvous, storage, facts, alignment, plan, request, record}.run();
}

}  // namespace unisono
