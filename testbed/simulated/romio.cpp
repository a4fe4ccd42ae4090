#include "simulated/romio.hpp"

#include <algorithm>

#include "access/copy.hpp"

namespace unisono::simulated {

/// One call as one rank sees it.
class RomioCall {
public:
    RomioCall(RomioModel& model, SimulatedTeam& team, Backend& file, Request const& request)
        : model_{model},
          team_{team},
          file_{file},
          request_{request},
          aggregators_{team.topology().nodes()},
          own_{team.topology().node_of[team.rank()]} {}

    void perform() {
        if (!learn_domains()) {
            access(touched(request_.view, request_.positions));
            return;
        }
        send_lists();
        std::uint64_t longest = 0;
        for (auto const& wanted : model_.wanted_) {
            wanted_.push_back(hull(wanted));
            longest = std::max(longest, wanted_.back().bytes());
        }
        own_wanted_ = model_.wanted_[own_];
        agree();  // on the number of rounds
        for (std::uint64_t begin = 0; begin < longest; begin += model_.cb_buffer_size_)
            if (request_.direction == Direction::write)
                write(begin);
            else
                read(begin);
        team_.finish_sends(0);
        if (request_.direction == Direction::write) agree();  // on errors
    }

private:
    // Even parts of what all ranks touch. False where no rank begins before the one before it
    // ends: then each accesses the file by itself (romio_cb_write, romio_cb_read: automatic).
    bool learn_domains() {
        auto const mine = touched(request_.view, request_.positions);
        auto const extents = gather(mine);
        touched_ = extents.front();
        auto interleaved = false;
        for (std::size_t rank = 1; rank < extents.size(); ++rank) {
            auto const& extent = extents[rank];
            interleaved = interleaved || extent.begin < extents[rank - 1].end;
            touched_ = {std::min(touched_.begin, extent.begin), std::max(touched_.end, extent.end)};
        }
        domain_bytes_ = div_ceil(touched_.bytes(), aggregators_);
        return interleaved;
    }
    // First offsets, then last ones.
    [[nodiscard]] std::vector<Extent> gather(Extent const& mine) {
        auto const begins = team_.gather_values(std::span{&mine.begin, 1});
        auto const ends = team_.gather_values(std::span{&mine.end, 1});
        std::vector<Extent> extents;
        for (std::size_t rank = 0; rank < begins.size(); ++rank)
            extents.push_back({begins[rank], ends[rank]});
        return extents;
    }
    [[nodiscard]] Extent in_domain(std::size_t aggregator, std::uint64_t begin,
                                   std::uint64_t end) const {
        auto const domain = touched_.begin + aggregator * domain_bytes_;
        return intersect({domain + begin, domain + std::min(end, domain_bytes_)}, touched_);
    }
    [[nodiscard]] Extent window(std::size_t aggregator, std::uint64_t begin) const {
        auto const& wanted = wanted_[aggregator];
        auto const first = wanted.begin + begin;
        return intersect({first, first + model_.cb_buffer_size_}, wanted);
    }
    [[nodiscard]] Positions own_part(Extent range) const {
        return range.empty() ? Positions{} : within(request_.view, request_.positions, range);
    }

    [[nodiscard]] std::uint32_t rank_of(std::size_t aggregator) const {
        return team_.topology().ranks_of[aggregator].front();
    }
    [[nodiscard]] bool is_aggregator() const { return rank_of(own_) == team_.rank(); }

    [[nodiscard]] CollectiveCost cost() const {
        auto const& topology = team_.topology();
        return {*team_.conditions().network, static_cast<std::uint32_t>(topology.nodes()),
                static_cast<std::uint32_t>(topology.ranks_of[own_].size())};
    }
    // MPI_Alltoall of 4 bytes.
    void tell_all() { team_.all_ranks_take(cost().alltoall_s(4)); }
    // MPI_Allreduce of 4 bytes.
    void agree() { team_.all_ranks_take(cost().merge_s(4)); }

