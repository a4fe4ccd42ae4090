// A gate in the clients: page, seats and clients in one process. The daemons are in
// tests/orchestra.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "coordinate/gate/client.hpp"
#include "coordinate/gate/file_gate.hpp"
#include "coordinate/gate/page.hpp"
#include "coordinate/gate/place.hpp"
#include "coordinate/gate/seat.hpp"

namespace unisono::coordinate {
namespace {

namespace fs = std::filesystem;

class Gate : public ::testing::Test {
protected:
    Gate() {
        std::string name = fs::temp_directory_path() / "unisono-gate-test-XXXXXX";
        runtime = mkdtemp(name.data());
        struct stat status {};
        stat(runtime.c_str(), &status);
        folder = gate_folder(status.st_dev, geteuid(), runtime);
        fs::create_directory(folder);
        file = open((runtime + "/file").c_str(), O_RDWR | O_CREAT, 0600);
    }
    ~Gate() override {
        close(file);
        fs::remove_all(runtime);
    }

    static Admission turn_of(std::string const& program, Time lease = second) {
        return {Admission::Kind::only, {program_number(program)}, monotonic_now() + lease};
    }
    [[nodiscard]] FileGate::Setup setup() const {
        return {.descriptor = file,
                .progress = [] {},
                .program = [] { return std::string("a"); },
                .runtime = runtime};
    }
    [[nodiscard]] std::vector<fs::path> seats() const {
        std::vector<fs::path> found;
        for (auto const& entry : fs::directory_iterator(folder))
            if (entry.path().filename().string().starts_with("seat-")) found.push_back(entry);
        return found;
    }
    [[nodiscard]] std::unique_ptr<SeatReader> reader() const {
        auto const found = seats();
        return found.empty() ? nullptr : SeatReader::open(found.front());
    }

