#include "pocket_gate.hpp"

#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

namespace unisono {

namespace {

constexpr char const* attribute = "user.pocketfs.gate";
constexpr std::size_t value_bytes_max = 65536;

}  // namespace

std::optional<orchestra::Report> PocketGate::report() {
    std::string text(value_bytes_max, '\0');
    auto const length = getxattr(mountpoint_.c_str(), attribute, text.data(), text.size());
    if (length < 0) return {};
    text.resize(static_cast<std::size_t>(length));
    auto report = orchestra::parse_report(text);
    if (!report) errno = EBADMSG;
    return report;
}

int PocketGate::send(orchestra::Schedule const& schedule) {
    auto const text = orchestra::show(schedule);
    // Not to be made: where nothing is mounted any more there is no such attribute.
    bool const sent =
        setxattr(mountpoint_.c_str(), attribute, text.data(), text.size(), XATTR_REPLACE) == 0;
    return sent ? 0 : errno;
}

void PocketGate::wait(orchestra::Time time) { usleep(static_cast<useconds_t>(time / 1000)); }

void PocketGate::describe(orchestra::Status& status) const {
    status.gate = "servers";
    status.locality = "disk";
}

}  // namespace unisono