    // Tells aggregators how many bytes this rank has for each, and what the others have.
    template <class Bytes>
    void tell_sizes(Bytes&& bytes_for) {
        auto& asked = model_.asked_[side_ = 1 - side_];
        asked.resize(aggregators_);
        bytes_.assign(aggregators_, 0);
        for (std::size_t aggregator = 0; aggregator < aggregators_; ++aggregator) {
            bytes_[aggregator] = bytes_for(aggregator);
            if (bytes_[aggregator] != 0)
                asked[aggregator].emplace_back(team_.rank(), bytes_[aggregator]);
        }
        tell_all();
    }
    [[nodiscard]] RomioModel::Asked asked_of_it() {
        return is_aggregator() ? std::exchange(model_.asked_[side_][own_], {})
                               : RomioModel::Asked{};
    }

    void send_to_aggregators(Team::Kind kind) {
        for (std::size_t i = 0; i < aggregators_; ++i) {
            auto const aggregator = (own_ + i) % aggregators_;
            if (bytes_[aggregator] != 0)
                team_.send(rank_of(aggregator), kind, Message(bytes_[aggregator]));
        }
        for (auto left = asked_of_it().size(); left > 0; --left) team_.receive_next(kind);
        team_.finish_sends(0);
    }

    static Extent hull(std::vector<RomioModel::Wanted> const& wanted) {
        if (wanted.empty()) return {};
        auto all = wanted.front().hull;
        for (auto const& one : wanted)
            all = {std::min(all.begin, one.hull.begin), std::max(all.end, one.hull.end)};
        return all;
    }

    void send_lists() {
        // The first of a call begins anew.
        if (model_.told_++ == 0) model_.wanted_.assign(aggregators_, {});
        if (model_.told_ == team_.topology().ranks()) model_.told_ = 0;
        tell_sizes([&](std::size_t aggregator) -> std::uint64_t {
            auto const part = own_part(in_domain(aggregator, 0, domain_bytes_));
            if (!part.empty())
                model_.wanted_[aggregator].push_back({touched(request_.view, part), &request_});
            return part.empty() ? 0 : 16 * piece_estimate(request_.view, part);
        });
        send_to_aggregators(Team::Kind::request);
    }

    void access_window(std::uint64_t begin) {
        auto const range = window(own_, begin);
        if (is_aggregator() && !range.empty() && somebody_wants(range)) access(range);
    }
    [[nodiscard]] bool somebody_wants(Extent range) const {
        return std::ranges::any_of(own_wanted_, [&](auto const& wanted) {
            return !intersect(wanted.hull, range).empty() &&
                   !within(wanted.request->view, wanted.request->positions, range).empty();
        });
    }
    void access(Extent range) {
        Transfer const whole{range.begin, nullptr, range.bytes()};
        file_.perform(request_.direction, {&whole, 1});
    }

    void write(std::uint64_t begin) {
        tell_sizes([&](std::size_t to) { return own_part(window(to, begin)).bytes(); });
        send_to_aggregators(Team::Kind::data);
        access_window(begin);
    }

    void read(std::uint64_t begin) {
        access_window(begin);
        tell_sizes([&](std::size_t of) { return own_part(window(of, begin)).bytes(); });
        // ROMIO starts all from rank 0 on, and they share the links. Here a link carries one after
        // the other: in turn from this rank on, so that they do not all wait for rank 0's.
        auto asked = asked_of_it();
        auto const ranks = team_.topology().ranks();
        std::ranges::sort(asked, {}, [&](auto const& rank_and_bytes) {
            return (rank_and_bytes.first + ranks - team_.rank()) % ranks;
        });
        for (auto const& [rank, bytes] : asked) team_.send(rank, Team::Kind::data, Message(bytes));
        for (std::size_t aggregator = 0; aggregator < aggregators_; ++aggregator)
            if (bytes_[aggregator] != 0) team_.receive(rank_of(aggregator), Team::Kind::data);
        team_.finish_sends(0);
    }

    RomioModel& model_;
    SimulatedTeam& team_;
    Backend& file_;
    Request const& request_;
    std::size_t aggregators_;
    std::size_t own_;  // node, and so aggregator
    Extent touched_{};
    std::uint64_t domain_bytes_ = 0;
    std::vector<Extent> wanted_;                  // by aggregator
    std::vector<RomioModel::Wanted> own_wanted_;  // of its own domain
    std::size_t side_ = 0;
    std::vector<std::uint64_t> bytes_;
};

void RomioModel::perform(SimulatedTeam& team, Backend& file, Request const& request) {
    RomioCall{*this, team, file, request}.perform();
}

}  // namespace unisono::simulated
