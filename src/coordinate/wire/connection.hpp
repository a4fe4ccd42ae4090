#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinate/wire/address.hpp"
#include "coordinate/wire/cipher.hpp"
#include "coordinate/wire/descriptor.hpp"
#include "coordinate/wire/frames.hpp"
#include "coordinate/wire/handshake.hpp"
#include "coordinate/wire/prover.hpp"

namespace unisono::coordinate::wire {

/// So many bytes wait for a peer that reads slowly; then it is given up.
inline constexpr std::size_t queue_bytes_max = 4 << 20;

/// Messages to and from one peer whose identity is known. Never blocks. Not thread-safe.
class Connection {
public:
    /// Local ones have no keys. `seat` is released when the connection goes.
    Connection(Descriptor socket, Peer peer, std::optional<SessionKeys> const& keys,
               std::shared_ptr<void> seat = {});

    /// For poll(): POLLIN always, POLLOUT if want_write().
    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] bool want_write() const { return !queue_.empty(); }

    /// Sends now what the socket takes, and queues the rest. False: the connection is broken, the
    /// peer reads too slowly (queue_bytes_max), or the message is above message_bytes_max; then it
    /// is of no use any more.
    bool send(std::string_view message);
    /// Sends what is queued as far as the socket takes it. False: broken.
    bool flush();
    /// The whole messages that have arrived, at most about 1 MiB of them at a time. `open` is set
    /// to false when the peer has gone or broke the rules; what came before that is still returned.
    std::vector<std::string> receive(bool& open);

    [[nodiscard]] Peer const& peer() const { return peer_; }

    /// For connect(): whether a frame that it read is what a listener sends first.
    bool takes_welcome(std::string_view frame_body);

private:
    std::optional<std::string> unsealed(std::string&& body);
    bool take_frames(std::vector<std::string>& messages);

    Descriptor socket_;
    Peer peer_;
    std::shared_ptr<void> seat_;
    std::optional<Sealer> sealer_;
    std::optional<Opener> opener_;
    FrameReader reader_;
    std::string queue_;
    bool broken_ = false;
};

/// Connects, has the other side prove itself, and waits until it lets this one in: with an
/// orchestrator that lives a moment, at most `limit`. Throws std::runtime_error that says whom it
/// was connecting to, and what failed.
std::unique_ptr<Connection> connect(Address const& address, Auth const& auth,
                                    std::chrono::milliseconds limit = std::chrono::seconds(2));

/// What a listener sends first to those whom it lets in; connect() waits for it.
inline constexpr std::string_view welcome = "welcome";

}  // namespace unisono::coordinate::wire
