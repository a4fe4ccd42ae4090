#include "select/tune_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "support/descriptor.hpp"
#include "support/installation.hpp"
#include "support/replacement.hpp"

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
    mode_t mode = 0600;  // it says what programs and files are called
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
    return {std::move(parsed.file), Stamp{status}, std::move(why), status.st_mode & 0777};
}

Stamp stamp_of(std::string const& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? Stamp{status} : Stamp{};
}

// For its owner only, as XDG_CACHE_HOME's specification has it: other programs keep things there,
// too. Returns 0 or errno.
int make_folders(fs::path const& folder) {
    std::error_code ignored;
    if (folder.empty() || fs::exists(folder, ignored)) return 0;
    if (auto const error = make_folders(folder.parent_path()); error != 0) return error;
    return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
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
    std::string processor;
    for (std::string line; std::getline(information, line) && !line.empty();)
        for (auto const* key : {"model name", "CPU implementer", "CPU part"})  // on ARM two numbers
            if (line.starts_with(key))
                processor += (processor.empty() ? "" : " ") +
                             line.substr(std::min(line.find(':') + 2, line.size()));
    if (processor.empty()) processor = "unknown processor";
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
    if (auto const error = make_folders(fs::path{path}.parent_path()); error != 0)
        return cannot_write(path, error);
    std::error_code ignored;
    auto const target = fs::exists(path, ignored) ? fs::canonical(path, ignored).string() : path;
    constexpr int tries = 3;
    for (int attempt = 1; attempt <= tries; ++attempt) {
        auto opened = open_tune_file(target);
        if (!opened.complaint.empty()) return opened.complaint;
        auto file = opened.file.value_or(TuneFile{});
        if (file.frozen) return {};
        take_in(file, unsaved, std::time(nullptr));
        take_in(file, histories, std::time(nullptr));
        Replacement next{target};
        fchmod(next.descriptor(), opened.mode);
        next.write(to_json(file));
        next.sync();
        if (attempt < tries && stamp_of(target) != opened.stamp) continue;
        if (auto const error = next.take_place(); error != 0) return cannot_write(target, error);
        return {};
    }
    return {};
}

}  // namespace unisono
