#pragma once

#include <string>
#include <string_view>

// Where this copy of Unisono was installed, or was moved to.

namespace unisono {

/// The folder of a site's own files for an installation whose library or program is the file
/// `path`, PREFIX/lib/X or PREFIX/bin/X: PREFIX/etc, or /etc where PREFIX is /usr. Empty if `path`
/// is not absolute or has fewer than two folders.
std::string site_folder_of(std::string_view path);

/// That of the running code, symbolic links resolved. Empty where /proc is not there. Cost: reads
/// /proc/self/maps, some 100 us, unless the code was loaded by an absolute name.
std::string site_folder();

}  // namespace unisono
