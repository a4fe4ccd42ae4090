#include "execute/collective.hpp"

#include <gtest/gtest.h>

#include <set>

#include "backends/threaded.hpp"
#include "execute/collective_cases.hpp"

namespace unisono {
namespace {

bool any_on_device(Case const& made) {
    return std::find(made.on_device.begin(), made.on_device.end(), true) != made.on_device.end();
}

struct Ended {
    std::vector<Outcome> outcomes;
    std::vector<std::vector<std::byte>> buffers;
};

Ended run(Case& made, TemporaryFile const& file, Direction direction, std::string const& faults,
          FakeDevice const& device = {}) {
    Ended ended;
    ended.outcomes.resize(made.requests.size());
    for (auto& request : made.requests) {
        request.direction = direction;
        ended.buffers.push_back(buffer_for(request, std::byte{0xEE}));
    }
    for (std::uint32_t rank = 0; rank < made.requests.size(); ++rank) {
        auto& request = made.requests[rank];
        request.base = reinterpret_cast<std::uintptr_t>(ended.buffers[rank].data());
        if (made.on_device[rank]) {
            request.base |= FakeDevice::bit;
            request.device = &device;
        }
        if (direction == Direction::read) continue;
        std::uint64_t position = 0;
        walk(request.memory, {0, request.positions.bytes()},
             [&](std::int64_t offset, std::uint64_t bytes) {
                 for (std::uint64_t i = 0; i < bytes; ++i)
                     ended.buffers[rank][std::size_t(offset) + i] = written(rank, position++);
             });
    }
    ThreadTeams teams{made.topology};
    teams.no_node_memory = made.no_node_memory;
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file.descriptor();
        storage.backend = make_posix_backend(storage.descriptor);
        if (!faults.empty())
            storage.backend = make_fault_backend(std::move(storage.backend), faults);
        if (made.overlaps) storage.backend = make_threaded_backend(std::move(storage.backend));
        CallRecord record;
        OnlineTuner tuner;
        GatheredFacts gathered;
        auto const& request = made.requests[team.rank()];
        ended.outcomes[team.rank()] = perform_collective(
            {team, rendezvous, storage, made.layout, made.options, tuner, gathered}, request, {},
            record);
        // Before and after; where aggregators only prefetch, in every round, too.
        if (!any_on_device(made) && !made.options.prefetch_then_read) {
            EXPECT_EQ(record.traffic.meetings, 2u);
        }
    });
    return ended;
}

TEST(Collective, a_write_leaves_any_writers_byte_and_touches_nothing_else) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Case made{seed};
        if (seed % 3 == 0) made.options.ds_write = Switch::enable;
        TemporaryFile const file;
        auto const before = initial_contents(made.file_bytes);
        file.fill(before);
        auto const ended = run(made, file, Direction::write, "");

        std::map<std::uint64_t, std::vector<std::byte>> allowed;
        auto size = before.size();
        for (std::uint32_t rank = 0; rank < made.requests.size(); ++rank) {
            auto const& request = made.requests[rank];
            EXPECT_EQ(ended.outcomes[rank].bytes, request.positions.bytes());
            EXPECT_EQ(ended.outcomes[rank].verdict.code, 0);
            std::uint64_t position = 0;
            walk(request.view, request.positions, [&](std::int64_t offset, std::uint64_t bytes) {
                for (std::uint64_t i = 0; i < bytes; ++i)
                    allowed[std::uint64_t(offset) + i].push_back(written(rank, position++));
                size = std::max(size, std::size_t(offset) + bytes);
            });
        }
        auto const after = file.contents();
        ASSERT_EQ(after.size(), size);
        for (std::uint64_t at = 0; at < size; ++at) {
            auto const writers = allowed.find(at);
            if (writers == allowed.end())
                ASSERT_EQ(after[at], at < before.size() ? before[at] : std::byte{0})
                    << "offset " << at;
            else
                ASSERT_NE(std::find(writers->second.begin(), writers->second.end(), after[at]),
                          writers->second.end())
                    << "offset " << at;
        }
    }
}

