#pragma once

#include <chrono>
#include <memory>

#include "interpose/file.hpp"

namespace unisono::interpose {

/// Books the time of a call that moves no data with its file, once it is known.
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

}  // namespace unisono::interpose
