#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "interpose/file.hpp"
#include "interpose/in_call.hpp"

namespace unisono::interpose {

/// A call that moves no data: books its time with its file, once it is known.
struct Timed {
    std::shared_ptr<File> file;
    FilePhase phase;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

    ~Timed() {
        if (file == nullptr) return;
        std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - begin;
        file->record([&](FileReport& report) { report.seconds.add(phase, spent.count()); });
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
