#pragma once

#include <csignal>

namespace unisono {

/// While it lives, this thread, and threads that it makes, run no signal handler of the program,
/// but for what they cause themselves.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t blocked;
        sigfillset(&blocked);
        for (int const caused : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGXFSZ})
            sigdelset(&blocked, caused);
        pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    SignalsBlocked(SignalsBlocked const&) = delete;
    SignalsBlocked& operator=(SignalsBlocked const&) = delete;
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_{};
};

}  // namespace unisono
