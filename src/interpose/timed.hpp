#pragma once

#include <memory>
#include <optional>

#include "interpose/conclusion.hpp"
#include "interpose/file.hpp"
#include "interpose/in_call.hpp"
#include "support/clock.hpp"

namespace unisono::interpose {

/// A call that moves no data: books its time with its file, once it is known.
struct Timed {
    std::shared_ptr<File> file;
    FilePhase phase;
    double begin_s = steady_clock_s();

    ~Timed() {
        if (file == nullptr) return;
        auto const end_s = steady_clock_s();
        file->record([&](FileReport& report) { add_file_call(report, phase, begin_s, end_s); });
    }
};

/// The same, and this rank is seen to be in it. `file` may be null.
struct TimedCollective {
    TimedCollective(std::shared_ptr<File> const& file, FilePhase phase, std::uint16_t operation)
        : timed{file, phase} {
        if (file != nullptr) in_call.emplace(*file, operation);
    }
    Timed timed;
    std::optional<InCall> in_call;
};

}  // namespace unisono::interpose
