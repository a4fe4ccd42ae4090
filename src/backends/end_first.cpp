#include "backends/end_first.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "backends/run.hpp"

namespace unisono {

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t long_list_bytes = 64 * 1024;

std::uint64_t end_of(Transfer const& transfer) { return transfer.offset + transfer.bytes; }

bool complete(IoResult const& result) { return result.stopped_at == IoResult::nowhere; }

/// A list in two parts.
class Parts {
public:
    explicit Parts(std::span<Transfer const> list) : rest_(list.begin(), list.end()) {
        auto& last = rest_.back();
        last_ = last;
        last_.bytes = std::min(last.bytes, (end_of(last) - 1) % page_bytes + 1);
        last.bytes -= last_.bytes;
        last_.offset += last.bytes;
        last_.memory += last.bytes;
        if (last.bytes == 0) rest_.pop_back();
    }
    [[nodiscard]] std::span<Transfer const> last_page() const { return {&last_, 1}; }
    [[nodiscard]] std::span<Transfer const> rest() const { return rest_; }

    /// Of the whole list, once the last page and then the rest were written.
    [[nodiscard]] IoResult sum(IoResult result) const {
        if (complete(result)) result.bytes += last_.bytes;
        return result;
    }

private:
    std::vector<Transfer> rest_;
    Transfer last_;
};

class RestOfList final : public PendingIo {
public:
    RestOfList(Backend& inner, Parts parts, Order order)
        : parts_{std::move(parts)}, inner_{inner.start(Direction::write, parts_.rest(), order)} {}
    bool ended() override { return inner_->ended(); }
    IoResult wait() override { return parts_.sum(inner_->wait()); }

private:
    Parts parts_;
    std::unique_ptr<PendingIo> inner_;  // uses them
};

class EndFirstBackend final : public Backend {
public:
    EndFirstBackend(int descriptor, std::unique_ptr<Backend> inner) : inner_{std::move(inner)} {
        struct stat status {};
        if (fstat(descriptor, &status) == 0) end_ = static_cast<std::uint64_t>(status.st_size);
    }

    [[nodiscard]] std::string_view name() const override { return inner_->name(); }
    [[nodiscard]] bool overlaps() const override { return inner_->overlaps(); }
    Error sync() override { return inner_->sync(); }
    Error close() override { return inner_->close(); }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        if (!lengthens(direction, list)) return inner_->perform(direction, list);
        Parts const parts{list};
        // Where the page cannot be written the list fails as it would have without all this.
        if (!complete(inner_->perform(direction, parts.last_page())))
            return inner_->perform(direction, list);
        return parts.sum(inner_->perform(direction, parts.rest()));
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order order) override {
        if (!lengthens(direction, list)) return inner_->start(direction, list, order);
        Parts parts{list};
        if (!complete(inner_->perform(direction, parts.last_page())))
            return inner_->start(direction, list, order);
        return std::make_unique<RestOfList>(*inner_, std::move(parts), order);
    }

private:
    // As far as this rank knows: others may have made it longer still, or shorter.
    bool lengthens(Direction direction, std::span<Transfer const> list) {
        if (direction == Direction::read || list.empty()) return false;
        auto const end = end_of(list.back());
        auto known = end_.load();
        while (known < end && !end_.compare_exchange_weak(known, end)) {
        }
        return known < end && total_bytes(list) >= long_list_bytes;
    }

    std::unique_ptr<Backend> inner_;
    std::atomic<std::uint64_t> end_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_end_first_backend(int descriptor, std::unique_ptr<Backend> inner) {
    return std::make_unique<EndFirstBackend>(descriptor, std::move(inner));
}

}  // namespace unisono
