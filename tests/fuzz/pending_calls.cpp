// Completing what was begun in earlier steps, in every way that MPI has.
#include <cstring>
#include <functional>
#include <set>

#include "calls.hpp"
#include "operations.hpp"

namespace fuzz {

namespace {

/// Requests that are completed together.
struct Waited {
    std::vector<PendingName> names;
    std::vector<MPI_Request> requests;
    [[nodiscard]] int count() const { return static_cast<int>(requests.size()); }
};

/// For each one that is over: which, its status, and what the call returned.
using Over = std::function<void(int, MPI_Status const&, int)>;

/// Every rank in an order of its own.
void wait_for_each(Waited& waited, Over const& over, int rank) {
    for (int i = 0; i < waited.count(); ++i) {
        auto const at = (i + rank) % waited.count();
        MPI_Status status;
        std::memset(&status, 0x55, sizeof status);
        int const code = MPI_Wait(&waited.requests[static_cast<std::size_t>(at)], &status);
        over(at, status, code);
    }
}

void wait_after_status(Waited& waited, Over const& over, int rank) {
    for (auto const request : waited.requests)
        for (int flag = 0; flag == 0;) {
            MPI_Status status;
            if (MPI_Request_get_status(request, &flag, &status) != MPI_SUCCESS) break;
        }
    wait_for_each(waited, over, rank);
}

void wait_for_all(Waited& waited, Over const& over, bool tests) {
    std::vector<MPI_Status> statuses(waited.requests.size());
    int flag = 0, code = MPI_SUCCESS;
    while (tests && flag == 0 && code == MPI_SUCCESS)
        code = MPI_Testall(waited.count(), waited.requests.data(), &flag, statuses.data());
    if (!tests) code = MPI_Waitall(waited.count(), waited.requests.data(), statuses.data());
    for (int i = 0; i < waited.count(); ++i) over(i, statuses[static_cast<std::size_t>(i)], code);
}

void wait_for_any(Waited& waited, Over const& over, bool tests) {
    for (int left = waited.count(); left > 0; --left) {
        int index = MPI_UNDEFINED, flag = 0, code = MPI_SUCCESS;
        MPI_Status status;
        while (tests && flag == 0 && code == MPI_SUCCESS)
            code = MPI_Testany(waited.count(), waited.requests.data(), &index, &flag, &status);
        if (!tests) code = MPI_Waitany(waited.count(), waited.requests.data(), &index, &status);
        over(index, status, code);
    }
}

void wait_for_some(Waited& waited, Over const& over, bool tests) {
    std::vector<MPI_Status> statuses(waited.requests.size());
    std::vector<int> indices(waited.requests.size());
    for (int left = waited.count(); left > 0;) {
        int done = 0, code = MPI_SUCCESS;
        while (tests && done == 0 && code == MPI_SUCCESS)
            code = MPI_Testsome(waited.count(), waited.requests.data(), &done, indices.data(),
                                statuses.data());
        if (!tests)
            code = MPI_Waitsome(waited.count(), waited.requests.data(), &done, indices.data(),
                                statuses.data());
        if (done <= 0) return over(MPI_UNDEFINED, {}, code);
        for (int i = 0; i < done; ++i)
            over(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)], code);
        left -= done;
    }
}

void wait_for(Completion how, Waited& waited, Over const& over, int rank) {
    switch (how) {
        case Completion::waitall:
        case Completion::testall:
            return wait_for_all(waited, over, how == Completion::testall);
        case Completion::waitany:
        case Completion::testany:
            return wait_for_any(waited, over, how == Completion::testany);
        case Completion::waitsome:
        case Completion::testsome:
            return wait_for_some(waited, over, how == Completion::testsome);
        case Completion::status:
            return wait_after_status(waited, over, rank);
        case Completion::each:
        case Completion::free_all:
            return wait_for_each(waited, over, rank);
    }
}

}  // namespace

void Performer::perform_complete(Step const& step) {
    if (step.how == Completion::free_all) return free_requests(step);
    end_splits(step.completes);
    complete_requests(step, step.completes);
    finish_freed(step.completes);
    for (auto const& name : step.completes) {
        complete(files_[name.file], name.id);
        begun_.erase(name.id);
    }
}

void Performer::complete_requests(Step const& step, std::vector<PendingName> const& names) {
    Waited waited;
    for (auto const& name : names) {
        auto const mine = begun_.find(name.id);
        if (mine == begun_.end() || mine->second.request == MPI_REQUEST_NULL) continue;
        waited.names.push_back(name);
        waited.requests.push_back(mine->second.request);
    }
    if (waited.names.empty()) return;
    int rank = 0;
    MPI_Comm_rank(communicators_.everyone, &rank);
    wait_for(
        step.how, waited,
        [&](int index, MPI_Status const& status, int code) {
            if (index < 0 || index >= waited.count())
                return complain("a completion of no request: index " + std::to_string(index));
            status_ = status;
            check_completed(waited.names[static_cast<std::size_t>(index)], code);
        },
        rank);
    for (auto const request : waited.requests)
        if (request != MPI_REQUEST_NULL) complain("a completed request is not null");
}

void Performer::end_splits(std::vector<PendingName> const& names) {
    for (auto const& name : names) {
        auto const& pending = files_[name.file].pending.at(name.id);
        auto const mine = begun_.find(name.id);
        if (!pending.split || mine == begun_.end()) continue;
        auto const& open = open_[name.file];
        std::memset(&status_, 0x55, sizeof status_);
        int const code =
            end_split(open.handle, pending.accesses[static_cast<std::size_t>(open.member)],
                      mine->second.buffer.origin(), &status_);
        check_completed(name, code);
    }
}

/// Not what MPI allows, which wants nothing pending there, but what Unisono promises: all is over.
void Performer::finish_freed(std::vector<PendingName> const& names) {
    std::set<std::size_t> synced;
    for (auto const& name : names) {
        if (!files_[name.file].pending.at(name.id).freed) continue;
        if (!synced.insert(name.file).second || open_[name.file].member < 0) continue;
        expect_success(MPI_File_sync(open_[name.file].handle), "MPI_File_sync");
    }
}

void Performer::free_requests(Step const& step) {
    for (auto const& name : step.completes) {
        files_[name.file].pending.at(name.id).freed = true;
        auto const mine = begun_.find(name.id);
        if (mine == begun_.end()) continue;
        expect_success(MPI_Request_free(&mine->second.request), "MPI_Request_free");
    }
}

void Performer::check_completed(PendingName const& name, int code) {
    auto const& file = files_[name.file];
    auto const& pending = file.pending.at(name.id);
    auto const member = static_cast<std::size_t>(open_[name.file].member);
    auto const& access = pending.accesses[member];
    auto const& mine = begun_.at(name.id);
    expect_success(code, "the completion");
    if (auto const at = mine.buffer.damage(mine.before))
        complain("the buffer was changed where it is not data, at byte " + std::to_string(*at) +
                 " from its origin, by #" + std::to_string(name.id));
    int bytes = -1;
    MPI_Get_elements(&status_, MPI_BYTE, &bytes);
    Outcome const outcome{.bytes = static_cast<std::uint64_t>(bytes)};
    if (!pending.conflicting[member] || access.writes)
        return check_data(file, access, pending.views[member], mine.buffer, outcome,
                          static_cast<int>(member));
    if (outcome.bytes != access.bytes())
        complain("bytes in the status of #" + std::to_string(name.id) + ": expected " +
                 std::to_string(access.bytes()) + ", found " + std::to_string(bytes));
}

}  // namespace fuzz