    std::string runtime;
    std::string folder;
    int file = -1;
};

std::vector<AccessPlace> const one_place{{.server = 0, .bytes = 4096}};
auto const a = program_number("a");
auto const b = program_number("b");

// ---- the page
// ------------------------------------------------------------------------------------

TEST_F(Gate, a_page_says_who_may_pass) {
    Page page(folder, 1e12);
    auto const view = PageView::find(folder);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->capacity_bytes(), 1e12);
    EXPECT_TRUE(view->admits(a, 0)) << "nobody's turn yet";
    page.tell({Admission::Kind::only, {a}, 100});
    EXPECT_TRUE(view->admits(a, 99));
    EXPECT_FALSE(view->admits(b, 99));
    page.tell({Admission::Kind::all_but, {a}, 100});
    EXPECT_FALSE(view->admits(a, 99));
    EXPECT_TRUE(view->admits(b, 99));
    EXPECT_TRUE(view->admits(a, 100)) << "the lease is over";
    page.tell({});
    EXPECT_TRUE(view->admits(a, 0));
}

TEST_F(Gate, more_programs_than_a_page_holds_open_it) {
    Page page(folder, 1);
    auto const view = PageView::find(folder);
    page.tell({Admission::Kind::only, std::vector<std::uint64_t>(501, a), second});
    EXPECT_TRUE(view->admits(b, 0));
}

TEST_F(Gate, a_page_that_others_could_have_written_is_not_believed) {
    Page const page(folder, 1);
    ASSERT_TRUE(PageView::find(folder));
    fs::permissions(page_path(folder), fs::perms(0646));
    EXPECT_FALSE(PageView::find(folder)) << "others may write";
    fs::permissions(page_path(folder), fs::perms(0644));
    if (geteuid() == 0) {
        ASSERT_EQ(chown(page_path(folder).c_str(), 12345, 12345), 0);
        EXPECT_FALSE(PageView::find(folder)) << "another user's";
        ASSERT_EQ(chown(page_path(folder).c_str(), 0, 0), 0);
    }
    ASSERT_TRUE(PageView::find(folder));
    fs::resize_file(page_path(folder), 100);
    EXPECT_FALSE(PageView::find(folder)) << "too short";
    fs::resize_file(page_path(folder), 0);
    fs::resize_file(page_path(folder), sizeof(PageMemory));
    EXPECT_FALSE(PageView::find(folder)) << "no version";
    fs::remove(page_path(folder));
    fs::create_symlink("/dev/zero", page_path(folder));
    EXPECT_FALSE(PageView::find(folder)) << "a link";
}

TEST_F(Gate, a_new_agent_goes_on_with_the_page_of_a_dead_one) {
    auto first = std::make_optional<Page>(folder, 1);
    first->tell(turn_of("a"));
    auto const view = PageView::find(folder);
    EXPECT_FALSE(view->admits(b, monotonic_now()));
    first.reset();  // without a word
    Page second_one(folder, 1);
    EXPECT_TRUE(view->admits(b, monotonic_now()));
    second_one.tell(turn_of("b"));
    EXPECT_FALSE(view->admits(a, monotonic_now()));
}

TEST_F(Gate, readers_never_see_half_a_turn) {
    Page page(folder, 1);
    auto const view = PageView::find(folder);
    std::atomic<bool> end = false;
    std::thread agent([&] {
        // a is in every turn but one kind, b in none: lists of different lengths, with a last.
        for (std::size_t i = 0; !end; ++i) {
            std::vector<std::uint64_t> programs(i % 400, 7);
            programs.push_back(a);
            page.tell({Admission::Kind::only, programs, never});
        }
    });
    while (view->admits(b, 0)) std::this_thread::yield();
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(view->admits(a, 0));
    end = true;
    agent.join();
    EXPECT_FALSE(view->admits(b, 0));
}

// ---- seats
// ---------------------------------------------------------------------------------------

TEST_F(Gate, an_agent_reads_what_a_process_says) {
    auto const seat = Seat::take(folder, "slurm:7");
    auto const agent = reader();
    ASSERT_NE(agent, nullptr);
    EXPECT_EQ(agent->program(), "slurm:7");
    EXPECT_EQ(agent->owner(), geteuid());
    EXPECT_TRUE(agent->alive());
    std::vector<AccessPlace> const places{{.server = 1, .address = 5, .bytes = 6}, {.server = 2}};
    auto const ticket = seat->arrived(true, places, 77, 10);
    seat->released(ticket, 2, 20);
    seat->finished(ticket, 2, 30);
    std::vector<SeatEvent> events;
    ASSERT_TRUE(agent->take(events));
    ASSERT_EQ(events.size(), 6U);
    EXPECT_EQ(events[0].kind, SeatEvent::Kind::held);
    EXPECT_EQ(events[0].place.address, 5U);
    EXPECT_EQ(events[0].file, 77U);
    EXPECT_EQ(events[1].ticket, events[0].ticket + 1);
    EXPECT_EQ(events[2].kind, SeatEvent::Kind::released);
    EXPECT_EQ(events[5].kind, SeatEvent::Kind::finished);
    EXPECT_EQ(events[5].time, 30);
    events.clear();
    EXPECT_TRUE(agent->take(events));
    EXPECT_TRUE(events.empty());
}

TEST_F(Gate, whoever_is_in_a_full_ring_is_heard_to_the_end) {
    auto const seat = Seat::take(folder, "a");
    auto const agent = reader();
    std::vector<std::uint32_t> tickets;
    for (int i = 0; i < 1000; ++i)
        if (auto const ticket = seat->arrived(i % 2 == 0, one_place, 1, i); ticket != 0) {
            tickets.push_back(ticket);
            if (i % 2 == 0) seat->released(ticket, 1, i);
        }
    EXPECT_LT(tickets.size(), 130U);
    for (auto const ticket : tickets) seat->finished(ticket, 1, 1);
    EXPECT_EQ(agent->lost(), 1000 - tickets.size());
    std::vector<SeatEvent> events;
    ASSERT_TRUE(agent->take(events));
    EXPECT_EQ(std::ranges::count(events, SeatEvent::Kind::finished, &SeatEvent::kind),
              static_cast<std::ptrdiff_t>(tickets.size()));
    EXPECT_NE(seat->arrived(false, one_place, 1, 1), 0U) << "there is room again";
}

TEST_F(Gate, events_arrive_in_order_from_several_threads) {
    auto const seat = Seat::take(folder, "a");
    auto const agent = reader();
    std::atomic<int> working = 3;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            for (int access = 0; access < 3000; ++access)
                if (auto const ticket = seat->arrived(false, one_place, 1, access); ticket != 0)
                    seat->finished(ticket, 1, access);
            --working;
        });
    std::vector<SeatEvent> events;
    while (working > 0) ASSERT_TRUE(agent->take(events));
    for (auto& thread : threads) thread.join();
    ASSERT_TRUE(agent->take(events));
    std::set<std::uint32_t> under_way;
    for (auto const& event : events) {
        if (event.kind == SeatEvent::Kind::entered)
            EXPECT_TRUE(under_way.insert(event.ticket).second);
        else
            EXPECT_EQ(under_way.erase(event.ticket), 1U);
    }
    EXPECT_TRUE(under_way.empty());
    EXPECT_EQ(events.size() / 2 + agent->lost(), 9000U);
}

