#include "operations.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "calls.hpp"
#include "check.hpp"

namespace fuzz {

namespace {

thread_local int error_handler_calls = 0;

void count_error(MPI_File*, int*, ...) { ++error_handler_calls; }

MPI_Errhandler counting_handler() {
    static MPI_Errhandler handler = [] {
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;
        MPI_File_create_errhandler(&count_error, &made);
        return made;
    }();
    return handler;
}

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return std::string(text, static_cast<std::size_t>(length));
}

std::string expected_found(std::string const& what, std::integral auto expected,
                           std::integral auto found) {
    return what + ": expected " + std::to_string(expected) + ", found " + std::to_string(found);
}

MPI_Info make_info(Hints const& hints) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (auto const& [key, value] : hints) MPI_Info_set(info, key.c_str(), value.c_str());
    return info;
}

/// The access's type as handed to MPI: `absolute` types count from MPI_BOTTOM.
MPI_Datatype absolute_type(MPI_Datatype type, void* origin) {
    MPI_Aint address = 0;
    MPI_Get_address(origin, &address);
    int const one = 1;
    MPI_Datatype absolute = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(1, &one, &address, type, &absolute);
    MPI_Type_commit(&absolute);
    return absolute;
}

/// `call(buffer, type)`, as the access wants them.
template <class Call>
int with_type(Access const& access, Buffer& buffer, Call const& call) {
    Datatype type(access.memory);
    type.commit();
    if (!access.from_bottom) {
        bool const nothing = access.count == 0 && access.pattern % 2 == 0;
        return call(nothing ? nullptr : static_cast<void*>(buffer.origin()), type.get());
    }
    auto absolute = absolute_type(type.get(), buffer.origin());
    int const code = call(MPI_BOTTOM, absolute);
    MPI_Type_free(&absolute);
    return code;
}

int call_with_type(MPI_File handle, Access const& access, Buffer& buffer, MPI_Status* status) {
    return with_type(access, buffer, [&](void* origin, MPI_Datatype type) {
        return call_access(handle, access, origin, type, status);
    });
}

/// MPI_File_get_view hands out new handles of derived types.
void free_if_derived(MPI_Datatype type) {
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&type);
}

/// What MPI_File_get_info says of a hint; nothing: not there.
std::string info_value(MPI_File handle, char const* key) {
    MPI_Info info = MPI_INFO_NULL;
    if (MPI_File_get_info(handle, &info) != MPI_SUCCESS) return "";
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return found != 0 ? value : "";
}

std::uint64_t elements_of(Access const& access) {
    std::uint64_t elements = 0;
    for (auto const& run : access.memory->map.runs) elements += run.bytes / run.element_bytes;
    return elements * access.count;
}

}  // namespace

Performer::Performer(std::vector<FileState>& files, Options const& options,
                     Communicators const& communicators)
    : files_(files), options_(options), communicators_(communicators), open_(files.size()) {
    for (std::size_t i = 0; i < files_.size(); ++i) make_communicator(files_[i], open_[i]);
}

/// A collective call that the MPI library may do. MPICH 4.0.2 holds a lock of the process while its
/// calls on files wait for other ranks, so that two at once wait for ever: one after the other.
int Performer::in_turn([[maybe_unused]] Open const& open, std::function<int()> const& call) const {
#ifndef OPEN_MPI
    if (!options_.beside) return call();
    MPI_Barrier(open.control);  // nobody has to be waited for while others wait for their turn
    auto const path = options_.folder + "/turn";
    int const turn = open.member == 0 ? ::open(path.c_str(), O_CREAT | O_RDWR, 0600) : -1;
    if (open.member == 0 && (turn < 0 || flock(turn, LOCK_EX) != 0)) MPI_Abort(MPI_COMM_WORLD, 6);
    MPI_Barrier(open.control);
    int const code = call();
    MPI_Barrier(open.control);
    if (open.member == 0) ::close(turn);
    return code;
#else
    return call();
#endif
}

Performer::~Performer() {
    for (auto& open : open_) {
        bool const own = open.communicator != MPI_COMM_NULL &&
                         open.communicator != communicators_.world &&
                         open.communicator != communicators_.self;
        if (!own) continue;
        MPI_Comm_free(&open.control);
        MPI_Comm_free(&open.communicator);
    }
}

void Performer::complain(std::string text) {
    if (!complaint_) complaint_ = Complaint{step_number_, std::move(text)};
}

