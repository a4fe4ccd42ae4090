#include "player.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "access/copy.hpp"
#include "filetype.hpp"
#include "mpi_support.hpp"
#include "shapes.hpp"
#include "test_file.hpp"

namespace bench::replay {
namespace {

using unisono::Positions;
using unisono::RecordedKind;
using unisono::Tiling;

bool same(Tiling const& a, Tiling const& b) {
    return a.shape == b.shape && a.origin == b.origin && a.extent == b.extent;
}

void largest_over_ranks(std::vector<std::uint8_t>& values, MPI_Comm comm) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT8_T,
                  MPI_MAX, comm);
}

/// The first byte that is neither what was there before nor what a write would leave.
std::optional<std::uint64_t> neither(std::span<std::byte const> found, std::uint64_t offset) {
    while (!found.empty()) {
        auto const earlier = first_difference(found, offset, Salt::earlier);
        auto const asked = first_difference(found, offset, Salt::asked);
        if (!earlier || !asked) return {};
        auto const good = std::max(*earlier, *asked);
        if (good == 0) return offset;
        found = found.subspan(good);
        offset += good;
    }
    return {};
}

/// Compares pieces of a file that mostly ascend, by large reads.
class FileChecker {
public:
    explicit FileChecker(std::string const& path) : file_{path}, window_(1 << 20) {}

    /// The first byte of the piece that is not what a write leaves.
    std::optional<std::uint64_t> wrong_in(std::uint64_t offset, std::uint64_t bytes) {
        while (bytes > 0) {
            auto const part = std::min<std::uint64_t>(bytes, window_.size());
            if (offset < begin_ || offset + part > begin_ + have_) load(offset);
            if (offset + part > begin_ + have_) return begin_ + have_;  // the file is too short
            auto const found = std::span<std::byte const>{window_}.subspan(offset - begin_, part);
            if (auto const wrong = first_difference(found, offset, Salt::asked))
                return offset + *wrong;
            offset += part;
            bytes -= part;
        }
        return {};
    }

private:
    void load(std::uint64_t offset) {
        begin_ = offset;
        have_ = file_.read(window_, offset);
    }

    TestFile file_;
    std::vector<std::byte> window_;
    std::uint64_t begin_ = 0;
    std::uint64_t have_ = 0;
};

}  // namespace

Player::Player(PlayedFile const& file, MPI_Comm comm, std::optional<std::uint64_t> flip_offset)
    : file_{file}, comm_{comm}, flip_offset_{flip_offset} {
    MPI_Comm_rank(comm, &rank_);
    agree_on_calls();
    agree_on_views();
    end_of_all_ = end_of_reads(/*all=*/true);
    end_of_reads_ = end_of_reads(/*all=*/false);
}

// The beginning that all ranks have; where threads of the program made calls at once, their order
// may differ between ranks.
void Player::agree_on_calls() {
    auto& calls = file_.calls;
    calls.resize(over_ranks<std::uint64_t>(calls.size(), MPI_UINT64_T, MPI_MIN, comm_));
    std::vector<std::uint8_t> most, opposite;
    for (auto const& call : calls) {
        most.push_back(static_cast<std::uint8_t>(call.kind));
        opposite.push_back(static_cast<std::uint8_t>(UINT8_MAX - most.back()));
    }
    largest_over_ranks(most, comm_);
    largest_over_ranks(opposite, comm_);
    std::size_t alike = 0;
    while (alike < calls.size() && most[alike] + opposite[alike] == UINT8_MAX) ++alike;
    calls.resize(alike);
}

// Setting one is collective: all do where one's changes.
void Player::agree_on_views() {
    Tiling current{unisono::make_dense(1), 0, 1};
    for (auto const& call : file_.calls) {
        auto const moves = call.kind != RecordedKind::sync;
        sets_view_.push_back(moves && !same(current, call.view) ? 1 : 0);
        if (moves) current = call.view;
    }
    largest_over_ranks(sets_view_, comm_);
}

std::uint64_t Player::end_of_reads(bool all) const {
    std::uint64_t end = 0;
    for (auto const& call : file_.calls)
        if (!call.positions.empty() && (all || call.kind == RecordedKind::read))
            end = std::max(end, touched(call.view, call.positions).end);
    return over_ranks(end, MPI_UINT64_T, MPI_MAX, comm_);
}

void Player::check_room() const {
    struct statvfs room {};
    auto const folder = std::filesystem::path{file_.path}.parent_path();
    std::uint64_t free_bytes = INT64_MAX;
    if (statvfs(folder.c_str(), &room) == 0)
        free_bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    free_bytes = over_ranks(free_bytes, MPI_UINT64_T, MPI_MIN, comm_);
    if (end_of_all_ > free_bytes)
        throw AgreedError(folder.string() + " has room for " + std::to_string(free_bytes) +
                          " bytes, and the file has up to " + std::to_string(end_of_all_));
}

