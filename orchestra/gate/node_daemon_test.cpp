#include "orchestra/gate/node_daemon.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <set>

#include "orchestra/gate/client.hpp"
#include "orchestra/gate/gate_paths.hpp"

namespace unisono::orchestra {
namespace {

namespace fs = std::filesystem;

// A process of another user, which has done something and is still there.
class Guest {
public:
    static constexpr uid_t user = 65534;

    explicit Guest(std::function<bool()> const& does) {
        int answer[2];
        EXPECT_EQ(pipe(answer), 0);
        process_ = fork();
        if (process_ == 0) {
            char const good = setgid(user) == 0 && setuid(user) == 0 && does() ? 1 : 0;
            EXPECT_EQ(write(answer[1], &good, 1), 1);
            while (true) pause();
        }
        close(answer[1]);
        char good = 0;
        EXPECT_EQ(read(answer[0], &good, 1), 1);
        EXPECT_EQ(good, 1) << "it says so";
        close(answer[0]);
    }
    Guest(Guest const&) = delete;
    Guest& operator=(Guest const&) = delete;
    ~Guest() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }

private:
    pid_t process_ = -1;
};

class OnNode : public ::testing::Test {
protected:
    OnNode() {
        std::string name = fs::temp_directory_path() / "unisono-node-daemon-test-XXXXXX";
        runtime = mkdtemp(name.data());
        fs::permissions(runtime, fs::perms(0755));  // for other users' processes
        paths = make_gate_paths(runtime, runtime);
    }
    ~OnNode() override { fs::remove_all(runtime); }

    [[nodiscard]] std::shared_ptr<GateClient> join() const {
        return GateClient::join({&paths, 1}, [] { return std::string("a"); });
    }
    // What a guest does, too: so many slots, each of a program of its own if it is told so.
    [[nodiscard]] bool takes_slots(std::size_t count, bool of_many_programs) {
        for (std::size_t i = 0; i < count; ++i) {
            auto const program = of_many_programs ? "p" + std::to_string(i) : "p";
            taken.push_back(Slot::take(paths.slots, program));
            if (taken.back() == nullptr) return false;
        }
        return true;
    }
    [[nodiscard]] std::ptrdiff_t slots() const {
        return std::distance(fs::directory_iterator(paths.slots), fs::directory_iterator());
    }
    static std::string kinds(std::vector<NodeEvent> const& events) {
        std::string text;
        for (auto const& event : events) text += static_cast<char>(event.kind);
        return text;
    }