void Performer::expect_equal(char const* what, std::integral auto expected,
                             std::integral auto found) {
    if (!std::cmp_equal(expected, found)) complain(expected_found(what, expected, found));
}

void Performer::expect_success(int code, char const* call) {
    if (code != MPI_SUCCESS) complain(std::string(call) + " failed: " + text_of(code));
    if (code == MPI_SUCCESS && error_handler_calls != 0) {
        complain(std::string(call) + " succeeded, but called the error handler");
    }
    error_handler_calls = 0;
}

void Performer::make_communicator(FileState const& file, Open& open) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(communicators_.world, &rank);
    MPI_Comm_size(communicators_.world, &ranks);
    auto const mine = std::find(file.members.begin(), file.members.end(), rank);
    if (mine != file.members.end()) open.member = static_cast<int>(mine - file.members.begin());
    bool const everyone = static_cast<int>(file.members.size()) == ranks &&
                          std::is_sorted(file.members.begin(), file.members.end());
    if (everyone) {
        open.communicator = communicators_.world;
        open.control = communicators_.everyone;
    } else if (file.members.size() == 1) {
        open.communicator = open.member < 0 ? MPI_COMM_NULL : communicators_.self;
        open.control = open.communicator;
    } else {
        MPI_Comm_split(communicators_.everyone, open.member < 0 ? MPI_UNDEFINED : 0, open.member,
                       &open.communicator);
        if (open.member >= 0) MPI_Comm_dup(open.communicator, &open.control);
    }
}

void Performer::make_initial(FileState const& file) const {
    unlink(file.path.c_str());
    if (!file.initial) return;
    int const descriptor = ::open(file.path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    auto const written = pwrite(descriptor, file.initial->data(), file.initial->size(), 0);
    if (written != static_cast<ssize_t>(file.initial->size())) {
        MPI_Abort(MPI_COMM_WORLD, 3);  // no room to test in
    }
    if (options_.power_cuts) fsync(descriptor);
    ::close(descriptor);
}

void Performer::open_all() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
        auto& open = open_[i];
        if (open.member < 0) continue;
        if (open.member == 0) make_initial(files_[i]);
        MPI_Barrier(open.control);
        try_forbidden_open(files_[i], open);
        open_file(files_[i], open);
        if (files_[i].fault) MPI_Barrier(open.control);  // all ranks have opened it to look at it
        if (files_[i].unlink_after_open && open.member == 0) unlink(files_[i].path.c_str());
        MPI_Barrier(open.control);
    }
}

/// A file that is not there cannot be opened without CREATE, one that is there not with EXCL.
void Performer::try_forbidden_open(FileState const& file, Open const& open) {
    if (file.scale_bytes % 1000 != 0 || options_.faults) return;  // often enough
    if (options_.skips("forbidden_open")) return;
#ifdef OPEN_MPI
    // OMPIO 4.1.4 hangs when an open fails: the rank that failed and the others wait in different
    // barriers.
    if (file.members.size() > 1) return;
#endif
    int const mode =
        file.initial ? MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    int const expected = file.initial ? MPI_ERR_FILE_EXISTS : MPI_ERR_NO_SUCH_FILE;
    MPI_File handle = MPI_FILE_NULL;
    int const code = in_turn(open, [&] {
        return MPI_File_open(open.communicator, file.path.c_str(), mode, MPI_INFO_NULL, &handle);
    });
    if (code == MPI_SUCCESS) {
        complain("MPI_File_open with " + describe_mode(mode) + " succeeded");
        MPI_File_close(&handle);
    } else if (class_of(code) != expected) {
        complain("MPI_File_open with " + describe_mode(mode) + ": unexpected " + text_of(code));
    }
}

