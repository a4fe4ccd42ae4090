#include "interpose/nonblocking.hpp"

#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "interpose/alone.hpp"
#include "interpose/conclusion.hpp"
#include "interpose/guard.hpp"
#include "strategies/all.hpp"
#include "support/hash.hpp"

namespace unisono::interpose {
namespace {

using Stage = PendingCall::Stage;

// Independent calls: disks and servers can do several. On one node's own file system the kernel has
// writes to a file wait for each other.
constexpr std::size_t at_once = 4;

Topology with_name(Topology topology, std::string const& name) {
    topology.names = {name};
    topology.machine = read_machine();
    return topology;
}

// What is measured is the program's own time.
Options without_measuring(Options options) {
    options.select = "rule";
    return options;
}

}  // namespace

bool NonblockingCalls::possible(File const& file) {
    auto const wanted = file.options().overlap;
    if (wanted == Switch::disable) return false;
    return wanted == Switch::enable || file.context().helpers_may_call_mpi() ||
           file.team().topology().nodes() == 1;
}

bool can_overlap(File const& file) {
    return !file.view()->native_only && file.call_options().strategy != native.name &&
           NonblockingCalls::possible(file);
}

NonblockingCalls::NonblockingCalls(File& file, std::uint32_t number)
    : file_{file},
      mpi_team_{file.team()},
      number_{number},
      threads_call_mpi_{file.context().helpers_may_call_mpi()},
      on_node_{mpi_team_.topology().nodes() == 1},
      own_name_{processor_name()},
      options_{without_measuring(file.call_options())},
      reads_{at_once},
      writes_{file.storage().local ? 1 : at_once} {
    if (on_node_ || threads_call_mpi_) return;
    carrier_.emplace(mail_, file.context().comm(), file.number());
    MpiTeam::call_in_every_wait(MailCarrier::carry_if_any);
}

void NonblockingCalls::post(std::shared_ptr<PendingCall> call) {
    std::erase_if(posted_, [](auto const& one) { return one->stage == Stage::over; });
    posted_.push_back(call);
    if (carrier_) carrier_->begin();
    collective_.post([this, call = std::move(call)] { perform(*call); });
}

// What may fail comes before the request.
bool NonblockingCalls::post_independent(std::shared_ptr<PendingCall> const& call,
                                        bool part_of_collective, MPI_Request* request) {
    std::function<void()> task = [this, call, part_of_collective] {
        perform_independent(*call, part_of_collective);
        call->finish(Stage::done);
    };
    if (PendingCalls::all().add(call, request) != MPI_SUCCESS) return false;
    independent(call->prepared.request.direction).post(std::move(task));
    return true;
}

void NonblockingCalls::perform_independent(PendingCall& call, bool part_of_collective) try {
    CallRecord record;
    auto const rank = static_cast<std::uint32_t>(file_.context().rank());
    auto const& request = call.prepared.request;
    auto const result = access_alone(file_, request, record);
    record.lap(Phase::file);
    file_.overlap_gain().note(request.direction, request.positions.bytes(), record.whole_s());
    call.outcome = {.local = true, .bytes = result.bytes, .verdict = {result, rank}};
    if (part_of_collective) {
        file_.note_lost(lost_in(request, result, rank));
        call.told_later = true;
    }
    file_.record([&](FileReport& report) {
        ++report[request.direction].independent_calls;
        add_request(report[request.direction], request);
        add_call_beside(report[request.direction], record, request.positions.bytes());
    });
} catch (std::bad_alloc const&) {  // for what is kept of it
    call.outcome.verdict = {IoResult{.error = {ENOMEM, "getting memory", Error::whole_file}},
                            static_cast<std::uint32_t>(file_.context().rank())};
}

void NonblockingCalls::finish() const {
    auto const collective = collective_.posted();
    auto const reads = reads_.posted();
    auto const writes = writes_.posted();
    PendingCalls::Waiting const waiting;
    SeenWaiting seen;
    while (!collective_.has_done(collective) || !reads_.has_done(reads) ||
           !writes_.has_done(writes)) {
        file_.context().progress();
        seen.wait_for(posted_.empty() ? nullptr : posted_.back().get());
        PendingCalls::Waiting::for_a_moment();
    }
    PendingCalls::all().move_on();
    // Another thread of the program may be at one. Those without a request are split calls, which
    // end elsewhere.
    for (auto const& call : posted_)
        while (call->request != MPI_REQUEST_NULL && call->stage != Stage::over) {
            PendingCalls::Waiting::for_a_moment();
            PendingCalls::all().move_on();
        }
}

void NonblockingCalls::finish_independent() const {
    PendingCalls::Waiting const waiting;
    while (!reads_.idle() || !writes_.idle()) PendingCalls::Waiting::for_a_moment();
}

NodeTeam::Name NonblockingCalls::team_name() {
    auto secret = mpi_team_.secret();
    for (; !secret; secret = mpi_team_.secret()) std::this_thread::yield();
    std::array<std::uint64_t, 4> const parts{secret->high, secret->low, file_.number(), number_};
    auto const name = hash128(parts);
    return {name[0], name[1]};
}

NodeTeam& NonblockingCalls::node_team() {
    if (node_team_ != nullptr) return *node_team_;
    node_team_ = std::make_unique<NodeTeam>(team_name(), with_name(mpi_team_.topology(), own_name_),
                                            mpi_team_.rank());
    node_team_->hurry_while(PendingCalls::all().waiting());
    return *node_team_;
}

RelayedTeam& NonblockingCalls::relayed_team() {
    if (relayed_team_ != nullptr) return *relayed_team_;
    // Where there may be no thread it is the program's own that waits.
    auto const when_idle = [] {
        if (!HelperThreads::is_one()) MailCarrier::carry_if_any();
    };
    relayed_team_ = std::make_unique<RelayedTeam>(team_name(), mpi_team_.topology(),
                                                  mpi_team_.rank(), mail_, when_idle);
    relayed_team_->hurry_while(PendingCalls::all().waiting());
    relayed_team_->learn_nodes(own_name_);
    return *relayed_team_;
}

NonblockingCalls::Ranks NonblockingCalls::ranks() {
    if (on_node_) return {node_team(), node_team().rendezvous()};
    if (threads_call_mpi_) return {mpi_team_, mpi_team_.rendezvous()};
    return {relayed_team(), relayed_team().rendezvous()};
}

Layout const& NonblockingCalls::layout() {
    if (!on_node_ && threads_call_mpi_) return file_.layout();
    if (!layout_)
        layout_ = file_.layout_by([this](auto bytes) {
            return on_node_ ? node_team().from_rank_0(std::move(bytes))
                            : relayed_team().from_rank_0(std::move(bytes));
        });
    return *layout_;
}

Outcome NonblockingCalls::perform_on(Team& team, Rendezvous& rendezvous, PendingCall& call,
                                     CallRecord& record) {
    auto caller = caller_facts(file_, call.prepared);
    caller.native_ready = false;
    caller.file_bytes = call.file_bytes;
    return perform_collective({.team = team,
                               .rendezvous = rendezvous,
                               .storage = file_.storage(),
                               .layout = layout(),
                               .options = options_,
                               .tuner = tuner_,
                               .gathered = gathered_,
                               .ahead = &ahead_},
                              call.prepared.request, caller, record);
}

// An exception ends the program, as in a blocking call: other ranks wait for what was left undone.
void NonblockingCalls::perform(PendingCall& call) try {
    CallRecord record;
    auto const [team, rendezvous] = ranks();
    rendezvous.note().enter(call_tag(file_.number(), call.call.operation), ++calls_,
                            static_cast<std::uint64_t>(call.prepared.first));
    try {
        call.outcome = perform_on(team, rendezvous, call, record);
        if (!call.outcome.native)
            record_collective(file_, call.prepared, call.outcome, record, Beside::the_program);
    } catch (CallsDiffer const& differ) {
        call.difference = describe(differ, mpi_team_);
    }
    rendezvous.note().leave();
    if (carrier_) {
        relayed_team().finish_sends();  // the program may not call Unisono again for long
        carrier_->end();
    }
    call.finish(call.outcome.native ? Stage::refused : Stage::done);
} catch (std::exception const& exception) {
    end_in_collective_call(call.call.name(), &file_, MPI_COMM_NULL, exception);
}

}  // namespace unisono::interpose