    std::string runtime;
    GatePaths paths;
    std::vector<DiskAddress> access{{.bytes = 1}};
    std::vector<std::unique_ptr<Slot>> taken;
};

TEST_F(OnNode, processes_come_are_heard_and_go) {
    NodeDaemon node_daemon(paths, 1e9);
    EXPECT_EQ(kinds(node_daemon.collect()), "");
    auto client = join();
    ASSERT_NE(client, nullptr);
    pollfd news{node_daemon.slot_events(), POLLIN, 0};
    EXPECT_EQ(poll(&news, 1, 60'000), 1) << "the node daemon is told";
    node_daemon.look_at_slots();
    {
        auto const pass = client->enter(access, 1, [] {});
    }
    EXPECT_EQ(node_daemon.programs(), 1U);
    auto const events = node_daemon.collect();
    EXPECT_EQ(kinds(events), "tef");
    EXPECT_EQ(events[0].program, "a");
    EXPECT_GE(events[1].age, events[2].age);
    client.reset();
    node_daemon.look_at_slots();
    EXPECT_EQ(kinds(node_daemon.collect()), "l");
}

TEST_F(OnNode, there_is_one_node_daemon_at_a_time_and_the_next_goes_on) {
    auto first = std::make_unique<NodeDaemon>(paths, 1e9);
    EXPECT_THROW(NodeDaemon(paths, 1e9), std::runtime_error);
    auto const client = join();
    {
        auto const pass = client->enter(access, 1, [] {});
    }
    first.reset();  // as if it had been killed: the page stays
    NodeDaemon second_one(paths, 1e9);
    EXPECT_FALSE(client->retired());
    EXPECT_EQ(kinds(second_one.collect()), "t") << "what was said to the first one is over";
    {
        auto const pass = client->enter(access, 1, [] {});
    }
    EXPECT_EQ(kinds(second_one.collect()), "ef");
    second_one.introduce_all();
    EXPECT_EQ(kinds(second_one.collect()), "t");
}

// It took its successor's slots, and took page and slots away when it ended.
TEST_F(OnNode, a_node_daemon_whose_folders_were_taken_away_leaves_its_successor_alone) {
    NodeDaemon first(paths, 1e9);
    EXPECT_TRUE(first.is_in_charge());
    fs::remove_all(paths.folder);
    fs::remove_all(paths.slots);
    paths = make_gate_paths(runtime, runtime);
    NodeDaemon second_one(paths, 1e9);
    auto const client = join();
    EXPECT_FALSE(first.is_in_charge());
    first.look_at_slots();
    EXPECT_EQ(kinds(first.collect()), "");
    first.retire();
    EXPECT_FALSE(client->retired());
    EXPECT_NE(join(), nullptr) << "the page is there";
    second_one.look_at_slots();
    EXPECT_EQ(kinds(second_one.collect()), "t");
}

// Accesses that took longer than a second were taken for those of a stopped process.
TEST_F(OnNode, it_is_told_who_waits_in_an_access_and_is_not_stopped) {
    NodeDaemon node_daemon(paths, 1e9);
    auto const client = join();
    node_daemon.look_at_slots();
    auto const told = [&] {
        node_daemon.collect();
        node_daemon.tell_who_waits();
        return kinds(node_daemon.collect());
    };
    EXPECT_EQ(told(), "") << "it does nothing";
    {
        auto pass = client->enter(access, 1, [] {});
        EXPECT_EQ(told(), "w");
        pass.waited_for(false);
        EXPECT_EQ(told(), "") << "it does something else meanwhile";
        pass.waited_for(true);
        auto const moved = std::move(pass);
        EXPECT_EQ(told(), "w");
    }
    EXPECT_EQ(told(), "") << "it is over";
}

TEST_F(OnNode, it_is_not_told_that_a_stopped_process_waits) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    NodeDaemon node_daemon(paths, 1e9);
    auto const child = fork();
    if (child == 0) {
        auto const client = join();
        auto const pass = client->enter(access, 1, [] {});
        close(ready[1]);
        while (true) pause();
    }
    close(ready[1]);
    char none = 0;
    EXPECT_EQ(read(ready[0], &none, 1), 0);
    close(ready[0]);
    node_daemon.look_at_slots();
    node_daemon.tell_who_waits();
    EXPECT_EQ(kinds(node_daemon.collect()), "tew");
    kill(child, SIGSTOP);
    EXPECT_EQ(waitpid(child, nullptr, WUNTRACED), child);
    node_daemon.tell_who_waits();
    EXPECT_EQ(kinds(node_daemon.collect()), "");
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_F(OnNode, turns_reach_the_processes_and_end_with_the_gate) {
    NodeDaemon node_daemon(paths, 1e9);
    auto const client = join();
    node_daemon.look_at_slots();
    node_daemon.tell({{Admitted::Kind::only, {"b"}}, 10 * second});
    auto const pass = client->enter(access, 1, [&] { node_daemon.open_gate(); });
    EXPECT_GT(pass.waited, 0);
    EXPECT_EQ(kinds(node_daemon.collect()), "thr");
    node_daemon.tell({{Admitted::Kind::only, {"a"}}, 10 * second});
    EXPECT_EQ(client->enter(access, 1, [] {}).waited, 0);
    node_daemon.retire();
    EXPECT_TRUE(client->retired());
    EXPECT_EQ(join(), nullptr);
}

TEST_F(OnNode, a_slot_that_is_cut_off_is_left_alone) {
    NodeDaemon node_daemon(paths, 1e9);
    auto const client = join();
    node_daemon.look_at_slots();
    EXPECT_EQ(kinds(node_daemon.collect()), "t");
    for (auto const& entry : fs::directory_iterator(paths.slots))
        if (entry.path().filename().string().starts_with("slot-")) fs::resize_file(entry, 8);
    EXPECT_EQ(kinds(node_daemon.collect()), "l");
    node_daemon.look_at_slots();
    EXPECT_EQ(kinds(node_daemon.collect()), "");
    // Nobody may touch the slot's memory now: it is not there.
    static auto* const kept = new std::shared_ptr<GateClient>(client);
    EXPECT_EQ(kept->use_count(), 2);
}

// ---- other users' processes
// ------------------------------------------------------------------------

// A guest named his program as root's, was counted as a part of it, and had its turns.
TEST_F(OnNode, a_slot_that_claims_another_users_program_has_no_part_in_its_turns) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    NodeDaemon node_daemon(paths, 1e9);
    auto const client = join();
    node_daemon.tell({{Admitted::Kind::only, {"a"}}, 3 * second});
    Guest const guest([&] {
        auto const its = join();
        bool const waited = its->enter(access, 1, [] {}).waited > 0;
        new auto(its);  // it stays
        return waited;
    });
    EXPECT_EQ(client->enter(access, 1, [] {}).waited, 0);
    node_daemon.look_at_slots();
    std::set<std::string> programs;
    for (auto const& event : node_daemon.collect())
        if (event.kind == NodeEvent::Kind::taken) programs.insert(event.program);
    EXPECT_EQ(programs, (std::set<std::string>{"a", "a+65534"}));
}

TEST_F(OnNode, a_user_cannot_take_all_slots) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    constexpr auto most = NodeDaemon::slots_of_a_guest_max;
    if (files.rlim_max < 2 * most) GTEST_SKIP() << "too few descriptors";
    rlimit const many{.rlim_cur = 2 * most, .rlim_max = files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &many);
    {
        Guest const guest([&] { return takes_slots(most + 100, false); });
        NodeDaemon node_daemon(paths, 1e9);
        EXPECT_EQ(slots(), most) << "the others are told that nobody hears them";
        auto const client = join();
        node_daemon.look_at_slots();
        EXPECT_EQ(node_daemon.collect().size(), most + 1);
        EXPECT_EQ(node_daemon.programs(), 2U) << "and root is heard";
    }
    setrlimit(RLIMIT_NOFILE, &files);
}

// So many events broke the connection, and then everybody passed.
TEST_F(OnNode, a_user_who_fills_his_rings_again_and_again_leaves_room_for_others) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    constexpr std::size_t rings = 200;
    constexpr std::size_t in_ring = SlotMemory::events_max / 2;
    NodeDaemon node_daemon(paths, 1e9);
    Guest const guest([&] {
        bool const good = takes_slots(rings, false);
        for (auto const& slot : taken)
            slot->arrived(false, std::vector<DiskAddress>(in_ring), 1, 1);
        return good;
    });
    auto const client = join();
    client->enter(access, 1, [] {});
    node_daemon.look_at_slots();
    auto heard = kinds(node_daemon.collect());
    EXPECT_LE(heard.size(), rings + NodeDaemon::events_max / 2 + in_ring + 3);
    EXPECT_EQ(std::ranges::count(heard, 'f'), 1) << "root is heard";
    for (int times = 0; times < 2; ++times) heard += kinds(node_daemon.collect());
    EXPECT_EQ(std::ranges::count(heard, 'e'), rings * in_ring + 1) << "all in their turn";
}