void Performer::open_file(FileState const& file, Open& open) {
    MPI_Info info = make_info(file.hints);
    int const code = in_turn(open, [&] {
        return MPI_File_open(open.communicator, file.path.c_str(), file.open_mode, info,
                             &open.handle);
    });
    MPI_Info_free(&info);
    expect_success(code, "MPI_File_open");
    if (code != MPI_SUCCESS) {
        // Nothing can be done on this file any more, and the others would wait for this rank.
        std::fprintf(stderr, "fuzz: MPI_File_open failed: %s\n", text_of(code).c_str());
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    MPI_File_set_errhandler(open.handle, counting_handler());
    if (!options_.native && info_value(open.handle, "unisono_strategy").empty())
        complain("no key unisono_strategy: Unisono is not at work");
    check_hints(file.hints, open);
    if (open.member == 0 || file.fault) open.descriptor = ::open(file.path.c_str(), O_RDONLY);
}

void Performer::close_file(FileState& file, Open& open) {
    auto const code = in_turn(open, [&] { return MPI_File_close(&open.handle); });
    expect_owed(code, "MPI_File_close", file, open);
    MPI_Barrier(open.control);
    bool const must_be_gone =
        file.unlink_after_open || (file.open_mode & MPI_MODE_DELETE_ON_CLOSE) != 0;
    if (open.member == 0 && (access(file.path.c_str(), F_OK) == 0) == must_be_gone) {
        complain(must_be_gone ? "the file is still there after MPI_File_close"
                              : "the file is gone after MPI_File_close");
    }
    if (!options_.power_cuts) return;
    if (open.member == 0 && !file.sync_at_close) fsync(open.descriptor);
    cut_power(open);
}

void Performer::check_closed(FileState& file, Open& open) {
    file.settle();
    if (open.descriptor < 0) return;
    auto wrong = check_file(open.descriptor, file.model);
    if (wrong) complain("after close: " + *wrong);
    if (options_.canary && !spoilt_ && open.member == 0) {
        wrong = check_spoilt_file(open.descriptor, file.model, spoilt_);
        if (wrong) complain("canary: " + *wrong);
    }
    ::close(open.descriptor);
    open.descriptor = -1;
}

/// Freed requests may be on their way: MPI leaves it to the program to know that they are over,
/// Unisono sees to it.
void Performer::close_all(std::uint64_t number) {
    step_number_ = number;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        if (open_[i].member < 0) continue;
        auto const other_first = number % 2 == 0;
        if (files_[i].other && other_first) close_other(open_[i]);
        close_file(files_[i], open_[i]);
        if (files_[i].other && !other_first) close_other(open_[i]);
        while (!files_[i].pending.empty()) complete(files_[i], files_[i].pending.begin()->first);
        check_closed(files_[i], open_[i]);
        if (open_[i].member == 0) unlink(files_[i].path.c_str());
    }
}

void Performer::perform(std::uint64_t number, Step const& step) {
    step_number_ = number;
    if (!step.by_other) return perform_here(step);
    auto const change = [&] {
        change_handles(files_[step.file]);
        std::swap(open_[step.file].handle, open_[step.file].other);
    };
    change();
    perform_here(step);
    change();
}

void Performer::perform_here(Step const& step) {
    auto& file = files_[step.file];
    auto& open = open_[step.file];
    bool const takes_part = open.member >= 0;
    if (takes_part && step.barrier_before) MPI_Barrier(open.control);
    if (step.kind == StepKind::complete) {
        perform_complete(step);
    } else if (step.kind == StepKind::access && step.begins != 0) {
        if (takes_part) begin(step, open);
        apply(step, {}, file);
    } else if (step.kind == StepKind::access) {
        perform_access(step, file, open);
    } else {
        if (takes_part) perform_kind(step, file, open);
        apply(step, {}, file);
    }
    if (takes_part) check_position(file, open);
    bool const ordered = step.kind == StepKind::access && step.accesses[0].ordered;
    if (takes_part && (ordered || step.kind == StepKind::seek_shared))
        check_shared_position(file, open);
    bool const shared =
        step.kind == StepKind::access && std::ranges::any_of(step.accesses, &Access::shared);
    if (takes_part && shared && step_number_ % 2 == 0) {
        MPI_Barrier(open.control);
        check_shared_position(file, open);
    }
}

void Performer::perform_kind(Step const& step, FileState& file, Open& open) {
    switch (step.kind) {
        case StepKind::access:
        case StepKind::complete:
            return;
        case StepKind::seek:
            return perform_seek(step, open);
        case StepKind::seek_shared:
            return perform_seek_shared(step, open);
        case StepKind::byte_offset:
            return perform_byte_offset(step, open);
        case StepKind::set_view:
            return perform_set_view(step, file, open);
        case StepKind::settle:
            return file.owed == Failure::never ? settle(file, open) : recover(file, open);
        case StepKind::sync:
            return expect_success(in_turn(open, [&] { return MPI_File_sync(open.handle); }),
                                  "MPI_File_sync");
        case StepKind::set_size:
        case StepKind::preallocate:
            return perform_sizes(step, file, open);
        case StepKind::check_size:
            return perform_check_size(file, open);
        case StepKind::check_view:
            return perform_check_view(file, open);
        case StepKind::peek:
            return look(file, open);
        case StepKind::toggle_atomicity:
            return perform_toggle(file, open);
        case StepKind::set_info:
            return perform_set_info(step, file, open);
        case StepKind::forbidden_access:
            return perform_forbidden(step, file, open);
        case StepKind::reopen:
            return perform_reopen(step, file, open);
        case StepKind::open_other:
            return open_other(step, file, open);
        case StepKind::close_other:
            return close_other(open);
    }
}

