// A gate in the clients: page, slots and clients in one process. The daemons are in
// tests/orchestra.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "orchestra/gate/client.hpp"
#include "orchestra/gate/file_gate.hpp"
#include "orchestra/gate/gate_paths.hpp"
#include "orchestra/gate/node_daemon.hpp"
#include "orchestra/gate/page.hpp"
#include "orchestra/gate/slot.hpp"
#include "support/hash.hpp"

namespace unisono::orchestra {
namespace {

namespace fs = std::filesystem;

class Gate : public ::testing::Test {
protected:
    Gate() {
        std::string name = fs::temp_directory_path() / "unisono-gate-test-XXXXXX";
        runtime = mkdtemp(name.data());
        paths = make_gate_paths(runtime, runtime);
        folder = paths.folder;
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
    [[nodiscard]] std::vector<fs::path> slots() const {
        std::vector<fs::path> found;
        for (auto const& entry : fs::directory_iterator(paths.slots))
            if (entry.path().filename().string().starts_with("slot-")) found.push_back(entry);
        return found;
    }
    [[nodiscard]] std::unique_ptr<SlotReader> reader() const {
        auto const found = slots();
        return found.empty() ? nullptr : SlotReader::open(found.front());
    }

    std::string runtime;
    GatePaths paths;
    std::string folder;  // of the page
    int file = -1;
};

std::vector<DiskAddress> const one_place{{.server = 0, .bytes = 4096}};
constexpr auto lease_max_s = static_cast<double>(lease_max) / second;
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

// Files were opened without asking what they are: whoever waits for a writer waits for ever.
TEST_F(Gate, a_fifo_in_place_of_the_page_hangs_nobody) {
    ASSERT_EQ(mkfifo(page_path(folder).c_str(), 0644), 0);
    auto const child = fork();
    if (child == 0) {
        alarm(20);
        FileGate const gate(setup());
        _exit(static_cast<int>(gate.counts().accesses));
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "killed after 20 s";
}

TEST_F(Gate, a_folder_that_others_could_have_filled_is_no_gate) {
    Page const page(folder, 1);
    for (auto const mode : {0775, 0757, 01777}) {
        fs::permissions(folder, fs::perms(mode));
        EXPECT_FALSE(PageView::find(folder)) << std::oct << mode;
    }
    fs::permissions(folder, fs::perms(0755));
    EXPECT_TRUE(PageView::find(folder));
    fs::create_directory_symlink(folder, runtime + "/link");
    EXPECT_FALSE(PageView::find(runtime + "/link"));
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(PageView::find(folder)) << "another user's";
}

TEST_F(Gate, a_page_that_somebody_else_made_is_refused) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a page away";
    Page strange(folder, 7);
    ASSERT_EQ(chown(page_path(folder).c_str(), 65534, 65534), 0);
    Page const page(folder, 1);
    strange.tell(turn_of("b"));
    auto const view = PageView::find(folder);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->owner(), 0U);
    EXPECT_EQ(view->capacity_bytes(), 1);
    EXPECT_TRUE(view->admits(a, monotonic_now()));
}

// Root's node daemon had a page in memory that somebody else could write to.
TEST_F(Gate, a_truncated_page_does_not_kill_the_node_daemon) {
    auto const path = page_path(folder);
    std::vector<std::function<void()>> const spoilers{
        [&] { fs::permissions(path, fs::perms(0666)); },
        [&] { fs::create_hard_link(path, runtime + "/second"); }};
    for (auto const& spoil : spoilers) {
        { Page const of_a_dead_node_daemon(folder, 1); }
        spoil();
        int const strangers = open(path.c_str(), O_RDWR);
        Page page(folder, 1);
        ASSERT_EQ(ftruncate(strangers, 0), 0);
        close(strangers);
        page.tell(turn_of("a"));
        EXPECT_TRUE(PageView::find(folder));
    }
}

TEST_F(Gate, a_new_node_daemon_goes_on_with_the_page_of_a_dead_one) {
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
    std::thread node_daemon([&] {
        // a is in every turn but one kind, b in none: lists of different lengths, with a last.
        for (std::size_t i = 0; !end; ++i) {
            std::vector<std::uint64_t> programs(i % 400, 7);
            programs.push_back(a);
            page.tell({Admission::Kind::only, programs, lease_max});
        }
    });
    while (view->admits(b, 0)) std::this_thread::yield();
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(view->admits(a, 0));
    end = true;
    node_daemon.join();
    EXPECT_FALSE(view->admits(b, 0));
}

// ---- slots
// ---------------------------------------------------------------------------------------

TEST_F(Gate, an_node_daemon_reads_what_a_process_says) {
    auto const slot = Slot::take(paths.slots, "slurm:7");
    auto const node_daemon = reader();
    ASSERT_NE(node_daemon, nullptr);
    EXPECT_EQ(node_daemon->program(), "slurm:7");
    EXPECT_EQ(node_daemon->owner(), geteuid());
    EXPECT_TRUE(node_daemon->alive());
    std::vector<DiskAddress> const addresses{{.server = 1, .address = 5, .bytes = 6},
                                             {.server = 2}};
    auto const token = slot->arrived(true, addresses, 77, 10);
    slot->released(token, 2, 20);
    slot->finished(token, 2, 30);
    std::vector<SlotEvent> events;
    ASSERT_TRUE(node_daemon->take(events));
    ASSERT_EQ(events.size(), 6U);
    EXPECT_EQ(events[0].kind, SlotEvent::Kind::held);
    EXPECT_EQ(events[0].disk_address.address, 5U);
    EXPECT_EQ(events[0].file, 77U);
    EXPECT_EQ(events[1].token, events[0].token + 1);
    EXPECT_EQ(events[2].kind, SlotEvent::Kind::released);
    EXPECT_EQ(events[5].kind, SlotEvent::Kind::finished);
    EXPECT_EQ(events[5].time, 30);
    events.clear();
    EXPECT_TRUE(node_daemon->take(events));
    EXPECT_TRUE(events.empty());
}

TEST_F(Gate, whoever_is_in_a_full_ring_is_heard_to_the_end) {
    auto const slot = Slot::take(paths.slots, "a");
    auto const node_daemon = reader();
    std::vector<std::uint32_t> tokens;
    for (int i = 0; i < 1000; ++i)
        if (auto const token = slot->arrived(i % 2 == 0, one_place, 1, i); token != 0) {
            tokens.push_back(token);
            if (i % 2 == 0) slot->released(token, 1, i);
        }
    EXPECT_LT(tokens.size(), 130U);
    for (auto const token : tokens) slot->finished(token, 1, 1);
    EXPECT_EQ(node_daemon->lost(), 1000 - tokens.size());
    std::vector<SlotEvent> events;
    ASSERT_TRUE(node_daemon->take(events));
    EXPECT_EQ(std::ranges::count(events, SlotEvent::Kind::finished, &SlotEvent::kind),
              static_cast<std::ptrdiff_t>(tokens.size()));
    EXPECT_NE(slot->arrived(false, one_place, 1, 1), 0U) << "there is room again";
}

TEST_F(Gate, events_arrive_in_order_from_several_threads) {
    auto const slot = Slot::take(paths.slots, "a");
    auto const node_daemon = reader();
    std::atomic<int> working = 3;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            for (int access = 0; access < 3000; ++access)
                if (auto const token = slot->arrived(false, one_place, 1, access); token != 0)
                    slot->finished(token, 1, access);
            --working;
        });
    std::vector<SlotEvent> events;
    while (working > 0) ASSERT_TRUE(node_daemon->take(events));
    for (auto& thread : threads) thread.join();
    ASSERT_TRUE(node_daemon->take(events));
    std::set<std::uint32_t> under_way;
    for (auto const& event : events) {
        if (event.kind == SlotEvent::Kind::entered)
            EXPECT_TRUE(under_way.insert(event.token).second);
        else
            EXPECT_EQ(under_way.erase(event.token), 1U);
    }
    EXPECT_TRUE(under_way.empty());
    EXPECT_EQ(events.size() / 2 + node_daemon->lost(), 9000U);
}

