#include "coordinate/gate/page.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "coordinate/gate/place.hpp"

namespace unisono::coordinate {

namespace {

[[noreturn]] void fail(std::string const& path) {
    throw std::runtime_error(path + ": " + std::strerror(errno));
}

bool has_right_size(int descriptor) {
    struct stat status {};
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_size == sizeof(PageMemory);
}

// Whoever finds a page finds a whole one.
int make_page(std::string const& path, double capacity_bytes) {
    auto const next = path + ".new";
    unlink(next.c_str());
    int const fd = open(next.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) fail(next);
    fchmod(fd, 0644);  // whatever the umask is
    if (int const error = posix_fallocate(fd, 0, sizeof(PageMemory)); error != 0) {
        errno = error;
        fail(next);
    }
    SharedFile<PageMemory> const memory(fd, true);
    if (!memory) fail(next);
    memory->version = PageMemory::right_version;
    memory->capacity_bytes = capacity_bytes;
    if (rename(next.c_str(), path.c_str()) != 0) fail(path);
    return fd;
}

}  // namespace

std::uint64_t program_number(std::string_view id) {
    // FNV-1a: the same in every build.
    std::uint64_t number = 0xcbf29ce484222325;
    for (unsigned char const letter : id) number = (number ^ letter) * 0x100000001b3;
    return number;
}

// ---- the agent
// -----------------------------------------------------------------------------------

Page::Page(std::string const& folder, double capacity_bytes) {
    auto const path = page_path(folder);
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && has_right_size(fd)) memory_ = SharedFile<PageMemory>(fd, true);
    if (!memory_ || memory_->version != PageMemory::right_version || memory_->retired != 0) {
        if (fd >= 0) close(fd);
        fd = make_page(path, capacity_bytes);
        memory_ = SharedFile<PageMemory>(fd, true);
    }
    close(fd);
    if (!memory_) fail(path);
    tell({});
}

// A reader that sees anything of a new turn sees that the sequence has changed.
void Page::tell(Admission const& admission) {
    auto const fits = admission.programs.size() <= PageMemory::programs_max;
    auto const begun = memory_->sequence.load(std::memory_order_relaxed) | 1;  // odd, too, if the
    memory_->sequence.store(begun, std::memory_order_relaxed);                 // last one died
    auto const count = fits ? static_cast<std::uint32_t>(admission.programs.size()) : 0;
    memory_->count.store(count, std::memory_order_release);
    for (std::uint32_t i = 0; i < count; ++i)
        memory_->programs[i].store(admission.programs[i], std::memory_order_release);
    memory_->lease_end.store(admission.lease_end, std::memory_order_release);
    auto const kind = fits ? admission.kind : Admission::Kind::everyone;
    memory_->kind.store(static_cast<std::uint32_t>(kind), std::memory_order_release);
    if (kind == Admission::Kind::everyone) ++memory_->openings;
    memory_->sequence.store(begun + 1, std::memory_order_release);
}

void Page::retire() {
    tell({});
    memory_->retired = 1;
}

// ---- a process
// -----------------------------------------------------------------------------------

std::optional<PageView> PageView::find(std::string const& folder) {
    int const fd = open(page_path(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return {};
    struct stat status {};
    SharedFile<PageMemory> memory;
    if (fstat(fd, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid()) &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && has_right_size(fd))
        memory = SharedFile<PageMemory>(fd, false);
    close(fd);
    if (!memory || memory->version != PageMemory::right_version || memory->retired != 0) return {};
    return PageView(std::move(memory));
}

bool PageView::admits_at_turn(std::uint64_t program, Time now) const {
    constexpr int tries_max = 1000;  // an agent that dies while it writes must not stop anyone
    for (int tries = 0; tries < tries_max; ++tries) {
        auto const before = memory_->sequence.load(std::memory_order_acquire);
        auto const count = memory_->count.load(std::memory_order_acquire);
        if (before % 2 != 0 || count > PageMemory::programs_max) continue;
        bool named = false;
        for (std::uint32_t i = 0; i < count; ++i)
            named |= memory_->programs[i].load(std::memory_order_acquire) == program;
        auto const lease_end = memory_->lease_end.load(std::memory_order_acquire);
        auto const kind = memory_->kind.load(std::memory_order_acquire);
        if (memory_->sequence.load(std::memory_order_relaxed) != before) continue;
        if (kind == static_cast<std::uint32_t>(Admission::Kind::everyone) || now >= lease_end)
            return true;
        return named == (kind == static_cast<std::uint32_t>(Admission::Kind::only));
    }
    return true;
}

}  // namespace unisono::coordinate