// One rank's part of a call on `file`; returns what was counted.
CallRecord perform_once(
    Team& team, Rendezvous& rendezvous, TemporaryFile const& file, Options const& options,
    Request const& request,
    std::shared_ptr<BackendCounts> const& counts = std::make_shared<BackendCounts>()) {
    Storage storage;
    arrange(storage, file, "", counts);
    CallRecord record;
    OnlineTuner tuner;
    GatheredFacts gathered;
    perform_collective({team, rendezvous, storage, {}, options, tuner, gathered}, request, {},
                       record);
    return record;
}

// Pieces of 8 bytes with holes of 8, some behind the end of the file, on a server: how often an
// aggregator accesses it.
std::uint64_t accesses_of_a_write_with_holes(Switch ds_write) {
    TemporaryFile const file;
    auto const before = initial_contents(100);
    file.fill(before);
    Options options;
    options.strategy = "two_phase";
    options.cb_nodes = 1;
    options.ds_write = ds_write;
    std::atomic<std::uint64_t> accesses{0};
    ThreadTeams teams{make_topology({0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        std::vector<std::byte> data(80, std::byte{0xEE});
        Request const request{Direction::write,
                              {make_dense(8), std::int64_t(16 * team.rank()), 32},
                              {0, 80},
                              {make_dense(1), 0, 1},
                              reinterpret_cast<std::uintptr_t>(data.data())};
        auto const counts = std::make_shared<BackendCounts>();
        perform_once(team, rendezvous, file, options, request, counts);
        accesses += (*counts)[Direction::write].extents + (*counts)[Direction::read].extents;
    });
    auto const after = file.contents();
    for (std::size_t at = 0; at < after.size(); ++at) {
        auto const left = at < before.size() ? before[at] : std::byte{0};
        EXPECT_EQ(after[at], at % 16 < 8 ? std::byte{0xEE} : left) << at;
    }
    return accesses;
}

TEST(Collective, holes_are_written_only_when_asked_for) {
    EXPECT_EQ(accesses_of_a_write_with_holes(Switch::automatic), 20u);
    EXPECT_EQ(accesses_of_a_write_with_holes(Switch::disable), 20u);
    EXPECT_EQ(accesses_of_a_write_with_holes(Switch::enable), 2u);
}

// As long as both ways into others' windows are tried, each in turn.
TEST(Collective, pieces_of_some_lines_are_written_alike_past_caches_and_through_them) {
    constexpr std::uint32_t ranks = 3;
    constexpr std::uint64_t piece_bytes = 200;  // and a byte that nobody writes
    constexpr std::uint64_t bytes = 250 * piece_bytes;
    constexpr std::int64_t round_of_ranks = ranks * (piece_bytes + 1);
    TemporaryFile const file;
    auto expected = initial_contents(bytes / piece_bytes * round_of_ranks);
    file.fill(expected);
    Options options;
    options.strategy = "two_phase";
    options.cb_nodes = 2;
    options.cb_buffer_size = 64 << 10;
    for (int call = 0; call < 10; ++call) {
        for (std::uint64_t i = 0; i < ranks * bytes; ++i) {
            auto const rank = i / piece_bytes % ranks;
            auto const at = i / piece_bytes * (piece_bytes + 1) + i % piece_bytes;
            expected[at] = std::byte(i + std::uint64_t(call) + rank);
        }
        ThreadTeams{make_topology({0, 0, 0})}.run([&](Team& team, Rendezvous& rendezvous) {
            auto const first = std::int64_t(team.rank() * (piece_bytes + 1));
            Request const request{.direction = Direction::write,
                                  .view = {make_dense(piece_bytes), first, round_of_ranks},
                                  .positions = {0, bytes},
                                  .memory = {make_dense(5), 0, 8}};
            auto buffer = buffer_for(request, std::byte{0xEE});
            Request with_data = request;
            with_data.base = reinterpret_cast<std::uintptr_t>(buffer.data());
            for (std::uint64_t i = 0; i < bytes; ++i)
                buffer[i / 5 * 8 + i % 5] =
                    expected[std::uint64_t(first) + i / piece_bytes * round_of_ranks +
                             i % piece_bytes];
            perform_once(team, rendezvous, file, options, with_data);
        });
        ASSERT_EQ(file.contents(), expected) << call;
    }
}

// Two nodes of two ranks, an aggregator on each, and `bytes` of each rank for both: between nodes
// go four messages of ranks, or two of nodes.
std::uint64_t messages_for_writes_of(std::uint64_t bytes, Switch intra_node_aggregation) {
    auto const half = 4 * bytes;
    TemporaryFile const file;
    Options options;
    options.strategy = "two_phase";
    options.cb_nodes = 2;
    options.cb_buffer_size = half;
    options.intra_node_aggregation = intra_node_aggregation;
    std::atomic<std::uint64_t> messages{0};
    ThreadTeams teams{make_topology({0, 0, 1, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        std::vector<std::byte> buffer(2 * bytes, std::byte(team.rank() + 1));
        auto const piece = make_dense(bytes);
        Request const request{
            .direction = Direction::write,
            .view = {piece, std::int64_t(team.rank() * bytes), std::int64_t(half)},
            .positions = {0, 2 * bytes},
            .memory = {make_dense(1), 0, 1},
            .base = reinterpret_cast<std::uintptr_t>(buffer.data())};
        messages += perform_once(team, rendezvous, file, options, request).traffic.messages;
    });
    auto const found = file.contents();
    EXPECT_EQ(found.size(), 2 * half);
    for (std::size_t at = 0; at < found.size(); at += 512)
        EXPECT_EQ(found[at], std::byte(at % half / bytes + 1)) << at;
    return messages;
}

TEST(Collective, messages_of_up_to_16_KiB_are_put_together_by_node) {
    EXPECT_EQ(messages_for_writes_of(16 << 10, Switch::automatic), 2u);
    EXPECT_EQ(messages_for_writes_of(17 << 10, Switch::automatic), 4u);
    EXPECT_EQ(messages_for_writes_of(16 << 10, Switch::disable), 4u);
    EXPECT_EQ(messages_for_writes_of(17 << 10, Switch::enable), 2u);
}

// Two nodes of three ranks, an aggregator on each with 4 KiB, of which each rank wants all: a node
// asks the other one's aggregator once, and gets 4 KiB once.
TEST(Collective, what_all_ranks_of_a_node_read_goes_there_once) {
    constexpr std::uint64_t half = 4096;
    TemporaryFile const file;
    file.fill(initial_contents(2 * half));
    Options options;
    options.strategy = "two_phase";
    options.cb_nodes = 2;
    std::atomic<std::uint64_t> messages{0}, message_bytes{0};
    ThreadTeams teams{make_topology({0, 0, 0, 1, 1, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        std::vector<std::byte> buffer(2 * half);
        auto const whole = make_dense(2 * half);
        Request const request{.direction = Direction::read,
                              .view = {whole, 0, 2 * half},
                              .positions = {0, 2 * half},
                              .memory = {whole, 0, 2 * half},
                              .base = reinterpret_cast<std::uintptr_t>(buffer.data())};
        auto const record = perform_once(team, rendezvous, file, options, request);
        EXPECT_EQ(buffer, initial_contents(2 * half));
        messages += record.traffic.messages;
        message_bytes += record.traffic.message_bytes;
    });
    EXPECT_EQ(messages, 4u);
    EXPECT_GE(message_bytes, 2 * half);
    EXPECT_LT(message_bytes, 2 * half + 500);
}

// Servers that give `bytes_per_s`, on a clock of their own, to a rank that waits for them.
class TimedServers final : public Backend {
public:
    explicit TimedServers(int fd) : file_{make_posix_backend(fd)} {}

    double bytes_per_s = 0;
    double first_bytes_per_s = 0;    // for the next access, if not 0
    std::vector<std::string> lists;  // KiB of the longest access of each list, times accesses

    static double now_s() { return clock_s; }

    [[nodiscard]] std::string_view name() const override { return "timed"; }
    [[nodiscard]] bool overlaps() const override { return true; }
    Error sync() override { return {}; }
    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        auto const result = file_->perform(direction, list);
        auto const first = std::exchange(first_bytes_per_s, 0);
        clock_s += static_cast<double>(result.bytes) / (first == 0 ? bytes_per_s : first);
        return result;
    }
    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order /*order*/) override {
        std::uint64_t most = 0;
        for (auto const& access : list) most = std::max(most, access.bytes);
        lists.push_back(std::to_string(most >> 10) + "x" + std::to_string(list.size()));
        return std::make_unique<Access>(*this, direction, list);
    }

private:
    class Access final : public PendingIo {
    public:
        Access(TimedServers& servers, Direction direction, std::span<Transfer const> list)
            : servers_{servers}, direction_{direction}, list_{list} {}
        bool ended() override { return std::exchange(asked_, true); }
        IoResult wait() override { return servers_.perform(direction_, list_); }

    private:
        TimedServers& servers_;
        Direction direction_;
        std::span<Transfer const> list_;
        bool asked_ = false;
    };

    static thread_local double clock_s;
    std::unique_ptr<Backend> file_;
};
thread_local double TimedServers::clock_s = 0;

// One of two nodes of a rank each, which access pieces in turn, together 8 MiB, of four servers.
class RankInTurn {
public:
    using Lists = std::vector<std::string>;
    static constexpr std::uint64_t bytes = 8 << 20;

    RankInTurn(Team& team, Rendezvous& rendezvous, int fd) : team_{team}, rendezvous_{rendezvous} {
        auto backend = std::make_unique<TimedServers>(fd);
        servers = backend.get();
        storage_ = {.descriptor = fd, .backend = std::move(backend)};
        options_.strategy = "two_phase";
    }

    // What the servers are asked for by a call.
    Lists lists_at(double bytes_per_s, std::uint64_t part, Direction direction = Direction::read) {
        servers->bytes_per_s = bytes_per_s;
        servers->lists.clear();
        CallRecord record{TimedServers::now_s};
        std::vector<std::byte> own(bytes / 2);
        auto const contents = initial_contents(bytes);
        for (std::size_t at = 0; at < own.size(); ++at)
            own[at] = contents[(at / part * 2 + team_.rank()) * part + at % part];
        auto buffer = direction == Direction::write ? own : std::vector<std::byte>(own.size());
        Request const request{
            .direction = direction,
            .view = {make_dense(part), std::int64_t(team_.rank() * part), std::int64_t(2 * part)},
            .positions = {0, bytes / 2},
            .memory = {make_dense(1), 0, 1},
            .base = reinterpret_cast<std::uintptr_t>(buffer.data())};
        perform_collective({team_, rendezvous_, storage_, layout_, options_, tuner_, gathered_},
                           request, {}, record);
        EXPECT_TRUE(buffer == own);
        return servers->lists;
    }

    TimedServers* servers;

private:
    Team& team_;
    Rendezvous& rendezvous_;
    Options options_;
    Storage storage_;
    OnlineTuner tuner_;
    GatheredFacts gathered_;
    Layout layout_ = Layout::of("pocketfs", {Striping::round_robin(64 << 10, {0, 1, 2, 3})});
};

// Windows have 1 MiB, or 4 MiB over idle links. 10 MB/s leave the slowest links idle, 80 MB/s keep
// them busy, and links with 400 MB/s are none of these.
TEST(Collective, whole_windows_are_read_over_fast_and_idle_links) {
    constexpr std::uint64_t part = 4 << 10;
    using Lists = RankInTurn::Lists;
    Lists const quarter{"64x2", "64x1", "64x1"};
    Lists const three_dealt{"64x4", "64x4", "64x4", "64x6", "64x5", "64x5",
                            "64x6", "64x5", "64x5", "64x6", "64x5", "64x5"};
    Lists const three_whole{"768x1", "1024x1", "1024x1", "1024x1"};
    Lists const rest_whole_then_dealt{"768x1", "64x6", "64x5", "64x5", "64x6",
                                      "64x5",  "64x5", "64x6", "64x5", "64x5"};
    Lists const whole{"4096x1"};
    Lists first_whole{"1024x1"};
    first_whole.insert(first_whole.end(), three_dealt.begin() + 3, three_dealt.end());
    auto const after_quarter = [&](Lists const& rest) {
        auto all = quarter;
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    };

    TemporaryFile const file;
    file.fill(initial_contents(RankInTurn::bytes));
    ThreadTeams teams{make_topology({0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        RankInTurn reader{team, rendezvous, file.descriptor()};
        EXPECT_EQ(reader.lists_at(80e6, part), first_whole) << "nobody knows yet";
        EXPECT_EQ(reader.lists_at(80e6, part), after_quarter(three_dealt));
        EXPECT_EQ(reader.lists_at(10e6, part), after_quarter(three_whole));
        EXPECT_EQ(reader.lists_at(10e6, part), whole);
        EXPECT_EQ(reader.lists_at(80e6, part), whole);
        EXPECT_EQ(reader.lists_at(80e6, part), after_quarter(three_dealt));
        // A connection that was idle: one slow access does not make servers slow.
        reader.servers->first_bytes_per_s = 1e6;
        EXPECT_EQ(reader.lists_at(80e6, part), after_quarter(rest_whole_then_dealt));
        EXPECT_EQ(reader.lists_at(80e6, part), after_quarter(three_dealt));

        EXPECT_EQ(reader.lists_at(400e6, part), after_quarter(three_whole));
        Lists const four_whole(4, "1024x1");
        for (int call = 0; call < 4; ++call)
            EXPECT_EQ(reader.lists_at(80e6, part), four_whole) << call;
        EXPECT_EQ(reader.lists_at(80e6, part), after_quarter(three_dealt));
    });
}

// Each node owns the pieces of its rank, so nothing goes between them, and six stripes of 64 KiB
// may be under way. In lists for six pieces, servers were asked for too little to keep links busy,
// and taken for slow.
TEST(Collective, as_many_bytes_of_short_pieces_are_read_at_a_time_as_of_whole_stripes) {
    TemporaryFile const file;
    file.fill(initial_contents(RankInTurn::bytes));
    ThreadTeams teams{make_topology({0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        RankInTurn reader{team, rendezvous, file.descriptor()};
        reader.lists_at(80e6, 16 << 10);  // nobody knows yet whether links are busy
        auto const lists = reader.lists_at(80e6, 16 << 10);
        EXPECT_EQ(lists.size(), 4 * 24u);
        EXPECT_EQ(std::ranges::count(lists, "16x3") + std::ranges::count(lists, "16x2"), 4 * 24);
    });
}

// Realms of each node's own pieces keep data off links, and make requests short.
TEST(Collective, short_pieces_are_written_by_their_own_nodes_where_links_are_busy) {
    constexpr std::uint64_t part = 16 << 10;
    // The last window is written at once.
    RankInTurn::Lists const windows(7, "512x1");
    RankInTurn::Lists const pieces(7, "16x32");
    TemporaryFile const file;
    file.fill({});
    ThreadTeams teams{make_topology({0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        RankInTurn writer{team, rendezvous, file.descriptor()};
        EXPECT_EQ(writer.lists_at(80e6, part, Direction::write), windows) << "nobody knows yet";
        EXPECT_EQ(writer.lists_at(80e6, part, Direction::write), pieces);
        EXPECT_EQ(writer.lists_at(400e6, part, Direction::write), pieces);
        EXPECT_EQ(writer.lists_at(400e6, part, Direction::write), windows);
    });
    EXPECT_EQ(file.contents(), initial_contents(RankInTurn::bytes));
}

TEST(Collective, a_read_stores_what_the_file_holds_and_counts_up_to_its_end) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Case made{seed};
        TemporaryFile const file;
        file.fill(initial_contents(made.file_bytes));
        auto const ended = run(made, file, Direction::read, "");
        for (std::uint32_t rank = 0; rank < made.requests.size(); ++rank) {
            auto const& request = made.requests[rank];
            auto expected = buffer_for(request, std::byte{0xEE});
            std::uint64_t in_file = 0;
            walk_both(
                request.view, request.positions, request.memory, {0, request.positions.bytes()},
                [&](std::int64_t offset, std::int64_t memory, std::uint64_t bytes) {
                    for (std::uint64_t i = 0; i < bytes; ++i) {
                        if (std::uint64_t(offset) + i >= made.file_bytes) return;
                        expected[std::size_t(memory) + i] = content(std::uint64_t(offset) + i);
                        ++in_file;
                    }
                });
            EXPECT_EQ(ended.outcomes[rank].bytes, in_file);
            EXPECT_EQ(ended.outcomes[rank].verdict.code, 0);
            ASSERT_EQ(ended.buffers[rank], expected);
        }
    }
}

TEST(Collective, all_ranks_get_the_same_error_and_true_counts) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Case made{seed};
        TemporaryFile const file;
        file.fill({});
        auto const bad = made.below(2000);
        auto const ended =
            run(made, file, Direction::write, "write@" + std::to_string(bad) + "=ENOSPC");
        bool hit = false;
        for (auto const& request : made.requests)
            walk(request.view, request.positions, [&](std::int64_t offset, std::uint64_t bytes) {
                hit = hit || (std::uint64_t(offset) <= bad && bad < std::uint64_t(offset) + bytes);
            });
        auto const after = file.contents();
        for (std::uint32_t rank = 0; rank < made.requests.size(); ++rank) {
            auto const& request = made.requests[rank];
            EXPECT_EQ(ended.outcomes[rank].verdict.code, hit ? ENOSPC : 0);
            auto const first = request.positions.begin;
            walk(request.view, {first, first + ended.outcomes[rank].bytes},
                 [&](std::int64_t offset, std::uint64_t bytes) {
                     for (std::uint64_t i = 0; i < bytes; ++i)
                         ASSERT_GE(after.at(std::size_t(offset) + i), std::byte{0x80})
                             << "counted, but not written: " << offset;
                 });
            auto const before_bad = within(request.view, request.positions, {0, bad}).bytes();
            if (!hit || made.options.strategy != "two_phase") continue;
            EXPECT_EQ(ended.outcomes[rank].verdict.offset, bad);
            EXPECT_TRUE(ended.outcomes[rank].bytes == before_bad || any_on_device(made));
        }
    }
}