TEST_F(Gate, slots_that_are_none_are_refused) {
    auto slot = Slot::take(paths.slots, "a");
    auto const path = slots().front();
    auto const node_daemon = SlotReader::open(path);
    EXPECT_EQ(Slot::take(paths.slots + "/nowhere", "a"), nullptr);
    fs::copy_file(path, folder + "/short");
    fs::resize_file(folder + "/short", 100);
    EXPECT_EQ(SlotReader::open(folder + "/short"), nullptr);
    mkfifo((folder + "/pipe").c_str(), 0600);
    EXPECT_EQ(SlotReader::open(folder + "/pipe"), nullptr);
    fs::create_hard_link(path, folder + "/second");
    EXPECT_EQ(SlotReader::open(path), nullptr) << "what is written would be in another file, too";
    fs::remove(folder + "/second");
    for (auto const* name : {"", "two words", "\xff"}) {
        auto const strange = Slot::take(paths.slots, name);
        fs::path newest;
        for (auto const& each : slots())
            if (each != path) newest = each;
        EXPECT_EQ(SlotReader::open(newest), nullptr) << name;
    }
    std::vector<SlotEvent> events;
    fs::resize_file(path, 10);
    EXPECT_FALSE(node_daemon->take(events)) << "cut off meanwhile";
    fs::resize_file(path, sizeof(SlotMemory));
    slot.reset();
    EXPECT_TRUE(slots().empty());
}

