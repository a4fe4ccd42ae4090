#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/wire/address.hpp"
#include "orchestra/wire/frames.hpp"
#include "orchestra/wire/tls.hpp"
#include "support/descriptor.hpp"

namespace unisono::orchestra::wire {

/// So many bytes wait for a peer that reads slowly; then it is given up.
inline constexpr std::size_t queue_bytes_max = 4 << 20;

/// Messages to and from one peer whose identity is known. Never blocks. Not thread-safe.
class Connection {
public:
    /// `tls`: after its handshake, on this socket; nothing for a local one. `peer` is for people.
    /// `slot` is released when the connection goes.
    Connection(Descriptor socket, std::optional<Tls> tls, std::string peer,
               std::shared_ptr<void> slot = {});

    /// For poll(): POLLIN always, POLLOUT if want_write().
    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] bool want_write() const { return !queue_.empty(); }

    /// Sends now what the socket takes, and queues the rest. False: the connection is broken, the
    /// peer reads too slowly (queue_bytes_max), or the message is above message_bytes_max; then
    /// nothing can be sent any more, but what the peer has said before may be received.
    bool send(std::string_view message);
    /// Sends what is queued as far as the socket takes it. False: broken.
    bool flush();
    /// The whole messages that have arrived, at most about 1 MiB of them at a time. `open` is set
    /// to false when the peer has gone or broke the rules; what came before that is still returned.
    std::vector<std::string> receive(bool& open);

    /// Its address, or "process 4711".
    [[nodiscard]] std::string const& peer() const { return peer_; }

private:
    std::optional<std::size_t> write_some(std::string_view bytes);
    std::optional<std::size_t> read_some(std::span<char> room);
    bool take(std::string_view bytes, std::vector<std::string>& messages);

    Descriptor socket_;
    std::optional<Tls> tls_;
    std::string peer_;
    std::shared_ptr<void> slot_;
    FrameReader reader_{message_bytes_max};
    std::string queue_;
    bool deaf_ = false;    // the peer: nothing more can be sent
    bool silent_ = false;  // nothing more comes from it
};

/// Connects, proves that it has the key (on TCP; local sockets need none, because there the kernel
/// says who is on the other side), and waits until it is let in: with an orchestrator that lives a
/// moment, at most `limit`. Throws std::runtime_error that says whom it was connecting to, and what
/// failed.
std::unique_ptr<Connection> connect(Address const& address, std::string const& key_file,
                                    std::chrono::milliseconds limit = std::chrono::seconds(2));

/// What a listener sends first to those whom it lets in; connect() waits for it.
inline constexpr std::string_view welcome = "welcome";

}  // namespace unisono::orchestra::wire
