#include "pocketfs/file_system.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "pocketfs/node_wires.hpp"
#include "pocketfs/owner_rights.hpp"
#include "support/descriptor.hpp"
#include "support/file_content.hpp"

namespace unisono::testbed {

namespace {

// On a backing file: where it is, where it is to begin, and how it is striped.
constexpr char const* stored_address = "user.pocketfs.address";
constexpr char const* stored_layout = "user.pocketfs.layout";
constexpr char const* stored_map = "user.pocketfs.map";

constexpr std::string_view own_prefix = "user.pocketfs.";

// Without emulation there are places, too, so that programs that ask for them work.
constexpr std::uint64_t capacity_without_drive = 16'000'000'000'000;

std::uint64_t page_up(std::uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

std::optional<std::string> read_attribute(std::string const& path, std::string const& name) {
    std::string value(65536, '\0');
    auto const length = with_owner_rights(
        path, [&] { return getxattr(path.c_str(), name.c_str(), value.data(), value.size()); });
    if (length < 0) return {};
    value.resize(static_cast<std::size_t>(length));
    return value;
}

int write_attribute(std::string const& path, std::string const& name, std::string const& value) {
    int const result = with_owner_rights(
        path, [&] { return setxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0); });
    return result == 0 ? 0 : errno;
}

// "65536" or "64K"; nothing for anything else.
std::optional<std::uint64_t> parse_number(std::string const& text) {
    std::istringstream stream(text);
    std::uint64_t number = 0;
    std::string suffix;
    if (text.empty() || text[0] < '0' || text[0] > '9' || !(stream >> number)) return {};
    stream >> suffix;
    if (suffix.empty()) return number;
    constexpr std::string_view suffixes = "KMGT";
    auto const power = suffixes.find(suffix);
    if (suffix.size() != 1 || power == std::string_view::npos) return {};
    auto const unit = std::uint64_t{1} << (10 * (power + 1));
    if (number > ~std::uint64_t{0} / unit) return {};
    return number * unit;
}

bool is_stripe_unit(std::uint64_t bytes) {
    return bytes > 0 && bytes <= Striping::stripe_bytes_max;
}

Profile read_profile(MountOptions const& options) {
    auto const text = file_content(options.profile_file);
    if (!text) throw std::runtime_error(options.profile_file + ": cannot be read");
    auto profile = parse_profile(*text);
    auto& host = profile.host;
    if (options.page_cache_bytes >= 0 && host.page_cache_bytes > 0) {
        double const scale = options.page_cache_bytes / host.page_cache_bytes;
        host.page_cache_bytes *= scale;
        host.dirty_background_bytes *= scale;
        host.dirty_limit_bytes *= scale;
    }
    return profile;
}

std::uint64_t disk_bytes(MountOptions const& options) {
    if (options.profile_file.empty()) return capacity_without_drive;
    return static_cast<std::uint64_t>(read_profile(options).drive.capacity_bytes);
}

}  // namespace

FileSystem::FileSystem(MountOptions const& options)
    : options_(options), clients_(options.node), space_(disk_bytes(options)) {
    if (options.chunk_bytes > space_.capacity_bytes())
        throw std::runtime_error("--chunk-bytes '" + std::to_string(options.chunk_bytes) +
                                 "': valid is at most what a disk has, " +
                                 std::to_string(space_.capacity_bytes()));
    auto const files = options.backing + "/files";
    std::filesystem::create_directories(files);
    root_.fd = open(files.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_.fd < 0) throw std::runtime_error(files + ": " + std::strerror(errno));
    struct stat attributes {};
    fstat(root_.fd, &attributes);
    root_.device = attributes.st_dev;
    root_.number = attributes.st_ino;
    if (int const error = write_attribute(root_.path(), "user.pocketfs.probe", "1"))
        throw std::runtime_error(files + ": user.* attributes are needed: " + std::strerror(error));
    reserve_all();
    if (options.power_cuts) synced_states_.emplace(options.backing);
    if (options.profile_file.empty()) return;
    std::unique_ptr<Carrier> carrier;
    if (options.node == NodeKind::cluster) {
        if (geteuid() != 0) throw std::runtime_error("--node cluster needs root, as clusters do");
        carrier = std::make_unique<NodeWires>(options.servers);
    }
    emulator_ = std::make_unique<Emulator>(read_profile(options), options.servers, options.server,
                                           std::move(carrier));
}

FileSystem::~FileSystem() {
    emulator_.reset();
    close(root_.fd);
}

void FileSystem::reserve_all() {
    auto const files = options_.backing + "/files";
    // Folders that are closed to their owner, who mounts them, keep what is in them to themselves.
    auto const skip = std::filesystem::directory_options::skip_permission_denied;
    for (auto const& entry : std::filesystem::recursive_directory_iterator(files, skip)) {
        if (!entry.is_regular_file() || entry.is_symlink()) continue;
        auto const map = stored_places(entry.path());
        if (!map) continue;
        for (auto const& [offset, run] : map->runs()) {
            space_.reserve(run.address, run.bytes);
            next_goal_ = std::max(next_goal_, run.address + run.bytes);
            if (offset == 0) last_file_ = std::max(last_file_.value_or(0), run.address);
        }
    }
}

// ---- layouts and places
// --------------------------------------------------------------------------

// Nothing if there are none, or none that this mount has: it may have fewer servers than the one
// before, or smaller disks.
std::optional<DiskMap> FileSystem::stored_places(std::string const& path) const {
    auto const layout = read_attribute(path, stored_layout);
    auto const striping = layout ? parse_striping(*layout) : std::nullopt;
    auto const text = read_attribute(path, stored_map);
    auto map = text ? parse_disk_map(*text) : std::nullopt;
    if (!map || !striping || striping->servers > options_.servers) return {};
    for (auto const& [offset, run] : map->runs())
        if (run.bytes > space_.capacity_bytes() ||
            run.address > space_.capacity_bytes() - run.bytes)
            return {};
    return map;
}

// False: the disks are full.
bool FileSystem::take_places(Inode& inode, std::uint64_t begin, std::uint64_t end) {
    std::lock_guard const space(space_mutex_);
    bool const placed = place(inode.map, space_, begin, end, options_.chunk_bytes, goal_for(inode));
    for (auto const& [object_offset, run] : inode.map.runs())
        next_goal_ = std::max(next_goal_, run.address + run.bytes);
    return placed;
}

void FileSystem::load(Inode& inode) {
    if (inode.loaded) return;
    inode.loaded = true;
    auto const layout = read_attribute(inode.path(), stored_layout);
    auto const striping = layout ? parse_striping(*layout) : std::nullopt;
    inode.striping = striping.value_or(
        Striping{.stripe_bytes = options_.stripe_bytes, .servers = options_.stripe_servers});
    inode.striping.servers = std::min(inode.striping.servers, options_.servers);
    inode.striping.first %= options_.servers;
    auto const address = read_attribute(inode.path(), stored_address);
    inode.wanted_address = address ? parse_number(*address) : std::nullopt;
    if (auto const map = stored_places(inode.path()))
        inode.map = *map;
    else
        take_places(inode, 0, object_bytes(inode.striping, size_of(inode.fd), 0));
}

int FileSystem::store(Inode& inode) {
    if (int const error = write_attribute(inode.path(), stored_layout, show(inode.striping)))
        return error;
    return write_attribute(inode.path(), stored_map, show(inode.map));
}

int FileSystem::initialise(Inode& parent, Inode& child, bool folder) {
    auto const inherited = [&](char const* name) {
        auto const text = read_attribute(parent.path(), name);
        return text ? parse_number(*text) : std::nullopt;
    };
    if (folder) {
        for (auto const* name : {"user.pocketfs.stripe_bytes", "user.pocketfs.servers",
                                 "user.pocketfs.distance_bytes"})
            if (auto const number = inherited(name))
                if (int const error = write_attribute(child.path(), name, std::to_string(*number)))
                    return error;
        return 0;
    }
    auto const distance =
        inherited("user.pocketfs.distance_bytes").value_or(options_.distance_bytes);
    std::lock_guard const lock(child.mutex);
    auto& striping = child.striping;
    striping.stripe_bytes =
        std::min(inherited("user.pocketfs.stripe_bytes").value_or(options_.stripe_bytes),
                 Striping::stripe_bytes_max);
    striping.servers = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        inherited("user.pocketfs.servers").value_or(options_.stripe_servers), options_.servers));
    striping.first = striping.servers == options_.servers
                         ? 0
                         : next_first_.fetch_add(striping.servers) % options_.servers;
    if (distance > 0) {
        std::lock_guard const space(space_mutex_);
        last_file_ = last_file_ ? *last_file_ + distance : 0;
        if (int const error = want_address(child, *last_file_)) return error;
    }
    child.loaded = true;
    return store(child);
}