TEST(Collective, an_error_in_one_realm_of_a_rank_does_not_lose_what_its_other_realms_count) {
    Case made{0};
    made.topology = make_topology({0});
    made.options = {};
    made.options.strategy = "disk_first";
    made.options.cb_buffer_size = 32;
    made.layout = Layout::of(
        "test", {Striping::round_robin(16, {0}, 160), Striping::round_robin(16, {1, 2})});
    Tiling const dense{make_dense(1), 0, 1};
    made.requests = {{.view = dense, .positions = {0, 1000}, .memory = dense}};
    made.on_device = {false};
    TemporaryFile const file;
    file.fill({});
    auto const ended = run(made, file, Direction::write, "write@180=EIO");
    EXPECT_EQ(ended.outcomes[0].bytes, 180u);
    auto const after = file.contents();
    for (std::size_t at = 0; at < 180; ++at) ASSERT_GE(after[at], std::byte{0x80}) << at;
}

// Two ranks, 1000 bytes each, of which 100 at a time go through host memory.
Case two_ranks_on_a_device() {
    Case made{0};
    made.topology = make_topology({0, 0});
    made.options = {};
    made.options.strategy = "two_phase";
    made.options.cb_buffer_size = 100;
    Tiling const dense{make_dense(1), 0, 1};
    made.requests = {{.view = dense, .positions = {0, 1000}, .memory = dense},
                     {.view = dense, .positions = {1000, 2000}, .memory = dense}};
    made.on_device = {true, false};
    return made;
}

