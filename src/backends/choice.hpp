#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/counted.hpp"
#include "backends/mapped.hpp"
#include "layouts/file_system.hpp"
#include "unisono/admission_gate.hpp"
#include "unisono/options.hpp"

namespace unisono {

/// What decides how one rank accesses an open file, apart from what the user wants.
struct FileFacts {
    bool open = false;              ///< there is a descriptor
    bool kernel_knows = false;      ///< and it is the kernel's: backends/descriptor.hpp
    bool has_offsets = true;        ///< no pipe, say
    bool readable = false;          ///< it is open for that
    bool writable = false;          ///< likewise
    bool mpi_library_opens = true;  ///< a second time, for this rank alone; until it was tried
    FileSystemFacts file_system;
};

/// One layer of a backend: what accesses the file, or what is around that.
enum class Layer : std::uint8_t {
    mpiio,
    posix,
    faults,
    mapped,
    threads,
    uring,
    end_first,
    gate,
    counted
};

/// How one rank accesses an open file.
struct BackendChoice {
    std::vector<Layer> layers;    ///< innermost first; none: nothing can access the file
    bool mappable_write = false;  ///< existing bytes may be written through a mapping
    std::string_view why;

    [[nodiscard]] bool by_mpi() const { return !layers.empty() && layers.front() == Layer::mpiio; }
};

/// The user's word (Options::backend) as far as it can be kept, else what suits the file system.
/// May differ between ranks. Pure.
BackendChoice choose_backend(FileFacts const& facts, Options const& options);

/// "posix mapped gate counted", for people and tests.
std::string describe(BackendChoice const& choice);

/// What layers are made of; what no layer of the choice needs may be missing.
struct BackendParts {
    int descriptor = -1;             ///< not owned; stays open as long as the backend lives
    std::unique_ptr<Backend> mpiio;  ///< where choice.by_mpi()
    std::string_view faults;
    MmapSafeBytes mmap_safe_bytes;
    dev_t device = 0;         ///< of the file system
    std::uint32_t ranks = 1;  ///< that open the file together
    std::shared_ptr<AdmissionGate> gate;
    std::shared_ptr<BackendCounts> counts;
};

/// Null where nothing was chosen. Layers that the system forbids now or later give way to what is
/// below them, and the name says so.
std::unique_ptr<Backend> make_backend(BackendChoice const& choice, BackendParts parts);

}  // namespace unisono
