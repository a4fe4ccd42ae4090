#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <numeric>
#include <optional>
#include <vector>

#include "select/selector.hpp"

namespace unisono {
namespace {

constexpr std::uint32_t runs_each = 3;
constexpr double deviation_max = 0.15;
// The paper does not say of how many calls; its figure 6 shows the throughput of 250. On emulated
// disks (orthrus-fig6) single calls differ by a third, the means of three by a fifth: it would
// never settle. Those of 25 differ by 6 %.
constexpr std::size_t watched_calls = 25;

// Each call is measured, so none is `lasting`.
class PaperSelector final : public Selector {
public:
    Choice choose(Signature const& signature, std::span<Candidate const> candidates) override {
        assert(!candidates.empty());
        std::vector<Candidate> const now{candidates.begin(), candidates.end()};
        if (signature != signature_ || now != candidates_) {
            signature_ = signature;
            candidates_ = now;
            examine();
        }
        if (winner_) return {*winner_, "won its examination", /*lasting=*/false};
        return {candidates_[runs_ % candidates_.size()], "examined", /*lasting=*/false};
    }

    void learn(Signature const& signature, Candidate const& candidate, double seconds) override {
        if (signature != signature_ || seconds <= 0) return;
        auto const throughput = static_cast<double>(signature.bytes) / seconds;
        if (winner_) return watch(throughput);
        auto const index = static_cast<std::size_t>(std::ranges::find(candidates_, candidate) -
                                                    candidates_.begin());
        assert(index < candidates_.size());
        sums_[index] += throughput;
        if (++runs_ < runs_each * candidates_.size()) return;
        auto const best = std::ranges::max_element(sums_);
        winner_ = candidates_[static_cast<std::size_t>(best - sums_.begin())];
        examined_ = *best / runs_each;
    }

    // The paper's candidates can do every call, or none of a file's.
    void refuse(Signature const&, Candidate const&) override {}

private:
    // The paper holds "its deviation" against the average of the examination: here the mean of the
    // latest calls.
    void watch(double throughput) {
        latest_.push_back(throughput);
        if (latest_.size() > watched_calls) latest_.pop_front();
        if (latest_.size() < watched_calls) return;
        auto const mean = std::accumulate(latest_.begin(), latest_.end(), 0.0) / watched_calls;
        if (std::abs(mean - examined_) > deviation_max * examined_) examine();
    }

    void examine() {
        winner_.reset();
        latest_.clear();
        runs_ = 0;
        sums_.assign(candidates_.size(), 0);
    }

    std::optional<Signature> signature_;
    std::vector<Candidate> candidates_;
    std::vector<double> sums_;  // of throughput, by candidate
    std::uint64_t runs_ = 0;    // of this examination
    std::optional<Candidate> winner_;
    double examined_ = 0;        // the winner's mean throughput
    std::deque<double> latest_;  // its throughput since
};

}  // namespace

std::unique_ptr<Selector> make_paper_selector() { return std::make_unique<PaperSelector>(); }

}  // namespace unisono
