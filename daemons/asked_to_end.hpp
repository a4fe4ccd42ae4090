#pragma once

#include <csignal>

namespace unisono {

/// Set by SIGTERM, SIGINT and SIGHUP once end_when_asked() was called.
inline volatile std::sig_atomic_t asked_to_end = 0;

inline void end_when_asked() {
    struct sigaction action {};
    action.sa_handler = [](int) { asked_to_end = 1; };
    for (int const signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
}

}  // namespace unisono