void Performer::perform_access(Step const& step, FileState& file, Open& open) {
    bool const may_fail = std::any_of(step.failures.begin(), step.failures.end(),
                                      [](Failure failure) { return failure != Failure::never; });
    std::vector<Outcome> outcomes(file.members.size());
    auto const member = static_cast<std::size_t>(std::max(0, open.member));
    auto const& access = step.accesses[member];
    Buffer buffer(access);
    auto const before = buffer.bytes;
    bool const calls = open.member >= 0 && access.takes_part;
    error_handler_calls = 0;
    call_code_ = MPI_SUCCESS;
    if (open.member >= 0 && step.settles) settle(file, open);
    if (calls) check_type(access.memory);
    if (calls) call_and_look(open, access, buffer, outcomes[member]);
    if (open.member >= 0 && step.settles) settle(file, open);
    if (open.member >= 0 && file.all_atomic && file.pending.empty() && !file.other)
        check_not_mixed(step, file, open);
    if (may_fail) outcomes = agree(step, outcomes[member], open);
    apply(step, outcomes, file);
    if (calls) {
        if (auto const at = buffer.damage(before)) {
            complain("the buffer was changed where it is not data, at byte " + std::to_string(*at) +
                     " from its origin");
        }
        check_outcome(step, file, outcomes[member], open.member);
        check_data(file, access, file.state[member].view, buffer, outcomes[member], open.member);
    }
    if (may_fail && !step.goes_on) recover(file, open);
    if (step.settles) file.settle();
}

void Performer::begin(Step const& step, Open const& open) {
    auto const& access = step.accesses[static_cast<std::size_t>(open.member)];
    if (!access.takes_part) return;
    check_type(access.memory);
    error_handler_calls = 0;
    auto& begun = begun_.try_emplace(step.begins, access).first->second;
    int const code = with_type(access, begun.buffer, [&](void* origin, MPI_Datatype type) {
        return begin_access(open.handle, access, origin, type, &begun.request);
    });
    expect_success(code, "the beginning of the call");
}

void Performer::call_and_look(Open const& open, Access const& access, Buffer& buffer,
                              Outcome& outcome) {
    std::memset(&status_, 0x55, sizeof status_);  // nothing left over from an earlier call
    auto* const status = access.ignore_status ? MPI_STATUS_IGNORE : &status_;
    auto const call = [&] { return call_with_type(open.handle, access, buffer, status); };
    call_code_ = access.ordered ? in_turn(open, call) : call();
    outcome.failed = call_code_ != MPI_SUCCESS;
    outcome.error_class = class_of(call_code_);
    outcome.bytes = access.bytes();
    if (!access.ignore_status) {
        int bytes = 0;
        MPI_Get_elements(&status_, MPI_BYTE, &bytes);
        outcome.bytes = static_cast<std::uint64_t>(bytes);
    } else if (outcome.failed) {
        outcome.bytes = 0;
    }
}

/// What ranks have written in atomic mode in one step is one behind the other.
void Performer::check_not_mixed(Step const& step, FileState const& file, Open const& open) {
    MPI_Barrier(open.control);
    if (open.descriptor >= 0)
        if (auto const wrong = check_unmixed(open.descriptor, step.accesses, file))
            complain(*wrong);
    MPI_Barrier(open.control);
}

/// Of a sync or close: they tell what writes before left behind, on all ranks alike.
void Performer::expect_owed(int code, char const* call, FileState& file, Open const& open) {
    auto const owed = std::exchange(file.owed, Failure::never);
    if (owed == Failure::never) return expect_success(code, call);
    int const expected =
        code == MPI_SUCCESS && owed == Failure::perhaps ? MPI_SUCCESS : file.fault->error_class;
    int classes[] = {class_of(code), -class_of(code)};
    if (classes[0] != expected)
        complain(std::string(call) + ", which has an error to tell: " + text_of(code));
    MPI_Allreduce(MPI_IN_PLACE, classes, 2, MPI_INT, MPI_MAX, open.control);
    if (classes[0] != -classes[1])
        complain(std::string(call) + ": ranks have different error classes");
    error_handler_calls = 0;
}