int FileSystem::want_address(Inode& inode, std::uint64_t address) {
    inode.wanted_address = address;
    return write_attribute(inode.path(), stored_address, std::to_string(address));
}

std::uint64_t FileSystem::goal_for(Inode const& inode) {
    return inode.wanted_address ? *inode.wanted_address / 4096 * 4096 : next_goal_;
}

int FileSystem::prepare_write(Inode& inode, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes == 0) return 0;
    std::lock_guard const lock(inode.mutex);
    load(inode);
    bool changed = false;
    bool full = false;
    for (auto const& piece : split(inode.striping, options_.servers, offset, bytes)) {
        auto const run = inode.map.find(piece.object_offset);
        if (run && run->bytes >= piece.bytes) continue;
        auto const begin = piece.object_offset;
        full = !take_places(inode, begin, begin + piece.bytes);
        changed = true;
        if (full) break;
    }
    if (changed)
        if (int const error = store(inode)) return error;
    return full ? ENOSPC : 0;
}

void FileSystem::trim(Inode& inode, std::uint64_t file_bytes) {
    std::lock_guard const lock(inode.mutex);
    load(inode);
    auto const kept = page_up(object_bytes(inode.striping, file_bytes, 0));
    auto const gone = inode.map.trim(kept);
    if (gone.empty()) return;
    // A name may be left after a failure here: then the space is in use until the next mount.
    static_cast<void>(store(inode));
    for (auto const& run : gone) {
        if (emulator_) emulator_->discard(run.address, run.bytes);
        std::lock_guard const space(space_mutex_);
        space_.give(run.address, run.bytes);
    }
}