TEST(Collective, device_memory_is_copied_window_by_window) {
    auto made = two_ranks_on_a_device();
    TemporaryFile const file;
    file.fill({});
    FakeDevice const device;
    auto const copies_before = device.copies_left.load();
    auto const ended = run(made, file, Direction::write, "", device);
    EXPECT_EQ(copies_before - device.copies_left, 10);
    EXPECT_EQ(ended.outcomes[0].bytes, 1000u);
    EXPECT_EQ(ended.outcomes[1].bytes, 1000u);
}

TEST(Collective, a_driver_that_fails_is_the_same_error_on_all_ranks) {
    for (auto const direction : {Direction::write, Direction::read}) {
        auto made = two_ranks_on_a_device();
        TemporaryFile const file;
        file.fill(initial_contents(2000));
        FakeDevice device;
        device.copies_left = 3;
        auto const ended = run(made, file, direction, "", device);
        for (auto const& outcome : ended.outcomes) {
            EXPECT_EQ(outcome.verdict.code, EFAULT);
            EXPECT_EQ(outcome.verdict.rank, 0u);
            EXPECT_EQ(outcome.verdict.offset, 300u);
            EXPECT_STREQ(outcome.verdict.call.data(), "fakeMemcpy");
        }
        EXPECT_EQ(ended.outcomes[0].bytes, 300u);
        EXPECT_EQ(ended.outcomes[1].bytes, 1000u);
    }
}