// More programs than a schedule has room for open the gate for everybody.
TEST_F(OnNode, a_user_cannot_open_the_gate_with_many_programs) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    constexpr auto most = NodeDaemon::programs_of_a_guest_max;
    Guest const guest([&] { return takes_slots(most + 10, true); });
    ASSERT_TRUE(takes_slots(most + 10, true)) << "the gate's own user has no such bound";
    NodeDaemon const node_daemon(paths, 1e9);
    EXPECT_EQ(node_daemon.programs(), most + most + 10);
    EXPECT_EQ(slots(), most + most + 10);
}

TEST_F(OnNode, what_only_looks_like_a_slot_is_taken_away) {
    ASSERT_EQ(mkfifo((paths.slots + "/slot-pipe").c_str(), 0600), 0);
    fs::create_symlink("/dev/zero", paths.slots + "/slot-link");
    NodeDaemon node_daemon(paths, 1e9);
    EXPECT_EQ(slots(), 0);
    EXPECT_EQ(kinds(node_daemon.collect()), "");
}

// It looked at all that was there once a second, and at each new slot: turns came late, and the
// gate was open.
TEST_F(OnNode, a_user_who_fills_the_folder_keeps_no_node_daemon_busy) {
    for (int i = 0; i < 1000; ++i)
        close(open((paths.slots + "/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0600));
    NodeDaemon node_daemon(paths, 1e9);
    auto const begin = std::clock();
    for (int times = 0; times < 500; ++times) node_daemon.look_at_slots();
    EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 10) << "of this process's CPU time";
    auto const client = join();
    node_daemon.look_at_slots();
    EXPECT_EQ(kinds(node_daemon.collect()), "t");
}

TEST_F(OnNode, slots_in_a_folder_that_was_made_anew_are_found) {
    NodeDaemon node_daemon(paths, 1e9);
    fs::remove_all(paths.slots);
    make_gate_paths(runtime, runtime);
    node_daemon.look_at_slots();
    auto const client = join();
    node_daemon.look_at_slots();
    EXPECT_EQ(kinds(node_daemon.collect()), "t");
}

// All that had come and gone was kept while an orchestrator took nothing.
TEST_F(OnNode, who_has_come_and_gone_before_it_could_be_told_is_not_told_of) {
    NodeDaemon node_daemon(paths, 1e9);
    auto const comes_and_goes = [&] {
        auto client = join();
        node_daemon.look_at_slots();
        client.reset();
        node_daemon.look_at_slots();
    };
    comes_and_goes();
    EXPECT_EQ(kinds(node_daemon.collect()), "");
    auto const stays = join();
    comes_and_goes();
    EXPECT_EQ(kinds(node_daemon.collect()), "t");
}

TEST_F(OnNode, slots_of_which_the_kernel_could_not_tell_are_found) {
    NodeDaemon node_daemon(paths, 1e9);
    auto const here = paths.slots + "/here";
    auto const there = paths.slots + "/there";
    close(open(here.c_str(), O_CREAT | O_WRONLY, 0600));
    for (int i = 0; i < 20'000; ++i)  // more than fs.inotify.max_queued_events
        ASSERT_EQ(
            i % 2 == 0 ? rename(here.c_str(), there.c_str()) : rename(there.c_str(), here.c_str()),
            0);
    auto const client = join();
    node_daemon.take_new_slots();
    EXPECT_EQ(kinds(node_daemon.collect()), "t");
}

// ---- folders
// ------------------------------------------------------------------------------------

struct stat facts_of(std::string const& path) {
    struct stat status {};
    EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
    return status;
}

TEST_F(OnNode, only_the_node_daemons_user_writes_where_the_page_is_and_slots_are_apart) {
    bool const is_root = geteuid() == 0;
    EXPECT_EQ(facts_of(paths.folder).st_mode & 07777, is_root ? 0755U : 0700U);
    EXPECT_EQ(facts_of(paths.folder + "/own").st_mode & 07777, 0700U);
    EXPECT_EQ(facts_of(paths.slots).st_mode & 07777, is_root ? 01777U : 0700U);
    EXPECT_EQ(make_gate_paths(runtime, runtime).folder, paths.folder) << "again";
    EXPECT_THROW(make_gate_paths(runtime + "/nothing", runtime), std::runtime_error);
    EXPECT_EQ(gate_paths(7, 0, "").folder, "/run/unisono-gate-0-7") << "nobody else can be first";
    EXPECT_EQ(gate_paths(7, 0, "").slots, "/dev/shm/unisono-slots-0-7");
    EXPECT_EQ(gate_paths(7, 5, "").folder, "/dev/shm/unisono-gate-5-7");
}

TEST_F(OnNode, a_folder_that_somebody_else_made_is_refused) {
    for (auto const& folder : {paths.folder, paths.folder + "/own", paths.slots}) {
        if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
        ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
        EXPECT_THROW(make_gate_paths(runtime, runtime), std::runtime_error) << folder;
        ASSERT_EQ(chown(folder.c_str(), 0, 0), 0);
    }
    fs::remove_all(paths.slots);
    fs::create_directory_symlink("/", paths.slots);
    EXPECT_THROW(make_gate_paths(runtime, runtime), std::runtime_error) << "a link";
}

}  // namespace
}  // namespace unisono::orchestra
