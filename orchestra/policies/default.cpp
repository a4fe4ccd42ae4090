// IOrchestrator, mended. The paper compares the next request's distance in time (RD) with the seek
// that serving others would need, both guessed from averages of which the last sample is 7/8, and
// dedicated service itself removes the gaps that made a program eligible. Here both sides are
// measured in one unit, the server's time that one request of the program uses up:
//   open       while everyone is served: from the end of the request before, anyone's, to its end
//   dedicated  the same in the program's own slices, with the time that the disk waits for it
// Both are steady means (SteadyMean). A program is eligible when `dedicated` is clearly the
// the cheaper, or when it starves while everyone is served: its requests stay in the servers for so
// long, and others' do not, that it gets next to nothing (a reader beside a writer whose writes go
// to memory). Then turns are for it, and may cost.
//
//   seeks?  hardly any request takes as long as only a disk's head does, and nobody starves: nobody
//           is eligible
//   watch   short windows, until it is known how much all get done without slices, or not for long
//   trial   short equal slices for all find out what `dedicated` is, in one window or up to three
//   keep    in after 2 windows in a row for, out after 2 against; for 4 windows at first, because
//           what programs did in their first moments may be little, and for 64 later; then it is
//           looked at again how things are without slices, and then in slices for all; also when
//           programs got faster or slower by more than slices can have made them
//   leave   nobody is eligible, or all together got less done with slices than without (Payoff):
//           everyone is served, and the next trial comes the later, with longer slices: what
//           programs do in their first moments, and in short slices, may tell too little
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "orchestra/fairness.hpp"
#include "orchestra/policies/payoff.hpp"
#include "orchestra/policies/slices.hpp"
#include "orchestra/policy.hpp"

namespace unisono::orchestra {

namespace {

constexpr double samples_min = 8;           // at a server, for its mean to count
constexpr double seek_ms_min = 0.1;         // less, for each request, is not worth an attempt
constexpr double starving_stay_ms = 50;     // a request's, and
constexpr double starving_stay_share = 20;  // so many times as long as another program's
constexpr double relief_min = 4;            // so many times as much with turns ends starving
constexpr int relief_windows = 8;
constexpr double relief_price = 0.45;   // all together may get this share of what they got
constexpr double head_ms = 10;          // a switch, where none was seen
constexpr double gain_to_enter = 1.15;  // open / dedicated
constexpr double gain_to_stay = 1.05;
constexpr int votes_needed = 2;
constexpr int watch_windows_max = 4;
constexpr int trial_windows_max = 3;
constexpr Time trial_slice_first = 60 * millisecond;  // doubles each time that they are left
constexpr int keep_windows_first = 4;
constexpr int keep_windows = 64;
constexpr int look_windows = 2;
constexpr int leave_windows_first = 4;  // after a trial alone
constexpr int leave_windows_seen = 40;  // turns were kept, and brought nothing
constexpr int leave_windows_max = 640;
// Switching may cost this share of the time (Wachs and Ganger's 1 - R).
constexpr double switch_share_max = 0.03;
constexpr Time window_min = 125 * millisecond;
constexpr Time window_max = 1000 * millisecond;
constexpr double slice_share_max = 0.7;
constexpr double switches_per_slice_min = 3;
constexpr std::size_t known_max = 4096;

struct Standing {
    bool eligible = false;
    int votes = 0;  // in a row, against what it is
};

std::string text(char const* format, double a, double b) {
    char buffer[120];
    std::snprintf(buffer, sizeof buffer, format, a, b);
    return buffer;
}

// No gate takes a longer one.
Time patience_of(double ms) { return from_ms(std::min(ms, to_ms(lease_max))); }

// What requests cost that had to wait for a disk's head, and how much of it each request bears.
struct Seeks {
    double ms = 0;
    double ms_per_request = 0;
};

// While everyone is served; nothing: not known yet.
std::optional<Seeks> seeks_of(std::vector<ProgramReport const*> const& programs) {
    double servers = 0;
    double share = 0;
    double slow_ms = 0;
    for (auto const* program : programs)
        for (auto const& server : program->servers) {
            if (server.open_samples < samples_min) continue;
            ++servers;
            share += server.slow_share;
            slow_ms += server.slow_share * server.slow_ms;
        }
    if (servers == 0) return {};
    return Seeks{share > 0 ? slow_ms / share : 0, slow_ms / servers};
}

// Those that use a file together: slices of their own would not bring them apart.
std::set<std::string> sharing(std::vector<ProgramReport const*> const& programs) {
    std::map<double, std::string> first_user;
    std::set<std::string> found;
    for (auto const* program : programs)
        for (double const file : program->files) {
            auto const [entry, is_first] = first_user.emplace(file, program->id);
            if (is_first) continue;
            found.insert(program->id);
            found.insert(entry->second);
        }
    return found;
}

struct Gain {
    double open_ms = 0;
    double dedicated_ms = 0;  // 0: not known
    [[nodiscard]] double factor() const { return open_ms / dedicated_ms; }
};

Gain gain_of(ProgramReport const& program) {
    auto const open =
        mean_over_servers(program, &ServerPart::open_ms, &ServerPart::open_samples, samples_min);
    auto const dedicated = mean_over_servers(program, &ServerPart::dedicated_ms,
                                             &ServerPart::dedicated_samples, samples_min);
    return {open.ms, dedicated.ms};
}

// What it would get with the servers to itself; 0: not known.
double alone_mb_s(ProgramReport const& program) {
    double bytes = 0;
    double requests = 0;
    for (auto const& server : program.servers) {
        bytes += server.bytes;
        requests += server.requests;
    }
    auto const dedicated_ms = gain_of(program).dedicated_ms;
    if (requests <= 0 || dedicated_ms <= 0) return 0;
    return bytes / requests * static_cast<double>(program.servers.size()) / dedicated_ms / 1e3;
}

class DefaultPolicy final : public Policy {
public:
    explicit DefaultPolicy(PolicySettings const& settings) : given_window_(settings.window) {}

