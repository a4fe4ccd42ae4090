#include "simulated/run_scenario.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "execute/collective.hpp"
#include "execute/collective_cases.hpp"
#include "simulated/contents.hpp"
#include "simulated/memory_file.hpp"
#include "simulated/simulated_backend.hpp"

namespace unisono::simulated {
namespace {

/// One run: what all ranks look at.
class Run {
public:
    explicit Run(Scenario const& scenario)
        : scenario_{scenario},
          states_{states_of(scenario)},
          file_{initial_contents(scenario.file_bytes)},
          verdicts_(scenario.ranks()) {}

    Judgement judge(std::function<void(Event const&)> const& trace);

private:
    class Rank;

    void complain(std::size_t call, std::uint32_t rank, std::string const& what) {
        constexpr std::size_t complaints_max = 20;
        if (what.empty() || judgement_.complaints.size() >= complaints_max) return;
        judgement_.complaints.push_back("call " + std::to_string(call) + ", rank " +
                                        std::to_string(rank) + ": " + what);
    }
    void judge_faults();
    void judge_agreement();

    Scenario const& scenario_;
    std::vector<Contents> states_;
    MemoryFile file_;
    FakeDevice device_;
    std::vector<std::vector<Verdict>> verdicts_;  // of each rank: of its calls and drains
    std::size_t calls_begun_ = 0;
    Judgement judgement_;
};

/// What one rank does.
class Run::Rank {
public:
    Rank(Run& run, SimulatedTeam& team, Rendezvous& rendezvous)
        : run_{run}, team_{team}, rendezvous_{rendezvous} {
        storage_.descriptor = run.file_.descriptor();
        storage_.backend = make_simulated_backend(make_posix_backend(storage_.descriptor), team_);
    }

    void perform() {
        auto const& calls = run_.scenario_.calls;
        for (number_ = 0; number_ < calls.size(); ++number_)
            if (!perform_call(calls[number_])) break;
        number_ = std::min(number_, calls.size() - 1);
        if (!left_) drain();
    }

private:
    bool perform_call(Scenario::Call const& call);
    Outcome perform_with_canary(Scenario::Call const& call, Request request);
    void judge(Scenario::Call const& call, Request const& request,
               std::vector<std::byte> const& memory, Outcome const& outcome);
    void judge_error(Scenario::Call const& call, Request const& request, Outcome const& outcome);
    void judge_own_bytes(Request request);
    bool drain();
    void judge_file();

    void say(char const* what) { team_.say("call " + std::to_string(number_) + " (" + what + ")"); }
    void complain(std::string const& what) { run_.complain(number_, team_.rank(), what); }
    void meet() {
        Verdict nothing;
        rendezvous_.meet(nothing);
    }
    [[nodiscard]] bool nothing_failed() const {
        return team_.failed(Direction::read) + team_.failed(Direction::write) == 0;
    }
    [[nodiscard]] Contents const& before() const { return run_.states_[number_]; }
    [[nodiscard]] Contents const& after() const { return run_.states_[number_ + 1]; }

