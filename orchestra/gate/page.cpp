#include "orchestra/gate/page.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "orchestra/gate/gate_paths.hpp"
#include "support/hash.hpp"

namespace unisono::orchestra {

namespace {

// A page that is written while somebody looks at a clock may end a little later than lease_max.
constexpr Time lease_end_max = lease_max + second;

bool is_closed_to_others(struct stat const& status) {
    return (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool may_be_a_page(struct stat const& status) {
    return S_ISREG(status.st_mode) && status.st_size == sizeof(PageMemory) &&
           is_closed_to_others(status);
}

// Who is believed could do worse than to hold this process.
bool is_believed(struct stat const& status) {
    return status.st_uid == 0 || status.st_uid == geteuid();
}

// A page that somebody else can make shorter would kill who has it in memory.
bool is_my_page(int descriptor) {
    struct stat status {};
    return fstat(descriptor, &status) == 0 && may_be_a_page(status) && status.st_uid == geteuid() &&
           status.st_nlink == 1;
}

// Nobody else can have put anything into it. -1 if there is none.
int open_believed_folder(std::string const& path) {
    int const folder = open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status {};
    if (folder >= 0 && fstat(folder, &status) == 0 && is_believed(status) &&
        is_closed_to_others(status))
        return folder;
    if (folder >= 0) close(folder);
    return -1;
}

// Whoever finds a page finds a whole one.
int make_page(std::string const& path, double capacity_bytes) {
    auto const next = path + ".new";
    unlink(next.c_str());
    int const fd = open(next.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) fail_at(next);
    fchmod(fd, 0644);  // whatever the umask is
    if (int const error = posix_fallocate(fd, 0, sizeof(PageMemory)); error != 0) {
        errno = error;
        fail_at(next);
    }
    SharedFile<PageMemory> const memory(fd, true);
    if (!memory) fail_at(next);
    memory->version = PageMemory::right_version;
    memory->capacity_bytes = capacity_bytes;
    if (rename(next.c_str(), path.c_str()) != 0) fail_at(path);
    return fd;
}

}  // namespace

std::uint64_t program_number(std::string_view id) { return hash64(id); }

// ---- the node daemon

Page::Page(std::string const& folder, double capacity_bytes) {
    auto const path = page_path(folder);
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && is_my_page(fd)) memory_ = SharedFile<PageMemory>(fd, true);
    if (!memory_ || memory_->version != PageMemory::right_version || memory_->retired != 0) {
        if (fd >= 0) close(fd);
        fd = make_page(path, capacity_bytes);
        memory_ = SharedFile<PageMemory>(fd, true);
    }
    close(fd);
    if (!memory_) fail_at(path);
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

std::optional<PageView> PageView::find(std::string const& folder) {
    int const at = open_believed_folder(folder);
    if (at < 0) return {};
    Descriptor file(openat(at, "page", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    close(at);
    if (!file) return {};
    struct stat status {};
    SharedFile<PageMemory> memory;
    if (fstat(file.get(), &status) == 0 && is_believed(status) && may_be_a_page(status))
        memory = SharedFile<PageMemory>(file.get(), false);
    if (!memory || memory->version != PageMemory::right_version || memory->retired != 0) return {};
    return PageView(std::move(file), std::move(memory), status.st_uid);
}

bool PageView::is_taken_away() const {
    struct stat status {};
    return fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
}

bool PageView::admits_at_turn(std::uint64_t program, Time now) const {
    constexpr int tries_max = 1000;  // a node daemon that dies while it writes must not stop anyone
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
        if (kind == static_cast<std::uint32_t>(Admission::Kind::everyone) || now >= lease_end ||
            lease_end - now > lease_end_max)
            return true;
        return named == (kind == static_cast<std::uint32_t>(Admission::Kind::only));
    }
    return true;
}

}  // namespace unisono::orchestra