    Decision decide(Report const& report) override {
        auto const programs = wanting(report, 2 * window_max);
        payoff_.observe(report, programs);
        auto decision = decide_on(programs);
        decision.work_conserving = true;
        payoff_.decided(decision.objects.size() > 1);
        return decision;
    }

private:
    enum class State : std::uint8_t { watching, trying, keeping, looking, leaving };

    Decision decide_on(std::vector<ProgramReport const*> const& programs) {
        leave_windows_left_ = std::max(0, leave_windows_left_ - 1);
        if (programs.size() < 2) return nobody(programs, "alone", State::watching);
        auto const seeks = seeks_of(programs);
        notice_starving(programs.size());
        if (!seeks && !starving_) return nobody(programs, "watched first", State::watching);
        if (!starving_ && seeks->ms_per_request < seek_ms_min)
            return nobody(programs,
                          text("seeks cost a request %.2f ms; limit %.1f", seeks->ms_per_request,
                               seek_ms_min),
                          State::watching);
        switch_ms_ = seeks && seeks->ms > 0 ? seeks->ms : head_ms;
        notice_newcomers(programs);
        ++windows_;
        if (state_ == State::watching && !payoff_.knows_without() && windows_ <= watch_windows_max)
            return nobody(programs, "watched first", State::watching);
        if (leave_windows_left_ > 0 && !regrets_leaving())
            return nobody(programs, reason_, State::leaving);
        if (is_time_to_look()) return look(programs);
        if (state_ != State::trying && state_ != State::keeping) {
            if (state_ != State::looking) payoff_.forget_turns();
            enter(State::trying);
            windows_ = 1;
        }
        if (payoff_.turns_cost() && !may_relieve(programs.size()))
            return leave(programs,
                         text("with slices %.1f MB/s together, without %.1f", payoff_.with().mb_s(),
                              payoff_.without().mb_s()),
                         Seen::to_cost);
        if (state_ == State::trying && on_trial(programs)) return trial(programs);
        return keep(programs);
    }

    // It takes a while to show: a writer fills the servers' memory first.
    void notice_starving(std::size_t programs) {
        auto const enough = starving_ ? relief_windows : look_windows;
        if (payoff_.without().windows >= enough) starving_ = somebody_starves(programs);
    }

    // Turns for who starves show what they are worth when what others sent before is done.
    [[nodiscard]] bool may_relieve(std::size_t programs) const {
        return (starving_ && payoff_.with().windows < relief_windows) || turns_relieve(programs);
    }

    // Somebody's requests stay, and somebody else's do not.
    [[nodiscard]] bool somebody_starves(std::size_t programs) const {
        double longest_ms = 0;
        double shortest_ms = INFINITY;
        for (std::size_t i = 0; i < programs; ++i) {
            auto const ms = payoff_.without().stay_ms_of(i);
            longest_ms = std::max(longest_ms, ms);
            shortest_ms = std::min(shortest_ms, ms);
        }
        return longest_ms >= starving_stay_ms && longest_ms >= starving_stay_share * shortest_ms;
    }

    // Somebody starved without turns and does not with them.
    [[nodiscard]] bool relieves(std::size_t program) const {
        return starving_ && payoff_.gain_of(program) >= relief_min;
    }

    [[nodiscard]] bool turns_relieve(std::size_t programs) const {
        bool anybody = false;
        for (std::size_t i = 0; i < programs; ++i) anybody = anybody || relieves(i);
        return anybody && payoff_.with().mb_s() >= relief_price * payoff_.without().mb_s();
    }