int FileSystem::change(Inode& inode, std::function<int()> const& make) {
    return synced_states_ ? synced_states_->change(inode, make) : make();
}

void FileSystem::synced(Inode& inode) {
    if (synced_states_) synced_states_->synced(inode);
}

void FileSystem::remove(Inode& inode) {
    trim(inode, 0);
    synced(inode);
    // Its number comes back with another file.
    std::lock_guard const lock(faults_mutex_);
    std::erase_if(faults_.bad_ranges,
                  [&](Faults::BadRange const& bad) { return bad.file == inode.number; });
    any_faults_ = faults_.any_for_files();
}

std::vector<Piece> FileSystem::pieces(Inode& inode, Operation operation, std::uint64_t offset,
                                      std::uint64_t bytes, std::uint64_t file_bytes) {
    std::lock_guard const lock(inode.mutex);
    load(inode);
    std::vector<Piece> result;
    for (auto const& object : split(inode.striping, options_.servers, offset, bytes)) {
        auto const index =
            (object.server + options_.servers - inode.striping.first) % options_.servers;
        auto const object_end = object_bytes(inode.striping, file_bytes, index);
        for (std::uint64_t done = 0; done < object.bytes;) {
            auto const at = object.object_offset + done;
            auto const run = inode.map.find(at);
            if (!run) break;  // a hole is on no disk
            auto const here = std::min(run->bytes, object.bytes - done);
            auto const behind = object_end > at + here ? object_end - at - here : 0;
            result.push_back({object.server,
                              {.operation = operation,
                               .address = run->address,
                               .bytes = here,
                               .readable_after = std::min(behind, run->bytes - here),
                               .at_start = at == 0,
                               .file = inode.number}});
            done += here;
        }
    }
    return result;
}

std::vector<Piece> FileSystem::flushes(Inode& inode) {
    std::lock_guard const lock(inode.mutex);
    load(inode);
    std::vector<Piece> result;
    for (std::uint32_t index = 0; index < inode.striping.servers; ++index)
        result.push_back({(inode.striping.first + index) % options_.servers,
                          {.operation = Operation::flush, .file = inode.number}});
    return result;
}