// Every rank writes 8 bytes, a terabyte after those of the rank before it; then `look`.
void write_far_apart(std::vector<std::uint32_t> const& labels, char const* strategy,
                     CallRecord::Clock clock, TemporaryFile const& file,
                     std::function<void(Outcome const&, CallRecord const&)> const& look) {
    auto const topology = make_topology(labels);
    Options options;
    options.strategy = strategy;
    ThreadTeams teams{topology};
    std::vector<std::byte> data(8, std::byte{5});
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file.descriptor();
        storage.backend = make_posix_backend(storage.descriptor);
        auto const far = std::int64_t(team.rank()) << 40;
        Tiling const dense{make_dense(8), 0, 8};
        Request const request{Direction::write,
                              {make_dense(8), far, 8},
                              {0, 8},
                              dense,
                              reinterpret_cast<std::uintptr_t>(data.data())};
        CallRecord record{clock};
        OnlineTuner tuner;
        GatheredFacts gathered;
        Layout const layout;
        auto const outcome = perform_collective(
            {team, rendezvous, storage, layout, options, tuner, gathered}, request, {}, record);
        look(outcome, record);
    });
}

TEST(Collective, bytes_far_apart_take_few_rounds) {
    TemporaryFile const file;
    write_far_apart({0, 0}, "two_phase", steady_clock_s, file,
                    [](Outcome const& outcome, CallRecord const& record) {
                        EXPECT_EQ(outcome.bytes, 8u);
                        EXPECT_EQ(record.rounds, 1u);
                    });
    EXPECT_EQ(lseek(file.descriptor(), 0, SEEK_END), (off_t{1} << 40) + 8);
}