TEST_F(Gate, seats_that_are_none_are_refused) {
    auto seat = Seat::take(folder, "a");
    auto const path = seats().front();
    auto const agent = SeatReader::open(path);
    EXPECT_EQ(Seat::take(folder + "/nowhere", "a"), nullptr);
    fs::copy_file(path, folder + "/short");
    fs::resize_file(folder + "/short", 100);
    EXPECT_EQ(SeatReader::open(folder + "/short"), nullptr);
    mkfifo((folder + "/pipe").c_str(), 0600);
    EXPECT_EQ(SeatReader::open(folder + "/pipe"), nullptr);
    for (auto const* name : {"", "two words", "\xff"}) {
        auto const strange = Seat::take(folder, name);
        fs::path newest;
        for (auto const& each : seats())
            if (each != path) newest = each;
        EXPECT_EQ(SeatReader::open(newest), nullptr) << name;
    }
    std::vector<SeatEvent> events;
    fs::resize_file(path, 10);
    EXPECT_FALSE(agent->take(events)) << "cut off meanwhile";
    fs::resize_file(path, sizeof(SeatMemory));
    seat.reset();
    EXPECT_TRUE(seats().empty());
}

// The orchestrator would have refused the whole message, and the gate of the node been open for
// all.
TEST_F(Gate, accesses_at_servers_that_cannot_be_are_passed_over) {
    auto const seat = Seat::take(folder, "a");
    auto const agent = reader();
    std::vector<AccessPlace> const places{{.server = servers_max - 1}, {.server = servers_max}};
    seat->arrived(false, places, 1, 1);
    std::vector<SeatEvent> events;
    ASSERT_TRUE(agent->take(events));
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].place.server, servers_max - 1);
}

TEST_F(Gate, a_seat_of_a_dead_process_is_known) {
    auto const child = fork();
    if (child == 0) {
        auto const seat = Seat::take(folder, "a");
        _exit(seat == nullptr ? 1 : 0);  // as a killed one: nothing is cleaned up
    }
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    ASSERT_EQ(ended.si_status, 0);
    auto const agent = reader();
    ASSERT_NE(agent, nullptr);
    EXPECT_FALSE(agent->alive()) << "its remains are in /proc still";
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(agent->alive());
}