    [[nodiscard]] bool is_time_to_look() const {
        if (state_ == State::looking) return windows_ < (starving_ ? relief_windows : look_windows);
        if (state_ != State::keeping) return false;
        if (starving_) return windows_ > keep_windows;
        return windows_ > keep_windows_now_ || payoff_.needs_a_look();
    }

    Decision look(std::vector<ProgramReport const*> const& programs) {
        if (state_ == State::keeping) {
            if (windows_ > keep_windows) leave_windows_ = leave_windows_first;
            keep_windows_now_ = keep_windows;
            payoff_.forget_without();
        }
        return nobody(programs, "how it is without slices is looked at", State::looking);
    }

    void enter(State state) {
        if (state_ == state) return;
        state_ = state;
        windows_ = 0;
    }

    Decision nobody(std::vector<ProgramReport const*> const& programs, std::string const& why,
                    State state) {
        enter(state);
        Decision decision{.window = state == State::leaving ? window(programs.size()) : window_min};
        for (auto const* program : programs)
            decision.eligibilities.push_back({program->id, false, why});
        return decision;
    }

    // What the others cost each other is known; what a new one does, is not. One that asks for next
    // to nothing changes nothing.
    void notice_newcomers(std::vector<ProgramReport const*> const& programs) {
        if (known_.size() > known_max) known_.clear();
        bool newcomer = false;
        for (auto const* program : programs)
            if (gain_of(*program).open_ms > 0) newcomer |= known_.insert(program->id).second;
        if (!newcomer) return;
        keep_windows_now_ = keep_windows_first;
        leave_windows_ = leave_windows_first;
        leave_windows_left_ = 0;
        trial_slice_ = trial_slice_first;
        enter(State::watching);
    }

    // A trial may cost more than it brings: it ends as soon as there is something to compare.
    [[nodiscard]] bool on_trial(std::vector<ProgramReport const*> const& programs) const {
        if (windows_ <= 1) return true;
        if (starving_ && windows_ <= relief_windows && !turns_relieve(programs.size())) return true;
        return windows_ <= trial_windows_max &&
               std::ranges::any_of(programs, [](ProgramReport const* program) {
                   return gain_of(*program).dedicated_ms <= 0;
               });
    }

    Decision trial(std::vector<ProgramReport const*> const& programs) {
        Decision decision{.window = trial_window(programs.size())};
        std::vector<double> const weights(programs.size(), 1.0);
        auto const slices = proportional_slices(decision.window, weights);
        for (std::size_t i = 0; i < programs.size(); ++i) {
            decision.eligibilities.push_back({programs[i]->id, false, "on trial"});
            decision.objects.push_back({{programs[i]->id}, slices[i], patience(*programs[i])});
        }
        return decision;
    }

    Decision keep(std::vector<ProgramReport const*> const& programs) {
        auto const together = sharing(programs);
        Decision decision{.window = window(programs.size())};
        std::vector<Demand> demands;
        double pool_ms = 0;
        double pool_programs = 0;
        for (std::size_t i = 0; i < programs.size(); ++i) {
            auto const* program = programs[i];
            auto verdict = relieves(i) ? relieved(*program, payoff_.gain_of(i))
                                       : judge(*program, together.contains(program->id));
            auto const gain = gain_of(*program);
            if (verdict.eligible) {
                decision.objects.push_back({{program->id}, 0, patience(*program)});
                demands.push_back({1, gain.dedicated_ms});
            } else {
                pool_ms += gain.dedicated_ms > 0 ? gain.dedicated_ms : gain.open_ms;
                ++pool_programs;
            }
            decision.eligibilities.push_back(std::move(verdict));
        }
        if (decision.objects.empty())
            return leave(programs, "dedicated service was not cheaper", Seen::on_trial);
        enter(State::keeping);
        if (pool_programs > 0) {
            decision.objects.push_back({{}, 0, patience_of(2 * switch_ms_)});
            demands.push_back(pool_ms > 0 ? Demand{pool_programs, pool_ms / pool_programs}
                                          : demands.front());
        }
        set_slices(decision, fair_weights(demands, fairness_without(programs)));
        return decision;
    }

    enum class Seen : std::uint8_t { on_trial, to_cost };

    Decision leave(std::vector<ProgramReport const*> const& programs, std::string const& why,
                   Seen seen) {
        reason_ = why;
        standings_.clear();
        left_for_cost_ = seen == Seen::to_cost;
        if (left_for_cost_) leave_windows_ = std::max(leave_windows_, leave_windows_seen);
        leave_windows_left_ = leave_windows_;
        leave_windows_ = std::min(2 * leave_windows_, leave_windows_max);
        trial_slice_ = std::min(2 * trial_slice_, window_max);
        return nobody(programs, why, State::leaving);
    }

