#include "support/helper_threads.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <latch>
#include <vector>

namespace unisono {
namespace {

TEST(HelperThreads, one_does_things_in_order_and_all_before_it_ends) {
    std::vector<int> done;
    {
        HelperThreads helper{1};
        for (int i = 0; i < 100; ++i) helper.post([&done, i] { done.push_back(i); });
    }
    ASSERT_EQ(done.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(HelperThreads, is_idle_when_all_is_done) {
    HelperThreads helper{1};
    EXPECT_TRUE(helper.idle());
    std::latch begun{1}, may_end{1};
    helper.post([&] {
        begun.count_down();
        may_end.wait();
    });
    begun.wait();
    EXPECT_FALSE(helper.idle());
    may_end.count_down();
    while (!helper.idle()) std::this_thread::yield();
}

TEST(HelperThreads, has_done_what_was_posted_before_others) {
    HelperThreads helper{1};
    std::latch may_end{1};
    helper.post([] {});
    auto const first = helper.posted();
    helper.post([&] { may_end.wait(); });
    while (!helper.has_done(first)) std::this_thread::yield();
    EXPECT_FALSE(helper.has_done(helper.posted()));
    may_end.count_down();
}

TEST(HelperThreads, several_do_as_much_at_once_and_the_first_that_is_left_counts) {
    HelperThreads helpers{2};
    std::latch both{2}, may_end{1};
    helpers.post([&] {
        both.arrive_and_wait();
        may_end.wait();
    });
    helpers.post([&] { both.arrive_and_wait(); });
    std::latch third{1};
    helpers.post([&] { third.count_down(); });
    third.wait();
    EXPECT_FALSE(helpers.has_done(1));
    may_end.count_down();
    while (!helpers.idle()) std::this_thread::yield();
}

TEST(HelperThreads, runs_no_signal_handler_of_the_program) {
    sigset_t blocked;
    bool knows_itself = false;
    {
        HelperThreads helper{1};
        helper.post([&] {
            pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
            knows_itself = HelperThreads::is_one();
        });
    }
    EXPECT_EQ(sigismember(&blocked, SIGUSR1), 1);
    EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
    EXPECT_TRUE(knows_itself);
    EXPECT_FALSE(HelperThreads::is_one());
}

}  // namespace
}  // namespace unisono
