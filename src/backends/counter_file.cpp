#include "backends/counter_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>

#include "backends/range_locks.hpp"

namespace unisono {
namespace {

Extent place_of(std::uint64_t number) {
    auto const begin = number * sizeof(std::int64_t);
    return {begin, begin + sizeof(std::int64_t)};
}

// What nobody has written yet is 0, be it a hole or past the end.
CounterFile::Count read_at(int descriptor, Extent place) {
    CounterFile::Count count;
    if (pread(descriptor, &count.value, sizeof count.value, static_cast<off_t>(place.begin)) < 0)
        count.error = errno;
    return count;
}

}  // namespace

int CounterFile::open(bool make) {
    if (file_) return 0;
    constexpr mode_t owners = 0600;
    auto const flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    file_ = Descriptor{::open(path_.c_str(), flags, owners)};
    return file_ ? 0 : errno;
}

CounterFile::Count CounterFile::read(std::uint64_t number) {
    std::lock_guard const lock{mutex_};
    if (auto const error = open(/*make=*/false)) return {.error = error == ENOENT ? 0 : error};
    RangeLocks locks{file_.get()};
    auto const place = place_of(number);
    RangeLocks::Held const held{locks, Direction::read, place};
    return held.error() != 0 ? Count{.error = held.error()} : read_at(file_.get(), place);
}

CounterFile::Count CounterFile::add(std::uint64_t number, std::int64_t more, std::int64_t most) {
    std::lock_guard const lock{mutex_};
    if (auto const error = open(/*make=*/true)) return {.error = error};
    RangeLocks locks{file_.get()};
    auto const place = place_of(number);
    RangeLocks::Held const held{locks, Direction::write, place};
    if (held.error() != 0) return {.error = held.error()};
    auto const before = read_at(file_.get(), place);
    if (before.error != 0) return before;
    if (before.value > most - more) return {.error = EOVERFLOW};
    auto const after = before.value + more;
    auto const written = pwrite(file_.get(), &after, sizeof after, static_cast<off_t>(place.begin));
    if (written == sizeof after) return before;
    return {.error = written < 0 ? errno : ENOSPC};
}

void CounterFile::remove() {
    std::lock_guard const lock{mutex_};
    if (!file_) return;
    file_ = Descriptor{};
    unlink(path_.c_str());
}

std::string CounterFile::beside(std::string const& path, std::uint64_t secret) {
    constexpr std::size_t of_name =
        200;  // file systems take 255 in all; the secret tells them apart
    std::filesystem::path const whole{path};
    std::ostringstream name;
    name << '.' << whole.filename().string().substr(0, of_name) << ".shared-pointer-" << std::hex
         << secret;
    return (whole.parent_path() / name.str()).string();
}

}  // namespace unisono
