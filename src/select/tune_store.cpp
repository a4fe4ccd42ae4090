#include "select/tune_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "support/descriptor.hpp"
#include "support/installation.hpp"

namespace unisono {
namespace {

namespace fs = std::filesystem;

constexpr off_t file_bytes_most = 8 << 20;
constexpr std::size_t records_recalled_most = 200;

/// Which file was read, to see whether another one has taken its place.
struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    timespec changed{};
    off_t bytes = -1;

    explicit Stamp(struct stat const& status)
        : device{status.st_dev},
          inode{status.st_ino},
          changed{status.st_mtim},
          bytes{status.st_size} {}
    Stamp() = default;
    friend bool operator==(Stamp const& a, Stamp const& b) {
        return a.device == b.device && a.inode == b.inode && a.bytes == b.bytes &&
               a.changed.tv_sec == b.changed.tv_sec && a.changed.tv_nsec == b.changed.tv_nsec;
    }
};

/// A tune file, or none and why; neither when there is no such file.
struct Opened {
    std::optional<TuneFile> file;
    Stamp stamp;
    std::string complaint;
};

// Somebody else could have put anything there: speeds that make this program slow.
std::string_view untrusted(struct stat const& status) {
    if (!S_ISREG(status.st_mode)) return "no regular file";
    if (status.st_uid != geteuid() && status.st_uid != 0) return "it belongs to another user";
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
    if (status.st_size > file_bytes_most) return "too large";
    return {};
}

std::string read_all(int descriptor, off_t bytes) {
    std::string text(static_cast<std::size_t>(bytes), '\0');
    std::size_t got = 0;
    while (got < text.size()) {
        auto const more =
            pread(descriptor, text.data() + got, text.size() - got, static_cast<off_t>(got));
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) break;
        got += static_cast<std::size_t>(more);
    }
    text.resize(got);
    return text;
}

std::string complaint(std::string const& path, std::string_view why) {
    return "unisono: " + path + ": " + std::string{why} + "; what it has learnt is not used";
}

Opened open_tune_file(std::string const& path) {
    // A pipe must not hold up the program.
    Descriptor const descriptor{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!descriptor) {
        auto const missing = errno == ENOENT || errno == ENOTDIR;
        return {{}, {}, missing ? "" : complaint(path, std::strerror(errno))};
    }
    struct stat status {};
    if (fstat(descriptor.get(), &status) != 0)
        return {{}, {}, complaint(path, std::strerror(errno))};
    if (auto const why = untrusted(status); !why.empty()) return {{}, {}, complaint(path, why)};
    auto parsed = parse_tune_file(read_all(descriptor.get(), status.st_size));
    auto why = parsed.complaint.empty() ? "" : complaint(path, parsed.complaint);
    return {std::move(parsed.file), Stamp{status}, std::move(why)};
}

Stamp stamp_of(std::string const& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? Stamp{status} : Stamp{};
}

/// A file that is to take another one's place; gone where it does not.
class Temporary {
public:
    /// Its name differs between machines, processes and threads, which may all write at once.
    explicit Temporary(std::string const& target) {
        static std::atomic<unsigned> count{0};
        std::array<char, 256> host{};
        gethostname(host.data(), host.size() - 1);
        path_ = target + '.' + host.data() + '.' + std::to_string(getpid()) + '.' +
                std::to_string(++count);
    }
    ~Temporary() { unlink(path_.c_str()); }
    Temporary(Temporary const&) = delete;
    Temporary& operator=(Temporary const&) = delete;
    [[nodiscard]] std::string const& path() const { return path_; }

private:
    std::string path_;
};

// Returns 0 or errno.
int write_synced(std::string const& path, std::string_view text) {
    Descriptor const descriptor{
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644)};
    if (!descriptor) return errno;
    if (auto const error = write_all(descriptor.get(), text); error != 0) return error;
    return fsync(descriptor.get()) == 0 ? 0 : errno;
}

std::string cannot_write(std::string const& path, int error) {
    return "unisono: " + path + ": " + std::strerror(error) + "; what was learnt is not kept";
}

}  // namespace

TunePaths tune_paths(Options const& options) {
    if (options.tune == "off") return {};
    auto const variable = [](char const* name) {
        auto const* const value = secure_getenv(name);
        return std::string{value == nullptr ? "" : value};
    };
    auto const folder = site_folder();
    auto const site = folder.empty() ? folder : folder + "/unisono-tune.json";
    TunePaths paths{options.tune, options.tune_site.empty() ? site : options.tune_site};
    if (!paths.user.empty()) return paths;
    auto const cache = variable("XDG_CACHE_HOME");
    auto const home = variable("HOME");
    if (!cache.empty())
        paths.user = cache + "/unisono/tune.json";
    else if (!home.empty())
        paths.user = home + "/.cache/unisono/tune.json";
    return paths;
}

std::string describe_machine() {
    std::ifstream information{"/proc/cpuinfo"};
    std::string processor = "unknown processor";
    for (std::string line; std::getline(information, line);)
        if (line.starts_with("model name")) {
            processor = line.substr(std::min(line.find(':') + 2, line.size()));
            break;
        }
    return processor + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores";
}

Recalled recall(TunePaths const& paths, TuningContext const& context, std::uint32_t ranks) {
    Recalled recalled;
    auto& records = recalled.memory.records;
    for (auto const& path : {paths.user, paths.site}) {
        if (path.empty()) continue;
        auto opened = open_tune_file(path);
        if (!opened.complaint.empty()) recalled.complaints.push_back(opened.complaint);
        if (!opened.file) continue;
        recalled.memory.frozen = recalled.memory.frozen || opened.file->frozen;
        std::ranges::stable_sort(opened.file->records, std::ranges::greater{},
                                 &TuningRecord::updated_s);
        for (auto& record : opened.file->records) {
            auto const fits = record.where.machine == context.machine &&
                              record.where.software == context.software &&
                              record.calls.ranks == ranks;
            if (!fits || records.size() >= records_recalled_most) continue;
            record.where = {.storage_key = std::move(
                                record.where.storage_key)};  // the rest is the same for all
            records.push_back(std::move(record));
        }
    }
    return recalled;
}

std::vector<FileHistory> recall_histories(std::string const& path) {
    auto opened = open_tune_file(path);
    return opened.file ? std::move(opened.file->histories) : std::vector<FileHistory>{};
}

std::string keep(std::string const& path, std::vector<TuningRecord> const& unsaved,
                 std::vector<FileHistory> const& histories) {
    std::error_code ignored, failed;
    auto const folder = fs::path{path}.parent_path();
    if (!folder.empty() && !fs::exists(folder, ignored)) fs::create_directories(folder, failed);
    if (failed) return cannot_write(path, failed.value());
    auto const target = fs::exists(path, ignored) ? fs::canonical(path, ignored).string() : path;
    Temporary const temporary{target};
    constexpr int tries = 3;
    for (int attempt = 1; attempt <= tries; ++attempt) {
        auto opened = open_tune_file(target);
        if (!opened.complaint.empty()) return opened.complaint;
        auto file = opened.file.value_or(TuneFile{});
        if (file.frozen) return {};
        take_in(file, unsaved, std::time(nullptr));
        take_in(file, histories, std::time(nullptr));
        if (auto const error = write_synced(temporary.path(), to_json(file)); error != 0)
            return cannot_write(target, error);
        if (attempt < tries && stamp_of(target) != opened.stamp) continue;
        if (rename(temporary.path().c_str(), target.c_str()) == 0) return {};
        return cannot_write(target, errno);
    }
    return {};
}

}  // namespace unisono