/// Everyone learns everyone's outcome, because the model needs to know what was written.
std::vector<Outcome> Performer::agree(Step const& step, Outcome const& mine, Open const& open) {
    std::vector<Outcome> outcomes(step.accesses.size());
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, outcomes.data(), sizeof mine, MPI_BYTE,
                  open.control);
    for (std::size_t m = 0; m < outcomes.size(); ++m) {
        if (!step.accesses[m].collective || files_[step.file].writes_behind) continue;
        if (outcomes[m].error_class != outcomes[0].error_class) {
            complain("ranks 0 and " + std::to_string(m) +
                     " have different error classes: " + std::to_string(outcomes[0].error_class) +
                     " and " + std::to_string(outcomes[m].error_class));
        }
    }
    return outcomes;
}

void Performer::check_outcome(Step const& step, FileState const& file, Outcome const& outcome,
                              int member) {
    auto const m = static_cast<std::size_t>(member);
    auto const failure = step.failures[m];
    if (failure == Failure::never) return expect_success(call_code_, "the call");
    if (!outcome.failed) {
        if (failure == Failure::surely) complain("the call succeeded in spite of the failure");
        return expect_success(call_code_, "the call");
    }
    if (outcome.error_class != file.fault->error_class) {
        complain("the call failed with another error class: " + text_of(call_code_));
    }
    expect_equal("calls of the error handler", 1, error_handler_calls);
    error_handler_calls = 0;
    auto const& access = step.accesses[m];
    auto const& view = file.state[m].view;
    auto most = access.bytes();
    view.for_each_extent(
        access.offset * view.etype_bytes(), access.bytes(),
        [&](auto offset, auto index, auto bytes) {
            auto const at = file.fault->offset;
            if (access.writes == file.fault->writes && offset <= at && at < offset + bytes) {
                most = std::min(most, index + at - offset);
            }
        });
    if (!access.ignore_status && outcome.bytes > most) {
        complain(
            expected_found("bytes in the status of a failed call, at most", most, outcome.bytes));
    }
}

void Performer::check_data(FileState const& file, Access const& access, View const& view,
                           Buffer const& buffer, Outcome const& outcome, int member) {
    auto least = access.bytes();
    auto most = access.bytes();
    if (!access.writes && access.bytes() > 0) {
        auto const first = access.offset * view.etype_bytes();
        least =
            view.bytes_before(file.model.size_least(file.reader(member)), first, access.bytes());
        most = view.bytes_before(file.model.size_most(), first, access.bytes());
        if (view.external32()) {
            least = whole_numbers(access.memory->map, least);
            most = whole_numbers(access.memory->map, most);
        }
    }
    // ROMIO and OMPIO report what was asked for when a collective read is short.
    bool const vague = file.native && !access.writes && least != access.bytes();
    bool const checks_count = !access.ignore_status && !outcome.failed && !vague;
    if (checks_count && (outcome.bytes < least || outcome.bytes > most)) {
        complain(expected_found("bytes in the status", least, outcome.bytes));
        return;
    }
    if (checks_count) check_counts(access, outcome.bytes);
    if (access.writes) return;
    auto const delivered = checks_count || outcome.failed ? std::min(outcome.bytes, most) : least;
    auto const background = Buffer(access).packed_for(view);
    if (auto const wrong = check_read(access, view, file.reader(member), file.model, delivered,
                                      buffer.packed_for(view), background)) {
        complain(*wrong);
    }
}

/// A type that the MPI library itself understands otherwise would make every later answer doubtful.
/// True bounds are left out: MPICH gets those of darrays wrong, and they do not matter to data.
void Performer::check_type(TypePtr const& type) {
    Datatype const handle(type);
    MPI_Aint lower = 0, extent = 0;
    int bytes = 0;
    MPI_Type_size(handle.get(), &bytes);
    MPI_Type_get_extent(handle.get(), &lower, &extent);
    auto const& map = type->map;
    bool const same_bounds = lower == map.lower && extent == map.extent();
    bool const same_size = static_cast<std::uint64_t>(bytes) == map.size_bytes();
    if (same_size && (bytes == 0 || same_bounds)) return;
    complain("the MPI library sees another type: size " + std::to_string(bytes) + ", bounds " +
             std::to_string(lower) + " + " + std::to_string(extent) + " instead of " +
             std::to_string(map.size_bytes()) + ", " + std::to_string(map.lower) + " + " +
             std::to_string(map.extent()) + ": " + type->text);
}