    // What programs got without slices when they began was more than they get, as they filled the
    // servers, and less than what slices had brought.
    [[nodiscard]] bool regrets_leaving() const { return left_for_cost_ && payoff_.turns_pay(); }

    Eligibility relieved(ProgramReport const& program, double times) {
        standings_[program.id] = {.eligible = true};
        return {program.id, true,
                text("starves without slices, gets %.0f times as much with", times, 0)};
    }

    Eligibility judge(ProgramReport const& program, bool shares) {
        auto& standing = standings_[program.id];
        auto const gain = gain_of(program);
        if (shares || gain.dedicated_ms <= 0 || gain.open_ms <= 0) {
            standing = {};
            return {program.id, false,
                    shares ? "uses files together with others" : "too few requests to tell"};
        }
        // On trial every window counted already.
        bool const good = gain.factor() >= (standing.eligible ? gain_to_stay : gain_to_enter);
        int const needed = state_ == State::trying ? 1 : votes_needed;
        standing.votes = good == standing.eligible ? 0 : standing.votes + 1;
        if (standing.votes >= needed) standing = {.eligible = good};
        return {program.id, standing.eligible,
                text("a request takes %.2f ms of the servers' time, alone %.2f ms", gain.open_ms,
                     gain.dedicated_ms)};
    }

    struct Demand {
        double programs = 1;
        double request_ms = 0;
    };

    // Jain's index of what each has of its speed alone; 0: not known.
    [[nodiscard]] double fairness_without(std::vector<ProgramReport const*> const& programs) const {
        if (!payoff_.knows_without()) return 0;
        std::vector<double> shares;
        for (std::size_t i = 0; i < programs.size(); ++i) {
            auto const alone = alone_mb_s(*programs[i]);
            if (alone <= 0) return 0;
            shares.push_back(payoff_.without().mb_s_of(i) / alone);
        }
        return jain_index(shares);
    }

    // Between equal slices, which slow all programs down alike, and the paper's 1/RD, with which
    // one that reads at random hardly gets on: nearer to equal ones where programs had more equal
    // shares without turns.
    static std::vector<double> fair_weights(std::vector<Demand> const& demands, double fairness) {
        std::vector<double> weights(demands.size(), 1);
        for (double const power : {0.5, 0.25, 0.0}) {
            std::vector<double> shares;  // of each program
            for (std::size_t i = 0; i < demands.size(); ++i) {
                auto const share = std::pow(demands[i].request_ms, -power);
                weights[i] = demands[i].programs * share;
                shares.insert(shares.end(), static_cast<std::size_t>(demands[i].programs), share);
            }
            if (jain_index(shares) >= fairness) break;
        }
        return weights;
    }

    void set_slices(Decision& decision, std::vector<double> const& weights) const {
        auto const slices = bounded_slices(
            decision.window, weights, from_ms(switches_per_slice_min * switch_ms_),
            static_cast<Time>(slice_share_max * static_cast<double>(decision.window)));
        for (std::size_t i = 0; i < slices.size(); ++i) decision.objects[i].slice = slices[i];
    }

    // As long as the switches of one window are a small share of it.
    [[nodiscard]] Time window(std::size_t objects) const {
        if (given_window_) return *given_window_;
        auto const wanted = static_cast<double>(objects) * switch_ms_ / switch_share_max;
        return std::clamp(from_ms(wanted), window_min, window_max);
    }

    // A few requests of each program are enough, and a bad guess is soon over.
    [[nodiscard]] Time trial_window(std::size_t objects) const {
        if (given_window_) return *given_window_;
        if (starving_) return window_max;
        auto const slice = std::max(from_ms(switches_per_slice_min * switch_ms_), trial_slice_);
        return std::clamp(static_cast<Time>(objects) * slice, window_min, window(objects));
    }

    // To wait longer than two switches take is dearer than to go and come back.
    [[nodiscard]] Time patience(ProgramReport const& program) const {
        return patience_of(std::max(2 * switch_ms_, 2 * gain_of(program).dedicated_ms));
    }

    std::optional<Time> given_window_;
    State state_ = State::watching;
    int windows_ = 0;  // in this state
    int keep_windows_now_ = keep_windows_first;
    int leave_windows_ = leave_windows_first;  // of the next time
    int leave_windows_left_ = 0;
    bool left_for_cost_ = false;
    Time trial_slice_ = trial_slice_first;  // of the next one
    double switch_ms_ = 0;
    bool starving_ = false;
    std::string reason_;
    std::set<std::string> known_;
    std::map<std::string, Standing> standings_;
    Payoff payoff_;
};

}  // namespace

std::unique_ptr<Policy> make_default_policy(PolicySettings const& settings) {
    return std::make_unique<DefaultPolicy>(settings);
}

}  // namespace unisono::orchestra
