#include "interpose/mail_carrier.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "interpose/native.hpp"

namespace unisono::interpose {
namespace {

// Beyond those of MpiTeam's messages; MPI promises tags up to 32,767.
constexpr int tags_begin = 17000;
constexpr std::uint32_t different = 2600;
static_assert(tags_begin + different * RelayedMail::channels <= 32768);

struct Carriers {
    std::mutex mutex;
    std::vector<MailCarrier*> list;
};

Carriers& carriers() {
    static auto* const all = new Carriers;  // calls may be under way until the very end
    return *all;
}

}  // namespace

MailCarrier::MailCarrier(RelayedMail& mail, MPI_Comm comm, std::uint32_t number)
    : mail_{mail},
      comm_{comm},
      first_tag_{tags_begin + static_cast<int>(number % different * RelayedMail::channels)} {
    std::lock_guard const lock{carriers().mutex};
    carriers().list.push_back(this);
}

MailCarrier::~MailCarrier() {
    assert(sending_.empty() && receiving_.empty());
    std::lock_guard const lock{carriers().mutex};
    std::erase(carriers().list, this);
}

int MailCarrier::tag_of(RelayedMail::Channel channel) const {
    return first_tag_ + static_cast<int>(channel);
}

void MailCarrier::carry_all() {
    std::unique_lock const lock{carriers().mutex, std::try_to_lock};
    if (!lock) return;
    for (auto* const carrier : carriers().list)
        if (carrier->under_way_ != 0) carrier->carry();
}

void MailCarrier::carry() {
    begin_to_send();
    std::erase_if(sending_, [&](auto& sending) {
        auto const left = is_over(sending.request, comm_);
        if (left) mail_.note_left();
        return left;
    });
    for (std::size_t channel = 0; channel < RelayedMail::channels; ++channel)
        begin_to_receive(static_cast<RelayedMail::Channel>(channel));
    hand_in();
}

void MailCarrier::begin_to_send() {
    while (auto letter = mail_.collect()) {
        auto& sending = sending_.emplace_back();
        sending.message = std::move(letter->message);
        auto const isend = UNISONO_NATIVE(Isend);
        isend(sending.message.data(), static_cast<int>(sending.message.size()), MPI_BYTE,
              static_cast<int>(letter->rank), tag_of(letter->channel), comm_, &sending.request);
    }
}

void MailCarrier::begin_to_receive(RelayedMail::Channel channel) {
    while (true) {
        int found = 0, bytes = 0;
        MPI_Message matched = MPI_MESSAGE_NULL;
        MPI_Status status;
        PMPI_Improbe(MPI_ANY_SOURCE, tag_of(channel), comm_, &found, &matched, &status);
        if (found == 0) return;
        PMPI_Get_count(&status, MPI_BYTE, &bytes);
        auto& receiving = receiving_.emplace_back();
        receiving.letter = {static_cast<std::uint32_t>(status.MPI_SOURCE), channel, {}};
        receiving.letter.message.resize(static_cast<std::size_t>(bytes));
        require_success(PMPI_Imrecv(receiving.letter.message.data(), bytes, MPI_BYTE, &matched,
                                    &receiving.request),
                        comm_);
    }
}

// In the order in which they were sent: a long one may be over later than a short one after it.
void MailCarrier::hand_in() {
    while (!receiving_.empty() && is_over(receiving_.front().request, comm_)) {
        mail_.deliver(std::move(receiving_.front().letter));
        receiving_.pop_front();
    }
}

}  // namespace unisono::interpose