std::uint64_t FileSystem::free_bytes() const {
    std::lock_guard const lock(space_mutex_);
    return space_.free_bytes() * options_.servers;
}

std::uint64_t FileSystem::capacity_bytes() const {
    return space_.capacity_bytes() * options_.servers;
}

// ---- attributes
// ----------------------------------------------------------------------------------

bool FileSystem::is_own_attribute(std::string const& name) { return name.starts_with(own_prefix); }

bool FileSystem::is_control_attribute(std::string const& name) {
    static std::set<std::string_view> const names = {"control",  "fault", "gate",
                                                     "programs", "trace", "turns"};
    return is_own_attribute(name) &&
           names.contains(std::string_view(name).substr(own_prefix.size()));
}

int FileSystem::get_attribute(Inode& inode, std::string const& name, std::string& value) {
    auto const key = name.substr(own_prefix.size());
    struct stat attributes {};
    if (fstat(inode.fd, &attributes) != 0) return errno;
    if (S_ISDIR(attributes.st_mode)) {
        if (&inode == &root_ && control_value(key, value) == 0) return 0;
        if (key != "stripe_bytes" && key != "servers" && key != "distance_bytes") return ENODATA;
        auto const stored = read_attribute(inode.path(), name);
        if (stored) value = *stored;
        return stored ? 0 : ENODATA;
    }
    if (!S_ISREG(attributes.st_mode)) return ENODATA;
    std::lock_guard const lock(inode.mutex);
    load(inode);
    if (key == "layout") {
        value = show(inode.striping);
    } else if (key == "stripe_bytes") {
        value = std::to_string(inode.striping.stripe_bytes);
    } else if (key == "servers") {
        value = std::to_string(inode.striping.servers);
    } else if (key == "first") {
        value = std::to_string(inode.striping.first);
    } else if (key == "map") {
        value = show(inode.map);
    } else {
        return ENODATA;
    }
    return 0;
}

int FileSystem::set_attribute(Inode& inode, std::string const& name, std::string const& value) {
    auto const key = name.substr(own_prefix.size());
    if (&inode == &root_ && (key == "fault" || key == "control" || key == "gate"))
        return control(key, value);
    auto const number = parse_number(value);
    struct stat attributes {};
    if (fstat(inode.fd, &attributes) != 0) return errno;
    if (S_ISDIR(attributes.st_mode))
        return number ? set_folder_attribute(inode, key, *number) : EINVAL;
    if (!S_ISREG(attributes.st_mode)) return ENOTSUP;
    if (attributes.st_size > 0) return EBUSY;  // the bytes are where they are
    return number ? set_file_attribute(inode, key, *number) : EINVAL;
}

int FileSystem::set_folder_attribute(Inode& inode, std::string const& name, std::uint64_t number) {
    bool const good = name == "distance_bytes" ||
                      (name == "stripe_bytes" && is_stripe_unit(number)) ||
                      (name == "servers" && number > 0 && number <= options_.servers);
    if (!good) return EINVAL;
    return write_attribute(inode.path(), std::string(own_prefix) + name, std::to_string(number));
}

int FileSystem::set_file_attribute(Inode& inode, std::string const& name, std::uint64_t number) {
    std::lock_guard const lock(inode.mutex);
    load(inode);
    auto& striping = inode.striping;
    if (!inode.map.runs().empty()) return EBUSY;
    if (name == "stripe_bytes" && is_stripe_unit(number)) {
        striping.stripe_bytes = number;
    } else if (name == "servers" && number > 0 && number <= options_.servers) {
        striping.servers = static_cast<std::uint32_t>(number);
        if (number == options_.servers) striping.first = 0;
    } else if (name == "first" && number < options_.servers) {
        striping.first = static_cast<std::uint32_t>(number);
    } else if (name == "address" && number < space_.capacity_bytes()) {
        return want_address(inode, number);
    } else {
        return EINVAL;
    }
    return store(inode);
}

// ---- control
// -------------------------------------------------------------------------------------