// The orchestrator would have refused the whole message, and the gate of the node been open for
// all.
TEST_F(Gate, accesses_at_servers_that_cannot_be_are_passed_over) {
    auto const slot = Slot::take(paths.slots, "a");
    auto const node_daemon = reader();
    std::vector<DiskAddress> const addresses{{.server = servers_max - 1}, {.server = servers_max}};
    slot->arrived(false, addresses, 1, 1);
    std::vector<SlotEvent> events;
    ASSERT_TRUE(node_daemon->take(events));
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].disk_address.server, servers_max - 1);
}

TEST_F(Gate, a_slot_of_a_dead_process_is_known) {
    auto const child = fork();
    if (child == 0) {
        auto const slot = Slot::take(paths.slots, "a");
        _exit(slot == nullptr ? 1 : 0);  // as a killed one: nothing is cleaned up
    }
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    ASSERT_EQ(ended.si_status, 0);
    auto const node_daemon = reader();
    ASSERT_NE(node_daemon, nullptr);
    EXPECT_FALSE(node_daemon->alive()) << "its remains are in /proc still";
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(node_daemon->alive());
}

// There its process has a number that means another one, or nothing, to the node daemon.
TEST_F(Gate, a_slot_of_another_pid_namespace_lives_as_long_as_its_process) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    auto const child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(77);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            auto const slot = Slot::take(paths.slots, "a");
            close(ready[1]);
            pause();
        }
        close(ready[1]);
        pause();
    }
    close(ready[1]);
    char none = 0;
    EXPECT_EQ(read(ready[0], &none, 1), 0) << "until nobody is left who could write";
    close(ready[0]);
    auto const node_daemon = reader();
    if (node_daemon == nullptr) GTEST_SKIP() << "no namespaces for this user";
    EXPECT_TRUE(node_daemon->alive());
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int i = 0; i < 1000 && node_daemon->alive(); ++i) usleep(10'000);
    EXPECT_FALSE(node_daemon->alive());
}

// Whatever is in the file, reading it ends, and what comes out is of a known kind.
TEST_F(Gate, broken_rings_do_no_harm) {
    auto const slot = Slot::take(paths.slots, "a");
    auto const path = slots().front();
    std::mt19937 dice(6);
    for (int round = 0; round < 300; ++round) {
        auto const node_daemon = SlotReader::open(path);
        std::fstream ring(path, std::ios::in | std::ios::out | std::ios::binary);
        for (int i = 0; i < 200; ++i) {
            // The head stays: it is read when the slot is opened.
            ring.seekp(
                static_cast<long>(offsetof(SlotMemory, lost) +
                                  dice() % (sizeof(SlotMemory) - offsetof(SlotMemory, lost))));
            ring.put(static_cast<char>(dice()));
        }
        ring.close();
        if (node_daemon == nullptr) continue;
        std::vector<SlotEvent> events;
        node_daemon->take(events);
        EXPECT_LE(events.size(), SlotMemory::events_max);
        for (auto const& event : events) EXPECT_LE(event.kind, SlotEvent::Kind::finished);
    }
}

