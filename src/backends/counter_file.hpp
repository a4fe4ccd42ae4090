#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <string>

#include "support/descriptor.hpp"

namespace unisono {

/// Counters in a hidden file, for processes that share a file system and no memory: made by the
/// first rank that counts, and removed by all that did. Each change is made under a lock on the
/// counter. ROMIO keeps its shared file pointer in the same way. Thread-safe; local.
class CounterFile {
public:
    explicit CounterFile(std::string path) : path_{std::move(path)} {}

    struct Count {
        std::int64_t value = 0;  ///< 0: nobody has counted
        int error = 0;           ///< errno
    };

    /// Of counter `number`. Cost: an open where the file is not there yet, a lock, a read.
    [[nodiscard]] Count read(std::uint64_t number);
    /// The count before `more` was added, which is not negative; EOVERFLOW where the sum would be
    /// more than `most`. Cost: a lock, a read, a write.
    [[nodiscard]] Count add(std::uint64_t number, std::int64_t more,
                            std::int64_t most = std::numeric_limits<std::int64_t>::max());
    /// No rank counts any more.
    void remove();

    /// A name beside `path`, of a file that nobody else has: `secret` is of those who share it.
    [[nodiscard]] static std::string beside(std::string const& path, std::uint64_t secret);

private:
    /// An errno, ENOENT where it is not there and is not to be made.
    int open(bool make);

    std::string path_;
    std::mutex mutex_;  // guards what follows
    Descriptor file_;
};

}  // namespace unisono