    Run& run_;
    SimulatedTeam& team_;
    Rendezvous& rendezvous_;
    Storage storage_;
    CachedFile cache_{team_, rendezvous_, storage_};
    OnlineTuner tuner_;
    GatheredFacts gathered_;
    AheadOfAgreement ahead_;
    CallRecord record_{now_s};
    std::size_t number_ = 0;
    bool left_ = false;  // a canary
};

// False: the file could not be accessed, as all ranks agree.
bool Run::Rank::perform_call(Scenario::Call const& call) {
    run_.calls_begun_ = number_ + 1;
    say(call.direction == Direction::write ? "write" : "read");
    auto const rank = team_.rank();
    auto memory = memory_before(run_.scenario_, number_, rank);
    auto request = call.requests[rank];
    request.direction = call.direction;
    request.base = reinterpret_cast<std::uintptr_t>(memory.data());
    if (run_.scenario_.on_device[rank]) {
        request.base |= FakeDevice::bit;
        request.device = &run_.device_;
    }
    left_ = run_.scenario_.canary == Canary::leaves_when_empty && request.positions.empty();
    if (left_) return false;
    auto const outcome = perform_with_canary(call, request);
    run_.verdicts_[rank].push_back(outcome.verdict);
    judge(call, request, memory, outcome);
    say("check");
    meet();
    if (outcome.verdict.code != 0) judge_error(call, request, outcome);
    if (rank == 0 && !cache_.holds_writes()) judge_file();
    meet();
    return outcome.verdict.code == 0 && (!call.drain_after || drain());
}

Outcome Run::Rank::perform_with_canary(Scenario::Call const& call, Request request) {
    auto const forgets =
        run_.scenario_.canary == Canary::forgets_last_byte && request.positions.bytes() > 100;
    if (forgets) --request.positions.end;
    record_ = CallRecord{now_s};
    auto outcome = perform_collective({team_, rendezvous_, storage_, run_.scenario_.layout,
                                       call.options, tuner_, gathered_, &cache_,
                                       /*storage_key=*/0, /*native=*/[] { return true; }, &ahead_},
                                      request, {}, record_);
    if (forgets) ++outcome.bytes;
    return outcome;
}

void Run::Rank::judge(Scenario::Call const& call, Request const& request,
                      std::vector<std::byte> const& memory, Outcome const& outcome) {
    auto const reads = call.direction == Direction::read;
    auto const tells = outcome.verdict.code != 0;
    if (team_.failed(Direction::write) > 0 || (team_.failed(Direction::read) > 0 && tells)) return;
    if (reads) return complain(compare_read(request, memory, before(), outcome.bytes));
    if (!nothing_failed()) return;
    if (outcome.bytes != request.positions.bytes())
        complain("wrote " + std::to_string(request.positions.bytes()) + " bytes, counted " +
                 std::to_string(outcome.bytes));
    if (run_.file_.bytes() != bytes_of(after()))
        complain("the file has " + std::to_string(run_.file_.bytes()) +
                 " bytes when a write returns, not " + std::to_string(bytes_of(after())));
    judge_own_bytes(request);
}

// What was counted is there. The cache counts what it may still lose, and tells of that later.
void Run::Rank::judge_error(Scenario::Call const& call, Request const& request,
                            Outcome const& outcome) {
    if (call.direction == Direction::read || outcome.strategy == "view_based") return;
    complain(find_miscounted(request, run_.file_.contents(), after(), outcome.bytes));
}

// A rank sees what it wrote at once, where no other rank wrote in the same call.
void Run::Rank::judge_own_bytes(Request request) {
    request.direction = Direction::read;
    request.device = nullptr;
    std::vector<std::byte> memory = buffer_for(request, std::byte{0});
    request.base = reinterpret_cast<std::uintptr_t>(memory.data());
    if (!run_.scenario_.conditions.faults.empty()) return;
    CallRecord record{now_s};
    auto const bytes = cache_.perform_independent(request, record).bytes;
    if (bytes != request.positions.bytes())
        complain("reads back " + std::to_string(bytes) + " of its own bytes");
    std::uint64_t position = 0;
    walk_both(request.view, request.positions, request.memory, {0, request.positions.bytes()},
              [&](std::int64_t file, std::int64_t place, std::uint64_t length) {
                  for (std::uint64_t i = 0; i < length; ++i, ++position) {
                      auto const offset = static_cast<std::uint64_t>(file) + i;
                      auto const mine = value_written(number_, team_.rank(), position);
                      auto const found = memory[static_cast<std::size_t>(place) + i];
                      if (after().at(offset).size() == 1 && found != mine)
                          complain("does not see its own byte at " + std::to_string(offset));
                  }
              });
}

// False: what had been deferred could not be written, as all ranks agree.
bool Run::Rank::drain() {
    say("drain");
    cache_.drain(record_);
    auto const error = cache_.take_error();
    run_.verdicts_[team_.rank()].push_back(error);
    if (cache_.in_use()) complain("still in use after a drain");
    if (team_.rank() == 0) judge_file();
    meet();
    return error.code == 0;
}

void Run::Rank::judge_file() {
    auto const found = run_.file_.contents();
    complain(nothing_failed() ? compare(found, after())
                              : find_foreign_byte(found, run_.states_, number_ + 1));
}

bool same(Verdict const& a, Verdict const& b) {
    return a.code == b.code && a.rank == b.rank && a.offset == b.offset &&
           a.stopped_at == b.stopped_at && a.call == b.call;
}

void Run::judge_agreement() {
    for (std::uint32_t rank = 1; rank < scenario_.ranks(); ++rank) {
        auto const& mine = verdicts_[rank];
        auto const& first = verdicts_[0];
        if (!std::ranges::equal(mine, first, same))
            judgement_.complaints.push_back("rank " + std::to_string(rank) +
                                            " has another outcome than rank 0");
    }
}

// An access that failed is told of, or was done again (one ahead of an agreement is): then nothing
// is missing. Nothing else is told.
void Run::judge_faults() {
    auto const& faults = scenario_.conditions.faults;
    auto const& failed = judgement_.ended.failed;
    for (auto const& verdict : verdicts_[0]) {
        if (verdict.code == 0) continue;
        judgement_.file_error = true;
        auto const known =
            std::ranges::find(faults, verdict.code, &AccessFault::code) != faults.end();
        if (!known || failed[Direction::read] + failed[Direction::write] == 0)
            judgement_.complaints.push_back("errno " + std::to_string(verdict.code) +
                                            " from nowhere");
    }
    if (failed[Direction::write] == 0 || judgement_.file_error) return;
    if (auto const missing = compare(file_.contents(), states_.back()); !missing.empty())
        judgement_.complaints.push_back("an access failed, and nobody was told: " + missing);
}

// FNV-1a, by words.
std::uint64_t with_contents(std::uint64_t digest, std::span<std::byte const> contents) {
    for (std::size_t at = 0; at < contents.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, contents.data() + at, std::min(sizeof word, contents.size() - at));
        digest = (digest ^ word) * 0x100000001b3;
    }
    return digest;
}

Judgement Run::judge(std::function<void(Event const&)> const& trace) {
    SimulatedTeams teams{make_topology(scenario_.node_labels), scenario_.conditions};
    teams.trace = trace;
    judgement_.ended = teams.run([&](SimulatedTeam& team, Rendezvous& rendezvous) {
        Rank{*this, team, rendezvous}.perform();
    });
    auto& complaints = judgement_.complaints;
    auto const& thrown = judgement_.ended.failures;
    complaints.insert(complaints.end(), thrown.begin(), thrown.end());
    judgement_.digest = with_contents(judgement_.ended.digest, file_.contents());
    if (judgement_.deadlocked()) return std::move(judgement_);
    judge_agreement();
    judge_faults();
    return std::move(judgement_);
}

}  // namespace

std::string Judgement::text() const {
    std::string text;
    for (auto const& complaint : complaints) text += "  " + complaint + "\n";
    if (deadlocked()) text += "  deadlock: no rank can go on\n";
    for (auto const& place : ended.deadlock) text += "    " + place + "\n";
    return text;
}

Judgement run(Scenario const& scenario, std::function<void(Event const&)> const& trace) {
    return Run{scenario}.judge(trace);
}

}  // namespace unisono::simulated
