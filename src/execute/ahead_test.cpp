#include "execute/ahead.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>

#include "backends/fault.hpp"
#include "backends/posix.hpp"
#include "backends/range_locks.hpp"
#include "execute/collective.hpp"
#include "execute/collective_cases.hpp"
#include "strategies/realms.hpp"
#include "support/descriptor.hpp"

namespace unisono {
namespace {

constexpr std::uint32_t ranks = 3;
constexpr std::uint64_t each_bytes = 1000;

// A rank's block of a call; or its pieces of `piece` bytes, dealt to the ranks in turn.
Request request_for(std::uint32_t rank, std::uint64_t call, std::uint64_t piece,
                    std::vector<std::byte>& data) {
    auto const begin = static_cast<std::int64_t>(call * ranks * each_bytes + rank * piece);
    return {.view = {make_dense(piece), begin, static_cast<std::int64_t>(ranks * piece)},
            .positions = {0, each_bytes},
            .memory = {make_dense(each_bytes), 0, each_bytes},
            .base = reinterpret_cast<std::uintptr_t>(data.data())};
}

struct Call {
    Outcome outcome;
    std::uint64_t meetings = 0;
};

/// Has ranks on two nodes do `calls` on one open file, whose storage `prepare` has changed.
template <class Prepare, class Calls>
void on_open_file(TemporaryFile const& file, Prepare prepare, Calls calls,
                  Options const& options = {}) {
    ThreadTeams teams{make_topology({0, 0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file.descriptor();
        storage.backend = make_posix_backend(storage.descriptor);
        prepare(storage);
        OnlineTuner tuner;
        GatheredFacts gathered;
        AheadOfAgreement ahead;
        Layout const layout;
        calls(CollectiveFile{.team = team,
                             .rendezvous = rendezvous,
                             .storage = storage,
                             .layout = layout,
                             .options = options,
                             .tuner = tuner,
                             .gathered = gathered,
                             .ahead = &ahead});
    });
}

/// Calls of `pieces` bytes each, one after the other on one open file; what came out, by rank.
std::vector<std::vector<Call>> write_all(TemporaryFile const& file,
                                         std::vector<std::uint64_t> const& pieces,
                                         std::string const& faults = "", bool cut_short = false) {
    std::vector<std::vector<Call>> ended(ranks);
    auto const prepare = [&](Storage& storage) {
        if (!faults.empty())
            storage.backend = make_fault_backend(std::move(storage.backend), faults);
    };
    on_open_file(file, prepare, [&](CollectiveFile const& here) {
        auto const rank = here.team.rank();
        for (std::uint64_t call = 0; call < pieces.size(); ++call) {
            std::vector<std::byte> data(each_bytes,
                                        static_cast<std::byte>(1 + call * ranks + rank));
            auto request = request_for(rank, call, pieces[call], data);
            if (cut_short && rank == 1) request.positions.end = 0;
            CallRecord record;
            auto outcome = perform_collective(here, request, {}, record);
            ended[rank].push_back({outcome, record.traffic.meetings});
        }
    });
    return ended;
}

void expect_written(TemporaryFile const& file, std::vector<std::uint64_t> const& pieces) {
    auto const found = file.contents();
    ASSERT_EQ(found.size(), pieces.size() * ranks * each_bytes);
    for (std::uint64_t at = 0; at < found.size(); ++at) {
        auto const call = at / (ranks * each_bytes);
        auto const writer = at % (ranks * each_bytes) / pieces[call] % ranks;
        ASSERT_EQ(found[at], static_cast<std::byte>(1 + call * ranks + writer)) << "offset " << at;
    }
}

TEST(Ahead, a_contiguous_call_after_another_one_is_one_meeting) {
    TemporaryFile const file;
    for (auto const& rank : write_all(file, {each_bytes, each_bytes, each_bytes})) {
        EXPECT_EQ(rank[0].meetings, 2U);
        for (auto const call : {1, 2}) {
            EXPECT_EQ(rank[call].meetings, 1U);
            EXPECT_EQ(rank[call].outcome.bytes, each_bytes);
            EXPECT_EQ(rank[call].outcome.verdict.code, 0);
            EXPECT_EQ(rank[call].outcome.strategy, "independent");
        }
    }
    expect_written(file, {each_bytes, each_bytes, each_bytes});
}

// A wrong view on one rank must come out before any rank has written.
TEST(Ahead, the_next_file_begins_as_the_last_one_ended_unless_it_gets_a_view) {
    TemporaryFile const file;
    on_open_file(
        file, [](Storage&) {},
        [](CollectiveFile const& here) {
            std::vector<std::byte> data(each_bytes);
            auto const meetings_of_next_call = [&] {
                CallRecord record;
                perform_collective(here, request_for(here.team.rank(), 0, each_bytes, data), {},
                                   record);
                return record.traffic.meetings;
            };
            EXPECT_EQ(meetings_of_next_call(), 2U);
            *here.ahead = here.ahead->for_next_file();
            EXPECT_EQ(meetings_of_next_call(), 1U);
            here.ahead->note_view();
            EXPECT_EQ(meetings_of_next_call(), 1U) << "ranks have been in a call of this file";
            *here.ahead = here.ahead->for_next_file();
            here.ahead->note_view();
            EXPECT_EQ(meetings_of_next_call(), 2U);
        });
}

void expect_two_meetings_each(CollectiveFile const& here) {
    std::vector<std::byte> data(each_bytes);
    for (std::uint64_t call = 0; call < 3; ++call) {
        CallRecord record;
        perform_collective(here, request_for(here.team.rank(), call, each_bytes, data), {}, record);
        EXPECT_EQ(record.traffic.meetings, 2U);
    }
}

// Were it done ahead and ranks did not agree, it would be done twice: the second time over what
// others have written since.
TEST(Ahead, a_write_in_atomic_mode_is_done_once_all_have_agreed) {
    TemporaryFile const file;
    auto const lock_ranges = [](Storage& storage) {
        storage.range_locks = std::make_shared<RangeLocks>(storage.descriptor);
    };
    on_open_file(file, lock_ranges, expect_two_meetings_each);
}

// Bytes had been moved by the time that plans and ranks were compared.
TEST(Ahead, what_is_to_be_checked_is_not_done_before) {
    TemporaryFile const file;
    for (auto const* check : {"plans", "communicate"}) {
        Options options;
        options.check = check;
        on_open_file(
            file, [](Storage&) {}, expect_two_meetings_each, options);
    }
}

TEST(Ahead, ranks_that_ask_for_nothing_hold_nobody_up) {
    TemporaryFile const file;
    for (auto const& rank : write_all(file, {each_bytes, each_bytes}, "", /*cut_short=*/true))
        EXPECT_EQ(rank[1].meetings, 1U);
}

TEST(Ahead, a_call_that_turns_out_otherwise_is_done_the_agreed_way) {
    TemporaryFile const file;
    for (auto const& rank : write_all(file, {each_bytes, 10, each_bytes, each_bytes})) {
        EXPECT_EQ(rank[1].meetings, 2U);
        EXPECT_NE(rank[1].outcome.strategy, "independent");
        EXPECT_EQ(rank[2].meetings, 2U) << "the last one was not done by each for itself";
        EXPECT_EQ(rank[3].meetings, 1U);
    }
    expect_written(file, {each_bytes, 10, each_bytes, each_bytes});
}

/// Passes all on, and counts the pieces that are written.
class Counting final : public Backend {
public:
    Counting(std::unique_ptr<Backend> next, std::atomic<std::size_t>& written)
        : next_(std::move(next)), written_(written) {}
    [[nodiscard]] std::string_view name() const override { return next_->name(); }
    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        if (direction == Direction::write) written_ += list.size();
        return next_->perform(direction, list);
    }
    Error sync() override { return next_->sync(); }

private:
    std::unique_ptr<Backend> next_;
    std::atomic<std::size_t>& written_;
};

// After a call without data, each rank wrote its part ahead, into a page that two nodes' clients
// write back as a whole.
TEST(Ahead, nodes_that_write_whole_pages_back_share_none) {
    TemporaryFile const file;
    std::atomic<std::size_t> written = 0;
    auto const prepare = [&](Storage& storage) {
        storage.backend = std::make_unique<Counting>(std::move(storage.backend), written);
        storage.local = false;
        storage.page_cached = true;
    };
    on_open_file(file, prepare, [&](CollectiveFile const& here) {
        for (auto const bytes : {std::uint64_t{0}, each_bytes}) {
            std::vector<std::byte> data(each_bytes, std::byte{1});
            auto request = request_for(here.team.rank(), 0, each_bytes, data);
            request.direction = Direction::write;
            request.positions.end = bytes;
            CallRecord record;
            perform_collective(here, request, {}, record);
        }
    });
    EXPECT_EQ(written.load(), 1U) << "3000 bytes are in one aggregator's page";
}

/// A rank's own open file. Counts the writes during which nobody has locked the first page.
class Watching final : public Backend {
public:
    Watching(TemporaryFile const& file, std::atomic<std::size_t>& unlocked)
        : path_{"/proc/self/fd/" + std::to_string(file.descriptor())},
          own_{open(path_.c_str(), O_RDWR | O_CLOEXEC)},
          posix_{make_posix_backend(own_.get())},
          unlocked_{unlocked} {}
    [[nodiscard]] int descriptor() const { return own_.get(); }
    [[nodiscard]] std::string_view name() const override { return posix_->name(); }
    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        Descriptor const other{open(path_.c_str(), O_RDWR | O_CLOEXEC)};
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_len = client_page_bytes;
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
        EXPECT_EQ(fcntl(other.get(), F_OFD_GETLK, &lock), 0);
        unlocked_ += lock.l_type == F_UNLCK ? 1 : 0;
        return posix_->perform(direction, list);
    }
    Error sync() override { return posix_->sync(); }

private:
    std::string path_;
    Descriptor own_;
    std::unique_ptr<Backend> posix_;
    std::atomic<std::size_t>& unlocked_;
};

// Aggregators cannot do views whose tiles run into each other, so each rank does its own part. What
// another node wrote to the same page meanwhile was lost.
TEST(Ahead, ranks_of_nodes_that_write_whole_pages_back_lock_those_that_they_write_by_themselves) {
    constexpr std::uint64_t tiles = 8;
    TemporaryFile const file;
    std::atomic<std::size_t> unlocked = 0;
    auto const prepare = [&](Storage& storage) {
        auto watching = std::make_unique<Watching>(file, unlocked);
        storage.descriptor = watching->descriptor();
        storage.page_locks = std::make_shared<RangeLocks>(storage.descriptor);
        storage.backend = std::move(watching);
        storage.page_cached = true;
    };
    // Tile t: bytes t and tiles + t of the rank's part.
    on_open_file(file, prepare, [&](CollectiveFile const& here) {
        auto const rank = here.team.rank();
        std::vector<std::byte> data(2 * tiles, static_cast<std::byte>(rank + 1));
        Request request{
            .view = {make_repeat(2, tiles, make_dense(1)), std::int64_t(2 * tiles * rank), 1},
            .positions = {0, data.size()},
            .memory = {make_dense(data.size()), 0, std::int64_t(data.size())},
            .base = reinterpret_cast<std::uintptr_t>(data.data())};
        for (int call = 0; call < 4; ++call) {
            CallRecord record;
            auto const outcome = perform_collective(here, request, {}, record);
            EXPECT_EQ(outcome.strategy, "independent");
            EXPECT_EQ(outcome.verdict.code, 0);
            EXPECT_EQ(outcome.bytes, data.size());
        }
    });
    EXPECT_EQ(unlocked.load(), 0U);
    auto const found = file.contents();
    ASSERT_EQ(found.size(), ranks * 2 * tiles);
    for (std::size_t at = 0; at < found.size(); ++at)
        EXPECT_EQ(found[at], static_cast<std::byte>(at / (2 * tiles) + 1)) << at;
}

TEST(Ahead, an_error_is_told_to_all_in_the_call_that_had_it) {
    TemporaryFile const file;
    auto const second_of_rank_1 = std::to_string(ranks * each_bytes + each_bytes + 5);
    auto const ended =
        write_all(file, {each_bytes, each_bytes}, "write@" + second_of_rank_1 + "=EIO");
    for (auto const& rank : ended) {
        EXPECT_EQ(rank[0].outcome.verdict.code, 0);
        EXPECT_EQ(rank[1].outcome.verdict.code, EIO);
        EXPECT_EQ(rank[1].meetings, 2U);
    }
}

}  // namespace
}  // namespace unisono
