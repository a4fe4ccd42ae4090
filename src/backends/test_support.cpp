#include "backends/test_support.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

namespace unisono {

TemporaryFile::TemporaryFile(std::string const& folder, int open_flags)
    : path_(folder + "/unisono-backend-XXXXXX") {
    fd_ = mkostemp(path_.data(), open_flags);
    if (fd_ < 0) throw std::runtime_error("cannot make " + path_);
}

TemporaryFile::~TemporaryFile() {
    close(fd_);
    unlink(path_.c_str());
}

std::uint64_t TemporaryFile::size() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0) throw std::runtime_error("fstat");
    return static_cast<std::uint64_t>(status.st_size);
}

std::vector<std::byte> TemporaryFile::contents() const {
    std::vector<std::byte> bytes(size());
    auto const got = pread(fd_, bytes.data(), bytes.size(), 0);
    if (got != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("pread");
    return bytes;
}

void TemporaryFile::fill(std::vector<std::byte> const& bytes) const {
    auto const put = pwrite(fd_, bytes.data(), bytes.size(), 0);
    if (put != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("pwrite");
}

std::vector<std::string> test_folders() {
    auto temporary = testing::TempDir();
    while (temporary.size() > 1 && temporary.back() == '/') temporary.pop_back();
    std::vector<std::string> folders{temporary};
    if (access("/dev/shm", W_OK) == 0) folders.emplace_back("/dev/shm");
    return folders;
}

std::vector<std::byte> pattern(std::uint64_t bytes, unsigned seed) {
    std::vector<std::byte> result(bytes);
    std::mt19937_64 random(seed);
    for (std::uint64_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
        auto const word = random();
        std::memcpy(&result[done], &word, std::min<std::uint64_t>(sizeof word, bytes - done));
    }
    return result;
}

std::vector<unsigned> test_seeds() {
    if (auto const* const seed = std::getenv("UNISONO_TEST_SEED")) {
        return {static_cast<unsigned>(std::stoul(seed))};
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr unsigned count = 4;
#else
    constexpr unsigned count = 12;
#endif
    std::vector<unsigned> seeds(count);
    std::generate(seeds.begin(), seeds.end(), [seed = 0u]() mutable { return ++seed; });
    return seeds;
}

FileSizeLimit::FileSizeLimit(std::uint64_t bytes)
    : limit_before_(0), handler_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit_before_ = limit.rlim_cur;
    limit.rlim_cur = bytes;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("setrlimit");
}

FileSizeLimit::~FileSizeLimit() {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit_before_;
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, handler_before_);
}

SmallFileSystem::SmallFileSystem(std::uint64_t bytes) {
    std::string folder = testing::TempDir() + "/unisono-small-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) return;
    auto const options = "size=" + std::to_string(bytes);
    if (mount("tmpfs", folder.c_str(), "tmpfs", 0, options.c_str()) == 0) {
        folder_ = folder;
    } else {
        rmdir(folder.c_str());
    }
}

SmallFileSystem::~SmallFileSystem() {
    if (folder_.empty()) return;
    umount2(folder_.c_str(), MNT_DETACH);
    rmdir(folder_.c_str());
}

void forbid_system_call(unsigned number) {
    std::array filter{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog const program{filter.size(), filter.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) std::_Exit(77);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) std::_Exit(77);
}

}  // namespace unisono