/// MPI_Get_count and MPI_Get_elements in the terms of the buffer's own datatype.
void Performer::check_counts(Access const& access, std::uint64_t bytes) {
    auto const size = access.memory->map.size_bytes();
    if (size == 0) return;
    Datatype type(access.memory);
    type.commit();
    int count = -1;
    MPI_Get_count(&status_, type.get(), &count);
    int const expected = bytes % size == 0 ? static_cast<int>(bytes / size) : MPI_UNDEFINED;
    expect_equal("MPI_Get_count", expected, count);
    MPI_Count large = -1;
    MPI_Get_elements_x(&status_, MPI_BYTE, &large);
    expect_equal("MPI_Get_elements_x", bytes, large);
    if (bytes != access.bytes() || !access.memory->plain) return;
    int elements = -1;
    MPI_Get_elements(&status_, type.get(), &elements);
    expect_equal("MPI_Get_elements", elements_of(access), elements);
}

/// After a failed call the file may hold old or new bytes: look, and go on from there. The failed
/// call must not have broken anything for the calls to come.
void Performer::recover(FileState& file, Open& open) {
    settle(file, open);
    file.model.settle();
    file.model.barrier();
    if (auto const wrong = check_file(open.descriptor, file.model)) {
        complain("after a failed call: " + *wrong);
    }
    adopt_file(open.descriptor, file.model);
    MPI_Barrier(open.control);
}

void Performer::check_position(FileState const& file, Open const& open) {
    auto const& member = file.state[static_cast<std::size_t>(open.member)];
    if (!member.position_known || member.view.empty()) return;
    MPI_Offset position = -1;
    expect_success(MPI_File_get_position(open.handle, &position), "MPI_File_get_position");
    expect_equal("file pointer", member.position, position);
}

void Performer::perform_seek(Step const& step, Open& open) {
    auto const& seek = step.seeks[static_cast<std::size_t>(open.member)];
    if (!seek.takes_part) return;
    expect_success(MPI_File_seek(open.handle, seek.offset, seek.whence), "MPI_File_seek");
}

void Performer::perform_seek_shared(Step const& step, Open& open) {
    MPI_Barrier(open.control);  // an ordered call's pointer has been looked at by all
    auto const& seek = step.seek_shared;
    auto const code =
        in_turn(open, [&] { return MPI_File_seek_shared(open.handle, seek.offset, seek.whence); });
    expect_success(code, "MPI_File_seek_shared");
}

void Performer::check_shared_position(FileState const& file, Open const& open) {
    MPI_Offset position = -1;
    expect_success(MPI_File_get_position_shared(open.handle, &position),
                   "MPI_File_get_position_shared");
    expect_equal("shared file pointer", *file.shared_position, position);
    MPI_Barrier(open.control);  // before anybody moves it
}

void Performer::perform_byte_offset(Step const& step, Open& open) {
    auto const& query = step.seeks[static_cast<std::size_t>(open.member)];
    if (!query.takes_part) return;
    MPI_Offset found = -1;
    expect_success(MPI_File_get_byte_offset(open.handle, query.offset, &found),
                   "MPI_File_get_byte_offset");
    expect_equal("MPI_File_get_byte_offset", query.position, found);
}

void Performer::perform_set_view(Step const& step, FileState const& file, Open& open) {
    auto const& view = step.views[static_cast<std::size_t>(open.member)];
    check_type(view.etype);
    check_type(view.file_type);
    Datatype etype(view.etype);
    Datatype file_type(view.file_type);
    etype.commit();
    file_type.commit();
    MPI_Info info = step.gives_hints      ? make_info(file.hints)
                    : !step.hints.empty() ? make_info(step.hints)
                                          : MPI_INFO_NULL;
    int const code = in_turn(open, [&] {
        return MPI_File_set_view(open.handle, static_cast<MPI_Offset>(view.displacement_bytes),
                                 etype.get(), file_type.get(), view.representation, info);
    });
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    expect_success(code, "MPI_File_set_view");
}

void Performer::perform_set_info(Step const& step, FileState const& file, Open& open) {
    MPI_Info info = make_info(step.hints.empty() ? file.hints : step.hints);
    expect_success(in_turn(open, [&] { return MPI_File_set_info(open.handle, info); }),
                   "MPI_File_set_info");
    MPI_Info_free(&info);
    check_hints(step.hints, open);
}

