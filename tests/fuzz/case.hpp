#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model.hpp"
#include "pending.hpp"
#include "types.hpp"

namespace fuzz {

/// A file view of one rank.
struct View {
    std::uint64_t displacement_bytes = 0;
    TypePtr etype = basic_byte();
    TypePtr file_type = basic_byte();
    char const* representation = "native";
    bool dealt = false;  ///< whole tiles of all ranks lie end to end, flaws apart

    [[nodiscard]] bool external32() const {
        return std::string_view{representation} == "external32";
    }
    friend bool operator==(View const&, View const&) = default;
    [[nodiscard]] std::uint64_t etype_bytes() const { return etype->map.size_bytes(); }
    [[nodiscard]] bool empty() const { return file_type->map.size_bytes() == 0; }
    [[nodiscard]] bool plain() const { return file_type->plain && etype->predefined; }
    /// Offsets ascend with positions, also from tile to tile.
    [[nodiscard]] bool ascending() const {
        return file_type->map.extent() >= file_type->map.true_extent();
    }
    /// File offset of a data byte. The view must not be empty.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t data_position) const;
    /// Of the data bytes [first, first + count), those before the first that lies at or beyond
    /// `end`, in data order.
    [[nodiscard]] std::uint64_t bytes_before(std::uint64_t end, std::uint64_t first,
                                             std::uint64_t count) const;
    /// The first etype, in data order, that begins at or after file offset `end`.
    [[nodiscard]] std::uint64_t first_etype_after(std::uint64_t end) const;

    template <class Visit>
    void for_each_extent(std::uint64_t first, std::uint64_t count, Visit&& visit) const {
        for_each_run(file_type->map, static_cast<std::int64_t>(displacement_bytes), first, count,
                     [&](std::int64_t offset, std::uint64_t index, std::uint64_t bytes) {
                         visit(static_cast<std::uint64_t>(offset), index, bytes);
                     });
    }
};

enum class Flavour : std::uint8_t { blocking, split, nonblocking };

/// One rank's part of a data access.
struct Access {
    bool takes_part = false;
    bool collective = false;
    bool writes = false;
    bool at_offset = false;  ///< explicit offset; else the file pointer
    Flavour flavour = Flavour::blocking;
    bool large_count = false;
    bool ignore_status = false;
    bool ordered = false;      ///< by the shared file pointer, which is at `offset` for this rank
    bool shared = false;       ///< the same, of one rank alone
    bool from_bottom = false;  ///< MPI_BOTTOM and a type of absolute addresses
    std::uint64_t offset = 0;  ///< in etypes; for file pointer calls: where the pointer is
    TypePtr memory = basic_byte();
    std::uint64_t count = 0;
    std::uint64_t pattern = 0;  ///< seed of the buffer's contents

    [[nodiscard]] std::uint64_t bytes() const { return count * memory->map.size_bytes(); }
};

/// The user's buffer: everything that the datatype spans, and guards around it.
class Buffer {
public:
    explicit Buffer(Access const& access);

