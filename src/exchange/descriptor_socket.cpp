#include "exchange/descriptor_socket.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

namespace unisono {

namespace {

// As the kernel wants it: names that begin with a zero are in no folder.
struct KernelAddress {
    explicit KernelAddress(DescriptorSocket::Address const& address) {
        auto const letters =
            std::snprintf(un.sun_path + 1, sizeof un.sun_path - 1,
                          "unisono-%016" PRIx64 "%016" PRIx64, address.high, address.low);
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1) +
                static_cast<socklen_t>(letters);
    }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&un); }

    sockaddr_un un{.sun_family = AF_UNIX, .sun_path = {}};
    socklen_t bytes = 0;
};

// A message of one byte, which a descriptor goes with.
struct Parcel {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{.msg_iov = &data,
                   .msg_iovlen = 1,
                   .msg_control = control,
                   .msg_controllen = sizeof control};
};

}  // namespace

DescriptorSocket::DescriptorSocket(DescriptorSocket&& other) noexcept
    : socket_{std::exchange(other.socket_, -1)}, address_{std::exchange(other.address_, {})} {}

DescriptorSocket& DescriptorSocket::operator=(DescriptorSocket&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(address_, other.address_);
    return *this;
}

DescriptorSocket::~DescriptorSocket() {
    if (socket_ >= 0) close(socket_);
}

DescriptorSocket DescriptorSocket::unnamed() {
    DescriptorSocket made;
    made.socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return made;
}

DescriptorSocket DescriptorSocket::named() && {
    Address chosen;
    auto const random = getrandom(&chosen, sizeof chosen, 0) == sizeof chosen;
    return random ? std::move(*this).named(chosen) : DescriptorSocket{};
}

DescriptorSocket DescriptorSocket::named(Address const& own) && {
    KernelAddress name{own};
    if (socket_ < 0 || bind(socket_, name.get(), name.bytes) != 0) return {};
    address_ = own;
    return std::move(*this);
}

DescriptorSocket DescriptorSocket::faced_with(Address const& sender) && {
    if (socket_ < 0) return {};
    KernelAddress name{sender};
    return connect(socket_, name.get(), name.bytes) == 0 ? std::move(*this) : DescriptorSocket{};
}

DescriptorSocket DescriptorSocket::sender() { return unnamed().named(); }

DescriptorSocket DescriptorSocket::sender(Address const& own) { return unnamed().named(own); }

DescriptorSocket DescriptorSocket::facing(Address const& sender) {
    if (sender == Address{}) return {};  // which a stranger may have taken
    return unnamed().faced_with(sender).named();
}

DescriptorSocket DescriptorSocket::facing(Address const& sender, Address const& own) {
    return unnamed().faced_with(sender).named(own);
}

bool DescriptorSocket::send(int descriptor, Address const& to) const {
    if (to == Address{}) return false;
    KernelAddress name{to};
    Parcel parcel;
    parcel.message.msg_name = &name.un;
    parcel.message.msg_namelen = name.bytes;
    auto* const header = CMSG_FIRSTHDR(&parcel.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(socket_, &parcel.message, MSG_NOSIGNAL) == 1;
}

int DescriptorSocket::receive() const {
    Parcel parcel;
    if (recvmsg(socket_, &parcel.message, MSG_CMSG_CLOEXEC) != 1) return -1;
    auto const* const header = CMSG_FIRSTHDR(&parcel.message);
    if ((parcel.message.msg_flags & MSG_CTRUNC) != 0) errno = EMFILE;
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

}  // namespace unisono
