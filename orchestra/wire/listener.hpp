#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "orchestra/wire/connection.hpp"

namespace unisono::orchestra::wire {

struct Limits {
    std::size_t connections_max = 256;  ///< at a time
    std::size_t handshakes_max = 256;   ///< at a time
    std::chrono::milliseconds handshake = std::chrono::seconds(2);
};

/// Listens at one address, and lets in only who is trusted: root and this process's own user on a
/// local socket (by the kernel's word), who proves that it has the key on TCP. Never blocks, and
/// spends some milliseconds at a time on strangers at most. Not thread-safe.
///
/// When too many handshakes are under way, one gives way from the address from which most come: the
/// oldest that has proved nothing yet. Those are heard first from where few come. So a host that
/// keeps connecting keeps out nobody else, and hardly itself. Who is let in stays.
///
/// A local socket is 0600 in a folder of this user's that nobody else may enter; the folder is made
/// if it is missing. One listener at a path: the second one is refused, a dead one's is replaced.
class Listener {
public:
    /// Throws std::runtime_error. Port 0: any; see address(). `key_file`: for TCP, as read_key()
    /// wants it.
    Listener(Address const& address, std::string const& key_file, Limits limits = {});
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
    std::unique_ptr<Connection> admit(Descriptor socket, std::optional<Tls> tls,
                                      std::string const& peer);
    std::unique_ptr<Connection> admit_local(Descriptor socket);
    void begin_handshake(Descriptor socket, sockaddr_storage const& from);
    void make_room();
    std::unique_ptr<Connection> admit_guest();
    bool hear(Guest& guest, std::unique_ptr<Connection>& connection);
    void set_alarm() const;

    Address address_;
    Limits limits_;
    std::optional<Key> key_;  // nothing: a local socket
    Descriptor lock_;         // of the path
    Descriptor socket_;
    Descriptor events_;
    Descriptor alarm_;
    std::shared_ptr<void> slot_;                        // each connection has a copy
    std::map<std::uint64_t, std::list<Guest>> guests_;  // by where they come from; the oldest first
    std::string last_refusal_;
};

}  // namespace unisono::orchestra::wire
