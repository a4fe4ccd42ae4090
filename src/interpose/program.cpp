#include "interpose/program.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <mutex>
#include <sstream>

#include "interpose/world.hpp"
#include "orchestra/program_id.hpp"
#include "support/clock.hpp"
#include "support/file_content.hpp"
#include "support/process_stat.hpp"
#include "support/program_name.hpp"

namespace unisono::interpose {

namespace {

std::mutex mutex;

std::string& known() {
    static auto* const id = new std::string;  // files may be used until the very end of the process
    return *id;
}

double seconds_since_boot() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_since_start() {
    auto const stat = process_stat("/proc/self");
    if (!stat || stat->began == 0) return 0;
    return seconds_since_boot() -
           static_cast<double>(stat->began) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Of the first thread. Its times are nanoseconds: those that it ran, and those that it waited.
double seconds_without_core() {
    std::uint64_t ran_ns = 0, waited_ns = 0;
    std::istringstream{file_content("/proc/self/schedstat").value_or("")} >> ran_ns >> waited_ns;
    return static_cast<double>(waited_ns) * 1e-9;
}

Cpus own_cpus() {
    std::array<std::uint64_t, 128> mask{};  // more CPUs than a machine has
    if (sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) != 0)
        return {};
    Cpus cpus(mask.begin(), mask.end());
    while (!cpus.empty() && cpus.back() == 0) cpus.pop_back();
    return cpus;
}

// None where the program has sessions only: there is no communicator of all its ranks.
std::uint32_t of_all_ranks(int (*ask)(MPI_Comm, int*), int otherwise) {
    if (world_is_there()) ask(MPI_COMM_WORLD, &otherwise);
    return static_cast<std::uint32_t>(otherwise);
}

}  // namespace

std::uint32_t rank_of_program(int otherwise) { return of_all_ranks(PMPI_Comm_rank, otherwise); }
std::uint32_t ranks_of_program(int otherwise) { return of_all_ranks(PMPI_Comm_size, otherwise); }

std::string own_program() {
    std::lock_guard const lock(mutex);
    if (known().empty()) {
        auto facts = orchestra::read_process_facts(getpid());
        facts.node = orchestra::node_name();
        known() = orchestra::program_id(facts);
    }
    return known();
}

void remember_program(std::string id) {
    if (!orchestra::is_program_id(id)) return;
    std::lock_guard const lock(mutex);
    known() = std::move(id);
}

MpiLibrary mpi_library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    PMPI_Get_library_version(text.data(), &length);
    return parse_mpi_library({text.data(), static_cast<std::size_t>(length)});
}

ProgramReport program_report() {
    auto const seconds = seconds_since_start();
    return {.id = own_program(),
            .name = own_program_name(),
            .mpi = mpi_library().name,
            .ranks = ranks_of_program(0),
            .cores = own_cpus(),
            .began = wall_clock_s() - seconds,
            .seconds = seconds,
            .core_wait_s = seconds_without_core()};
}

}  // namespace unisono::interpose