// 5 s pass after its first look.
double late_clock_s() {
    thread_local bool begun = false;
    return std::exchange(begun, true) ? 5 : 0;
}

// Decoding HDF5's datatypes was told as an exchange between ranks.
TEST(Collective, what_the_caller_has_done_before_is_no_exchange) {
    TemporaryFile const file;
    write_far_apart({0}, "independent", late_clock_s, file,
                    [](Outcome const&, CallRecord const& record) {
                        EXPECT_EQ(record[Phase::other], 5.0);
                        EXPECT_EQ(record.whole_s(), 5.0);
                    });
}

// A clock that every look at it moves by something, differently on every rank.
thread_local std::mt19937_64 jumps;
thread_local double jumping_clock_now_s = 0;
double jumping_clock_s() {
    return jumping_clock_now_s += 1e-3 * static_cast<double>(1 + jumps() % 1000);
}

// Ranks that take different times, or have nothing to do, learn what the slowest one took: they
// choose alike, and try more than one.
// What each call of a random case was done by, on each rank, while clocks jump.
std::vector<std::vector<std::string>> choices(std::uint64_t seed, char const* select) {
    Case made{seed};
    made.options.strategy = "auto";
    made.options.select = select;
    constexpr std::size_t calls = 100;
    std::vector<std::vector<std::string>> chosen(made.requests.size());
    TemporaryFile const file;
    ThreadTeams teams{made.topology};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file.descriptor();
        storage.backend = make_posix_backend(storage.descriptor);
        auto request = made.requests[team.rank()];
        auto buffer = buffer_for(request, std::byte{1});
        request.base = reinterpret_cast<std::uintptr_t>(buffer.data());
        jumps.seed(seed * 100 + team.rank());
        OnlineTuner tuner;
        GatheredFacts gathered;
        AheadOfAgreement ahead;
        for (std::size_t call = 0; call < calls; ++call) {
            CallRecord record{jumping_clock_s};
            CollectiveFile opened{team,         rendezvous, storage, made.layout,
                                  made.options, tuner,      gathered};
            opened.ahead = &ahead;
            chosen[team.rank()].emplace_back(
                perform_collective(opened, request, {}, record).strategy);
        }
    });
    return chosen;
}

