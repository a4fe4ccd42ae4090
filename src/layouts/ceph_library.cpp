#include "layouts/ceph_library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "support/descriptor.hpp"

namespace unisono {
namespace {

struct ceph_mount_info;

struct Library {
    int (*create)(ceph_mount_info**, char const* id);
    int (*read_configuration)(ceph_mount_info*, char const* path);
    int (*configure)(ceph_mount_info*, char const* option, char const* value);
    int (*mount)(ceph_mount_info*, char const* root);
    int (*unmount)(ceph_mount_info*);
    int (*release)(ceph_mount_info*);
    int (*open)(ceph_mount_info*, char const* path, int flags, mode_t mode);
    int (*close)(ceph_mount_info*, int file);
    int (*status)(ceph_mount_info*, int file, struct stat* status);
    int (*layout)(ceph_mount_info*, int file, int* stripe_unit, int* stripe_count, int* object_size,
                  int* pool);
    int (*pool_replication)(ceph_mount_info*, int pool);
    int (*osds_at)(ceph_mount_info*, int file, std::int64_t offset, std::int64_t* bytes, int* osds,
                   int count);
};

template <class Function>
bool load(void* library, char const* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

/// Never unloaded: its threads may outlive a mount.
std::optional<Library> load_library() {
    auto* const handle = dlopen("libcephfs.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return std::nullopt;
    Library library{};
    auto const complete =
        load(handle, "ceph_create", library.create) &&
        load(handle, "ceph_conf_read_file", library.read_configuration) &&
        load(handle, "ceph_conf_set", library.configure) &&
        load(handle, "ceph_mount", library.mount) &&
        load(handle, "ceph_unmount", library.unmount) &&
        load(handle, "ceph_release", library.release) && load(handle, "ceph_open", library.open) &&
        load(handle, "ceph_close", library.close) && load(handle, "ceph_fstat", library.status) &&
        load(handle, "ceph_get_file_layout", library.layout) &&
        load(handle, "ceph_get_pool_replication", library.pool_replication) &&
        load(handle, "ceph_get_file_extent_osds", library.osds_at);
    if (!complete) return std::nullopt;
    return library;
}

/// The file's path below the mount point; nothing if it has no name any more.
std::optional<std::filesystem::path> path_in_file_system(int descriptor) {
    std::filesystem::path const path{path_of(descriptor)};
    struct stat file {};
    struct stat folder {};
    if (path.empty() || fstat(descriptor, &file) != 0) return std::nullopt;
    auto mount_point = path;
    while (mount_point.has_relative_path() &&
           stat(mount_point.parent_path().c_str(), &folder) == 0 && folder.st_dev == file.st_dev)
        mount_point = mount_point.parent_path();
    return "/" / path.lexically_relative(mount_point);
}

class MountedFile {
public:
    explicit MountedFile(Library const& library) : library_(library) {}
    MountedFile(MountedFile const&) = delete;
    MountedFile& operator=(MountedFile const&) = delete;
    ~MountedFile() {
        if (file_ >= 0) library_.close(mount_, file_);
        if (mounted_) library_.unmount(mount_);
        if (mount_ != nullptr) library_.release(mount_);
    }

    bool open(int descriptor, CephStriping const& striping) {
        auto const path = path_in_file_system(descriptor);
        if (!path || !mount()) return false;
        file_ = library_.open(mount_, path->c_str(), O_RDONLY, 0);
        return file_ >= 0 && is_same_file(descriptor, striping) && has_map();
    }

    std::optional<std::uint32_t> osd_at(std::uint64_t offset) {
        std::array<int, 32> osds{};  // more than any pool has copies
        auto const count = library_.osds_at(mount_, file_, static_cast<std::int64_t>(offset),
                                            nullptr, osds.data(), static_cast<int>(osds.size()));
        if (count < 1 || osds[0] < 0) return std::nullopt;
        return static_cast<std::uint32_t>(osds[0]);
    }

private:
    bool mount() {
        if (library_.create(&mount_, nullptr) != 0) return false;
        if (library_.read_configuration(mount_, nullptr) != 0) return false;
        library_.configure(mount_, "client_mount_timeout", "3");  // seconds; usually 300
        library_.configure(mount_, "log_to_stderr", "false");
        library_.configure(mount_, "err_to_stderr", "false");
        mounted_ = library_.mount(mount_, "/") == 0;
        return mounted_;
    }

    bool is_same_file(int descriptor, CephStriping const& striping) {
        struct stat here {};
        struct stat there {};
        int stripe_unit = 0;
        int stripe_count = 0;
        int object_size = 0;
        return fstat(descriptor, &here) == 0 && library_.status(mount_, file_, &there) == 0 &&
               here.st_ino == there.st_ino &&
               library_.layout(mount_, file_, &stripe_unit, &stripe_count, &object_size, &pool_) ==
                   0 &&
               static_cast<std::uint64_t>(stripe_unit) == striping.stripe_unit &&
               static_cast<std::uint32_t>(stripe_count) == striping.stripe_count &&
               static_cast<std::uint64_t>(object_size) == striping.object_size;
    }

    // The library aborts the program when it is asked for OSDs before it knows the pool.
    [[nodiscard]] bool has_map() const {
        constexpr int attempts = 200;
        for (int attempt = 0; attempt < attempts; ++attempt) {
            if (library_.pool_replication(mount_, pool_) >= 0) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }

    Library library_;
    ceph_mount_info* mount_ = nullptr;
    bool mounted_ = false;
    int file_ = -1;
    int pool_ = -1;
};

}  // namespace

ObjectPlacement ceph_library_placement(int descriptor, CephStriping const& striping) {
    static auto const library = load_library();
    if (!library) return nullptr;
    auto const file = std::make_shared<MountedFile>(*library);
    if (!file->open(descriptor, striping)) return nullptr;
    return [file](std::uint64_t offset) { return file->osd_at(offset); };
}

}  // namespace unisono
