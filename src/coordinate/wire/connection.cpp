#include "coordinate/wire/connection.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace unisono::coordinate::wire {

namespace {

constexpr std::size_t read_bytes_max = 1 << 20;  // at a time, so that nobody keeps a daemon busy

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Connection::Connection(Descriptor socket, Peer peer, std::optional<SessionKeys> const& keys,
                       std::shared_ptr<void> seat)
    : socket_(std::move(socket)),
      peer_(std::move(peer)),
      seat_(std::move(seat)),
      reader_(message_bytes_max + (keys ? seal_bytes : 0)) {
    if (!keys) return;
    sealer_.emplace(keys->send);
    opener_.emplace(keys->receive);
}

bool Connection::send(std::string_view message) {
    if (message.size() > message_bytes_max) broken_ = true;
    if (broken_) return false;
    queue_ += frame(sealer_ ? sealer_->seal(message) : message);
    if (!flush()) return false;
    if (queue_.size() > queue_bytes_max) broken_ = true;
    return !broken_;
}

bool Connection::flush() {
    std::size_t sent = 0;
    while (!broken_ && sent < queue_.size()) {
        auto const length = ::send(socket_.get(), queue_.data() + sent, queue_.size() - sent,
                                   MSG_NOSIGNAL | MSG_DONTWAIT);
        if (length >= 0)
            sent += static_cast<std::size_t>(length);
        else if (would_block())
            break;
        else if (errno != EINTR)
            broken_ = true;
    }
    queue_.erase(0, sent);
    return !broken_;
}

std::vector<std::string> Connection::receive(bool& open) {
    std::vector<std::string> messages;
    std::array<char, 65536> bytes;
    open = !broken_;
    for (std::size_t total = 0; open && total < read_bytes_max;) {
        auto const length = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (length > 0) {
            total += static_cast<std::size_t>(length);
            reader_.add({bytes.data(), static_cast<std::size_t>(length)});
            open = take_frames(messages);
        } else if (length < 0 && would_block()) {
            break;
        } else if (length == 0 || errno != EINTR) {
            open = false;
        }
    }
    broken_ = broken_ || !open;
    return messages;
}

std::optional<std::string> Connection::unsealed(std::string&& body) {
    return opener_ ? opener_->open(body) : std::move(body);
}

bool Connection::take_frames(std::vector<std::string>& messages) {
    while (auto body = reader_.next()) {
        auto message = unsealed(std::move(*body));
        if (!message) return false;
        messages.push_back(std::move(*message));
    }
    return !reader_.broken();
}

bool Connection::takes_welcome(std::string_view frame_body) {
    return unsealed(std::string(frame_body)) == welcome;
}

}  // namespace unisono::coordinate::wire