// Whatever is in the file, reading it ends, and what comes out is of a known kind.
TEST_F(Gate, broken_rings_do_no_harm) {
    auto const seat = Seat::take(folder, "a");
    auto const path = seats().front();
    std::mt19937 dice(6);
    for (int round = 0; round < 300; ++round) {
        auto const agent = SeatReader::open(path);
        std::fstream ring(path, std::ios::in | std::ios::out | std::ios::binary);
        for (int i = 0; i < 200; ++i) {
            // The head stays: it is read when the seat is opened.
            ring.seekp(
                static_cast<long>(offsetof(SeatMemory, lost) +
                                  dice() % (sizeof(SeatMemory) - offsetof(SeatMemory, lost))));
            ring.put(static_cast<char>(dice()));
        }
        ring.close();
        if (agent == nullptr) continue;
        std::vector<SeatEvent> events;
        agent->take(events);
        EXPECT_LE(events.size(), SeatMemory::events_max);
        for (auto const& event : events) EXPECT_LE(event.kind, SeatEvent::Kind::finished);
    }
}

// ---- clients
// -------------------------------------------------------------------------------------

TEST_F(Gate, without_an_agent_everyone_passes) {
    FileGate gate(setup());
    gate.join_late();
    Transfer const transfer{.bytes = 1};
    { auto const pass = gate.enter({&transfer, 1}); }
    EXPECT_EQ(gate.counts().passages, 0U);
}

// Agents that die one after another: each lets everyone in and closes the gate at once.
TEST_F(Gate, who_waits_passes_when_the_gate_was_open_although_nobody_looked) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", 60 * second));
    auto mine = setup();
    mine.progress = [&] {
        page.tell({});
        page.tell(turn_of("b", 60 * second));
    };
    FileGate gate(mine);
    Transfer const transfer{.offset = 4096, .bytes = 8192};
    auto const pass = gate.enter({&transfer, 1});
    EXPECT_EQ(gate.counts().waits, 1U);
    EXPECT_LT(pass.waited, 30 * second) << "it did not wait for the lease";
}

// Its turn would never have come, because nobody knew that it waited.
TEST_F(Gate, an_access_that_has_no_room_in_the_ring_is_not_held) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", 60 * second));
    std::vector<std::string> const folders{folder};
    auto const client = GateClient::join(folders, [] { return std::string("a"); });
    ASSERT_NE(client, nullptr);
    std::vector<AccessPlace> const places(SeatMemory::events_max / 2, AccessPlace{.bytes = 1});
    auto const pass = client->enter(places, 1, [&] { page.tell({}); });
    EXPECT_EQ(pass.waited, 0);
}

TEST_F(Gate, a_process_waits_for_its_turn_and_drives_progress_meanwhile) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", 60 * second));
    auto mine = setup();
    std::atomic<int> calls = 0;
    mine.progress = [&] { ++calls; };
    FileGate gate(mine);
    std::atomic<bool> in = false;
    std::thread process([&] {
        Transfer const transfer{.offset = 4096, .bytes = 8192};
        auto const pass = gate.enter({&transfer, 1});
        in = true;
    });
    auto const agent = reader();
    ASSERT_NE(agent, nullptr);
    std::vector<SeatEvent> events;
    while (events.empty()) ASSERT_TRUE(agent->take(events));
    EXPECT_EQ(events[0].kind, SeatEvent::Kind::held);
    EXPECT_EQ(events[0].place.bytes, 8192U);
    while (calls < 3) std::this_thread::yield();
    EXPECT_FALSE(in);
    page.tell(turn_of("a"));
    process.join();
    while (events.size() < 3) ASSERT_TRUE(agent->take(events));
    EXPECT_EQ(events[1].kind, SeatEvent::Kind::released);
    EXPECT_EQ(events[2].kind, SeatEvent::Kind::finished);
    EXPECT_EQ(gate.counts().waits, 1U);
    EXPECT_GT(gate.counts().waited_s, 0);
}

TEST_F(Gate, a_lease_that_is_over_lets_everyone_in) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", 200 * millisecond));
    FileGate gate(setup());
    Transfer const transfer{.bytes = 1};
    auto const pass = gate.enter({&transfer, 1});
    EXPECT_GT(pass.waited, 0) << "and nobody told it anything";
}

