#pragma once

#include <chrono>
#include <string>

#include "report/report.hpp"

namespace unisono {

/// What is known of an open file, kept where others find it if the program ends before the file is
/// closed: as JSON in a file of its own in a folder, replaced as a whole, removed with the trace.
/// Where the folder is not, as on another machine, nothing happens.
class Trace {
public:
    explicit Trace(std::string const& folder);
    ~Trace();
    Trace(Trace const&) = delete;
    Trace& operator=(Trace const&) = delete;

    /// Long enough ago: keep() costs two system calls and some for the file's content.
    [[nodiscard]] bool due() const;
    void keep(FileReport const& report);

private:
    using Clock = std::chrono::steady_clock;

    std::string path_;
    int kept_ = 0;
    Clock::time_point last_ = Clock::now();
};

/// Leaves an empty file of that name in the folder of traces: something to know of the whole run.
void leave_mark(std::string const& folder, char const* name);

}  // namespace unisono
