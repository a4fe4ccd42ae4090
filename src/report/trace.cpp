#include "report/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "support/descriptor.hpp"
#include "support/replacement.hpp"

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
    Replacement next{path_};
    next.write(to_json(report) + '\n');
    next.take_place();
}

void leave_mark(std::string const& folder, char const* name) {
    auto const path = folder + '/' + name;
    Descriptor const mark{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
}

}  // namespace unisono
