#include "orchestra/wire/frames.hpp"

namespace unisono::orchestra::wire {

namespace {

constexpr std::size_t head_bytes = 4;

}  // namespace

std::string frame(std::string_view body) {
    std::string text;
    text.reserve(head_bytes + body.size());
    for (int shift = 24; shift >= 0; shift -= 8)
        text.push_back(static_cast<char>(body.size() >> shift & 0xFF));
    return text.append(body);
}

void FrameReader::add(std::string_view bytes) {
    if (broken_) return;
    buffer_.erase(0, taken_);
    taken_ = 0;
    buffer_.append(bytes);
}

// With the length itself; only the length as long as that has not come.
std::size_t FrameReader::announced_bytes() const {
    if (pending_bytes() < head_bytes) return head_bytes;
    std::size_t length = 0;
    for (std::size_t i = 0; i < head_bytes; ++i)
        length = length << 8 | static_cast<unsigned char>(buffer_[taken_ + i]);
    return head_bytes + length;
}

std::optional<std::string> FrameReader::next() {
    if (broken_ || pending_bytes() < head_bytes) return {};
    auto const length = announced_bytes() - head_bytes;
    if (length > body_bytes_max_) {
        broken_ = true;
        buffer_.clear();
        taken_ = 0;
        return {};
    }
    if (pending_bytes() < head_bytes + length) return {};
    auto body = buffer_.substr(taken_ + head_bytes, length);
    taken_ += head_bytes + length;
    return body;
}

}  // namespace unisono::orchestra::wire
