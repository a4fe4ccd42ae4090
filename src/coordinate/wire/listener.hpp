#pragma once

#include <sys/socket.h>

#include <chrono>
#include <list>
#include <memory>
#include <string>

#include "coordinate/wire/connection.hpp"

namespace unisono::coordinate::wire {

struct Limits {
    std::size_t connections_max = 256;  ///< at a time
    std::size_t handshakes_max = 32;    ///< at a time; the oldest gives way
    std::chrono::milliseconds handshake = std::chrono::seconds(5);
};

/// Listens at one address, and lets in only who proved to be trusted: root and this process's own
/// user on a local socket (by the kernel's word) and with MUNGE, who has the key with a key file.
/// Never blocks. Not thread-safe.
///
/// A local socket is 0600 in a folder of this user's that nobody else may enter; the folder is made
/// if it is missing. One listener at a path: the second one is refused, a dead one's is replaced.
class Listener {
public:
    /// Throws std::runtime_error. Port 0: any; see address().
    Listener(Address const& address, Auth const& auth, Limits limits = {});
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;
    ~Listener();

    /// For poll(): POLLIN whenever accept() has something to do, also about those that wait.
    [[nodiscard]] int fd() const { return events_.get(); }
    /// One that is let in. Null: nobody, or refused, or not yet complete. To be called until null.
    std::unique_ptr<Connection> accept();

    [[nodiscard]] Address const& address() const { return address_; }
    /// For people: whom it refused last, and why. Empty: nobody yet.
    [[nodiscard]] std::string const& last_refusal() const { return last_refusal_; }

private:
    struct Guest;
    using Clock = std::chrono::steady_clock;

    void listen_at_path();
    void listen_at_port();
    void watch(int fd) const;
    [[nodiscard]] bool is_full() const;
    void refuse(std::string const& who, std::string const& why);
    std::unique_ptr<Connection> admit(Descriptor socket, Peer peer,
                                      std::optional<SessionKeys> const& keys);
    std::unique_ptr<Connection> admit_local(Descriptor socket);
    void begin_handshake(Descriptor socket, sockaddr_storage const& from);
    bool advance(Guest& guest);
    void take_message(Guest& guest);
    std::unique_ptr<Connection> admit_guest();
    void set_alarm() const;

    Address address_;
    Limits limits_;
    std::shared_ptr<Prover const> prover_;  // null: a local socket
    Descriptor lock_;                       // of the path
    Descriptor socket_;
    Descriptor events_;
    Descriptor alarm_;
    std::shared_ptr<void> seat_;  // each connection has a copy
    std::list<Guest> guests_;     // the longest there first
    std::string last_refusal_;
};

}  // namespace unisono::coordinate::wire