/// What reads will find.
void Player::prepare() {
    check_room();
    if (rank_ == 0) unlink_file(file_.path);
    MPI_Barrier(comm_);
    Place place{.rank = rank_};
    MPI_Comm_size(comm_, &place.ranks);
    if (end_of_reads_ == 0) return;
    TestFile const file{file_.path};
    file.fill(slice_of(end_of_reads_, place), Comb{}, Salt::earlier);
    file.sync();
    MPI_Barrier(comm_);
    spoil();
}

void Player::spoil() const {
    if (flip_offset_ && rank_ == 0) TestFile{file_.path}.flip_byte(*flip_offset_);
    MPI_Barrier(comm_);
}

MPI_File Player::open() const {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (auto const& [key, value] : file_.hints) MPI_Info_set(info, key.c_str(), value.c_str());
    auto const mode = file_.access == "r"   ? MPI_MODE_RDONLY
                      : file_.access == "w" ? MPI_MODE_WRONLY | MPI_MODE_CREATE
                                            : MPI_MODE_RDWR | MPI_MODE_CREATE;
    MPI_File file = MPI_FILE_NULL;
    check_mpi(MPI_File_open(comm_, file_.path.c_str(), mode, info, &file), "MPI_File_open");
    MPI_Info_free(&info);
    return file;
}

void Player::set_view(MPI_File file, Tiling const& view) const {
    auto type = view.shape->empty() ? bytes_type(1) : filetype_of(*view.shape, view.extent);
    check_mpi(MPI_File_set_view(file, view.origin, MPI_BYTE, type, "native", MPI_INFO_NULL),
              "MPI_File_set_view");
    MPI_Type_free(&type);
}

void Player::move(MPI_File file, Call const& call) {
    auto const bytes = call.positions.bytes();
    auto const offset = static_cast<MPI_Offset>(call.positions.begin);
    auto type = bytes_type(bytes);
    int const count = bytes > 0 ? 1 : 0;
    MPI_Status status;
    if (call.kind == RecordedKind::write)
        check_mpi(MPI_File_write_at_all(file, offset, buffer_.data(), count, type, &status),
                  "MPI_File_write_at_all");
    else
        check_mpi(MPI_File_read_at_all(file, offset, buffer_.data(), count, type, &status),
                  "MPI_File_read_at_all");
    MPI_Type_free(&type);
}

void Player::make_data(Call const& call) {
    buffer_.resize(call.positions.bytes());
    std::uint64_t at = 0;
    walk(call.view, call.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        fill_contents(std::span{buffer_}.subspan(at, bytes), static_cast<std::uint64_t>(offset),
                      Salt::asked);
        at += bytes;
    });
}

void Player::check_data(Call const& call) {
    std::uint64_t at = 0;
    walk(call.view, call.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        note_wrong(neither(std::span<std::byte const>{buffer_}.subspan(at, bytes),
                           static_cast<std::uint64_t>(offset)));
        at += bytes;
    });
}

void Player::do_call(MPI_File file, std::size_t index) {
    auto const& call = file_.calls[index];
    if (call.kind == RecordedKind::sync)
        return timed([&] { check_mpi(MPI_File_sync(file), "MPI_File_sync"); });
    if (call.kind == RecordedKind::write)
        make_data(call);
    else
        buffer_.assign(call.positions.bytes(), std::byte{0});
    timed([&] {
        if (sets_view_[index] != 0) set_view(file, call.view);
        move(file, call);
    });
    if (call.kind == RecordedKind::read) check_data(call);
}

void Player::check_file() {
    if (end_of_all_ == 0) return;
    FileChecker checker{file_.path};
    for (auto const& call : file_.calls) {
        if (call.kind != RecordedKind::write) continue;
        walk(call.view, call.positions, [&](std::int64_t offset, std::uint64_t bytes) {
            note_wrong(checker.wrong_in(static_cast<std::uint64_t>(offset), bytes));
        });
    }
}

void Player::note_wrong(std::optional<std::uint64_t> offset) {
    if (offset && (!wrong_offset_ || *offset < *wrong_offset_)) wrong_offset_ = offset;
}

void Player::fail_if_wrong(char const* where) const {
    auto const wrong = lowest_over_ranks(wrong_offset_, comm_);
    if (wrong != no_offset)
        throw AgreedError("wrong byte " + std::string{where} + " at offset " +
                          std::to_string(wrong));
}

Played Player::play() {
    prepare();
    auto file = open();
    for (std::size_t i = 0; i < file_.calls.size(); ++i) do_call(file, i);
    timed([&] { check_mpi(MPI_File_close(&file), "MPI_File_close"); });
    fail_if_wrong("read");
    spoil();
    check_file();
    fail_if_wrong("in the file");
    MPI_Allreduce(MPI_IN_PLACE, seconds_.data(), static_cast<int>(seconds_.size()), MPI_DOUBLE,
                  MPI_MAX, comm_);
    std::uint64_t bytes = 0;
    for (auto const& call : file_.calls) bytes += call.positions.bytes();
    return {.calls = file_.calls.size(),
            .bytes = sum_over_ranks(bytes, comm_),
            .seconds = std::accumulate(seconds_.begin(), seconds_.end(), 0.0)};
}

}  // namespace bench::replay
