#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "layouts/file_system.hpp"
#include "layouts/parsers.hpp"

namespace unisono {

using Attribute = std::vector<std::byte>;

/// What the providers ask about one open file; tests give the answers by hand.
struct FileProbe {
    std::uint32_t magic = 0;  ///< these three as in FileSystemFacts
    std::uint64_t block_bytes = 0;
    bool local = false;

    /// An extended attribute; nothing if there is none or it cannot be read.
    std::function<std::optional<Attribute>(char const* name)> attribute;
    /// ioctl(): whether it succeeded.
    std::function<bool(unsigned long request, void* argument)> control;
    /// Where libcephfs says that objects are: see ceph_library.hpp.
    std::function<ObjectPlacement(CephStriping const& striping)> ceph_library;
    /// Sets an extended attribute: errno, 0 if it worked.
    std::function<int(char const* name, std::string const& value)> set_attribute;

    /// Asks the operating system for what is not known. `descriptor` must outlive the probe.
    static FileProbe of(int descriptor, FileSystemFacts const& known);
    static FileProbe of(int descriptor);
};

/// The attribute as text, without zero bytes at its end.
std::optional<std::string> text_attribute(FileProbe const& probe, char const* name);

}  // namespace unisono
