#include "coordinate/gate/agent.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "coordinate/gate/client.hpp"
#include "coordinate/gate/place.hpp"

namespace unisono::coordinate {
namespace {

namespace fs = std::filesystem;

class OnNode : public ::testing::Test {
protected:
    OnNode() {
        std::string name = fs::temp_directory_path() / "unisono-agent-test-XXXXXX";
        folder = mkdtemp(name.data());
        fs::create_directory(folder + "/own");
    }
    ~OnNode() override { fs::remove_all(folder); }

    [[nodiscard]] std::shared_ptr<GateClient> join() const {
        std::vector<std::string> const folders{folder};
        return GateClient::join(folders, [] { return std::string("a"); });
    }
    static std::string kinds(std::vector<NodeEvent> const& events) {
        std::string text;
        for (auto const& event : events) text += static_cast<char>(event.kind);
        return text;
    }

    std::string folder;
    std::vector<AccessPlace> place{{.bytes = 1}};
};

TEST_F(OnNode, processes_come_are_heard_and_go) {
    Agent agent(folder, 1e9);
    EXPECT_EQ(kinds(agent.collect()), "");
    auto client = join();
    ASSERT_NE(client, nullptr);
    pollfd news{agent.seat_events(), POLLIN, 0};
    EXPECT_EQ(poll(&news, 1, 5000), 1) << "the agent is told";
    agent.look_at_seats();
    {
        auto const pass = client->enter(place, 1, [] {});
    }
    EXPECT_EQ(agent.programs(), 1U);
    auto const events = agent.collect();
    EXPECT_EQ(kinds(events), "tef");
    EXPECT_EQ(events[0].program, "a");
    EXPECT_GE(events[1].age, events[2].age);
    client.reset();
    agent.look_at_seats();
    EXPECT_EQ(kinds(agent.collect()), "l");
}

TEST_F(OnNode, there_is_one_agent_at_a_time_and_the_next_goes_on) {
    auto first = std::make_unique<Agent>(folder, 1e9);
    EXPECT_THROW(Agent(folder, 1e9), std::runtime_error);
    auto const client = join();
    {
        auto const pass = client->enter(place, 1, [] {});
    }
    first.reset();  // as if it had been killed: the page stays
    Agent second_one(folder, 1e9);
    EXPECT_FALSE(client->retired());
    EXPECT_EQ(kinds(second_one.collect()), "t") << "what was said to the first one is over";
    {
        auto const pass = client->enter(place, 1, [] {});
    }
    EXPECT_EQ(kinds(second_one.collect()), "ef");
    second_one.introduce_all();
    EXPECT_EQ(kinds(second_one.collect()), "t");
}

TEST_F(OnNode, turns_reach_the_processes_and_end_with_the_gate) {
    Agent agent(folder, 1e9);
    auto const client = join();
    agent.look_at_seats();
    agent.tell({{Admitted::Kind::only, {"b"}}, 10 * second});
    auto const pass = client->enter(place, 1, [&] { agent.open_gate(); });
    EXPECT_GT(pass.waited, 0);
    EXPECT_EQ(kinds(agent.collect()), "thr");
    agent.tell({{Admitted::Kind::only, {"a"}}, 10 * second});
    EXPECT_EQ(client->enter(place, 1, [] {}).waited, 0);
    agent.retire();
    EXPECT_TRUE(client->retired());
    EXPECT_EQ(join(), nullptr);
}

TEST_F(OnNode, a_seat_that_is_cut_off_is_left_alone) {
    Agent agent(folder, 1e9);
    auto const client = join();
    agent.look_at_seats();
    for (auto const& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().starts_with("seat-")) fs::resize_file(entry, 8);
    EXPECT_EQ(kinds(agent.collect()), "tl");
    agent.look_at_seats();
    EXPECT_EQ(kinds(agent.collect()), "");
    // Nobody may touch the seat's memory now: it is not there.
    static auto* const kept = new std::shared_ptr<GateClient>(client);
    EXPECT_EQ(kept->use_count(), 2);
}

TEST(GateFolder, is_this_users_and_closed_to_others_but_roots) {
    std::string name = fs::temp_directory_path() / "unisono-place-test-XXXXXX";
    fs::path const here = mkdtemp(name.data());
    auto const folder = make_gate_folder(here, here);
    struct stat status {};
    ASSERT_EQ(stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, geteuid());
    EXPECT_EQ(status.st_mode & 07777, geteuid() == 0 ? 01777U : 0700U);
    ASSERT_EQ(stat((folder + "/own").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
    EXPECT_EQ(make_gate_folder(here, here), folder) << "again";
    EXPECT_THROW(make_gate_folder(here / "nothing", here), std::runtime_error);
    fs::remove_all(here);
}

}  // namespace
}  // namespace unisono::coordinate