// ---- clients
// -------------------------------------------------------------------------------------

/// How long it waited for its turn.
double seconds_of_an_access(FileGate& gate) {
    auto const before_s = gate.counts().waited_s;
    Transfer const transfer{.bytes = 1};
    gate.enter({&transfer, 1});
    return gate.counts().waited_s - before_s;
}

TEST_F(Gate, without_an_node_daemon_everyone_passes) {
    FileGate gate(setup());
    gate.join_late();
    Transfer const transfer{.bytes = 1};
    { auto const pass = gate.enter({&transfer, 1}); }
    EXPECT_EQ(gate.counts().accesses, 0U);
}

// Node daemons that die one after another: each lets everyone in and closes the gate at once.
TEST_F(Gate, who_waits_passes_when_the_gate_was_open_although_nobody_looked) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", lease_max));
    auto mine = setup();
    int looks = 0;
    mine.progress = [&] {
        ++looks;
        page.tell({});
        page.tell(turn_of("b", lease_max));
    };
    FileGate gate(mine);
    Transfer const transfer{.offset = 4096, .bytes = 8192};
    auto const pass = gate.enter({&transfer, 1});
    EXPECT_EQ(gate.counts().waits, 1U);
    EXPECT_EQ(looks, 1) << "it did not wait for the lease";
}

// Its turn would never have come, because nobody knew that it waited.
TEST_F(Gate, an_access_that_has_no_room_in_the_ring_is_not_held) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", lease_max));
    auto const client = GateClient::join({&paths, 1}, [] { return std::string("a"); });
    ASSERT_NE(client, nullptr);
    std::vector<DiskAddress> const addresses(SlotMemory::events_max / 2, DiskAddress{.bytes = 1});
    auto const pass = client->enter(addresses, 1, [&] { page.tell({}); });
    EXPECT_EQ(pass.waited, 0);
}

TEST_F(Gate, a_process_waits_for_its_turn_and_drives_progress_meanwhile) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", lease_max));
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
    auto const node_daemon = reader();
    ASSERT_NE(node_daemon, nullptr);
    std::vector<SlotEvent> events;
    while (events.empty()) ASSERT_TRUE(node_daemon->take(events));
    EXPECT_EQ(events[0].kind, SlotEvent::Kind::held);
    EXPECT_EQ(events[0].disk_address.bytes, 8192U);
    while (calls < 3) std::this_thread::yield();
    EXPECT_FALSE(in);
    page.tell(turn_of("a"));
    process.join();
    while (events.size() < 3) ASSERT_TRUE(node_daemon->take(events));
    EXPECT_EQ(events[1].kind, SlotEvent::Kind::released);
    EXPECT_EQ(events[2].kind, SlotEvent::Kind::finished);
    EXPECT_EQ(gate.counts().waits, 1U);
    EXPECT_GT(gate.counts().waited_s, 0);
}

TEST_F(Gate, a_lease_that_is_over_lets_everyone_in) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", 200 * millisecond));
    FileGate gate(setup());
    Transfer const transfer{.bytes = 1};
    auto const pass = gate.enter({&transfer, 1});
    EXPECT_GT(gate.counts().waited_s, 0) << "and nobody told it anything";
}

// 18 s, with no daemon at all.
TEST_F(Gate, a_crafted_page_with_a_lease_that_no_daemon_gives_holds_nobody) {
    Page page(folder, 1e9);
    FileGate gate(setup());
    for (auto const lease : {18 * second, 3600 * second, never - monotonic_now() - second}) {
        page.tell(turn_of("b", lease));
        EXPECT_EQ(seconds_of_an_access(gate), 0) << lease;
    }
}

// Whoever waits looks on until then. It is told at each look, and may be late for the last one.
TEST_F(Gate, a_lease_that_never_ends_holds_nobody_longer_than_one) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", lease_max));
    auto mine = setup();
    std::optional<Time> first_look;
    int looks_after_that = 0;
    mine.progress = [&] {
        auto const now = monotonic_now();
        if (!first_look) first_look = now;
        if (now > *first_look + lease_max) ++looks_after_that;
        page.tell(turn_of("b", lease_max));
    };
    FileGate gate(mine);
    EXPECT_GE(seconds_of_an_access(gate), lease_max_s);
    EXPECT_LE(looks_after_that, 1);
}

