#pragma once

#include <cstdint>

namespace unisono {

/// Hands open descriptors from one process of a machine to others, which may be in containers of
/// their own: unlike /proc/PID/fd it asks for no common process or user namespace, for a network
/// namespace only.
///
/// A datagram socket under an abstract name of 128 secret bits. It is in no folder, so nothing is
/// left of it when its process is killed. One that faces another takes datagrams from that one only
/// (the kernel sees to it), and faces it before it has a name that anybody could send to.
/// Move-only. No call blocks.
class DescriptorSocket {
public:
    /// To be told to the other processes; zero where there is no socket. Trivially copyable.
    struct Address {
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        friend bool operator==(Address const&, Address const&) = default;
    };

    DescriptorSocket() = default;  // none
    DescriptorSocket(DescriptorSocket&& other) noexcept;
    DescriptorSocket& operator=(DescriptorSocket&& other) noexcept;
    ~DescriptorSocket();

    /// One to send with. None when it cannot be had.
    static DescriptorSocket sender();
    /// One to receive with what `sender` sends. None when there is no such socket to be seen here.
    static DescriptorSocket facing(Address const& sender);
    /// The same under names that nobody else can know. errno says why there is none.
    static DescriptorSocket sender(Address const& own);
    static DescriptorSocket facing(Address const& sender, Address const& own);

    [[nodiscard]] Address address() const { return address_; }

    /// False when it could not be sent. Some 270 can be on their way from one sender.
    bool send(int descriptor, Address const& to) const;
    /// The next descriptor that has arrived, the caller's to close; -1 when there is none,
    /// with EMFILE in errno if one has arrived that this process has no room for.
    [[nodiscard]] int receive() const;

private:
    static DescriptorSocket unnamed();
    [[nodiscard]] DescriptorSocket faced_with(Address const& sender) &&;
    [[nodiscard]] DescriptorSocket named() &&;
    [[nodiscard]] DescriptorSocket named(Address const& own) &&;

    int socket_ = -1;
    Address address_;
};

}  // namespace unisono
