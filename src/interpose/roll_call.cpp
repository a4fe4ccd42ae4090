#include "interpose/roll_call.hpp"

#include <elf.h>
#include <link.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "interpose/messages.hpp"
#include "interpose/native.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace unisono::interpose {
namespace {

using namespace std::chrono_literals;

// Other builds of Unisono may be on the other side: what is sent here never changes its form.
using Fingerprint = std::int64_t;
using Description = std::array<char, 96>;

constexpr auto until_complaint = 10s;
constexpr auto until_end = 60s;
constexpr Fingerprint of_switched_off = 0;

std::string hexadecimal(std::byte const* bytes, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(bytes[i]));
        text += digits.data();
    }
    return text;
}

bool has_loaded(dl_phdr_info const& object, std::uintptr_t address) {
    return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum,
                       [&](auto const& part) {
                           return part.p_type == PT_LOAD &&
                                  address - (object.dlpi_addr + part.p_vaddr) < part.p_memsz;
                       });
}

// The first digits of the build id among the notes at [note, end), which the linker aligned to 4.
std::string build_id_in(std::byte const* note, std::byte const* end) {
    constexpr std::size_t shown_bytes = 4;
    auto const padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    while (end - note > static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
        auto const& head = *reinterpret_cast<ElfW(Nhdr) const*>(note);
        auto const* const content = note + sizeof head + padded(head.n_namesz);
        if (head.n_type == NT_GNU_BUILD_ID)
            return hexadecimal(content, std::min<std::size_t>(head.n_descsz, shown_bytes));
        note = content + padded(head.n_descsz);
    }
    return {};
}

int find_own_build_id(dl_phdr_info* object, std::size_t, void* found) {
    if (!has_loaded(*object, reinterpret_cast<std::uintptr_t>(&find_own_build_id))) return 0;
    auto& id = *static_cast<std::string*>(found);
    for (int i = 0; i < object->dlpi_phnum && id.empty(); ++i) {
        auto const& part = object->dlpi_phdr[i];
        if (part.p_type != PT_NOTE) continue;
        auto const address = object->dlpi_addr + part.p_vaddr;
        // The linker says it as a number. NOLINTNEXTLINE(performance-no-int-to-ptr)
        auto const* const notes = reinterpret_cast<std::byte const*>(address);
        id = build_id_in(notes, notes + part.p_memsz);
    }
    return 1;
}

// Builds of one version may differ in all that ranks send each other.
std::string const& own_build() {
    static std::string const name = [] {
        std::string id;
        dl_iterate_phdr(find_own_build_id, &id);
        return "Unisono " UNISONO_VERSION " (build " + id + ")";
    }();
    return name;
}

// Never the number that stands for of_switched_off, and one that can be negated.
Fingerprint fingerprint(std::string_view text) {
    return static_cast<Fingerprint>(hash64(text) >> 2) + 1;
}

int rank_in(MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

int ranks_in(MPI_Comm comm) {
    int ranks = 1;
    PMPI_Comm_size(comm, &ranks);
    return ranks;
}

void complain_of_waiting(MPI_Comm comm) {
    print_once({"unisono: rank " + std::to_string(rank_in(comm)) + " of " +
                std::to_string(ranks_in(comm)) + " has " + own_build() +
                " and waits in MPI_File_open for ranks that do not answer. Ranks that say nothing "
                "like this run without libunisono or its engine; all ranks must have it, or none. "
                "It ends the program " +
                std::to_string((until_end - until_complaint).count()) + " s from now"});
}

// Sleeps once it has become late: the ranks that it waits for may need the core. Counts what it has
// slept, as the clock goes on while a job is suspended.
void wait_with_patience(MPI_Request& request, MPI_Comm comm) {
    auto const late = std::chrono::steady_clock::now() + 100ms;
    for (auto slept = 0ms; !is_over(request, comm);) {
        if (std::chrono::steady_clock::now() < late) {
            sched_yield();
            continue;
        }
        std::this_thread::sleep_for(1ms);
        slept += 1ms;
        if (slept == until_complaint) complain_of_waiting(comm);
        if (slept == until_end) PMPI_Abort(comm, 1);
    }
}

// Rank 0 says which ranks have what. Collective.
void explain_difference(MPI_Comm comm, bool takes_part) {
    Description mine{};
    auto const text = own_build() + (takes_part ? "" : ", switched off by UNISONO_DISABLE");
    std::copy_n(text.begin(), std::min(text.size(), mine.size() - 1), mine.begin());
    auto const rank = rank_in(comm);
    std::vector<Description> all(rank == 0 ? static_cast<std::size_t>(ranks_in(comm)) : 0);
    PMPI_Gather(mine.data(), sizeof mine, MPI_CHAR, all.data(), sizeof mine, MPI_CHAR, 0, comm);
    if (rank != 0) return;
    std::map<std::string, std::vector<std::uint32_t>> ranks_with;
    for (std::size_t i = 0; i < all.size(); ++i)
        ranks_with[all[i].data()].push_back(static_cast<std::uint32_t>(i));
    auto message = "unisono: the " + std::to_string(all.size()) +
                   " ranks that opened a file together differ, so the MPI library does it";
    for (auto const& [what, ranks] : ranks_with)
        message += "; " + what + " on rank " + number_ranges(ranks);
    print_once({message});
}

bool call_the_roll(MPI_Comm comm, bool takes_part) {
    auto const mine = takes_part ? fingerprint(own_build()) : of_switched_off;
    std::array<Fingerprint, 2> lowest_and_highest{mine, -mine};
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Iallreduce(MPI_IN_PLACE, lowest_and_highest.data(), 2, MPI_INT64_T, MPI_MIN, comm,
                    &request);
    wait_with_patience(request, comm);
    auto const all_the_same = lowest_and_highest[0] == -lowest_and_highest[1];
    if (!all_the_same) explain_difference(comm, takes_part);
    return all_the_same && takes_part;
}

int answer_key() {
    static std::once_flag once;
    static int key = MPI_KEYVAL_INVALID;
    std::call_once(once, [] {
        PMPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    });
    return key;
}

}  // namespace

bool all_take_part(MPI_Comm comm, bool takes_part) {
    if (ranks_in(comm) == 1) return takes_part;
    static bool yes = true, no = false;
    void* answer = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, answer_key(), static_cast<void*>(&answer), &found);
    if (found == 0) {
        answer = call_the_roll(comm, takes_part) ? &yes : &no;
        PMPI_Comm_set_attr(comm, answer_key(), answer);
    }
    return *static_cast<bool const*>(answer);
}

}  // namespace unisono::interpose
