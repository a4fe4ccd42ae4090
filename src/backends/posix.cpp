#include "backends/posix.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "backends/run.hpp"

namespace unisono {

namespace {

constexpr char const* call_name(Direction direction, std::vector<iovec> const& memory) {
    auto const reads = direction == Direction::read;
    if (memory.size() == 1) return reads ? "pread" : "pwrite";
    return reads ? "preadv" : "pwritev";
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
            if (moved <= 0) {
                auto const code = moved < 0 ? errno : 0;
                return stopped(result, direction, code, call_name(direction, memory), run.offset);
            }
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
        auto const& [first, bytes] = memory.front();
        auto const count = static_cast<int>(memory.size());
        auto const offset = static_cast<off_t>(run.offset);
        if (count == 1)  // takes the kernel less time
            return direction == Direction::read ? pread(fd_, first, bytes, offset)
                                                : pwrite(fd_, first, bytes, offset);
        return direction == Direction::read ? preadv(fd_, memory.data(), count, offset)
                                            : pwritev(fd_, memory.data(), count, offset);
    }

    static IoResult stopped(IoResult result, Direction direction, int code, char const* call,
                            std::uint64_t offset) {
        // A write that moves nothing and gives no reason would otherwise be repeated for ever.
        if (code == 0 && direction == Direction::write) code = EIO;
        result.stopped_at = offset;
        if (code != 0) result.error = {code, call, offset};
        return result;
    }

    int fd_;
};

}  // namespace

std::unique_ptr<Backend> make_posix_backend(int fd) { return std::make_unique<PosixBackend>(fd); }

}  // namespace unisono
