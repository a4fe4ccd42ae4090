#include "support/helper_thread.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <latch>
#include <vector>

namespace unisono {
namespace {

TEST(HelperThread, does_things_in_order_and_all_before_it_ends) {
    std::vector<int> done;
    {
        HelperThread helper;
        for (int i = 0; i < 100; ++i) helper.post([&done, i] { done.push_back(i); });
    }
    ASSERT_EQ(done.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(HelperThread, is_idle_when_all_is_done) {
    HelperThread helper;
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

TEST(HelperThread, has_done_what_was_posted_before_others) {
    HelperThread helper;
    std::latch may_end{1};
    helper.post([] {});
    auto const first = helper.posted();
    helper.post([&] { may_end.wait(); });
    while (!helper.has_done(first)) std::this_thread::yield();
    EXPECT_FALSE(helper.has_done(helper.posted()));
    may_end.count_down();
}

TEST(HelperThread, runs_no_signal_handler_of_the_program) {
    sigset_t blocked;
    bool knows_itself = false;
    {
        HelperThread helper;
        helper.post([&] {
            pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
            knows_itself = HelperThread::is_this_one();
        });
    }
    EXPECT_EQ(sigismember(&blocked, SIGUSR1), 1);
    EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
    EXPECT_TRUE(knows_itself);
    EXPECT_FALSE(HelperThread::is_this_one());
}

}  // namespace
}  // namespace unisono
