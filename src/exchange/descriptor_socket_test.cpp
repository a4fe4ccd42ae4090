#include "exchange/descriptor_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace unisono {
namespace {

bool same_file(int one, int other) {
    struct stat first {
    }, second{};
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

class Handover : public ::testing::Test {
protected:
    ~Handover() override { close(file_); }

    int const file_ = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    DescriptorSocket const sender_ = DescriptorSocket::sender();
};

TEST_F(Handover, what_is_sent_arrives_once_and_is_not_inherited) {
    auto const receiver = DescriptorSocket::facing(sender_.address());
    EXPECT_EQ(receiver.receive(), -1);
    ASSERT_TRUE(sender_.send(file_, receiver.address()));
    auto const arrived = receiver.receive();
    EXPECT_TRUE(same_file(arrived, file_));
    EXPECT_EQ(fcntl(arrived, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(receiver.receive(), -1);
    close(arrived);
}

// So many descriptors are free, until destroyed.
class Free {
public:
    explicit Free(rlim_t count) {
        getrlimit(RLIMIT_NOFILE, &before_);
        auto const lowest = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        close(lowest);
        rlimit const limit{static_cast<rlim_t>(lowest) + count, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    Free(Free const&) = delete;
    Free& operator=(Free const&) = delete;
    ~Free() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

// Who took that for "not yet" waited for ever.
TEST_F(Handover, a_process_without_a_free_descriptor_can_tell) {
    {
        Free const none(0);
        EXPECT_EQ(DescriptorSocket::facing(sender_.address(), {3, 4}).address(),
                  DescriptorSocket::Address{});
        EXPECT_EQ(errno, EMFILE);
    }
    auto const receiver = DescriptorSocket::facing(sender_.address(), {3, 4});
    ASSERT_TRUE(sender_.send(file_, receiver.address()));
    Free const none(0);
    EXPECT_EQ(receiver.receive(), -1);
    EXPECT_EQ(errno, EMFILE);
}

TEST_F(Handover, nobody_else_can_send) {
    auto const receiver = DescriptorSocket::facing(sender_.address());
    auto const stranger = DescriptorSocket::sender();
    EXPECT_FALSE(stranger.send(file_, receiver.address()));
    EXPECT_EQ(receiver.receive(), -1);
}

TEST_F(Handover, there_is_none_without_a_sender) {
    EXPECT_EQ(DescriptorSocket::facing({}).address(), DescriptorSocket::Address{});
    EXPECT_EQ(DescriptorSocket::facing({1, 2}).address(), DescriptorSocket::Address{});
}

TEST_F(Handover, the_address_of_no_socket_is_nobodys) {
    sockaddr_un zero{.sun_family = AF_UNIX,
                     .sun_path = "\0unisono-00000000000000000000000000000000"};
    auto const bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 41);
    auto const stranger = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(stranger, reinterpret_cast<sockaddr*>(&zero), bytes), 0);
    EXPECT_EQ(DescriptorSocket::facing({}).address(), DescriptorSocket::Address{});
    EXPECT_FALSE(sender_.send(file_, {}));
    close(stranger);
}

TEST_F(Handover, no_descriptor_is_no_message) {
    auto const receiver = DescriptorSocket::facing(sender_.address());
    EXPECT_FALSE(sender_.send(-1, receiver.address()));
    EXPECT_FALSE(DescriptorSocket{}.send(file_, receiver.address()));
    EXPECT_EQ(receiver.receive(), -1);
    EXPECT_EQ(DescriptorSocket{}.receive(), -1);
}

// As many as MpiTeam lets be on their way.
TEST_F(Handover, more_than_a_hundred_can_be_on_their_way) {
    std::vector<DescriptorSocket> receivers;
    for (int i = 0; i < 128; ++i) receivers.push_back(DescriptorSocket::facing(sender_.address()));
    for (auto const& receiver : receivers) EXPECT_TRUE(sender_.send(file_, receiver.address()));
    for (auto const& receiver : receivers) {
        auto const arrived = receiver.receive();
        EXPECT_GE(arrived, 0);
        close(arrived);
    }
}

}  // namespace
}  // namespace unisono
