#include "backends/posix.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "backends/run.hpp"

namespace unisono {

namespace {

constexpr char const* call_name(Direction direction, std::span<iovec const> memory) {
    auto const reads = direction == Direction::read;
    if (memory.size() == 1) return reads ? "pread" : "pwrite";
    return reads ? "preadv" : "pwritev";
}

class PosixBackend final : public Backend {
public:
    explicit PosixBackend(int fd) : fd_(fd) {}

    [[nodiscard]] std::string_view name() const override { return "posix"; }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        if (list.size() == 1) return perform(direction, list.front());
        IoResult result;
        std::vector<iovec> memory;
        auto position = advance(list, {}, 0);
        while (position.index < list.size()) {
            auto const run = collect_run(list, position, run_bytes_max, memory);
            auto const moved = move(result, direction, memory, run.offset);
            if (moved == 0) break;
            position = advance(list, position, moved);
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
    // As small calls have it: no memory is asked for.
    [[nodiscard]] IoResult perform(Direction direction, Transfer rest) const {
        IoResult result;
        while (rest.bytes > 0) {
            iovec const memory{rest.memory, std::min(rest.bytes, run_bytes_max)};
            auto const moved = move(result, direction, {&memory, 1}, rest.offset);
            if (moved == 0) break;
            rest = {rest.offset + moved, rest.memory + moved, rest.bytes - moved};
        }
        return result;
    }

    // How many bytes one system call has moved, which `result` has, too; 0: it says why it stops.
    std::uint64_t move(IoResult& result, Direction direction, std::span<iovec const> memory,
                       std::uint64_t offset) const {
        auto moved = ask(direction, memory, static_cast<off_t>(offset));
        while (moved < 0 && errno == EINTR)
            moved = ask(direction, memory, static_cast<off_t>(offset));
        if (moved <= 0) {
            auto const code = moved < 0 ? errno : 0;
            result = stopped(result, direction, code, call_name(direction, memory), offset);
            return 0;
        }
        result.bytes += static_cast<std::uint64_t>(moved);
        return static_cast<std::uint64_t>(moved);
    }

    [[nodiscard]] ssize_t ask(Direction direction, std::span<iovec const> memory,
                              off_t offset) const {
        auto const& [first, bytes] = memory.front();
        auto const count = static_cast<int>(memory.size());
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
