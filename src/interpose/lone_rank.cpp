#include "interpose/lone_rank.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "interpose/messages.hpp"
#include "interpose/program.hpp"

namespace unisono::interpose {
namespace {

using namespace std::chrono_literals;

/// What a launcher tells each process that it starts. Not Slurm's variables: scripts and programs
/// that are nobody's ranks have them as well.
struct Launcher {
    char const* name;
    char const* size;
    char const* rank;
};
constexpr std::array launchers{
    Launcher{"Open MPI's launcher", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    Launcher{"MPICH's launcher or one like it", "PMI_SIZE", "PMI_RANK"},
};

std::optional<int> number_in(char const* variable) {
    auto const* const text = secure_getenv(variable);
    int number = 0;
    if (text == nullptr ||
        std::from_chars(text, text + std::strlen(text), number).ec != std::errc{})
        return std::nullopt;
    return number;
}

// Null: none, or the innermost of several started this process alone.
Launcher const* launcher_of_several() {
    Launcher const* found = nullptr;
    for (auto const& launcher : launchers) {
        auto const size = number_in(launcher.size);
        if (size == 1) return nullptr;
        if (size > 1) found = &launcher;
    }
    return found;
}

}  // namespace

void refuse_lone_rank(std::string_view path, Options const& options) {
    if (options.allow_lone_ranks || ranks_of_program(0) != 1) return;
    auto const* const launcher = launcher_of_several();
    if (launcher == nullptr) return;
    if (number_in(launcher->rank).value_or(0) == 0) {
        auto const size = std::to_string(number_in(launcher->size).value_or(0));
        print_once({"unisono: " + std::string{launcher->name} + " started " + size +
                    " processes, but the program's MPI library (" + mpi_library().name +
                    ") knows of none but itself: each would access " + std::string{path} +
                    " as the only rank. Start the program with the launcher of its own MPI; "
                    "UNISONO_ALLOW_LONE_RANKS=true lets it go on"});
    } else {
        // The launcher may end all when the first one has ended: not before that line.
        std::this_thread::sleep_for(2s);
    }
    std::fflush(nullptr);
    _exit(1);  // MPI_Abort would say more than this one line
}

}  // namespace unisono::interpose
