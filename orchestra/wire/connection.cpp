#include "orchestra/wire/connection.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace unisono::orchestra::wire {

namespace {

constexpr std::size_t read_bytes_max = 1 << 20;  // at a time, so that nobody keeps a daemon busy

std::optional<std::size_t> done_by(ssize_t length) {
    if (length > 0) return static_cast<std::size_t>(length);
    bool const not_now = length < 0 && (errno == EAGAIN || errno == EINTR);
    return not_now ? std::optional<std::size_t>(0) : std::nullopt;
}

}  // namespace

Connection::Connection(Descriptor socket, std::optional<Tls> tls, std::string peer,
                       std::shared_ptr<void> slot)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      slot_(std::move(slot)) {}

std::optional<std::size_t> Connection::write_some(std::string_view bytes) {
    if (tls_) return tls_->send(bytes);
    return done_by(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

std::optional<std::size_t> Connection::read_some(std::span<char> room) {
    if (tls_) return tls_->receive(room);
    return done_by(recv(socket_.get(), room.data(), room.size(), 0));
}

bool Connection::send(std::string_view message) {
    if (message.size() > message_bytes_max) deaf_ = true;
    if (deaf_) return false;
    queue_ += frame(message);
    if (!flush()) return false;
    if (queue_.size() > queue_bytes_max) deaf_ = true;
    return !deaf_;
}

bool Connection::flush() {
    std::size_t sent = 0;
    while (!deaf_ && sent < queue_.size()) {
        auto const bytes = write_some(std::string_view(queue_).substr(sent));
        deaf_ = !bytes;
        if (bytes.value_or(0) == 0) break;
        sent += *bytes;
    }
    queue_.erase(0, sent);
    return !deaf_;
}

std::vector<std::string> Connection::receive(bool& open) {
    std::vector<std::string> messages;
    std::array<char, 65536> bytes;  // more than a record of TLS has, so that none is read in part
    for (std::size_t total = 0; !silent_ && total < read_bytes_max;) {
        auto const length = read_some(bytes);
        if (length && *length == 0) break;
        silent_ = !length || !take({bytes.data(), *length}, messages);
        total += length.value_or(0);
    }
    open = !silent_ && !deaf_;
    return messages;
}

// False: no frames.
bool Connection::take(std::string_view bytes, std::vector<std::string>& messages) {
    reader_.add(bytes);
    while (auto body = reader_.next()) messages.push_back(std::move(*body));
    return !reader_.broken();
}

}  // namespace unisono::orchestra::wire
