// The papers' benchmarks on MPI-IO. What each one asks for is in a file of its own; here is what
// they share: the command line, and a line of JSON for each measurement.
#include <mpi.h>

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mpi_support.hpp"
#include "options.hpp"
#include "transfer.hpp"

namespace bench::papers {
namespace {

char const* name_of(Way way) {
    switch (way) {
        case Way::collective:
            return "collective";
        case Way::independent:
            return "independent";
        case Way::pieces:
            return "pieces";
    }
    return "";
}

void print(Command const& command, Place place, bool write, Measured const& measured) {
    nlohmann::ordered_json parameters;
    for (auto const& parameter : command.program->parameters)
        parameters[std::string(parameter.name)] = command.values[parameter.name];
    nlohmann::ordered_json line{
        {"program", command.program->name},
        {"direction", write ? "write" : "read"},
        {"access", name_of(command.options.way)},
        {"memory", command.options.memory == Memory::contiguous ? "contiguous" : "noncontiguous"},
        {"ranks", place.ranks},
        {"parameters", parameters},
        {"bytes", measured.bytes},
        {"open_seconds", measured.open_seconds},
        {"seconds", measured.seconds},
        {"compute_seconds", measured.compute_seconds},
        {"close_seconds", measured.close_seconds},
        {"began_at", measured.began_at},
        {"mb_per_s", static_cast<double>(measured.bytes) / measured.seconds / 1e6},
        {"verified", command.options.verify}};
    if (command.options.call_seconds) line["call_seconds"] = measured.call_seconds;
    std::cout << line.dump() << std::endl;
}

/// True if the contents were right, or not looked at.
bool measure(Command const& command, Transfer& transfer, Place place, bool write) {
    if (!write) transfer.prepare();
    Measured const measured = transfer.run(write);
    bool const right = measured.wrong_offset == no_offset;
    if (place.rank == 0 && right) print(command, place, write, measured);
    if (place.rank == 0 && !right)
        std::cerr << command.program->name << ": wrong byte at offset " << measured.wrong_offset
                  << '\n';
    return right;
}

bool run_program(Command const& command, Place place) {
    Transfer transfer(command, place);
    Options const& options = command.options;
    if (options.prepare) {
        transfer.prepare();
        return true;
    }
    bool const both = !options.read && !options.write;
    bool right = true;
    if (options.write || both) right = measure(command, transfer, place, /*write=*/true);
    if (options.read || both) right = measure(command, transfer, place, /*write=*/false) && right;
    return right;
}

/// Exchanges messages until the time is over; rank 0 decides for all.
void run_alltoall(Options const& options, Place place) {
    std::vector<char> out(options.message_bytes * static_cast<std::size_t>(place.ranks), 'u');
    std::vector<char> in(out.size());
    auto const bytes = static_cast<int>(options.message_bytes);
    wait_for_begin(options.begin_when, place);
    double const began_at = system_clock_s();
    double const begin_s = MPI_Wtime();
    long long rounds = 0;
    for (int over = 0; over == 0; ++rounds) {
        MPI_Alltoall(out.data(), bytes, MPI_CHAR, in.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
        over = MPI_Wtime() - begin_s >= options.run_seconds ? 1 : 0;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    double const seconds = MPI_Wtime() - begin_s;
    auto const sent = static_cast<double>(rounds) * static_cast<double>(out.size()) * place.ranks;
    nlohmann::ordered_json const line{{"program", "alltoall"},
                                      {"ranks", place.ranks},
                                      {"rounds", rounds},
                                      {"bytes", sent},
                                      {"began_at", began_at},
                                      {"seconds", seconds},
                                      {"mb_per_s", sent / seconds / 1e6}};
    if (place.rank == 0) std::cout << line.dump() << std::endl;
}

int main_of_rank(int argument_count, char** arguments, Place place) {
    int exit_code = 0;
    auto const command = parse(argument_count, arguments, place.rank == 0, exit_code);
    if (!command) return exit_code;
    if (command->program == nullptr) {
        run_alltoall(command->options, place);
        return 0;
    }
    try {
        return run_program(*command, place) ? 0 : 1;
    } catch (std::invalid_argument const& error) {  // the same on all ranks
        if (place.rank == 0) std::cerr << command->program->name << ": " << error.what() << '\n';
        return 2;
    }
}

}  // namespace
}  // namespace bench::papers

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    bench::Place place;
    MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
    int code = 1;
    try {
        code = bench::papers::main_of_rank(argument_count, arguments, place);
    } catch (std::exception const& error) {
        bench::abort_all("rank " + std::to_string(place.rank) + ": " + error.what());
    }
    MPI_Finalize();
    return code;
}
