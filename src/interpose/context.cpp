#include "interpose/context.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <utility>

#include "interpose/finalize.hpp"
#include "interpose/guard.hpp"
#include "interpose/messages.hpp"
#include "interpose/own_communicator.hpp"
#include "interpose/program.hpp"
#include "interpose/world.hpp"
#include "select/tune_store.hpp"

namespace unisono::interpose {

namespace {

/// What is kept with a communicator of the program.
struct Holder {
    Introduction ranks;
    std::shared_ptr<Context> context;  // none where threads may call at once
};

// Those with a context. Where there are any, threads do not call at once.
std::set<Holder*>& kept() {
    static auto* const holders = new std::set<Holder*>;  // files may be opened until the very end
    return *holders;
}

// MPI_Finalize deletes the attributes of the predefined communicators when none can be freed any
// more: what belongs to those ends with the process.
int forget_context(MPI_Comm comm, int, void* value, void*) {
    if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) {
        end_contexts();  // once more: callbacks of MPI_Finalize may have closed files
        return MPI_SUCCESS;
    }
    before_free(comm);
    auto* const holder = static_cast<Holder*>(value);
    if (holder->context != nullptr) {
        holder->context->keep_last_tuning_records();
        kept().erase(holder);
    }
    delete holder;
    return MPI_SUCCESS;
}

constexpr EntryPoint comm_free{.name = "MPI_Comm_free", .collective = true};

int attribute_key() {
    static std::once_flag once;
    static int key = MPI_KEYVAL_INVALID;
    std::call_once(once, [] {
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, Guarded<forget_context, comm_free>::call,
                                &key, nullptr);
    });
    return key;
}

}  // namespace

void end_contexts() {
    for (auto* const holder : kept()) holder->context->end();
}

// Sessions: nothing can be asked before MPI_Init, and threads may be used.
bool threads_may_call_at_once() {
    int level = MPI_THREAD_MULTIPLE;
    if (world_is_there()) PMPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

namespace {

Holder* kept_with(MPI_Comm comm) {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, attribute_key(), static_cast<void*>(&value), &found);
    return found == 0 ? nullptr : static_cast<Holder*>(value);
}

Holder* keep_with(MPI_Comm comm, Holder const& holder) {
    auto* const own = new Holder{holder};
    if (own->context != nullptr) kept().insert(own);
    PMPI_Comm_set_attr(comm, attribute_key(), own);
    return own;
}

// A duplicate of MPI_COMM_WORLD, such as HDF5 and PnetCDF make for each file.
bool has_all_ranks(MPI_Comm comm) {
    int result = MPI_UNEQUAL;
    if (world_is_there()) PMPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    return result == MPI_CONGRUENT;
}

// Of the ranks of `comm`, with a context unless threads may open files on several duplicates at
// once. Without such threads all ranks do that in the same order, and come to the same here.
Holder holder_for(MPI_Comm comm) {
    auto const of_all = has_all_ranks(comm);
    if (auto const* const world = of_all ? kept_with(MPI_COMM_WORLD) : nullptr;
        world != nullptr && !world->ranks.threads_of_some)
        return *world;
    Holder made{introduce(comm, threads_may_call_at_once()), nullptr};
    if (made.ranks.threads_of_some) return made;
    made.context = std::make_shared<Context>(comm, made.ranks);
    if (of_all && comm != MPI_COMM_WORLD) keep_with(MPI_COMM_WORLD, made);
    return made;
}

}  // namespace

std::shared_ptr<Context> Context::of(MPI_Comm comm) {
    auto* holder = kept_with(comm);
    if (holder == nullptr) holder = keep_with(comm, holder_for(comm));
    if (holder->ranks.threads_of_some) return std::make_shared<Context>(comm, holder->ranks);
    return holder->context;
}

Context::Context(MPI_Comm comm, Introduction ranks) : introduced_{std::move(ranks)} {
    PMPI_Comm_dup(comm, &comm_);
    end_program_by_errors_on(comm_);
    PMPI_Comm_size(comm_, &ranks_);
    PMPI_Comm_rank(comm_, &rank_);
    auto const& machines = introduced_.machine_labels;
    machine_count_ = static_cast<std::uint32_t>(std::set(machines.begin(), machines.end()).size());
    auto const first = std::ranges::find(machines, machines[static_cast<std::size_t>(rank_)]);
    leads_its_machine_ = first - machines.begin() == rank_;
}

Context::~Context() {
    keep_last_tuning_records();
    teams_.clear();
    PMPI_Comm_free(&comm_);
}

