// layout_servers FILE STEP: the server of every STEP-th byte of a file, beginning with the first,
// one number per line, as Unisono finds it.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "layouts/find_layout.hpp"

int main(int argument_count, char** arguments) {
    if (argument_count != 3) return 2;
    auto const step = std::strtoull(arguments[2], nullptr, 10);
    if (step == 0) return 2;
    auto const descriptor = open(arguments[1], O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        std::perror(arguments[1]);
        return 1;
    }
    auto const layout = unisono::find_layout(descriptor, {});
    close(descriptor);
    if (!layout.known()) {
        std::fprintf(stderr, "%s: %s\n", arguments[1], layout.describe().c_str());
        return 1;
    }
    auto const file_bytes = static_cast<std::uint64_t>(status.st_size);
    for (std::uint64_t offset = 0; offset < file_bytes; offset += step)
        std::printf("%u\n", layout.server_of(offset));
    return 0;
}