TEST(Collective, ranks_choose_alike_when_they_measure) {
    for (auto const* const select : {"measured", "auto"}) {
        std::size_t several = 0;
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            SCOPED_TRACE(std::string{select} + ", seed " + std::to_string(seed));
            auto const chosen = choices(seed, select);
            for (auto const& ranks_choice : chosen) EXPECT_EQ(ranks_choice, chosen[0]);
            std::set<std::string> const different{chosen[0].begin(), chosen[0].end()};
            several += different.size() > 1 ? 1 : 0;
        }
        EXPECT_GT(several, 5U) << select;
    }
}

// A loop that reads on until nothing comes took the quick call at the end for the time of a whole
// one: who does most calls was fast, and whoever was tried instead looked slow.
TEST(Collective, what_ends_with_the_file_is_not_measured) {
    constexpr std::uint64_t part = 4096;
    constexpr std::uint64_t whole_calls = 3;
    Options options;
    options.select = "measured";
    TemporaryFile const file;
    file.fill(initial_contents((whole_calls + 1) * 2 * part));
    auto const topology = make_topology({0, 0});
    ThreadTeams teams{topology};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file.descriptor();
        storage.backend = make_posix_backend(storage.descriptor);
        std::vector<std::byte> data(part);
        OnlineTuner tuner;
        GatheredFacts gathered;
        Layout const layout;
        // Rank by rank, pieces of 64 bytes in turn.
        auto const read_at = [&](std::uint64_t offset) {
            Request const request{
                .direction = Direction::read,
                .view = {make_dense(64), std::int64_t(offset + team.rank() * 64), 128},
                .positions = {0, part},
                .memory = {make_dense(1), 0, 1},
                .base = reinterpret_cast<std::uintptr_t>(data.data())};
            CallRecord record;
            return perform_collective({team, rendezvous, storage, layout, options, tuner, gathered},
                                      request, {}, record);
        };
        for (std::uint64_t call = 0; call < whole_calls; ++call) read_at(call * 2 * part);
        auto const last = read_at(whole_calls * 2 * part + part);
        EXPECT_EQ(last.bytes, part / 2);
        auto const nothing = read_at((whole_calls + 1) * 2 * part);
        EXPECT_EQ(nothing.bytes, 0U);
        read_at(0);
        ASSERT_TRUE(nothing.examined);
        EXPECT_EQ(tuner.explain(*nothing.examined).calls_done, whole_calls);
    });
}

}  // namespace
}  // namespace unisono
