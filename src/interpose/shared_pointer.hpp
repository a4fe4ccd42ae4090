#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "backends/counter_file.hpp"

namespace unisono::interpose {

/// The shared file pointer of a file whose view the MPI library does not know, in etypes. Every
/// new view, seek and ordered call begins a *generation*, at a value that all ranks know; how far
/// single ranks have moved it since is counted elsewhere, from 0 on. So nobody waits for others
/// where a generation begins, as long as all begin the same ones in the same order. Thread-safe
/// but for begin().
class SharedPointer {
public:
    /// In memory that all ranks share, zeroed: counters of generations, which take turns. Those of
    /// one half are cleared while those of the other are used.
    struct Counters {
        static constexpr std::uint64_t half = 32;
        std::array<std::atomic<MPI_Offset>, 2 * half> of{};
        [[nodiscard]] std::atomic<MPI_Offset>& at(std::uint64_t generation) {
            return of[generation % of.size()];
        }
    };

    /// Nobody has to count: it is moved by collective calls alone, or not at all.
    SharedPointer() = default;
    explicit SharedPointer(Counters& counters) : place_{&counters} {}
    explicit SharedPointer(std::unique_ptr<CounterFile> file) : place_{std::move(file)} {}

    /// A value, or the errno for which there is none.
    struct Value {
        MPI_Offset etypes = 0;
        int error = 0;
    };

    [[nodiscard]] bool counted() const { return place_.index() != 0; }
    /// In memory: the pointer's own, for who gives it back.
    [[nodiscard]] Counters* counters() const;

    /// Where it is now.
    [[nodiscard]] Value value();
    /// Reserves so many etypes: where they begin. EOVERFLOW, and it stays, where it cannot count as
    /// far as their end. Any rank, at any time; where it is counted.
    [[nodiscard]] Value advance(MPI_Offset etypes);
    /// The last value that this rank has to do with; that of all ranks is the largest of theirs,
    /// once they have met. Costs nothing.
    [[nodiscard]] MPI_Offset reached() const;

    /// A generation begins, on all ranks: there, or (stay) for the others only, while this rank
    /// goes on with the one that it has. True: at this one all have to meet before any goes on, who
    /// stayed begins it where they are after all, and one of them forgets the generations that are
    /// over, before the next such one.
    [[nodiscard]] bool begin(MPI_Offset etypes);
    [[nodiscard]] bool stay();
    void begin_after_all(MPI_Offset etypes);
    void forget_old() const;

    /// Nobody uses it any more: what it has left in the file system goes. Local.
    void end();

private:
    std::variant<std::monostate, Counters*, std::unique_ptr<CounterFile>> place_;
    MPI_Offset base_ = 0;
    std::atomic<MPI_Offset> reached_ = 0;  // by this rank, beyond the base
    std::uint64_t generation_ = 0;
    std::uint64_t counted_in_ = 0;  // generation; an earlier one where this rank stayed
};

}  // namespace unisono::interpose
