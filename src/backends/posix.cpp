#include "backends/posix.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "backends/run.hpp"

namespace unisono {

namespace {

constexpr char const* call_name(Direction direction) {
    return direction == Direction::read ? "preadv" : "pwritev";
}

class PosixBackend final : public Backend {
public:
    explicit PosixBackend(int fd) : fd_(fd) {}

    [[nodiscard]] std::string_view name() const override { return "posix"; }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        IoResult result;
        std::vector<iovec> memory;
        auto position = advance(list, {}, 0);
        while (position.index < list.size()) {
            auto const run = collect_run(list, position, run_bytes_max, memory);
            auto const moved = move(direction, run, memory);
            if (moved < 0 && errno == EINTR) continue;
            if (moved <= 0) return stopped(result, direction, run.offset, moved < 0 ? errno : 0);
            result.bytes += static_cast<std::uint64_t>(moved);
            position = advance(list, position, static_cast<std::uint64_t>(moved));
        }
        return result;
    }

    Error sync() override {
        while (fsync(fd_) != 0) {
            if (errno == EINTR) continue;
            if (errno == EINVAL) break;  // nothing that could be synced
            return {errno, "fsync", Error::whole_file};
        }
        return {};
    }

private:
    ssize_t move(Direction direction, Run run, std::vector<iovec> const& memory) const {
        auto const count = static_cast<int>(memory.size());
        auto const offset = static_cast<off_t>(run.offset);
        return direction == Direction::read ? preadv(fd_, memory.data(), count, offset)
                                            : pwritev(fd_, memory.data(), count, offset);
    }

    static IoResult stopped(IoResult result, Direction direction, std::uint64_t offset, int code) {
        // A write that moves nothing and gives no reason would otherwise be repeated for ever.
        if (code == 0 && direction == Direction::write) code = EIO;
        result.stopped_at = offset;
        if (code != 0) result.error = {code, call_name(direction), offset};
        return result;
    }

    int fd_;
};

}  // namespace

std::unique_ptr<Backend> make_posix_backend(int fd) { return std::make_unique<PosixBackend>(fd); }

}  // namespace unisono
