#include "backends/choice.hpp"

#include <array>
#include <utility>

#include "backends/end_first.hpp"
#include "backends/fault.hpp"
#include "backends/gated.hpp"
#include "backends/posix.hpp"
#include "backends/threaded.hpp"
#include "backends/uring.hpp"

namespace unisono {

namespace {

/// The layers over posix that one who does not ask for faults, and nothing but this, would get.
struct Wanted {
    bool mapping = false;     ///< small pieces by copying from and to the page cache
    bool background = false;  ///< accesses overlap with what the rank does meanwhile
    bool ring = false;        ///< by io_uring, where that is possible
};

// On one node's own file system a copy is all that there is to do; servers let a rank wait.
Wanted wanted(FileFacts const& facts, std::string_view backend) {
    auto const local = facts.file_system.local;
    if (backend == "auto") return {.mapping = local, .background = !local, .ring = !local};
    if (backend == "uring") return {.background = true, .ring = true};
    return {.mapping = backend == "mapped", .background = backend == "threads"};
}

// Faults are injected into what lies below a mapping or a ring, which would not notice.
std::string_view not_mapped_because(FileFacts const& facts, Options const& options) {
    if (!facts.file_system.local) return "not mapped: not one node's own file system";
    if (!facts.readable) return "not mapped: it may not be read";
    return options.faults.empty() ? "" : "not mapped: faults are injected";
}

std::string_view no_ring_because(FileFacts const& facts, Options const& options) {
    if (!facts.kernel_knows) return "no io_uring: the kernel does not know the descriptor";
    if (!facts.has_offsets) return "no io_uring, which ignores offsets that a file does not have";
    return options.faults.empty() ? "" : "no io_uring: faults are injected";
}

std::string_view first_of(std::string_view reason, std::string_view otherwise) {
    return reason.empty() ? otherwise : reason;
}

// Over posix.
void add_layers(BackendChoice& choice, FileFacts const& facts, Options const& options) {
    auto const want = wanted(facts, options.backend);
    if (want.mapping) {
        auto const obstacle = not_mapped_because(facts, options);
        choice.why = first_of(obstacle, choice.why);
        if (obstacle.empty()) choice.layers.push_back(Layer::mapped);
        choice.mappable_write =
            obstacle.empty() && facts.file_system.keeps_blocks && facts.writable;
    }
    if (want.background) choice.layers.push_back(Layer::threads);
    if (want.ring) {
        auto const obstacle = no_ring_because(facts, options);
        choice.why = first_of(obstacle, choice.why);
        if (obstacle.empty()) choice.layers.push_back(Layer::uring);
    }
    if (facts.file_system.grows_alone) choice.layers.push_back(Layer::end_first);
}

std::string_view reason(FileFacts const& facts, Options const& options, bool by_mpi) {
    if (!facts.open) return by_mpi ? "only the MPI library can open it" : "nobody can open it";
    if (options.backend == "mpiio" && !by_mpi) return "the MPI library does not open it once more";
    if (options.backend != "auto") return "asked for";
    return facts.file_system.local ? "one node's own file system" : "servers let a rank wait";
}

std::unique_ptr<Backend> around(Layer layer, std::unique_ptr<Backend> inner,
                                BackendChoice const& choice, BackendParts const& parts) {
    switch (layer) {
        case Layer::mpiio:
        case Layer::posix:
            break;  // they are innermost
        case Layer::faults:
            return make_fault_backend(std::move(inner), parts.faults);
        case Layer::mapped:
            return make_mapped_backend(parts.descriptor, std::move(inner), parts.mmap_safe_bytes,
                                       choice.mappable_write,
                                       faster_way_for(parts.device, parts.ranks));
        case Layer::threads:
            return make_threaded_backend(std::move(inner));
        case Layer::uring:
            return make_uring_backend(parts.descriptor, std::move(inner));
        case Layer::end_first:
            return make_end_first_backend(parts.descriptor, std::move(inner));
        case Layer::gate:
            return make_gated_backend(std::move(inner), parts.gate);
        case Layer::counted:
            return make_counted_backend(std::move(inner), parts.counts);
    }
    return inner;
}

}  // namespace

BackendChoice choose_backend(FileFacts const& facts, Options const& options) {
    auto const by_mpi = facts.mpi_library_opens && (options.backend == "mpiio" || !facts.open);
    BackendChoice choice{.why = reason(facts, options, by_mpi)};
    if (!by_mpi && !facts.open) return choice;
    choice.layers.reserve(5);  // as many as there are mostly
    choice.layers.push_back(by_mpi ? Layer::mpiio : Layer::posix);
    if (!options.faults.empty()) choice.layers.push_back(Layer::faults);
    if (!by_mpi) add_layers(choice, facts, options);
    if (facts.open) choice.layers.push_back(Layer::gate);
    choice.layers.push_back(Layer::counted);
    return choice;
}

std::string describe(BackendChoice const& choice) {
    static constexpr std::array names{"mpiio", "posix",     "faults", "mapped", "threads",
                                      "uring", "end_first", "gate",   "counted"};
    std::string text;
    for (auto const layer : choice.layers)
        text += (text.empty() ? "" : " ") + std::string(names[static_cast<std::size_t>(layer)]);
    return text;
}

std::unique_ptr<Backend> make_backend(BackendChoice const& choice, BackendParts parts) {
    if (choice.layers.empty()) return nullptr;
    auto backend = choice.by_mpi() ? std::move(parts.mpiio) : make_posix_backend(parts.descriptor);
    for (auto const layer : std::span{choice.layers}.subspan(1))
        backend = around(layer, std::move(backend), choice, parts);
    return backend;
}

}  // namespace unisono
