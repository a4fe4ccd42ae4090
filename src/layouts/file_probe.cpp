#include "layouts/file_probe.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>

#include "layouts/ceph_library.hpp"

namespace unisono {

FileProbe FileProbe::of(int descriptor) {
    struct stat status {};
    auto const known = fstat(descriptor, &status) == 0;
    return of(descriptor, known ? file_system_facts(descriptor, status) : FileSystemFacts{});
}

FileProbe FileProbe::of(int descriptor, FileSystemFacts const& known) {
    FileProbe probe;
    probe.magic = known.type;
    probe.block_bytes = known.block_bytes;
    probe.local = known.local;
    probe.attribute = [descriptor](char const* name) -> std::optional<Attribute> {
        constexpr std::size_t bytes_most = 1 << 16;  // the kernel's limit
        Attribute value(bytes_most);
        auto const bytes = fgetxattr(descriptor, name, value.data(), value.size());
        if (bytes < 0) return std::nullopt;
        value.resize(static_cast<std::size_t>(bytes));
        return value;
    };
    probe.control = [descriptor](unsigned long request, void* argument) {
        return ioctl(descriptor, request, argument) >= 0;
    };
    probe.ceph_library = [descriptor](CephStriping const& striping) {
        return ceph_library_placement(descriptor, striping);
    };
    probe.set_attribute = [descriptor](char const* name, std::string const& value) {
        return fsetxattr(descriptor, name, value.data(), value.size(), 0) == 0 ? 0 : errno;
    };
    return probe;
}

std::optional<std::string> text_attribute(FileProbe const& probe, char const* name) {
    auto const value = probe.attribute(name);
    if (!value) return std::nullopt;
    std::string text(reinterpret_cast<char const*>(value->data()), value->size());
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

}  // namespace unisono
