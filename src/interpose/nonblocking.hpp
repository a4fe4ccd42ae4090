#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/node_team.hpp"
#include "exchange/relayed_mail.hpp"
#include "exchange/relayed_team.hpp"
#include "execute/collective.hpp"
#include "interpose/mail_carrier.hpp"
#include "interpose/pending.hpp"
#include "support/helper_threads.hpp"

namespace unisono::interpose {

/// The nonblocking and split calls of one file, each done beside the program's own work: collective
/// ones one after another, in the order in which all ranks make them, and independent ones by
/// themselves, several at once. As long as the program does not have MPI_THREAD_MULTIPLE the
/// threads do not call MPI: the ranks of a node have memory for all that they tell each other
/// (NodeTeam), and messages between nodes are carried by the program's own threads when they call
/// Unisono (MailCarrier). Ours.
///
/// The program's own collective calls on the file wait until it is done with all, as they use what
/// it uses (finish). Other than a blocking call it neither measures strategies nor uses buffers
/// that live across calls.
class NonblockingCalls {
public:
    /// Whether the file's ranks can do without MPI, or have threads that may call it, or the user
    /// wants their messages carried. Equal on all.
    static bool possible(File const& file);

    /// `number`: no other of this file has it; equal on all ranks. Waits for nobody.
    NonblockingCalls(File& file, std::uint32_t number);

    /// Collective, but waits for nobody.
    void post(std::shared_ptr<PendingCall> call);
    /// This rank's own call, or its part of a collective one that each does by itself: then the
    /// others hear of lost data at the next sync or close. False, or an exception: there is no
    /// request, and nothing was begun. Local.
    bool post_independent(std::shared_ptr<PendingCall> const& call, bool part_of_collective,
                          MPI_Request* request);

    /// Waits until all that was posted so far is over, or the MPI library's. Other threads may post
    /// independent calls without end. From the program's threads.
    void finish() const;
    /// Waits for such calls, too; nobody posts any meanwhile. Local.
    void finish_independent() const;

private:
    void perform(PendingCall& call);
    void perform_independent(PendingCall& call, bool part_of_collective);
    [[nodiscard]] Outcome perform_on(Team& team, Rendezvous& rendezvous, PendingCall& call,
                                     CallRecord& record);
    /// A team that is the thread's own, and its meeting point; the file's where threads call MPI.
    struct Ranks {
        Team& team;
        Rendezvous& rendezvous;
    };
    [[nodiscard]] Ranks ranks();
    [[nodiscard]] NodeTeam::Name team_name();
    [[nodiscard]] NodeTeam& node_team();
    [[nodiscard]] RelayedTeam& relayed_team();
    [[nodiscard]] Layout const& layout();
    [[nodiscard]] HelperThreads& independent(Direction direction) {
        return direction == Direction::read ? reads_ : writes_;
    }

    File& file_;
    MpiTeam& mpi_team_;
    std::uint32_t number_;
    bool threads_call_mpi_;
    bool on_node_;
    std::string own_name_;  // of this machine
    Options options_;
    OnlineTuner tuner_;
    std::vector<std::shared_ptr<PendingCall>> posted_;  // collective ones, the last at least
    GatheredFacts gathered_;
    AheadOfAgreement ahead_;
    std::unique_ptr<NodeTeam> node_team_;
    RelayedMail mail_;
    std::optional<MailCarrier> carrier_;
    std::unique_ptr<RelayedTeam> relayed_team_;
    std::optional<Layout> layout_;
    std::uint64_t calls_ = 0;
    HelperThreads reads_;  // independent ones
    HelperThreads writes_;
    HelperThreads collective_{1};  // ends before what it uses
};

/// A collective call that begins now can be done beside the program. Equal on all ranks.
bool can_overlap(File const& file);

}  // namespace unisono::interpose
