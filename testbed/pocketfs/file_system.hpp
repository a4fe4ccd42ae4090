#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pocketfs/clients.hpp"
#include "pocketfs/emulator.hpp"
#include "pocketfs/faults.hpp"
#include "pocketfs/inodes.hpp"
#include "pocketfs/options.hpp"
#include "pocketfs/striping.hpp"
#include "pocketfs/synced_states.hpp"

namespace unisono::testbed {

/// What is behind the FUSE handlers: files with layouts and places, attributes, faults, emulation.
/// Thread-safe. Errors are errno values, 0 is success.
class FileSystem {
public:
    /// Opens BACKING/files, made as the umask says if need be, and reserves the disk space of what
    /// is there.
    /// Throws std::runtime_error.
    explicit FileSystem(MountOptions const& options);
    ~FileSystem();
    FileSystem(FileSystem const&) = delete;
    FileSystem& operator=(FileSystem const&) = delete;

    [[nodiscard]] MountOptions const& options() const { return options_; }
    /// Ends the emulation: requests under way fail. No handler may run any more.
    void stop() { emulator_.reset(); }

    /// Null without emulation.
    [[nodiscard]] Emulator* emulator() const { return emulator_.get(); }
    Clients& clients() { return clients_; }
    Inodes& inodes() { return inodes_; }
    Inode& root() { return root_; }

    /// A new file or folder gets what its folder says, else what the mount says.
    int initialise(Inode& parent, Inode& child, bool folder);

    /// Places the bytes on the disks that are about to be written.
    int prepare_write(Inode& inode, std::uint64_t offset, std::uint64_t bytes);
    /// The file ends here now: gives back what is behind.
    void trim(Inode& inode, std::uint64_t file_bytes);
    /// Makes a change to a file's bytes or size; where power cuts may come, so that one undoes it
    /// (see SyncedStates). Returns what `make` returns.
    int change(Inode& inode, std::function<int()> const& make);
    /// What the file holds now survives a power cut.
    void synced(Inode& inode);
    /// The last name and the last user are gone, and faults of the file with them.
    void remove(Inode& inode);

    /// The servers' parts of an access; empty if nothing of it is on a disk.
    std::vector<Piece> pieces(Inode& inode, Operation operation, std::uint64_t offset,
                              std::uint64_t bytes, std::uint64_t file_bytes);
    /// A flush of each server that has the file.
    std::vector<Piece> flushes(Inode& inode);

    /// Attributes named user.pocketfs.*; other names are not for these.
    static bool is_own_attribute(std::string const& name);
    /// Those with which one can disturb or watch others: for root and for who mounted it.
    static bool is_control_attribute(std::string const& name);
    int get_attribute(Inode& inode, std::string const& name, std::string& value);
    int set_attribute(Inode& inode, std::string const& name, std::string const& value);

    [[nodiscard]] Faults faults() const;
    [[nodiscard]] bool any_faults() const { return any_faults_; }
    [[nodiscard]] std::uint64_t free_bytes() const;
    [[nodiscard]] std::uint64_t capacity_bytes() const;

private:
    void load(Inode& inode);  // with its mutex held
    int store(Inode& inode);
    [[nodiscard]] std::optional<DiskMap> stored_places(std::string const& path) const;
    bool take_places(Inode& inode, std::uint64_t begin, std::uint64_t end);
    void reserve_all();
    int set_file_attribute(Inode& inode, std::string const& name, std::uint64_t number);
    int set_folder_attribute(Inode& inode, std::string const& name, std::uint64_t number);
    int control(std::string const& name, std::string const& value);
    int cut_power();
    int set_fault(std::string const& json);
    int add_bad_range(std::string const& path, std::uint64_t begin, std::uint64_t end);
    int write_table(std::string const& name, std::string const& text, std::string& path);
    int control_value(std::string const& name, std::string& value);
    static int want_address(Inode& inode, std::uint64_t address);  // with its mutex held
    std::uint64_t goal_for(Inode const& inode);

    MountOptions options_;
    Inode root_;
    Inodes inodes_;
    Clients clients_;
    std::unique_ptr<Emulator> emulator_;
    std::optional<SyncedStates> synced_states_;  // where power cuts may come

    mutable std::mutex space_mutex_;  // taken after an inode's
    DiskSpace space_;
    std::uint64_t next_goal_ = 0;
    std::optional<std::uint64_t> last_file_;  // its beginning
    std::atomic<std::uint32_t> next_first_ = 0;

    mutable std::mutex faults_mutex_;
    Faults faults_;
    std::atomic<bool> any_faults_ = false;
};

}  // namespace unisono::testbed
