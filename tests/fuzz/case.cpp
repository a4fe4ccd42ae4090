#include "case.hpp"

#include <algorithm>

#include "random.hpp"

namespace fuzz {

std::uint64_t View::offset_of(std::uint64_t data_position) const {
    std::uint64_t found = 0;
    for_each_extent(data_position, 1,
                    [&](std::uint64_t offset, std::uint64_t, std::uint64_t) { found = offset; });
    return found;
}

std::uint64_t View::bytes_before(std::uint64_t end, std::uint64_t first,
                                 std::uint64_t count) const {
    std::uint64_t before = count;
    for_each_extent(first, count,
                    [&](std::uint64_t offset, std::uint64_t index, std::uint64_t bytes) {
                        if (offset + bytes <= end || before < index) return;
                        before = std::min(before, index + (offset < end ? end - offset : 0));
                    });
    return before;
}

std::uint64_t View::first_etype_after(std::uint64_t end) const {
    if (!ascending()) {
        auto const& map = file_type->map;
        auto const within =
            static_cast<std::int64_t>(end - std::min(end, displacement_bytes)) - map.true_upper();
        // All of these tiles lie before it.
        auto const tiles = within < 0 ? 0 : static_cast<std::uint64_t>(within / map.extent());
        auto first = tiles * map.size_bytes() / etype_bytes();
        while (offset_of(first * etype_bytes()) < end) ++first;
        return first;
    }
    std::uint64_t low = 0;
    std::uint64_t high = 1;
    while (offset_of(high * etype_bytes()) < end) high *= 2;
    while (low < high) {
        auto const middle = (low + high) / 2;
        if (offset_of(middle * etype_bytes()) < end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

Buffer::Buffer(Access const& access) : access_(access) {
    auto const& map = access.memory->map;
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (access.bytes() > 0) {
        auto const last = static_cast<std::int64_t>(access.count - 1) * map.extent();
        low = map.true_lower() + std::min<std::int64_t>(0, last);
        high = map.true_upper() + std::max<std::int64_t>(0, last);
    }
    origin_ = guard_bytes - low;
    bytes.resize(static_cast<std::size_t>(high - low + 2 * guard_bytes));
    fill_pattern(access.pattern, bytes);
}

std::vector<std::uint8_t> Buffer::packed() const {
    std::vector<std::uint8_t> data(access_.bytes());
    for_each_run(access_.memory->map, origin_, 0, access_.bytes(),
                 [&](std::int64_t offset, std::uint64_t index, std::uint64_t run_bytes) {
                     std::copy_n(bytes.begin() + offset, run_bytes,
                                 data.begin() + static_cast<std::ptrdiff_t>(index));
                 });
    return data;
}

std::vector<std::uint8_t> Buffer::packed_for(View const& view) const {
    auto data = packed();
    if (view.external32()) swap_numbers(access_.memory->map, data);
    return data;
}

std::optional<std::int64_t> Buffer::damage(std::vector<std::uint8_t> const& before) const {
    auto masked = bytes;
    if (!access_.writes) {
        for_each_run(access_.memory->map, origin_, 0, access_.bytes(),
                     [&](std::int64_t offset, std::uint64_t, std::uint64_t run_bytes) {
                         std::copy_n(before.begin() + offset, run_bytes, masked.begin() + offset);
                     });
    }
    auto const [ours, theirs] = std::mismatch(masked.begin(), masked.end(), before.begin());
    if (ours == masked.end()) return std::nullopt;
    return (ours - masked.begin()) - origin_;
}

namespace {

void apply_write(Access const& access, Outcome const& outcome, int rank, View const& view,
                 FileModel& model) {
    auto const data = Buffer(access).packed_for(view);
    auto const certain = outcome.failed ? std::min(outcome.bytes, access.bytes()) : access.bytes();
    auto const first = access.offset * view.etype_bytes();
    view.for_each_extent(first, certain, [&](auto offset, auto index, auto bytes) {
        model.write(rank, offset, {data.data() + index, bytes});
    });
    view.for_each_extent(
        first + certain, access.bytes() - certain, [&](auto offset, auto index, auto bytes) {
            model.perhaps_write(rank, offset, {data.data() + certain + index, bytes});
        });
}

void note_reads(Access const& access, int rank, View const& view, FileModel& model) {
    auto const first = access.offset * view.etype_bytes();
    bool beyond = false;
    view.for_each_extent(first, access.bytes(), [&](auto offset, auto, auto bytes) {
        model.note_read(rank, offset, bytes);
        beyond = beyond || offset + bytes > model.size_least(rank);
    });
    if (beyond) model.note_size_read(rank);
}

void move_pointer(Access const& access, Outcome const& outcome, int rank, FileState& file) {
    if (access.at_offset) return;
    auto& member = file.state[static_cast<std::size_t>(rank)];
    auto const& model = file.model;
    auto moved = access.bytes();
    if (!access.writes) {
        auto const first = access.offset * member.view.etype_bytes();
        moved =
            member.view.bytes_before(model.size_least(file.reader(rank)), first, access.bytes());
        auto const most = member.view.bytes_before(model.size_most(), first, access.bytes());
        bool const whole_etypes = moved % member.view.etype_bytes() == 0;
        // The MPI libraries move the pointer over what was asked for, or over what was read.
        bool const native_and_short = file.native && moved != access.bytes();
        if (moved != most || !whole_etypes || native_and_short) member.position_known = false;
    }
    if (outcome.failed) member.position_known = false;
    member.position = access.offset + moved / member.view.etype_bytes();
}

// Whether a write that touches the fault has left an error to be told. An independent one of a rank
// that was told of it need not; others must hear of a collective one.
void owe(Step const& step, std::vector<Outcome> const& outcomes, FileState& file) {
    for (std::size_t m = 0; m < step.failures.size(); ++m) {
        if (step.failures[m] == Failure::never) continue;
        auto const owed = outcomes[m].failed ? Failure::perhaps : Failure::surely;
        file.owed = std::max(file.owed, owed);
    }
    if (file.owed != Failure::never) file.model.doubt_from(file.fault->offset);
}

void note_written_past(Step const& step, FileState& file) {
    file.written_past = file.written_past || (step.by_other && !file.on_one_node);
}

void apply_access(Step const& step, std::vector<Outcome> const& outcomes, FileState& file) {
    for (std::size_t m = 0; m < file.members.size(); ++m) {
        auto const& access = step.accesses[m];
        if (!access.takes_part || !access.writes || access.bytes() == 0) continue;
        apply_write(access, outcomes[m], static_cast<int>(m), file.state[m].view, file.model);
        note_written_past(step, file);
    }
    if (file.writes_behind && file.fault->writes) owe(step, outcomes, file);
    for (std::size_t m = 0; m < file.members.size(); ++m) {
        auto const& access = step.accesses[m];
        if (!access.takes_part || access.bytes() == 0) continue;
        auto const rank = static_cast<int>(m);
        if (!access.writes) note_reads(access, rank, file.state[m].view, file.model);
        move_pointer(access, outcomes[m], rank, file);
        if (access.ordered || access.shared)
            *file.shared_position += access.bytes() / file.state[m].view.etype_bytes();
    }
}

// What a collective write may read and write back: nothing where it has no holes.
Touched sieved_by(Step const& step, FileState const& file, std::vector<Touched> const& touched) {
    auto const sieves = file.sieves && step.accesses[0].collective && step.accesses[0].writes;
    return sieves ? Touched::range_of(touched) : Touched{};
}

// Bytes that may be in the file at any time from now on.
void apply_begun(Step const& step, FileState& file) {
    auto& pending = file.pending[step.begins];
    pending.accesses = step.accesses;
    pending.by_other = step.by_other;
    pending.conflicting.assign(step.accesses.size(), false);
    for (std::size_t m = 0; m < step.accesses.size(); ++m) {
        pending.views.push_back(file.state[m].view);
        pending.touched.emplace_back(step.accesses[m], file.state[m].view);
    }
    pending.sieved = sieved_by(step, file, pending.touched);
    note_sieving(file, pending.sieved, &pending);
    for (std::size_t m = 0; m < step.accesses.size(); ++m) {
        auto const& access = step.accesses[m];
        if (!access.takes_part || access.bytes() == 0) continue;
        auto const rank = static_cast<int>(m);
        auto const& view = file.state[m].view;
        pending.split = pending.split || access.flavour == Flavour::split;
        note_conflicts(file, access, pending.touched[m], &pending, m);
        if (access.writes && is_sieved(file, pending.touched[m], &pending))
            pending.conflicting[m] = true;
        if (access.writes)
            apply_write(access, {.failed = true, .bytes = 0}, rank, view, file.model);
        else
            note_reads(access, rank, view, file.model);
        if (access.writes) note_written_past(step, file);
        move_pointer(access, {}, rank, file);
    }
}

void note_all_conflicts(Step const& step, FileState& file) {
    if (file.pending.empty()) return;
    std::vector<Touched> touched;
    for (std::size_t m = 0; m < step.accesses.size(); ++m) {
        touched.emplace_back(step.accesses[m], file.state[m].view);
        note_conflicts(file, step.accesses[m], touched[m], nullptr, 0);
    }
    note_sieving(file, sieved_by(step, file, touched), nullptr);
}

// What is pending may come into the file after what was just written over it.
void perhaps_write_pending(FileState& file) {
    for (auto const& [id, pending] : file.pending)
        for (std::size_t m = 0; m < pending.accesses.size(); ++m)
            if (pending.conflicting[m] && pending.accesses[m].writes)
                apply_write(pending.accesses[m], {.failed = true, .bytes = 0}, static_cast<int>(m),
                            pending.views[m], file.model);
}

// And what was just written may be undone by what sieves.
void perhaps_undo(Step const& step, FileState& file) {
    for (std::size_t m = 0; m < step.accesses.size(); ++m) {
        auto const& access = step.accesses[m];
        auto const& view = file.state[m].view;
        if (access.takes_part && access.writes && is_sieved(file, {access, view}, nullptr))
            apply_write(access, {.failed = true, .bytes = 0}, static_cast<int>(m), view,
                        file.model);
    }
}

void apply_seek(Step const& step, FileState& file) {
    for (std::size_t m = 0; m < file.members.size(); ++m) {
        if (!step.seeks[m].takes_part) continue;
        file.state[m].position = step.seeks[m].position;
        file.state[m].position_known = true;
        if (step.seeks[m].whence == MPI_SEEK_END) file.model.note_size_read(static_cast<int>(m));
    }
}

}  // namespace

void FileState::settle() {
    model.settle();
    model.barrier();
    written_past = false;
    all_atomic = atomic;
}

std::string_view FileState::hint(std::string_view key) const {
    auto const last = std::find_if(hints.rbegin(), hints.rend(),
                                   [&](auto const& hint) { return hint.first == key; });
    return last == hints.rend() ? std::string_view{} : last->second;
}

void FileState::take(Hints const& newer) {
    for (auto const& hint : newer) {
        std::erase_if(hints, [&](auto const& known) { return known.first == hint.first; });
        hints.push_back(hint);
    }
}

void change_handles(FileState& file) {
    auto& other = *file.other;
    other.stands_in = !other.stands_in;
    std::swap(file.open_mode, other.open_mode);
    std::swap(file.atomic, other.atomic);
    std::swap(file.hints, other.hints);
    std::swap(file.state, other.state);
    std::swap(file.shared_position, other.shared_position);
}

void reset_members(FileState& file) {
    bool const append = (file.open_mode & MPI_MODE_APPEND) != 0;
    file.state.assign(file.members.size(), Member{});
    for (auto& member : file.state) member.position = append ? file.model.size_most() : 0;
    file.atomic = file.all_atomic = file.viewed = false;
    file.shared_position = append ? std::nullopt : std::optional<std::uint64_t>{0};
}

void complete(FileState& file, std::uint64_t id) {
    auto const& pending = file.pending.at(id);
    for (std::size_t m = 0; m < pending.accesses.size(); ++m) {
        auto const& access = pending.accesses[m];
        if (!access.takes_part || access.bytes() == 0) continue;
        auto const rank = static_cast<int>(m);
        auto const& view = pending.views[m];
        Outcome const outcome{.failed = pending.conflicting[m], .bytes = 0};
        if (access.writes)
            apply_write(access, outcome, rank, view, file.model);
        else
            note_reads(access, rank, view, file.model);  // they were under way until now
    }
    file.pending.erase(id);
}

void apply(Step const& step, std::vector<Outcome> const& outcomes, FileState& file) {
    switch (step.kind) {
        case StepKind::access:
            if (step.begins != 0) return apply_begun(step, file);
            note_all_conflicts(step, file);
            apply_access(step, outcomes, file);
            perhaps_undo(step, file);
            return perhaps_write_pending(file);
        case StepKind::complete:  // of several files: see Performer
            return;
        case StepKind::seek:
            return apply_seek(step, file);
        case StepKind::set_info:
            return file.take(step.hints);
        case StepKind::set_view:
            file.take(step.hints);
            file.viewed = true;
            for (std::size_t m = 0; m < file.members.size(); ++m) {
                file.state[m] = Member{step.views[m], 0, true};
            }
            file.shared_position = 0;
            for (auto const& view : step.views)
                if (!(view == step.views[0])) file.shared_position.reset();
            return;
        case StepKind::seek_shared:
            file.shared_position = step.seek_shared.position;
            return;
        case StepKind::check_size:
            for (std::size_t m = 0; m < file.members.size(); ++m) {
                file.model.note_size_read(static_cast<int>(m));
            }
            return;
        case StepKind::settle:
        case StepKind::peek:
            return file.settle();
        case StepKind::set_size:
        case StepKind::preallocate:
            if (!step.unsettled) file.settle();
            if (step.kind == StepKind::set_size || step.size_bytes > file.model.size_most()) {
                file.model.resize(step.size_bytes);
            }
            return;
        case StepKind::reopen:
            file.settle();
            if (step.delete_before) file.model.resize(0);
            file.open_mode = step.open_mode;
            reset_members(file);
            return;
        case StepKind::open_other:
            file.other = OtherHandle{.alone = step.alone, .open_mode = step.open_mode};
            file.other->state.assign(file.members.size(), Member{});
            return;
        case StepKind::close_other:
            file.other.reset();
            return;
        case StepKind::toggle_atomicity:
            file.atomic = !file.native && !file.atomic;
            file.all_atomic = file.atomic && file.model.is_settled();
            return;
        case StepKind::byte_offset:
        case StepKind::sync:
        case StepKind::check_view:
        case StepKind::forbidden_access:
            return;
    }
}

}  // namespace fuzz
