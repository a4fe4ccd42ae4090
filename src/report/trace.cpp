#include "report/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>

namespace unisono {
namespace {

// No other process's and no other file's, also where machines share the folder.
std::string new_name() {
    static std::atomic<unsigned> files = 0;
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    return std::string(host.data()) + '.' + std::to_string(getpid()) + '.' +
           std::to_string(++files) + ".json";
}

int create(std::string const& path) {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
}

}  // namespace

Trace::Trace(std::string const& folder) : path_{folder + '/' + new_name()} {}

Trace::~Trace() { ::unlink(path_.c_str()); }

bool Trace::due() const {
    constexpr int at_once = 8;  // when it is opened, and after the first calls
    return kept_ < at_once || Clock::now() - last_ >= std::chrono::milliseconds{250};
}

void Trace::keep(FileReport const& report) {
    ++kept_;
    last_ = Clock::now();
    auto const next = path_ + ".next";
    auto const descriptor = create(next);
    if (descriptor < 0) return;
    auto const text = to_json(report) + '\n';
    auto const written = ::write(descriptor, text.data(), text.size());
    ::close(descriptor);
    if (written == static_cast<ssize_t>(text.size()))
        std::rename(next.c_str(), path_.c_str());
    else
        ::unlink(next.c_str());
}

void leave_mark(std::string const& folder, char const* name) {
    auto const descriptor = create(folder + '/' + name);
    if (descriptor >= 0) ::close(descriptor);
}

}  // namespace unisono