void Performer::perform_check_view(FileState const& file, Open& open) {
    auto const& view = file.state[static_cast<std::size_t>(open.member)].view;
    MPI_Offset displacement = -1;
    MPI_Datatype etype = MPI_DATATYPE_NULL, file_type = MPI_DATATYPE_NULL;
    char representation[MPI_MAX_DATAREP_STRING + 1] = "";
    expect_success(
        MPI_File_get_view(open.handle, &displacement, &etype, &file_type, representation),
        "MPI_File_get_view");
    int etype_bytes = -1, file_type_bytes = -1;
    MPI_Type_size(etype, &etype_bytes);
    MPI_Type_size(file_type, &file_type_bytes);
    if (static_cast<std::uint64_t>(displacement) != view.displacement_bytes ||
        static_cast<std::uint64_t>(etype_bytes) != view.etype_bytes() ||
        static_cast<std::uint64_t>(file_type_bytes) != view.file_type->map.size_bytes() ||
        std::strcmp(representation, view.representation) != 0) {
        complain("MPI_File_get_view: displacement " + std::to_string(displacement) + ", etype of " +
                 std::to_string(etype_bytes) + " bytes, file type of " +
                 std::to_string(file_type_bytes) + " bytes, " + representation);
    }
    free_if_derived(etype);
    free_if_derived(file_type);
    check_queries(file, open);
}

/// What else a file says of itself.
void Performer::check_queries(FileState const& file, Open const& open) {
    int mode = -1, atomic = -1, comparison = MPI_UNEQUAL;
    expect_success(MPI_File_get_amode(open.handle, &mode), "MPI_File_get_amode");
    if (mode != file.open_mode)
        complain("MPI_File_get_amode: expected " + describe_mode(file.open_mode) + ", found " +
                 describe_mode(mode));
    expect_success(MPI_File_get_atomicity(open.handle, &atomic), "MPI_File_get_atomicity");
    if ((atomic != 0) != file.atomic) complain("MPI_File_get_atomicity: not as it was set");
    MPI_Group opened_by = MPI_GROUP_NULL, expected = MPI_GROUP_NULL;
    auto const alone = file.other && file.other->stands_in && file.other->alone;
    expect_success(MPI_File_get_group(open.handle, &opened_by), "MPI_File_get_group");
    MPI_Comm_group(alone ? communicators_.self : open.communicator, &expected);
    MPI_Group_compare(opened_by, expected, &comparison);
    if (comparison != MPI_IDENT) complain("MPI_File_get_group: other ranks");
    MPI_Group_free(&opened_by);
    MPI_Group_free(&expected);
}

/// Which are in force at once; later ones of a key hold, and over all of them the environment's.
void Performer::check_hints(Hints const& hints, Open const& open) {
    if (options_.native) return;
    std::map<std::string, std::string> const given{hints.rbegin(), hints.rend()};
    for (auto const& [key, variable] :
         std::map<char const*, char const*>{{"unisono_strategy", "UNISONO_STRATEGY"},
                                            {"cb_buffer_size", ""},
                                            {"unisono_write_behind", "UNISONO_WRITE_BEHIND"}}) {
        auto const wanted = given.find(key);
        if (wanted == given.end() || std::getenv(variable) != nullptr) continue;
        auto const found = info_value(open.handle, key);
        if (found != wanted->second)
            complain(std::string("MPI_File_get_info: ") + key + " is " + found + ", not " +
                     wanted->second);
    }
}

void Performer::perform_sizes(Step const& step, FileState& file, Open& open) {
    auto const size = static_cast<MPI_Offset>(step.size_bytes);
    if (!step.unsettled) settle(file, open);
    if (step.kind == StepKind::set_size) {
        expect_success(in_turn(open, [&] { return MPI_File_set_size(open.handle, size); }),
                       "MPI_File_set_size");
    } else {
        expect_success(in_turn(open, [&] { return MPI_File_preallocate(open.handle, size); }),
                       "MPI_File_preallocate");
    }
    if (!step.unsettled) settle(file, open);
}

/// What others write meanwhile may be in it, what this rank has written must.
void Performer::perform_check_size(FileState const& file, Open& open) {
    MPI_Offset size = -1;
    expect_success(MPI_File_get_size(open.handle, &size), "MPI_File_get_size");
    auto const found = static_cast<std::uint64_t>(size);
    auto const least = file.model.size_least(file.reader(open.member));
    if (found < least || found > file.model.size_most())
        complain(expected_found("MPI_File_get_size", least, found));
    MPI_Barrier(open.control);  // nobody writes what comes later before all have asked
}

