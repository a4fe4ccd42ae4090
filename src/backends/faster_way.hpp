#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace unisono {

/// Whether long pieces of files are overwritten faster through a mapping or by system calls, as
/// this process has seen it. Writers of one file wait for its lock in a system call, each for all
/// others; where they are few, calls are faster (docs/lab/tried.md). Thread-safe.
class FasterWay {
public:
    /// Also while nothing is known about mappings, where calls take so long that it may pay.
    [[nodiscard]] bool is_mapping() const;
    void note_call(std::uint64_t bytes, double seconds);
    void note_mapping(std::uint64_t bytes, double seconds);

private:
    /// The last few. The best of them counts: others may have lost the core meanwhile.
    struct Times {
        std::array<double, 4> s_per_byte{};
        std::size_t seen = 0;

        void note(std::uint64_t bytes, double seconds);
        [[nodiscard]] double best() const;
    };

    mutable std::mutex mutex_;
    Times call_;
    Times mapping_;
};

/// The same for all files of one file system that this process opens.
std::shared_ptr<FasterWay> faster_way_on_file_system_of(int fd);

}  // namespace unisono