void Context::end() {
    keep_last_tuning_records();
    for (auto& entry : teams_) entry.team.free_datatype();
}

void Context::progress() const { make_progress(comm_); }

std::vector<std::byte> Context::from_rank_0(std::vector<std::byte> bytes) const {
    // One broadcast does for nearly all; the rest follows in a second.
    struct Head {
        std::uint64_t size;
        std::array<std::byte, 1016> bytes;
    } head{};
    head.size = bytes.size();
    std::copy_n(bytes.begin(), std::min(bytes.size(), head.bytes.size()), head.bytes.begin());
    PMPI_Bcast(&head, sizeof head, MPI_BYTE, 0, comm_);
    bytes.resize(head.size);
    auto const first = std::min(bytes.size(), head.bytes.size());
    std::copy_n(head.bytes.begin(), first, bytes.begin());
    if (bytes.size() > first)
        PMPI_Bcast(bytes.data() + first, static_cast<int>(bytes.size() - first), MPI_BYTE, 0,
                   comm_);
    return bytes;
}

void Context::gather_on_rank_0(std::span<std::byte const> mine,
                               std::function<void(std::span<std::byte const>)> const& use) const {
    std::vector<int> sizes(static_cast<std::size_t>(ranks_));
    std::vector<int> starts(sizes.size());
    auto const size = static_cast<int>(mine.size());
    PMPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, comm_);
    std::exclusive_scan(sizes.begin(), sizes.end(), starts.begin(), 0);
    std::vector<std::byte> all(static_cast<std::size_t>(starts.back() + sizes.back()));
    PMPI_Gatherv(mine.data(), size, MPI_BYTE, all.data(), sizes.data(), starts.data(), MPI_BYTE, 0,
                 comm_);
    if (rank_ != 0) return;
    for (std::size_t i = 1; i < sizes.size(); ++i)
        use({all.data() + starts[i], static_cast<std::size_t>(sizes[i])});
}

std::uint64_t Context::sum_before(std::uint64_t mine) const {
    std::uint64_t sum = 0;
    PMPI_Exscan(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, comm_);
    return rank_ == 0 ? 0 : sum;  // rank 0's is not defined
}

std::vector<std::string> Context::begin_measuring(Options const& options) {
    if (tuner_.begun()) return {};
    Recalled recalled;
    if (rank_ == 0) {
        auto const library = mpi_library();
        tuning_context_ = {.machine = describe_machine(),
                           .software = "Unisono " UNISONO_VERSION ", " + library.name};
        auto const paths = tune_paths(options);
        recalled = recall(paths, tuning_context_, static_cast<std::uint32_t>(ranks_));
        recalled.memory.library = library;
        if (!recalled.memory.frozen) tune_path_ = paths.user;
    }
    if (ranks_ > 1) {
        auto const bytes = from_rank_0(to_bytes(recalled.memory));
        recalled.memory = memory_from_bytes(bytes).value_or(Memory{});
    }
    tuner_.begin(std::move(recalled.memory));
    return recalled.complaints;
}

std::vector<std::string> Context::keep_tuning_records(bool last) {
    if (tune_path_.empty() || !tuner_.has_unsaved()) return {};
    if (!last && !std::has_single_bit(++chances_to_keep_)) return {};
    auto unsaved = tuner_.take_unsaved();
    for (auto& record : unsaved) {
        record.where.machine = tuning_context_.machine;
        record.where.software = tuning_context_.software;
    }
    auto complaint = keep(tune_path_, unsaved);
    if (complaint.empty()) return {};
    tune_path_.clear();  // it would fail again
    return {std::move(complaint)};
}

void Context::keep_last_tuning_records() {
    try {
        print_once(keep_tuning_records(/*last=*/true));
    } catch (std::bad_alloc const&) {
        // A program that ends without memory need not remember how fast it was.
    }
}

std::uint32_t Context::nodes(Placement placement) const {
    if (placement == Placement{}) return machine_count_;
    return place_ranks(introduced_.machine_labels, placement).nodes();
}

MpiTeam& Context::team(Placement placement) {
    for (auto& entry : teams_)
        if (entry.placement == placement) return entry.team;
    auto& team =
        teams_.emplace_back(comm_, placement, place_ranks(introduced_.machine_labels, placement))
            .team;
    // One machine's messages go through its memory; how long they take says who is on which core.
    if (machine_count_ == 1) team.always_send_in_fragments(placement.pretended_fragments);
    return team;
}

}  // namespace unisono::interpose