TEST_F(Gate, slots_in_a_folder_that_somebody_else_made_are_not_taken) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    Page const page(folder, 1e9);
    ASSERT_EQ(chown(paths.slots.c_str(), 65534, 65534), 0);
    EXPECT_EQ(GateClient::join({&paths, 1}, [] { return std::string("a"); }), nullptr);
    EXPECT_TRUE(slots().empty());
}

// A node daemon has no room for all, and nobody lets in whom it does not know.
TEST_F(Gate, a_process_whose_slot_was_taken_away_is_not_held) {
    Page page(folder, 1e9);
    page.tell(turn_of("b", lease_max));
    auto mine = setup();
    int looks = 0;
    mine.progress = [&] {
        ++looks;
        fs::remove_all(paths.slots);
    };
    FileGate gate(mine);
    for (int access = 0; access < 2; ++access) {
        Transfer const transfer{.bytes = 1};
        auto const pass = gate.enter({&transfer, 1});
    }
    EXPECT_EQ(looks, 1) << "the first access noticed, the second one knew";
}

// Threads saw the gate before the file's addresses were there.
TEST_F(Gate, all_threads_of_a_process_join_a_gate_that_comes_later) {
    FileGate gate(setup());
    gate.join_late();
    Page const page(folder, 1e9);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            Transfer const transfer{.bytes = 1};
            auto const end = monotonic_now() + 60 * second;
            while (gate.counts().accesses == 0 && monotonic_now() < end) {
                auto const pass = gate.enter({&transfer, 1});
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_GT(gate.counts().accesses, 0U);
}

TEST_F(Gate, open_files_find_a_gate_that_comes_later_and_a_new_one) {
    FileGate collective(setup());
    collective.join_late();
    FileGate independent(setup());
    Transfer const transfer{.bytes = 1};
    auto const passes = [&](FileGate& gate) {
        auto const before = gate.counts().accesses;
        for (int i = 0; i < 40 && gate.counts().accesses == before; ++i) {
            { auto const pass = gate.enter({&transfer, 1}); }
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return gate.counts().accesses > before;
    };
    auto page = std::make_optional<Page>(folder, 1e9);
    EXPECT_TRUE(passes(collective));
    { auto const pass = independent.enter({&transfer, 1}); }
    EXPECT_EQ(independent.counts().accesses, 0U) << "was never used collectively";
    page->retire();
    fs::remove(page_path(folder));
    auto const before = collective.counts().accesses;
    { auto const pass = collective.enter({&transfer, 1}); }
    EXPECT_EQ(collective.counts().accesses, before) << "there is none now";
    page.emplace(folder, 1e9);
    EXPECT_TRUE(passes(collective));
}

// Page and slot of each gate that there ever was stayed in memory as long as the file was open.
TEST_F(Gate, a_gate_that_is_over_is_kept_by_accesses_that_are_under_way_only) {
    auto const mapped = [&] {
        std::ifstream maps("/proc/self/maps");
        int count = 0;
        for (std::string line; std::getline(maps, line);)
            count += line.find(runtime) != std::string::npos;
        return count;
    };
    auto page = std::make_optional<Page>(folder, 1e9);
    FileGate gate(setup());
    Transfer const transfer{.bytes = 1};
    auto pass = gate.enter({&transfer, 1});
    page->retire();
    page.reset();
    EXPECT_EQ(mapped(), 2) << "page and slot";
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // it looks once a second
    EXPECT_EQ(gate.enter({&transfer, 1}), nullptr);
    EXPECT_EQ(mapped(), 2) << "the access is under way";
    pass.reset();
    EXPECT_EQ(mapped(), 0);
}

// Nobody told them that the page which they had in memory was of no use any more.
TEST_F(Gate, open_files_find_a_new_gate_after_one_whose_node_daemon_died_was_taken_away) {
    auto page = std::make_optional<Page>(folder, 1e9);
    auto mine = setup();
    mine.progress = [&] { page->tell({}); };
    FileGate gate(mine);
    page.reset();  // without a word
    fs::remove(page_path(folder));
    page.emplace(folder, 1e9);
    page->tell(turn_of("b", lease_max));
    bool held = false;
    for (int i = 0; i < 40 && !held; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        held = seconds_of_an_access(gate) > 0;
    }
    EXPECT_TRUE(held);
}

TEST_F(Gate, files_of_one_file_system_share_a_slot) {
    Page const page(folder, 1e9);
    auto one = std::make_optional<FileGate>(setup());
    FileGate const two(setup());
    EXPECT_EQ(slots().size(), 1U);
    one.reset();
    EXPECT_EQ(slots().size(), 1U);
}

TEST_F(Gate, the_layout_says_which_servers_an_access_is_for) {
    Page const page(folder, 1e12);
    FileGate gate(setup());
    // Units of 64 KiB over three servers: [64, 320) KiB is server 1, 2, 0, 1.
    gate.use(Layout::of("test", {Striping::round_robin(64 << 10, {0, 1, 2})}));
    Transfer const transfer{.offset = 64 << 10, .bytes = 256 << 10};
    { auto const pass = gate.enter({&transfer, 1}); }
    std::vector<SlotEvent> events;
    ASSERT_TRUE(reader()->take(events));
    ASSERT_EQ(events.size(), 6U) << "three servers: in and out";
    EXPECT_EQ(events[0].disk_address.server, 1U);
    EXPECT_EQ(events[0].disk_address.bytes, 128U << 10);
    EXPECT_EQ(events[1].disk_address.server, 2U);
    EXPECT_EQ(events[2].disk_address.server, 0U);
    EXPECT_EQ(events[2].disk_address.address - events[1].disk_address.address, 64U << 10)
        << "the second unit";
    EXPECT_EQ(gate.counts().locality, LocalityKind::layout);
}

// They had no room in the ring, so they were never held, and from 129 servers on never seen.
TEST_F(Gate, an_access_to_more_servers_than_a_ring_has_room_for_is_held_and_seen) {
    Page page(folder, 1e12);
    page.tell(turn_of("b", lease_max));
    auto mine = setup();
    mine.progress = [&] { page.tell({}); };
    FileGate gate(mine);
    std::vector<std::uint32_t> servers(200);
    std::iota(servers.begin(), servers.end(), 0);
    gate.use(Layout::of("test", {Striping::round_robin(64 << 10, servers)}));
    Transfer const transfer{.bytes = 200 * (64 << 10)};
    { auto const pass = gate.enter({&transfer, 1}); }
    EXPECT_EQ(gate.counts().waits, 1U);
    std::vector<SlotEvent> events;
    ASSERT_TRUE(reader()->take(events));
    constexpr auto told_apart = DiskAddresses::servers_of_access_max;
    ASSERT_EQ(events.size(), 3 * told_apart);
    EXPECT_EQ(events[told_apart - 1].disk_address.bytes, (200 - told_apart + 1) * (64 << 10));
}

// NFS has another device number on each node, so programs that shared a file seemed not to.
TEST_F(Gate, a_file_is_the_same_one_whatever_number_its_device_has) {
    Page const page(folder, 1e9);
    FileGate gate(setup());
    seconds_of_an_access(gate);
    std::vector<SlotEvent> events;
    ASSERT_TRUE(reader()->take(events));
    struct stat status {};
    ASSERT_EQ(fstat(file, &status), 0);
    EXPECT_EQ(events.at(0).file, hash64(std::to_string(status.st_ino)));
}

TEST_F(Gate, a_local_file_is_where_its_file_system_says) {
    std::vector<char> const data(1 << 20, 'x');
    ASSERT_EQ(pwrite(file, data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
    fsync(file);
    DiskAddresses addresses(file, 1, 1e12);
    Transfer const first{.offset = 0, .bytes = 4096};
    Transfer const later{.offset = 8192, .bytes = 4096};
    auto const one = addresses.of({&first, 1});
    auto const two = addresses.of({&later, 1});
    ASSERT_EQ(one.size(), 1U);
    if (one[0].kind != LocalityKind::fiemap)
        GTEST_SKIP() << "no FIEMAP on the file system of " << runtime;
    EXPECT_EQ(two[0].address - one[0].address, 8192U);
}

}  // namespace
}  // namespace unisono::orchestra
