#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>

#include "exchange/relayed_mail.hpp"

namespace unisono::interpose {

/// Carries the messages of a helper thread that may not call MPI: by the program's own threads,
/// whenever one of them calls something that Unisono has taken over. Nothing moves while none does.
class MailCarrier {
public:
    /// `comm`: its ranks are those of the mail. `number`: the same on all ranks; of two carriers
    /// with different ones below 3,000, neither gets what is the other's.
    MailCarrier(RelayedMail& mail, MPI_Comm comm, std::uint32_t number);
    /// All that was sent has left.
    ~MailCarrier();
    MailCarrier(MailCarrier const&) = delete;
    MailCarrier& operator=(MailCarrier const&) = delete;

    /// A call is under way that may have messages, from here to there. Any thread.
    void begin() { ++under_way_, ++all_under_way; }
    void end() { --under_way_, --all_under_way; }

    /// There may be something to carry. Any thread. Cost: a load.
    [[nodiscard]] static bool any() { return all_under_way.load(std::memory_order_relaxed) != 0; }
    /// Carries for all that have something under way, as far as MPI lets it at once. From the
    /// program's threads; what another one is doing already is left to that one.
    static void carry_all();
    /// The same where there may be something.
    static void carry_if_any() {
        if (any()) carry_all();
    }

private:
    // What MPI reads and writes stays where it is when these are moved.
    struct Sending {
        MPI_Request request = MPI_REQUEST_NULL;
        Message message;
    };
    struct Receiving {
        MPI_Request request = MPI_REQUEST_NULL;
        RelayedMail::Letter letter;
    };

    void carry();
    void begin_to_send();
    void begin_to_receive(RelayedMail::Channel channel);
    void hand_in();
    [[nodiscard]] int tag_of(RelayedMail::Channel channel) const;

    inline static std::atomic<int> all_under_way = 0;

    RelayedMail& mail_;
    MPI_Comm comm_;
    int first_tag_;
    std::atomic<int> under_way_ = 0;
    std::deque<Sending> sending_;
    std::deque<Receiving> receiving_;  // in the order in which they are handed in
};

}  // namespace unisono::interpose