// Threads saw the gate before the file's places were there.
TEST_F(Gate, all_threads_of_a_process_join_a_gate_that_comes_later) {
    FileGate gate(setup());
    gate.join_late();
    Page const page(folder, 1e9);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            Transfer const transfer{.bytes = 1};
            auto const end = monotonic_now() + 60 * second;
            while (gate.counts().passages == 0 && monotonic_now() < end) {
                auto const pass = gate.enter({&transfer, 1});
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_GT(gate.counts().passages, 0U);
}

TEST_F(Gate, open_files_find_a_gate_that_comes_later_and_a_new_one) {
    FileGate collective(setup());
    collective.join_late();
    FileGate independent(setup());
    Transfer const transfer{.bytes = 1};
    auto const passes = [&](FileGate& gate) {
        auto const before = gate.counts().passages;
        for (int i = 0; i < 40 && gate.counts().passages == before; ++i) {
            { auto const pass = gate.enter({&transfer, 1}); }
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return gate.counts().passages > before;
    };
    auto page = std::make_optional<Page>(folder, 1e9);
    EXPECT_TRUE(passes(collective));
    { auto const pass = independent.enter({&transfer, 1}); }
    EXPECT_EQ(independent.counts().passages, 0U) << "was never used collectively";
    page->retire();
    fs::remove(page_path(folder));
    auto const before = collective.counts().passages;
    { auto const pass = collective.enter({&transfer, 1}); }
    EXPECT_EQ(collective.counts().passages, before) << "there is none now";
    page.emplace(folder, 1e9);
    EXPECT_TRUE(passes(collective));
}

TEST_F(Gate, files_of_one_file_system_share_a_seat) {
    Page const page(folder, 1e9);
    auto one = std::make_optional<FileGate>(setup());
    FileGate const two(setup());
    EXPECT_EQ(seats().size(), 1U);
    one.reset();
    EXPECT_EQ(seats().size(), 1U);
}

TEST_F(Gate, the_layout_says_which_servers_an_access_is_for) {
    Page const page(folder, 1e12);
    FileGate gate(setup());
    // Units of 64 KiB over three servers: [64, 320) KiB is server 1, 2, 0, 1.
    gate.use(Layout::of("test", {Striping::round_robin(64 << 10, {0, 1, 2})}));
    Transfer const transfer{.offset = 64 << 10, .bytes = 256 << 10};
    { auto const pass = gate.enter({&transfer, 1}); }
    std::vector<SeatEvent> events;
    ASSERT_TRUE(reader()->take(events));
    ASSERT_EQ(events.size(), 6U) << "three servers: in and out";
    EXPECT_EQ(events[0].place.server, 1U);
    EXPECT_EQ(events[0].place.bytes, 128U << 10);
    EXPECT_EQ(events[1].place.server, 2U);
    EXPECT_EQ(events[2].place.server, 0U);
    EXPECT_EQ(events[2].place.address - events[1].place.address, 64U << 10) << "the second unit";
    EXPECT_EQ(gate.counts().locality, LocalityKind::layout);
}

TEST_F(Gate, a_local_file_is_where_its_file_system_says) {
    std::vector<char> const data(1 << 20, 'x');
    ASSERT_EQ(pwrite(file, data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
    fsync(file);
    FilePlaces places(file, 1, 1e12);
    Transfer const first{.offset = 0, .bytes = 4096};
    Transfer const later{.offset = 8192, .bytes = 4096};
    auto const one = places.of({&first, 1});
    auto const two = places.of({&later, 1});
    ASSERT_EQ(one.size(), 1U);
    if (one[0].kind != LocalityKind::fiemap)
        GTEST_SKIP() << "no FIEMAP on the file system of " << runtime;
    EXPECT_EQ(two[0].address - one[0].address, 8192U);
}

}  // namespace
}  // namespace unisono::coordinate