void Performer::perform_forbidden(Step const& step, FileState const& file, Open& open) {
    auto const& access = step.accesses[static_cast<std::size_t>(open.member)];
    Buffer buffer(access);
    auto const before = buffer.bytes;
    error_handler_calls = 0;
    int const code = call_with_type(open.handle, access, buffer, MPI_STATUS_IGNORE);
    auto const ours = !file.native && file.hint("unisono_backend") != "mpiio";
    if (code == MPI_SUCCESS) {
        complain("the open mode forbids this call, but it succeeded");
    } else if (ours && class_of(code) != (access.writes ? MPI_ERR_READ_ONLY : MPI_ERR_ACCESS)) {
        complain("the open mode forbids this call: unexpected " + text_of(code));
    } else if (ours && access.flavour == Flavour::blocking) {
        expect_equal("calls of the error handler", 1, error_handler_calls);
    }
    if (buffer.damage(before)) complain("a forbidden call changed the buffer");
    error_handler_calls = 0;
}

/// Natively only for a moment: OMPIO says that it is atomic, and mixes what ranks write.
void Performer::perform_toggle(FileState const& file, Open& open) {
    int const wanted = file.atomic ? 0 : 1;
    expect_success(in_turn(open, [&] { return MPI_File_set_atomicity(open.handle, wanted); }),
                   "MPI_File_set_atomicity");
    int atomic = -1;
    expect_success(MPI_File_get_atomicity(open.handle, &atomic), "MPI_File_get_atomicity");
    if (atomic != wanted) complain("MPI_File_get_atomicity: not as it was set");
    if (file.native)
        expect_success(MPI_File_set_atomicity(open.handle, 0), "MPI_File_set_atomicity");
}

void Performer::perform_reopen(Step const& step, FileState& file, Open& open) {
    close_file(file, open);
    check_closed(file, open);
    MPI_Barrier(open.control);
    if (step.delete_before && open.member == 0) {
        expect_success(MPI_File_delete(file.path.c_str(), MPI_INFO_NULL), "MPI_File_delete");
    }
    MPI_Barrier(open.control);
    file.open_mode = step.open_mode;
    open_file(file, open);
    MPI_Barrier(open.control);
}

void Performer::open_other(Step const& step, FileState const& file, Open& open) {
    int const code = in_turn(open, [&] {
        return MPI_File_open(step.alone ? communicators_.self : open.communicator,
                             file.path.c_str(), step.open_mode, MPI_INFO_NULL, &open.other);
    });
    expect_success(code, "MPI_File_open of another handle");
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_File_set_errhandler(open.other, counting_handler());
}

void Performer::close_other(Open& open) {
    expect_success(in_turn(open, [&] { return MPI_File_close(&open.other); }),
                   "MPI_File_close of the other handle");
    MPI_Barrier(open.control);
}

void Performer::sync(FileState& file, Open& open) {
    auto const sync_in_turn = [&](MPI_File handle) {
        return in_turn(open, [&] { return MPI_File_sync(handle); });
    };
    if (file.may_write()) expect_owed(sync_in_turn(open.handle), "MPI_File_sync", file, open);
    if (file.other && (file.other->open_mode & MPI_MODE_RDONLY) == 0)
        expect_success(sync_in_turn(open.other), "MPI_File_sync of the other handle");
}

/// sync-barrier-sync: afterwards everyone sees what anyone wrote. A file that is only read has
/// nothing to sync, and MPI forbids it there.
void Performer::settle(FileState& file, Open& open) {
    sync(file, open);
    MPI_Barrier(open.control);
    sync(file, open);
}

/// Once all ranks have synced.
void Performer::cut_power(Open const& open) {
    MPI_Barrier(open.control);
    constexpr char const* attribute = "user.pocketfs.control";
    if (open.member == 0 && setxattr(options_.folder.c_str(), attribute, "power_cut", 9, 0) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 5);  // not on a pocket file system, or not mounted for it
    }
    MPI_Barrier(open.control);
}

void Performer::look(FileState& file, Open& open) {
    if (options_.power_cuts) {
        expect_success(MPI_File_sync(open.handle), "MPI_File_sync");
        cut_power(open);
    }
    settle(file, open);
    file.model.settle();
    if (open.descriptor >= 0) {
        if (auto const wrong = check_file(open.descriptor, file.model)) {
            complain("after sync: " + *wrong);
        }
    }
    MPI_Barrier(open.control);
}

}  // namespace fuzz
