#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace unisono::orchestra::wire {

/// The most that one message may have.
inline constexpr std::size_t message_bytes_max = 1 << 20;

/// A body with its length before it: four bytes, the highest first.
std::string frame(std::string_view body);

/// Takes a stream of bytes apart again, however it comes. Pure.
class FrameReader {
public:
    explicit FrameReader(std::size_t body_bytes_max) : body_bytes_max_(body_bytes_max) {}

    void add(std::string_view bytes);
    /// The next body that is complete; nothing: not yet, or never.
    std::optional<std::string> next();
    /// A longer body than allowed was announced. Nothing more comes out.
    [[nodiscard]] bool broken() const { return broken_; }
    /// Bytes of which nothing came out yet: less than one frame once next() gave nothing.
    [[nodiscard]] std::size_t pending_bytes() const { return buffer_.size() - taken_; }

private:
    [[nodiscard]] std::size_t announced_bytes() const;

    std::size_t body_bytes_max_;
    std::string buffer_;
    std::size_t taken_ = 0;  // from the front of the buffer
    bool broken_ = false;
};

}  // namespace unisono::orchestra::wire
