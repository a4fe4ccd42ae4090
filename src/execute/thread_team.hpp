#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "exchange/rendezvous.hpp"

namespace unisono {

/// Teams whose ranks are threads of one process, so that the executor runs without MPI on any
/// pretended topology: for tests, under sanitizers, and for `unisono explain`.
class ThreadTeams {
public:
    explicit ThreadTeams(Topology topology) : topology_{std::move(topology)} {
        nodes_.resize(topology_.nodes());
        for (std::size_t node = 0; node < nodes_.size(); ++node)
            nodes_[node].control.resize(
                Rendezvous::bytes_needed(topology_.ranks_of[node].size()) / sizeof(Line) + 1);
    }

    /// Runs `body` on every rank at once, each with its team and rendezvous.
    void run(std::function<void(Team&, Rendezvous&)> const& body) {
        std::vector<std::thread> threads;
        for (std::uint32_t rank = 0; rank < topology_.ranks(); ++rank)
            threads.emplace_back([&, rank] {
                Member member{*this, rank};
                auto const& ranks = topology_.ranks_near(rank);
                auto const index = static_cast<std::size_t>(
                    std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
                Rendezvous rendezvous{member, bytes_of(nodes_[topology_.node_of[rank]].control),
                                      index, ranks.size()};
                body(member, rendezvous);
            });
        for (auto& thread : threads) thread.join();
    }

    /// Pretend that shared memory for collective buffers cannot be had.
    bool no_node_memory = false;
    /// How often all ranks have gathered something.
    std::atomic<int> gathered = 0;
    /// What the ranks had carried, all together.
    struct Carried {
        std::atomic<std::uint64_t> messages = 0;
        std::atomic<std::uint64_t> message_bytes = 0;
        std::atomic<std::uint64_t> reductions = 0;
    } carried;

private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    static std::span<std::byte> bytes_of(std::vector<Line>& lines) {
        return {reinterpret_cast<std::byte*>(lines.data()), lines.size() * sizeof(Line)};
    }
    struct Own {
        explicit Own(std::size_t wanted)
            : lines(wanted / sizeof(Line) + 1), bytes{bytes_of(lines)} {}
        std::vector<Line> lines;
        std::span<std::byte> bytes;
    };
    struct Node {
        std::vector<Line> control;
        std::shared_ptr<Own> latest;
        std::size_t asked = 0;
        std::size_t round = 0;
    };
    using Mailbox = std::pair<std::pair<std::uint32_t, std::uint32_t>, Team::Kind>;

    class Member final : public Team {
    public:
        Member(ThreadTeams& all, std::uint32_t rank) : all_{all}, rank_{rank} {}

        [[nodiscard]] std::uint32_t rank() const override { return rank_; }
        [[nodiscard]] Topology const& topology() const override { return all_.topology_; }
        std::shared_ptr<std::span<std::byte> const> own_node_memory(std::size_t bytes) override {
            if (all_.no_node_memory) return nullptr;
            auto const node_index = all_.topology_.node_of[rank_];
            auto& node = all_.nodes_[node_index];
            std::unique_lock lock{all_.mutex_};
            auto const round = node.round;
            if (++node.asked == all_.topology_.ranks_of[node_index].size()) {
                node.latest = std::make_shared<Own>(bytes);
                node.asked = 0;
                ++node.round;
                all_.changed_.notify_all();
            }
            all_.changed_.wait(lock, [&] { return node.round != round; });
            return {node.latest, &node.latest->bytes};
        }
        void idle() override { std::this_thread::yield(); }
        Message receive(std::uint32_t from, Kind kind) override {
            std::unique_lock lock{all_.mutex_};
            auto& box = all_.mail_[{{from, rank_}, kind}];
            all_.changed_.wait(lock, [&] { return !box.empty(); });
            auto message = std::move(box.front());
            box.pop_front();
            return message;
        }
        std::optional<Received> receive_any(Kind kind) override {
            std::lock_guard const lock{all_.mutex_};
            for (std::uint32_t from = 0; from < all_.topology_.ranks(); ++from) {
                auto& box = all_.mail_[{{from, rank_}, kind}];
                if (box.empty()) continue;
                Received received{from, std::move(box.front())};
                box.pop_front();
                return received;
            }
            return std::nullopt;
        }
        void finish_sends(std::size_t) override {}
        void finish_deposits(Kind) override {}

    private:
        void merge(Meeting& meeting) override { all_.merge(meeting, rank_); }
        void gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) override {
            if (rank_ == 0) ++all_.gathered;
            ++all_.carried.reductions;
            for (auto const& [rank, bytes] :
                 all_.exchange(rank_, all_.topology_.ranks(), mine.data(), mine.size()))
                std::memcpy(all.data() + rank * mine.size(), bytes.data(), mine.size());
        }
        void reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) override {
            ++all_.carried.reductions;
            auto const& node_of = all_.topology_.node_of;
            for (auto const& [rank, bytes] :
                 all_.exchange(rank_, all_.topology_.ranks(), values.data(), values.size_bytes())) {
                auto const counts = among == Among::all || node_of[rank] == node_of[rank_];
                if (rank == rank_ || !counts) continue;
                for (std::size_t i = 0; i < values.size(); ++i) {
                    std::uint64_t value = 0;
                    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
                    values[i] = reduced(reduction, values[i], value);
                }
            }
        }
        void start_sending(std::uint32_t to, Kind kind, Message message) override {
            ++all_.carried.messages;
            all_.carried.message_bytes += message.size();
            std::lock_guard const lock{all_.mutex_};
            all_.mail_[{{rank_, to}, kind}].push_back(std::move(message));
            all_.changed_.notify_all();
        }

        ThreadTeams& all_;
        std::uint32_t rank_;
    };

    // All of `count` threads bring bytes and get everybody's.
    using Brought = std::map<std::uint32_t, std::vector<std::byte>>;
    Brought exchange(std::uint32_t rank, std::size_t count, void const* data, std::size_t bytes) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return !brought_.contains(rank) && taken_ == 0; });
        auto const* begin = static_cast<std::byte const*>(data);
        brought_[rank] = {begin, begin + bytes};
        assert(brought_.size() < count || all_answers_taken());
        changed_.notify_all();
        changed_.wait(lock, [&] { return brought_.size() == count; });
        auto all = brought_;
        if (++taken_ == count) {
            brought_.clear();
            taken_ = 0;
            changed_.notify_all();
        } else {
            changed_.wait(lock, [&] { return taken_ == 0; });
        }
        return all;
    }

    // Where one of many waits in MPI, who sends to it would wait for ever.
    [[nodiscard]] bool all_answers_taken() const {
        return std::ranges::all_of(mail_, [](auto const& box) {
            return box.first.second != Team::Kind::answer || box.second.empty();
        });
    }

    void merge(Meeting& meeting, std::uint32_t rank) {
        ++carried.reductions;
        bool first = true;
        for (auto const& [leader, bytes] :
             exchange(rank, topology_.nodes(), &meeting, sizeof meeting)) {
            Meeting next;
            std::memcpy(static_cast<void*>(&next), bytes.data(), sizeof next);
            if (first)
                meeting = next;
            else
                meeting.merge(next);
            first = false;
        }
    }

    Topology topology_;
    std::vector<Node> nodes_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Mailbox, std::deque<Message>> mail_;
    Brought brought_;
    std::size_t taken_ = 0;
};

}  // namespace unisono
