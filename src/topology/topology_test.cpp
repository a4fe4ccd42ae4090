#include "unisono/topology.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace unisono {
namespace {

namespace fs = std::filesystem;

/// A made-up /sys.
class Sys : public testing::Test {
protected:
    Sys() : root_{fs::path{testing::TempDir()} / "unisono-topology-test"} {
        fs::remove_all(root_);
        fs::create_directories(root_);
    }
    ~Sys() override { fs::remove_all(root_); }

    void interface(std::string const& name, bool physical, char const* state, int speed) const {
        auto const folder = root_ / "class/net" / name;
        fs::create_directories(folder);
        if (physical) fs::create_directories(folder / "device");
        std::ofstream{folder / "operstate"} << state << '\n';
        std::ofstream{folder / "speed"} << speed << '\n';
    }
    void folder(std::string const& path) const { fs::create_directories(root_ / path); }
    [[nodiscard]] Machine machine() const { return read_machine(root_.string()); }

private:
    fs::path root_;
};

TEST(Topology, nodes_are_numbered_by_their_lowest_rank) {
    auto const topology = make_topology({9, 4, 9, 4, 7});
    EXPECT_EQ(topology.node_of, (std::vector<std::uint32_t>{0, 1, 0, 1, 2}));
    EXPECT_EQ(topology.ranks_of[1], (std::vector<std::uint32_t>{1, 3}));
}

TEST_F(Sys, that_tells_nothing_has_one_of_each) { EXPECT_EQ(machine(), (Machine{1, 1})); }

TEST_F(Sys, counts_the_fastest_physical_interfaces_that_are_up) {
    interface("lo", false, "unknown", 0);
    interface("docker0", false, "up", 10000);
    interface("management", true, "up", 1000);
    interface("fast0", true, "up", 100000);
    interface("fast1", true, "up", 100000);
    interface("fast2", true, "down", 100000);
    EXPECT_EQ(machine().nics, 2u);
}

TEST_F(Sys, infiniband_devices_count_instead_of_interfaces) {
    interface("eth0", true, "up", 10000);
    for (auto const* name : {"mlx5_0", "mlx5_1", "mlx5_2"})
        folder(std::string{"class/infiniband/"} + name);
    EXPECT_EQ(machine().nics, 3u);
}

TEST_F(Sys, numa_nodes_are_the_numbered_entries) {
    for (auto const* name : {"node0", "node1", "online", "node"})
        folder(std::string{"devices/system/node/"} + name);
    EXPECT_EQ(machine().numa_nodes, 2u);
}

}  // namespace
}  // namespace unisono