    std::vector<std::uint8_t> bytes;
    /// Where the datatype's origin is.
    [[nodiscard]] std::uint8_t* origin() { return bytes.data() + origin_; }
    [[nodiscard]] std::vector<std::uint8_t> packed() const;
    /// The same as a file with that view has it.
    [[nodiscard]] std::vector<std::uint8_t> packed_for(View const& view) const;
    /// Offset of the first byte that differs from `before` and is not the datatype's data.
    [[nodiscard]] std::optional<std::int64_t> damage(std::vector<std::uint8_t> const& before) const;

private:
    static constexpr std::int64_t guard_bytes = 64;
    Access const& access_;
    std::int64_t origin_ = 0;
};

struct Seek {
    bool takes_part = false;
    int whence = 0;
    std::int64_t offset = 0;     ///< what is given to MPI_File_seek
    std::uint64_t position = 0;  ///< in etypes: where the pointer is afterwards, or what is asked
};

/// An injected failure: the call that touches this byte in this direction fails.
struct Fault {
    bool writes = true;
    std::uint64_t offset = 0;
    std::string name;  ///< errno's name
    int error_class = 0;
};

using Hints = std::vector<std::pair<std::string, std::string>>;

enum class StepKind : std::uint8_t {
    access,
    seek,
    seek_shared,
    byte_offset,
    set_view,
    settle,
    sync,
    set_size,
    preallocate,
    check_size,
    check_view,
    peek,
    toggle_atomicity,
    set_info,
    forbidden_access,
    reopen,
    complete,
    open_other,
    close_other,
};

/// An access of some files' ranks that has begun in one step and is over in another one.
struct PendingName {
    std::size_t file = 0;
    std::uint64_t id = 0;
};

/// May a call fail? `perhaps` when the injected fault lies in a hole that a read may sieve over, or
/// in what may not have been written yet.
enum class Failure : std::uint8_t { never, perhaps, surely };

/// One operation on one file by the ranks that have it open.
struct Step {
    StepKind kind = StepKind::access;
    std::size_t file = 0;
    bool by_other = false;  ///< by the file's other handle
    bool settles = false;   ///< access: between two settlings
    bool barrier_before = false;
    std::vector<Access> accesses;   ///< per member
    std::uint64_t advance = 0;      ///< of records: how far the next ones are, in etypes
    std::vector<Seek> seeks;        ///< per member; also for byte_offset
    std::vector<View> views;        ///< per member
    bool gives_hints = false;       ///< set_view: those of the file, once more
    Hints hints;                    ///< set_info, set_view: other ones, from now on
    std::vector<Failure> failures;  ///< per member
    bool goes_on = false;           ///< no sync at once though the call may have failed
    std::uint64_t size_bytes = 0;
    bool unsettled = false;  ///< set_size, preallocate: nothing is synced before or after it
    Seek seek_shared;
    int open_mode = 0;
    bool alone = false;          ///< open_other: by each rank for itself
    bool delete_before = false;  ///< reopen: the file is made anew
    std::uint64_t begins = 0;    ///< access: only begun, by this number; 0: over in this step
    std::vector<PendingName> completes;
    Completion how = Completion::each;
};

/// What came of a member's part of an access.
struct Outcome {
    bool failed = false;
    int error_class = 0;
    std::uint64_t bytes = 0;  ///< as the status says
};

/// What is begun and not over, as every rank knows it. Other accesses may touch the same bytes
/// meanwhile: then nobody can say which is first.
struct PendingAccess {
    std::vector<Access> accesses;   ///< per member
    std::vector<View> views;        ///< per member, when it began
    std::vector<Touched> touched;   ///< per member
    Touched sieved;                 ///< may be read, and written back
    std::vector<bool> conflicting;  ///< per member: with somebody's write
    bool by_other = false;
    bool split = false;
    bool freed = false;
};

struct Member {
    View view;
    std::uint64_t position = 0;  ///< file pointer, in etypes
    bool position_known = true;
};

/// A second handle of a file, open beside the first.
struct OtherHandle {
    bool alone = false;      ///< each rank has one of its own
    bool stands_in = false;  ///< see change_handles
    int open_mode = 0;
    bool atomic = false;
    Hints hints;
    std::vector<Member> state;
    std::optional<std::uint64_t> shared_position;
};

/// One file of a case, as every rank knows it.
struct FileState {
    std::string path;
    std::vector<int> members;  ///< ranks in MPI_COMM_WORLD, in the order of the file's communicator
    int open_mode = 0;
    bool unlink_after_open = false;
    bool native = false;  ///< served by the MPI library: its known bugs are not ours
    bool sync_at_close = false;
    bool atomic = false;      ///< the file is in atomic mode
    bool all_atomic = false;  ///< and nothing is pending that was written otherwise
    bool viewed = false;      ///< it was given a view
    /// Collective writes write what they have read from holes between their pieces: who writes
    /// there meanwhile may have it undone.
    bool sieves = false;
    std::uint64_t scale_bytes = 0;
    std::uint64_t base_bytes = 0;  ///< added to displacements
    Hints hints;
    std::optional<std::vector<std::uint8_t>> initial;  ///< contents before the open, if it existed
    std::optional<Fault> fault;
    bool writes_behind = false;     ///< with a fault: writes may fail as late as at a sync or close
    Failure owed = Failure::never;  ///< what those have to tell
    FileModel model;
    std::vector<Member> state;
    /// The shared file pointer in etypes; nothing: not known, or the ranks' views differ.
    std::optional<std::uint64_t> shared_position = 0;
    std::map<std::uint64_t, PendingAccess> pending;  ///< by number
    std::optional<OtherHandle> other;
    bool on_one_node = true;
    /// The other handle has written past what the first one may have in memory on other nodes,
    /// which does not see it before all have synced.
    bool written_past = false;

    /// Whose eyes a member's reads are looked at with.
    [[nodiscard]] int reader(int member) const {
        auto const first = !other || !other->stands_in;
        return first && written_past ? FileModel::stranger : member;
    }
    /// All is where everyone sees it.
    void settle();
    /// What it was given last, or nothing.
    [[nodiscard]] std::string_view hint(std::string_view key) const;
    void take(Hints const& newer);
    [[nodiscard]] bool may_read() const { return (open_mode & MPI_MODE_WRONLY) == 0; }
    [[nodiscard]] bool may_write() const { return (open_mode & MPI_MODE_RDONLY) == 0; }
};

/// Somebody accesses these bytes. Where one of two writes nobody can say which is first: a write
/// makes what is pending there, but for `own`, conflicting, and a pending write makes `own` so,
/// this member's part.
void note_conflicts(FileState& file, Access const& access, Touched const& touched,
                    PendingAccess* own, std::size_t own_member);

/// A collective write may sieve that range: what is pending there, but for `own`, is conflicting.
void note_sieving(FileState& file, Touched const& sieved, PendingAccess* own);
/// May a pending write, but for `own`, undo what is written to these bytes?
bool is_sieved(FileState const& file, Touched const& touched, PendingAccess const* own);

/// A pending access is over: it is in the file, or what it has read is looked at.
void complete(FileState& file, std::uint64_t id);

/// Brings the model up to date after a step; outcomes per member, for accesses.
void apply(Step const& step, std::vector<Outcome> const& outcomes, FileState& file);

/// The other handle's mode, hints, views and pointers stand where the first one's were, or go back.
void change_handles(FileState& file);

/// Puts the file pointers where MPI_File_open leaves them.
void reset_members(FileState& file);

std::string describe(FileState const& file);
std::string describe(Step const& step, FileState const& file);
std::string describe_mode(int open_mode);

}  // namespace fuzz
