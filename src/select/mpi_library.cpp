#include "select/mpi_library.hpp"

#include <algorithm>
#include <array>

namespace unisono {
namespace {

using Family = MpiLibrary::Family;

bool any_write(Facts const& facts) { return facts.direction == Direction::write; }
bool unusual_types_or_threads(Facts const& facts) { return !facts.native_ready; }
bool past_the_end(Facts const& facts) {
    return facts.direction == Direction::read && facts.touched.end > facts.file_bytes;
}
// In rank order without holes, each byte is asked for once.
bool holes_or_overlaps(Facts const& facts) {
    return !facts.rank_ordered || facts.touched.bytes() != facts.bytes;
}

struct Fault {
    Family family;
    std::string_view what;
    bool (*may_show)(Facts const& facts);
};

// Seen in MPICH 4.0.2 and Open MPI 4.1.4 by our fuzzer and semantics tests (the tests that leave a
// native library out name the fault). Newer versions share the code (ROMIO's ad_write_coll.c and
// ad_read_coll.c, OMPIO's fcoll components), so a whole family is taken to have it.
constexpr std::array faults{
    Fault{Family::mpich, "MPICH 4.0.2 counts bytes past the end of the file", past_the_end},
    Fault{Family::mpich, "MPICH 4.0.2 fills holes from its buffers; a read error may hang it",
          holes_or_overlaps},
    Fault{Family::mpich, "MPICH 4.0.2 aborts with some datatypes, and hangs with two threads",
          unusual_types_or_threads},
    Fault{Family::openmpi, "Open MPI 4.1.4 loses data of failed writes silently", any_write},
    Fault{Family::openmpi, "Open MPI 4.1.4 reads wrong bytes where ranks overlap",
          holes_or_overlaps},
    Fault{Family::openmpi, "Open MPI 4.1.4: short reads are not known to be right", past_the_end},
    Fault{Family::openmpi,
          "Open MPI 4.1.4: unusual datatypes and threads are not known to be right",
          unusual_types_or_threads},
};

// What follows `label`, up to white space or a comma.
std::string word_after(std::string_view text, std::string_view label) {
    auto const at = text.find(label);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + label.size());
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return std::string{text.substr(0, text.find_first_of(" \t\n,"))};
}

}  // namespace

MpiLibrary parse_mpi_library(std::string_view version_text) {
    if (auto const version = word_after(version_text, "Open MPI v"); !version.empty())
        return {Family::openmpi, "Open MPI " + version};
    if (auto const version = word_after(version_text, "MPICH Version:"); !version.empty())
        return {Family::mpich, "MPICH " + version};
    // Both have MPICH's ROMIO.
    if (auto const version = word_after(version_text, "Intel(R) MPI Library "); !version.empty())
        return {Family::mpich, "Intel MPI " + version};
    if (auto const version = word_after(version_text, "CRAY MPICH version "); !version.empty())
        return {Family::mpich, "Cray MPICH " + version};
    return {Family::unknown, "unknown MPI"};
}

std::string_view native_fault(MpiLibrary const& library, Facts const& facts,
                              Options const& options) {
    if (library.family == Family::unknown) return "nothing is known of this MPI library";
    if (!options.faults.empty()) return "it does not see the faults that are injected";
    for (auto const& fault : faults)
        if (fault.family == library.family && fault.may_show(facts)) return fault.what;
    return {};
}

}  // namespace unisono
