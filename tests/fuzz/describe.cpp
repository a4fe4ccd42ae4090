#include "case.hpp"

namespace fuzz {

namespace {

std::string name_of(Access const& access) {
    std::string name = access.flavour == Flavour::nonblocking ? "i" : "";
    name += access.writes ? "write" : "read";
    if (access.at_offset && !access.ordered && !access.shared) name += "_at";
    if (access.shared) name += "_shared";
    if (access.collective) name += access.ordered ? "_ordered" : "_all";
    if (access.flavour == Flavour::split) name += "_begin/_end";
    if (access.large_count) name += "_c";
    return name;
}

std::string describe(Access const& access) {
    std::string text = name_of(access);
    text += access.at_offset ? "(offset " : "(pointer at ";
    text += std::to_string(access.offset) + ", " + std::to_string(access.count) + " x " +
            access.memory->text + ") = " + std::to_string(access.bytes()) + " bytes";
    if (access.from_bottom) text += ", MPI_BOTTOM";
    if (access.ignore_status) text += ", status ignored";
    return text;
}

std::string describe(Seek const& seek, bool byte_offset) {
    std::string text = byte_offset                   ? "get_byte_offset("
                       : seek.whence == MPI_SEEK_SET ? "seek(SET, "
                       : seek.whence == MPI_SEEK_CUR ? "seek(CUR, "
                                                     : "seek(END, ";
    return text + std::to_string(seek.offset) + ") -> " + std::to_string(seek.position);
}

std::string describe(View const& view) {
    return "set_view(displacement " + std::to_string(view.displacement_bytes) + ", etype " +
           view.etype->text + ", file type " + view.file_type->text + ", " + view.representation +
           ")";
}

std::string title_of_completion(Step const& step) {
    static char const* const names[] = {
        "MPI_Wait",        "MPI_Waitall", "MPI_Waitany",  "MPI_Waitsome",
        "MPI_Testall",     "MPI_Testany", "MPI_Testsome", "MPI_Request_get_status",
        "MPI_Request_free"};
    std::string text = names[static_cast<std::size_t>(step.how)];
    for (auto const& name : step.completes)
        text += " #" + std::to_string(name.id) + " of file " + std::to_string(name.file);
    return text;
}

std::string hints_of(Step const& step) {
    std::string text = step.gives_hints ? ", its hints" : "";
    for (auto const& [key, value] : step.hints) text += ", " + key + "=" + value;
    return text;
}

std::string title(Step const& step) {
    auto const size = " " + std::to_string(step.size_bytes);
    std::string const settles = step.unsettled ? "" : "sync-barrier-sync, ";
    switch (step.kind) {
        case StepKind::access:
            return "access";
        case StepKind::seek:
            return "seek";
        case StepKind::seek_shared:
            return "shared " + describe(step.seek_shared, /*byte_offset=*/false);
        case StepKind::byte_offset:
            return "get_byte_offset";
        case StepKind::set_view:
            return "set_view" + hints_of(step);
        case StepKind::settle:
            return "sync-barrier-sync";
        case StepKind::sync:
            return "sync";
        case StepKind::set_size:
            return settles + "set_size" + size;
        case StepKind::preallocate:
            return settles + "preallocate" + size;
        case StepKind::check_size:
            return "get_size, at most" + size;
        case StepKind::check_view:
            return "get_view";
        case StepKind::peek:
            return "sync-barrier-sync, look at the file by POSIX";
        case StepKind::toggle_atomicity:
            return "set_atomicity";
        case StepKind::set_info:
            return "set_info" + hints_of(step);
        case StepKind::forbidden_access:
            return "a call that the open mode forbids";
        case StepKind::complete:
            return title_of_completion(step);
        case StepKind::open_other:
            return std::string("open another handle ") + (step.alone ? "on MPI_COMM_SELF " : "") +
                   describe_mode(step.open_mode);
        case StepKind::close_other:
            return "close the other handle";
        case StepKind::reopen:
            return std::string("close, ") + (step.delete_before ? "delete, " : "") + "open " +
                   describe_mode(step.open_mode);
    }
    return "?";
}

}  // namespace

std::string describe_mode(int open_mode) {
    std::string text;
    auto const add = [&](int bit, char const* name) {
        if ((open_mode & bit) != 0) text += (text.empty() ? "" : "|") + std::string(name);
    };
    add(MPI_MODE_RDONLY, "RDONLY");
    add(MPI_MODE_WRONLY, "WRONLY");
    add(MPI_MODE_RDWR, "RDWR");
    add(MPI_MODE_CREATE, "CREATE");
    add(MPI_MODE_EXCL, "EXCL");
    add(MPI_MODE_APPEND, "APPEND");
    add(MPI_MODE_DELETE_ON_CLOSE, "DELETE_ON_CLOSE");
    add(MPI_MODE_UNIQUE_OPEN, "UNIQUE_OPEN");
    return text;
}

std::string describe(FileState const& file) {
    std::string text = "open " + describe_mode(file.open_mode) + ", ranks";
    for (int const rank : file.members) text += " " + std::to_string(rank);
    text += file.initial ? ", " + std::to_string(file.initial->size()) + " bytes before"
                         : ", not there before";
    if (file.unlink_after_open) text += ", unlinked after the open";
    if (file.native) text += ", native";
    for (auto const& [key, value] : file.hints) text += ", " + key + "=" + value;
    return text;
}

std::string describe(Step const& step, FileState const& file) {
    std::string text = "file " + std::to_string(step.file) +
                       (step.by_other ? ", other handle: " : ": ") + title(step);
    if (step.settles) text += " between two sync-barrier-syncs";
    if (step.barrier_before) text += " (after a barrier)";
    if (step.begins != 0) text += " begun as #" + std::to_string(step.begins);
    for (std::size_t m = 0; m < file.members.size(); ++m) {
        auto const prefix = "\n        rank " + std::to_string(file.members[m]) + ": ";
        if (m < step.accesses.size() && step.accesses[m].takes_part) {
            text += prefix + describe(step.accesses[m]);
        }
        if (m < step.seeks.size() && step.seeks[m].takes_part) {
            text += prefix + describe(step.seeks[m], step.kind == StepKind::byte_offset);
        }
        if (m < step.views.size()) text += prefix + describe(step.views[m]);
        if (m < step.failures.size() && step.failures[m] != Failure::never) {
            text += step.failures[m] == Failure::surely ? "  [must fail]" : "  [may fail]";
        }
    }
    return text;
}

}  // namespace fuzz
