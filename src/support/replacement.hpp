#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "support/descriptor.hpp"

namespace unisono {

/// A new file that is to take another one's place; gone where it does not. It is its owner's alone,
/// under a name that nobody can know before: where others may write into the folder, a file, a link
/// or a pipe of theirs could wait under any other.
class Replacement {
public:
    explicit Replacement(std::string target)
        : target_{std::move(target)},
          path_{target_ + ".XXXXXX"},
          descriptor_{mkostemp(path_.data(), O_CLOEXEC)},
          error_{descriptor_ ? 0 : errno} {}
    ~Replacement() {
        if (descriptor_) unlink(path_.c_str());
    }
    Replacement(Replacement const&) = delete;
    Replacement& operator=(Replacement const&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_.get(); }

    /// These return 0 or errno; what was not possible before is not done.
    int write(std::string_view text) {
        if (error_ == 0) error_ = write_all(descriptor_.get(), text);
        return error_;
    }
    int sync() {
        if (error_ == 0 && fsync(descriptor_.get()) != 0) error_ = errno;
        return error_;
    }
    int take_place() {
        if (error_ == 0 && std::rename(path_.c_str(), target_.c_str()) != 0) error_ = errno;
        if (error_ == 0) descriptor_ = Descriptor{};
        return error_;
    }

private:
    std::string target_;
    std::string path_;
    Descriptor descriptor_;
    int error_;
};

}  // namespace unisono
