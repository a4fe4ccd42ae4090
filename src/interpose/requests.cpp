#include "interpose/requests.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "interpose/errors.hpp"
#include "interpose/guard.hpp"
#include "interpose/mail_carrier.hpp"
#include "interpose/native.hpp"
#include "interpose/open_files.hpp"
#include "interpose/pending.hpp"

namespace unisono::interpose {
namespace {

/// Whether requests that are complete become null, or stay.
enum class Complete : bool { becomes_null, stays };

/// Unisono's calls among some requests, noted before MPI sets these to null.
class OwnCalls {
public:
    explicit OwnCalls(std::span<MPI_Request const> requests,
                      Complete complete = Complete::becomes_null)
        : requests_{requests},
          complete_{complete},
          calls_{PendingCalls::all().of(requests)},
          files_(calls_.size()) {
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (calls_[i] != nullptr) files_[i] = calls_[i]->call.handle;
    }

    [[nodiscard]] bool any() const {
        return std::ranges::any_of(calls_, [](auto const& call) { return call != nullptr; });
    }

    /// The first that is still on its way; null: none.
    [[nodiscard]] PendingCall const* first_helped() const {
        auto const found = std::ranges::find_if(calls_, [](auto const& call) {
            return call != nullptr && call->stage == PendingCall::Stage::helped;
        });
        return found == calls_.end() ? nullptr : found->get();
    }

    /// What a request that is complete has come to; the file's error handler is called.
    [[nodiscard]] int code(std::size_t i) const {
        if (calls_[i] == nullptr || calls_[i]->code == MPI_SUCCESS) return MPI_SUCCESS;
        auto const code = calls_[i]->code;
        return find(files_[i]) == nullptr ? code : raise(files_[i], code);
    }

    /// The codes of all that are complete into their statuses, if there is any error; `native`:
    /// what the MPI library says, which has set the statuses of all if some request of its own
    /// failed.
    template <class IndexOf>
    [[nodiscard]] int codes(int native, int complete, IndexOf index_of,
                            MPI_Status statuses[]) const {
        if (native != MPI_SUCCESS && native != MPI_ERR_IN_STATUS) return native;
        std::vector<int> codes(static_cast<std::size_t>(std::max(complete, 0)));
        for (int i = 0; i < complete; ++i) {
            auto const which = index_of(i);
            if (complete_ == Complete::stays || requests_[which] == MPI_REQUEST_NULL)
                codes[static_cast<std::size_t>(i)] = code(which);
        }
        if (std::ranges::all_of(codes, [](int one) { return one == MPI_SUCCESS; })) return native;
        if (statuses != MPI_STATUSES_IGNORE)
            for (std::size_t i = 0; i < codes.size(); ++i)
                if (native == MPI_SUCCESS || codes[i] != MPI_SUCCESS)
                    statuses[i].MPI_ERROR = codes[i];
        return MPI_ERR_IN_STATUS;
    }

private:
    std::span<MPI_Request const> requests_;
    Complete complete_;
    std::vector<std::shared_ptr<PendingCall>> calls_;
    std::vector<MPI_File> files_;
};

// None where they are a null pointer, which the MPI library has a word for.
std::span<MPI_Request const> all_of(int count, MPI_Request const requests[]) {
    if (requests == nullptr) return {};
    return {requests, static_cast<std::size_t>(std::max(count, 0))};
}

std::size_t itself(int i) { return static_cast<std::size_t>(i); }

bool nothing_pending() {
    auto const any = PendingCalls::all().any() || MailCarrier::any();
    return !any || !CallDepth::is_programs();
}

// `test` asks the MPI library, until it fails or says that it is enough.
template <class Test>
int wait_for(OwnCalls const& own, Test const& test) {
    PendingCalls::Waiting const waiting;
    SeenWaiting seen;
    while (true) {
        PendingCalls::all().move_on();
        int done = 0;
        auto const result = test(&done);
        if (result != MPI_SUCCESS || done != 0) return result;
        seen.wait_for(own.first_helped());
        if (own.any())
            PendingCalls::Waiting::for_a_moment();
        else
            sched_yield();  // messages come at any time
    }
}

// Questions about requests that wait for nothing: `ask` asks the MPI library, once Unisono's have
// moved on.

template <class Ask>
int ask_about(MPI_Request const* request, Complete complete, int const* done, Ask const& ask) {
    if (nothing_pending()) return ask();
    OwnCalls const own{all_of(1, request), complete};
    PendingCalls::all().move_on();
    auto const result = ask();
    return result == MPI_SUCCESS && *done != 0 ? own.code(0) : result;
}

template <class Ask>
int ask_about_all(int count, MPI_Request const requests[], Complete complete, int const* done,
                  MPI_Status statuses[], Ask const& ask) {
    if (nothing_pending()) return ask();
    OwnCalls const own{all_of(count, requests), complete};
    PendingCalls::all().move_on();
    auto const result = ask();
    if (result == MPI_SUCCESS && *done == 0) return result;
    return own.codes(result, count, itself, statuses);
}

template <class Ask>
int ask_about_any(int count, MPI_Request const requests[], Complete complete, int const* index,
                  int const* done, Ask const& ask) {
    if (nothing_pending()) return ask();
    OwnCalls const own{all_of(count, requests), complete};
    PendingCalls::all().move_on();
    auto const result = ask();
    if (result != MPI_SUCCESS || *done == 0 || *index == MPI_UNDEFINED) return result;
    return own.code(itself(*index));
}

template <class Ask>
int ask_about_some(int count, MPI_Request const requests[], Complete complete, int const* done,
                   int const indices[], MPI_Status statuses[], Ask const& ask) {
    if (nothing_pending()) return ask();
    OwnCalls const own{all_of(count, requests), complete};
    PendingCalls::all().move_on();
    auto const result = ask();
    if (done == nullptr || *done == MPI_UNDEFINED) return result;
    return own.codes(
        result, *done, [&](int i) { return itself(indices[i]); }, statuses);
}

}  // namespace

int wait_beside(std::function<int(int*)> const& test) { return wait_for(OwnCalls{{}}, test); }

int Wait(MPI_Request* request, MPI_Status* status) {
    if (nothing_pending()) return UNISONO_NATIVE(Wait)(request, status);
    OwnCalls const own{all_of(1, request)};
    auto const result =
        wait_for(own, [&](int* done) { return UNISONO_NATIVE(Test)(request, done, status); });
    return result == MPI_SUCCESS ? own.code(0) : result;
}

int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (nothing_pending()) return UNISONO_NATIVE(Waitall)(count, requests, statuses);
    OwnCalls const own{all_of(count, requests)};
    auto const result = wait_for(
        own, [&](int* done) { return UNISONO_NATIVE(Testall)(count, requests, done, statuses); });
    return own.codes(result, count, itself, statuses);
}

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    if (nothing_pending()) return UNISONO_NATIVE(Waitany)(count, requests, index, status);
    OwnCalls const own{all_of(count, requests)};
    auto const result = wait_for(own, [&](int* done) {
        return UNISONO_NATIVE(Testany)(count, requests, index, done, status);
    });
    if (result != MPI_SUCCESS || *index == MPI_UNDEFINED) return result;
    return own.code(itself(*index));
}

int Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    if (nothing_pending())
        return UNISONO_NATIVE(Waitsome)(count, requests, done, indices, statuses);
    OwnCalls const own{all_of(count, requests)};
    auto const result = wait_for(own, [&](int* enough) {
        auto const tested = UNISONO_NATIVE(Testsome)(count, requests, done, indices, statuses);
        *enough = done != nullptr && *done != 0 ? 1 : 0;
        return tested;
    });
    if (done == nullptr || *done == MPI_UNDEFINED) return result;
    return own.codes(
        result, *done, [&](int i) { return itself(indices[i]); }, statuses);
}

int Test(MPI_Request* request, int* done, MPI_Status* status) {
    return ask_about(request, Complete::becomes_null, done,
                     [&] { return UNISONO_NATIVE(Test)(request, done, status); });
}

int Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]) {
    return ask_about_all(count, requests, Complete::becomes_null, done, statuses,
                         [&] { return UNISONO_NATIVE(Testall)(count, requests, done, statuses); });
}

int Testany(int count, MPI_Request requests[], int* index, int* done, MPI_Status* status) {
    return ask_about_any(count, requests, Complete::becomes_null, index, done, [&] {
        return UNISONO_NATIVE(Testany)(count, requests, index, done, status);
    });
}

int Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    return ask_about_some(count, requests, Complete::becomes_null, done, indices, statuses, [&] {
        return UNISONO_NATIVE(Testsome)(count, requests, done, indices, statuses);
    });
}

int Request_get_status(MPI_Request request, int* done, MPI_Status* status) {
    return ask_about(&request, Complete::stays, done,
                     [&] { return UNISONO_NATIVE(Request_get_status)(request, done, status); });
}

int Request_free(MPI_Request* request) {
    if (!nothing_pending())
        for (auto const& call : PendingCalls::all().of(all_of(1, request)))
            if (call != nullptr) note_freed(*call);
    return UNISONO_NATIVE(Request_free)(request);
}

#ifdef UNISONO_REQUESTS_OF_MPI_4_1
int Request_get_status_all(int count, RequestsAsked requests, int* done, MPI_Status statuses[]) {
    return ask_about_all(count, requests, Complete::stays, done, statuses, [&] {
        return UNISONO_NATIVE(Request_get_status_all)(count, requests, done, statuses);
    });
}

int Request_get_status_any(int count, RequestsAsked requests, int* index, int* done,
                           MPI_Status* status) {
    return ask_about_any(count, requests, Complete::stays, index, done, [&] {
        return UNISONO_NATIVE(Request_get_status_any)(count, requests, index, done, status);
    });
}

int Request_get_status_some(int count, RequestsAsked requests, int* done, int indices[],
                            MPI_Status statuses[]) {
    return ask_about_some(count, requests, Complete::stays, done, indices, statuses, [&] {
        return UNISONO_NATIVE(Request_get_status_some)(count, requests, done, indices, statuses);
    });
}
#endif

}  // namespace unisono::interpose