int FileSystem::control_value(std::string const& name, std::string& value) {
    if (name == "stats") {
        value = emulator_ ? emulator_->statistics() : R"({"emulated":false})";
        return 0;
    }
    if (name == "trace" && emulator_) return write_table(name, emulator_->trace().csv(), value);
    if (name == "gate" && emulator_) {
        value = emulator_->gate().report();
        return 0;
    }
    if (name == "turns" && emulator_) return write_table(name, emulator_->gate().turns(), value);
    if (name == "programs") return write_table(name, clients_.programs(), value);
    return ENODATA;
}

// Made anew for its owner alone: the daemon has no umask.
int FileSystem::write_table(std::string const& name, std::string const& text, std::string& path) {
    path = options_.backing + "/" + name + ".csv";
    unlink(path.c_str());
    Descriptor const file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0) return errno;
    for (std::size_t done = 0; done < text.size();) {
        auto const written = write(file.get(), text.data() + done, text.size() - done);
        if (written < 0) return errno;
        done += static_cast<std::size_t>(written);
    }
    return 0;
}

int FileSystem::control(std::string const& name, std::string const& value) {
    if (name == "fault") return set_fault(value);
    if (name == "control" && value == "power_cut") return cut_power();
    if (!emulator_) return ENOTSUP;
    if (name == "gate") return emulator_->gate().adopt(value);
    if (value == "drop_caches") {
        emulator_->drop_caches();
    } else if (value == "reset") {
        emulator_->reset_statistics();
    } else {
        return EINVAL;
    }
    return 0;
}

int FileSystem::cut_power() {
    if (!synced_states_) return ENOTSUP;
    if (emulator_) emulator_->drop_caches();
    return synced_states_->cut_power();
}

Faults FileSystem::faults() const {
    std::lock_guard const lock(faults_mutex_);
    return faults_;
}

// With the mutex of the faults held. A path that leads out of the file system: EXDEV.
int FileSystem::add_bad_range(std::string const& path, std::uint64_t begin, std::uint64_t end) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH;
    Descriptor const file(
        static_cast<int>(syscall(SYS_openat2, root_.fd, path.c_str(), &how, sizeof how)));
    struct stat attributes {};
    if (file.get() < 0 || fstat(file.get(), &attributes) != 0) return errno;
    faults_.bad_ranges.push_back({attributes.st_ino, begin, end});
    return 0;
}

namespace {

std::uint64_t whole_number(nlohmann::json const& fault, char const* key) {
    auto const& value = fault.at(key);
    if (!value.is_number_unsigned()) throw std::invalid_argument(key);
    return value;
}

double number_from(nlohmann::json const& fault, char const* key, double least, double most) {
    double const value = fault.at(key);
    if (value < least || value > most) throw std::invalid_argument(key);
    return value;
}

constexpr double fault_seconds_max = 1e9;
constexpr double fault_factor_max = 1e6;

}  // namespace

int FileSystem::set_fault(std::string const& text) {
    auto const json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return EINVAL;
    std::lock_guard const lock(faults_mutex_);
    try {
        std::string const kind = json.at("kind");
        if (kind == "clear") {
            faults_ = {};
        } else if (kind == "eio") {
            auto const begin = whole_number(json, "begin");
            auto const end = whole_number(json, "end");
            if (begin >= end) return EINVAL;
            if (int const error = add_bad_range(json.at("path"), begin, end)) return error;
        } else if (kind == "enospc") {
            faults_.full_at_bytes = whole_number(json, "bytes");
        } else {
            if (!emulator_) return ENOTSUP;
            auto const number = whole_number(json, "server");
            if (number >= options_.servers) return EINVAL;
            auto& server = faults_.servers[static_cast<std::uint32_t>(number)];
            if (kind == "slow") {
                server.slow = number_from(json, "factor", 1, fault_factor_max);
            } else if (kind == "hang") {
                auto const seconds = number_from(json, "seconds", 0, fault_seconds_max);
                server.hangs_until = Emulator::now() + from_ms(1e3 * seconds);
            } else if (kind == "down") {
                server.down = true;
            } else {
                return EINVAL;
            }
        }
    } catch (nlohmann::json::exception const&) {
        return EINVAL;
    } catch (std::invalid_argument const&) {
        return EINVAL;
    }
    any_faults_ = faults_.any_for_files();
    if (emulator_) emulator_->set_faults(faults_.servers);
    return 0;
}

}  // namespace unisono::testbed
