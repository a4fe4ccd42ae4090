// Does the collective calls of a trace again, without the program that made them: for
// `unisono replay`, which writes the trace and says what the times mean. One line of JSON on
// standard output.
#include <mpi.h>

#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "mpi_support.hpp"
#include "player.hpp"

namespace bench::replay {
namespace {

struct Command {
    std::string trace;
    std::optional<std::uint64_t> flip_offset;
};

Command command_of(std::vector<std::string> const& words) {
    constexpr auto usage =
        "unisono-replay TRACE [--flip-byte N]: spoils byte N, to test the verification; "
        "'unisono replay' makes traces";
    if (words.size() == 1) return {.trace = words[0]};
    if (words.size() != 3 || words[1] != "--flip-byte") throw std::invalid_argument(usage);
    return {.trace = words[0], .flip_offset = std::stoull(words[2])};
}

/// The first so many ranks. One communicator serves all files that as many ranks have opened: what
/// libraries do once for each is not done for every file.
class Comms {
public:
    ~Comms() {
        for (auto& [ranks, comm] : by_ranks_)
            if (comm != MPI_COMM_WORLD && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
    /// MPI_COMM_NULL on the other ranks. Collective.
    MPI_Comm of_first(int ranks) {
        auto const [entry, is_new] = by_ranks_.try_emplace(ranks, MPI_COMM_WORLD);
        int rank = 0, all = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &all);
        if (is_new && ranks < all)
            MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &entry->second);
        return entry->second;
    }

private:
    std::map<int, MPI_Comm> by_ranks_;
};

/// Collective over all ranks, of which the first ones take part; all fail together.
Played play(PlayedFile const& file, MPI_Comm comm, Command const& command) {
    Played played;
    std::string error;
    try {
        if (comm != MPI_COMM_NULL) played = Player{file, comm, command.flip_offset}.play();
    } catch (AgreedError const& failure) {
        error = failure.what();
    }
    if (over_ranks<int>(!error.empty(), MPI_INT, MPI_MAX) != 0) throw AgreedError(error);
    return played;
}

/// As rank 0 has it, which takes part in all files.
nlohmann::ordered_json play_all(Command const& command) {
    Played all;
    Comms comms;
    for (auto const& file : read_trace(command.trace))
        all.add(play(file, comms.of_first(file.ranks), command));
    return {{"seconds", all.seconds}, {"bytes", all.bytes}, {"calls", all.calls}};
}

}  // namespace
}  // namespace bench::replay

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    int rank = 0, code = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        auto const command = bench::replay::command_of({arguments + 1, arguments + argument_count});
        auto const played = bench::replay::play_all(command);
        if (rank == 0) std::cout << played.dump() << std::endl;
        code = 0;
    } catch (bench::replay::AgreedError const& error) {
        if (rank == 0) std::cerr << "unisono-replay: " << error.what() << '\n';
    } catch (std::exception const& error) {
        bench::abort_all("unisono-replay: rank " + std::to_string(rank) + ": " + error.what());
    }
    MPI_Finalize();
    return code;
}
