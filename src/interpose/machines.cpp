#include "interpose/machines.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <numeric>

#include "support/hash.hpp"
#include "unisono/extent.hpp"

namespace unisono::interpose {
namespace {

constexpr std::uint64_t unknown_machine = 0;

// The same where one kernel runs for both, and its sockets pass descriptors.
std::uint64_t machine_key() {
    auto const kernel = boot_id();
    struct stat network {};
    if (kernel.empty() || stat("/proc/self/ns/net", &network) != 0) return unknown_machine;
    return hash64(kernel + ' ' + std::to_string(network.st_ino)) | 1;
}

}  // namespace

std::string boot_id() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string text;
    file >> text;
    return text;
}

std::string processor_name() {
    std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
    int length = 0;
    PMPI_Get_processor_name(name.data(), &length);
    return name.data();
}

Introduction introduce(MPI_Comm comm, bool threads) {
    struct Words {
        std::uint64_t machine;
        std::uint64_t threads;
    };
    int size = 1;
    PMPI_Comm_size(comm, &size);
    if (size == 1)
        return {.machine_labels = {0}, .threads_of_some = threads, .threads_of_all = threads};
    Words const mine{machine_key(), threads};
    std::vector<Words> all(static_cast<std::size_t>(size));
    PMPI_Allgather(&mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, comm);
    auto const threaded = [](Words const& words) { return words.threads != 0; };
    Introduction made{.machine_labels = std::vector<std::uint32_t>(all.size()),
                      .threads_of_some = std::ranges::any_of(all, threaded),
                      .threads_of_all = std::ranges::all_of(all, threaded)};
    if (std::ranges::find(all, unknown_machine, &Words::machine) != all.end()) {
        made.machine_labels = machine_labels_by_mpi(comm);
        return made;
    }
    std::map<std::uint64_t, std::uint32_t> lowest;
    for (std::uint32_t rank = 0; rank < all.size(); ++rank)
        made.machine_labels[rank] = lowest.try_emplace(all[rank].machine, rank).first->second;
    return made;
}

std::vector<std::uint32_t> machine_labels_by_mpi(MPI_Comm comm) {
    int rank = 0, size = 1;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    auto lowest = static_cast<std::uint32_t>(rank);
    MPI_Comm machine = MPI_COMM_NULL;
    PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
    PMPI_Bcast(&lowest, 1, MPI_UINT32_T, 0, machine);
    PMPI_Comm_free(&machine);
    std::vector<std::uint32_t> labels(static_cast<std::size_t>(size));
    PMPI_Allgather(&lowest, 1, MPI_UINT32_T, labels.data(), 1, MPI_UINT32_T, comm);
    return labels;
}

Topology place_ranks(std::vector<std::uint32_t> const& machine_labels, Placement placement) {
    auto labels = machine_labels;
    if (placement.messages_only) {
        std::iota(labels.begin(), labels.end(), 0);
    } else if (placement.pretended_nodes > 0) {
        for (auto const& ranks : make_topology(machine_labels).ranks_of) {
            auto const share = div_ceil(ranks.size(), placement.pretended_nodes);
            for (std::size_t i = 0; i < ranks.size(); ++i) labels[ranks[i]] = ranks[i - i % share];
        }
    }
    return make_topology(labels);
}

}  // namespace unisono::interpose
