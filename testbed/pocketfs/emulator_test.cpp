#include "pocketfs/emulator.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "pocketfs/faults.hpp"
#include "pocketfs/node_wires.hpp"

namespace unisono::testbed {
namespace {

// A server takes 1 ms for a request, one after the other; links take nothing.
Profile one_millisecond() {
    Profile profile;
    profile.drive = {.kind = "solid_state",
                     .capacity_bytes = 1e9,
                     .queue_depth = 32,
                     .read_us = 1000,
                     .write_us = 1000,
                     .channels = 1};
    profile.host.block_bytes = 1 << 20;
    return profile;
}

Piece read_from(std::uint32_t server) {
    return {server, {.operation = Operation::read, .address = 0, .bytes = 4096, .file = 1}};
}

// How long a call takes, and its error.
std::pair<Time, int> call(Emulator& emulator, std::vector<Piece> pieces) {
    std::promise<int> promise;
    Time const begin = Emulator::now();
    emulator.submit(std::move(pieces), {.node = 1, .process = 1},
                    [&](int error) { promise.set_value(error); });
    int const error = promise.get_future().get();
    return {Emulator::now() - begin, error};
}

TEST(Emulator, a_request_is_never_done_before_the_model_says_so) {
    Emulator emulator(one_millisecond(), 2, {});
    for (int i = 0; i < 5; ++i) {
        auto const [time, error] = call(emulator, {read_from(0), read_from(1)});
        EXPECT_EQ(error, 0);
        EXPECT_GE(time, millisecond);
    }
    auto statistics = nlohmann::json::parse(emulator.statistics());
    EXPECT_EQ(statistics["servers"][0]["reads"], 5);
    EXPECT_EQ(statistics["servers"][1]["read_bytes"], 5 * 4096);
    // How late an answer was is known, and counted, when it has been given.
    while (statistics["lateness_us"]["requests"] != 5)
        statistics = nlohmann::json::parse(emulator.statistics());
    emulator.reset_statistics();
    EXPECT_EQ(nlohmann::json::parse(emulator.statistics())["servers"][0]["reads"], 0);
}

TEST(Emulator, requests_of_several_threads_queue_at_their_server) {
    Emulator emulator(one_millisecond(), 1, {});
    Time const begin = Emulator::now();
    std::vector<std::future<int>> errors;
    for (int thread = 0; thread < 4; ++thread)
        errors.push_back(std::async(std::launch::async, [&] {
            int error = 0;
            for (int i = 0; i < 5; ++i) error += call(emulator, {read_from(0)}).second;
            return error;
        }));
    for (auto& error : errors) EXPECT_EQ(error.get(), 0);
    EXPECT_GE(Emulator::now() - begin, 20 * millisecond) << "20 requests of 1 ms";
}

TEST(Emulator, faults_of_a_server_are_its_own) {
    Emulator emulator(one_millisecond(), 3, {});
    std::map<std::uint32_t, ServerFault> faults;
    faults[0].down = true;
    faults[1].slow = 20;
    emulator.set_faults(faults);
    EXPECT_EQ(call(emulator, {read_from(0)}).second, EIO);
    EXPECT_EQ(call(emulator, {read_from(0), read_from(2)}).second, EIO);
    EXPECT_GE(call(emulator, {read_from(1)}).first, 20 * millisecond);
    EXPECT_EQ(call(emulator, {read_from(2)}).second, 0);
    faults.clear();
    Time const hangs_until = Emulator::now() + 30 * millisecond;
    faults[2].hangs_until = hangs_until;
    emulator.set_faults(faults);
    EXPECT_EQ(call(emulator, {read_from(2)}).second, 0);
    EXPECT_GE(Emulator::now(), hangs_until);
    EXPECT_EQ(call(emulator, {read_from(0)}).second, 0);
}

TEST(Emulator, what_waits_for_a_server_that_hangs_is_answered_when_the_fault_is_cleared) {
    Emulator emulator(one_millisecond(), 1, {});
    std::map<std::uint32_t, ServerFault> faults;
    faults[0].hangs_until = Emulator::now() + 100 * second;
    emulator.set_faults(faults);
    std::promise<int> answered;
    emulator.submit({read_from(0)}, {}, [&](int error) { answered.set_value(error); });
    auto answer = answered.get_future();
    EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    emulator.set_faults({});
    ASSERT_EQ(answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_EQ(answer.get(), 0);
}

TEST(Emulator, statistics_begin_anew_and_flushes_have_no_place_in_the_order) {
    Emulator emulator(one_millisecond(), 1, {});
    call(emulator, {read_from(0), read_from(0), read_from(0)});
    emulator.reset_statistics();
    for (std::uint64_t block = 10; block > 7; --block) {
        auto read = read_from(0);
        read.request.address = block * 4096;
        call(emulator, {read});
        call(emulator, {{0, {.operation = Operation::flush, .file = 1}}});
    }
    auto const server = nlohmann::json::parse(emulator.statistics())["servers"][0];
    EXPECT_EQ(server["queue_depth_max"], 1) << "and not the 3 of before";
    EXPECT_NEAR(server["ascending_share"].get<double>(), 1.0 / 3, 0.01) << "the first, of three";
}

TEST(Emulator, what_is_under_way_at_the_end_fails) {
    std::atomic<int> failed = 0;
    {
        Emulator emulator(one_millisecond(), 1, {});
        std::map<std::uint32_t, ServerFault> faults;
        faults[0].hangs_until = Emulator::now() + 100 * second;
        emulator.set_faults(faults);
        for (int i = 0; i < 3; ++i)
            emulator.submit({read_from(0)}, {}, [&](int error) { failed += error == EIO ? 1 : 0; });
    }
    EXPECT_EQ(failed, 3);
}

// Reaches node 1 only, and needs 20 ms for anything.
class SlowCarrier : public Carrier {
public:
    explicit SlowCarrier(std::atomic<std::uint64_t>& carried_bytes) : bytes_(carried_bytes) {}
    ~SlowCarrier() override {
        for (auto& thread : threads_) thread.join();
    }
    bool reach(Client const& client) override { return client.node == 1; }
    void carry(std::uint64_t /*node*/, std::uint32_t /*server*/, Way way, std::uint64_t bytes,
               Done done) override {
        bytes_ += way == Way::to_server ? bytes : 1000 * bytes;
        threads_.emplace_back([done = std::move(done)] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            done();
        });
    }

private:
    std::atomic<std::uint64_t>& bytes_;
    std::vector<std::thread> threads_;
};

Piece write_to(std::uint32_t server) {
    return {server, {.operation = Operation::write, .address = 0, .bytes = 8192, .file = 1}};
}

TEST(Emulator, data_of_a_node_that_is_reached_is_carried) {
    std::atomic<std::uint64_t> carried_bytes = 0;
    Emulator emulator(one_millisecond(), 1, {}, std::make_unique<SlowCarrier>(carried_bytes));
    EXPECT_GE(call(emulator, {write_to(0)}).first, 21 * millisecond) << "carried, then 1 ms";
    EXPECT_EQ(carried_bytes, 8192U);
    EXPECT_GE(call(emulator, {read_from(0)}).first, 21 * millisecond) << "1 ms, then carried";
    EXPECT_EQ(carried_bytes, 8192U + 1000 * 4096U);
}

TEST(Emulator, the_link_of_a_node_that_is_not_reached_is_modelled) {
    std::atomic<std::uint64_t> carried_bytes = 0;
    auto profile = one_millisecond();
    profile.link.client_mb_s = 1;
    Emulator emulator(profile, 1, {}, std::make_unique<SlowCarrier>(carried_bytes));
    std::promise<void> done;
    Time const begin = Emulator::now();
    emulator.submit({write_to(0)}, {.node = 2}, [&](int /*error*/) { done.set_value(); });
    done.get_future().get();
    EXPECT_GE(Emulator::now() - begin, 9 * millisecond) << "8192 bytes at 1 MB/s, then 1 ms";
    EXPECT_EQ(carried_bytes, 0U);
}

// Nothing arrives before it ends.
class KeepingCarrier : public Carrier {
public:
    ~KeepingCarrier() override {
        for (auto const& done : kept_) done();
    }
    bool reach(Client const& /*client*/) override { return true; }
    void carry(std::uint64_t /*node*/, std::uint32_t /*server*/, Way /*way*/,
               std::uint64_t /*bytes*/, Done done) override {
        kept_.push_back(std::move(done));
    }

private:
    std::vector<Done> kept_;
};

TEST(Emulator, what_is_being_carried_at_the_end_fails) {
    std::atomic<int> failed = 0;
    {
        Emulator emulator(one_millisecond(), 1, {}, std::make_unique<KeepingCarrier>());
        emulator.submit({write_to(0)}, {.node = 1}, [&](int error) { failed += error == EIO; });
    }
    EXPECT_EQ(failed, 1);
}

TEST(NodeWires, what_has_no_way_to_this_network_is_not_reached) {
    NodeWires wires(2);
    EXPECT_FALSE(wires.reach({.node = 1, .process = static_cast<std::uint32_t>(getpid())}));
    EXPECT_FALSE(wires.reach({.node = 2, .process = ~std::uint32_t{0}})) << "no such process";
    bool done = false;
    wires.carry(1, 0, Carrier::Way::to_server, 100, [&] { done = true; });
    EXPECT_TRUE(done) << "nobody waits for what never arrives";
}

TEST(Faults, ranges_are_of_one_file_and_a_full_disk_leaves_room_up_to_its_size) {
    Faults faults;
    faults.bad_ranges.push_back({7, 100, 200});
    faults.full_at_bytes = 1000;
    EXPECT_TRUE(faults.is_bad(7, 199, 300));
    EXPECT_FALSE(faults.is_bad(7, 200, 300));
    EXPECT_FALSE(faults.is_bad(8, 100, 200));
    EXPECT_FALSE(faults.is_bad(7, 150, 150)) << "no byte";
    EXPECT_EQ(faults.room(900, 200, 0), 100U);
    EXPECT_EQ(faults.room(1000, 1, 1000), 0U);
    EXPECT_EQ(faults.room(0, 10, 0), 10U);
    EXPECT_EQ(faults.room(1900, 200, 2000), 100U) << "the file has them";
}

TEST(Lateness, quantiles_are_those_of_the_samples) {
    Lateness lateness;
    for (Time us = 1; us <= 100; ++us) lateness.add(us * microsecond);
    EXPECT_EQ(lateness.quantile_us(0.5), 50U);
    EXPECT_EQ(lateness.quantile_us(0.99), 99U);
    EXPECT_EQ(lateness.longest(), 100 * microsecond);
    lateness.add(-5 * microsecond);
    EXPECT_EQ(lateness.total(), 101U);
}

}  // namespace
}  // namespace unisono::testbed
