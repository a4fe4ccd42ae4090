#include "report/report.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "support/descriptor.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

void add_distinct(std::vector<std::string>& texts, std::string_view text) {
    if (text.empty() || texts.size() >= Use::reasons_at_most) return;
    if (std::ranges::find(texts, text) == texts.end()) texts.emplace_back(text);
}

template <class Number>
void take_larger(Number& mine, Number theirs) {
    mine = std::max(mine, theirs);
}

// What a program left there that could not write it all. Opening a FIFO might wait for ever.
bool ends_within_a_line(std::string const& path) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown)) return false;
    std::ifstream file{path, std::ios::binary};
    file.seekg(-1, std::ios::end);
    return file && file.get() != '\n';
}

constexpr int append_flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;

// Closes it.
int append(Descriptor file, std::string_view text) {
    int const error = write_all(file.get(), text);
    return ::close(file.release()) != 0 && error == 0 ? errno : error;
}

}  // namespace

void Use::add(std::uint64_t more_calls, std::string_view reason) {
    calls += more_calls;
    add_distinct(why, reason);
}

void Spent::merge(Spent const& other) {
    total_s += other.total_s;
    take_larger(longest_s, other.longest_s);
    shortest_s = std::min(shortest_s, other.shortest_s);
}

// The ways of merging that fields.hpp names.
namespace merging {
namespace {

void sum(std::uint64_t& mine, std::uint64_t theirs) { mine += theirs; }
void sum(std::uint32_t& mine, std::uint32_t theirs) { mine += theirs; }
template <class Key>
void sum(std::map<Key, std::uint64_t>& mine, std::map<Key, std::uint64_t> const& theirs) {
    for (auto const& [what, count] : theirs) mine[what] += count;
}
void sum(Loads& mine, Loads const& theirs) {
    mine.resize(std::max(mine.size(), theirs.size()));
    for (std::size_t i = 0; i < theirs.size(); ++i) mine[i] += theirs[i];
}
template <class Part>
requires requires(Part part) { part.merge(part); }
void sum(Part& mine, Part const& theirs) { mine.merge(theirs); }

void largest(std::uint64_t& mine, std::uint64_t theirs) { take_larger(mine, theirs); }
void largest(std::uint32_t& mine, std::uint32_t theirs) { take_larger(mine, theirs); }
void largest(Reasons& mine, Reasons const& theirs) {
    for (auto const& [reason, calls] : theirs) take_larger(mine[reason], calls);
}
void largest(Uses& mine, Uses const& theirs) {
    for (auto const& [name, use] : theirs) {
        take_larger(mine[name].calls, use.calls);
        for (auto const& reason : use.why) mine[name].add(0, reason);
    }
}

void first(std::string& mine, std::string const& theirs) {
    if (mine.empty()) mine = theirs;
}

void distinct(Notes& mine, Notes const& theirs) {
    for (auto const& note : theirs) add_distinct(mine, note);
}

void least(Latest& mine, Latest const& theirs) {
    auto const later = mine.rank < 0 || theirs.waited_s < mine.waited_s;
    if (theirs.rank >= 0 && later) mine = theirs;
}

template <class Any>
void rank_0(Any const&, Any const&) {}

}  // namespace
}  // namespace merging

#define UNISONO_MERGE(type, member, initial, key, unit, merge, ...) \
    merging::merge(member, other.member);

void DirectionReport::merge(DirectionReport const& other) {
    UNISONO_DIRECTION_FIELDS(UNISONO_MERGE)
}

void GateReport::merge(GateReport const& other) {
    if (accesses == 0) locality = other.locality;
    accesses += other.accesses;
    waits += other.waits;
    waited.merge(other.waited);
}

void ProgramReport::merge(ProgramReport const& other) {
    merging::first(id, other.id);
    merging::first(name, other.name);
    merging::first(mpi, other.mpi);
    take_larger(ranks, other.ranks);
    take_larger(seconds, other.seconds);
    take_larger(core_wait_s, other.core_wait_s);
    if (began == 0 || (other.began > 0 && other.began < began)) began = other.began;
    cores.resize(std::max(cores.size(), other.cores.size()));
    for (std::size_t word = 0; word < other.cores.size(); ++word) cores[word] |= other.cores[word];
}

void FileReport::merge(FileReport const& other) { UNISONO_FILE_FIELDS(UNISONO_MERGE) }

#undef UNISONO_MERGE

void DirectionReport::add_pieces(std::uint64_t count, std::uint64_t bytes) {
    pieces += count;
    if (count > 0) piece_sizes[std::bit_floor(bytes / count)] += count;
}

// What goes on beside the program is waited for where split calls end.
std::optional<double> DirectionReport::busy_s() const {
    auto const nonblocking = [](auto const& calls) {
        return calls.first.find("nonblocking") != std::string::npos;
    };
    auto const beside_s = beside_time.longest_s;
    if (std::ranges::any_of(native_calls, nonblocking) ||
        std::ranges::any_of(native_independent_calls, nonblocking) ||
        (native_bytes > 0 && beside_s > 0))
        return std::nullopt;
    auto const whole_s = seconds[Phase::whole].longest_s;
    return std::max(whole_s, whole_s - seconds[Phase::waiting].longest_s + beside_s);
}

void FileReport::forget_details() {
    timeline = {};
    recording = {};
    for (auto* const direction : {&read, &write}) {
        direction->timeline = direction->beside_timeline = {};
        direction->accesses = {};
    }
}

void FileReport::add_error(std::string_view text) { add_distinct(errors, text); }

int append_line(std::string const& path, std::string_view line) {
    auto text = std::string(line) + '\n';
    if (path.empty()) return write_all(STDERR_FILENO, visible(text));
    if (ends_within_a_line(path)) text.insert(text.begin(), '\n');
    Descriptor file{::open(path.c_str(), append_flags, 0666)};
    return file ? append(std::move(file), text) : errno;
}

int append_line_in(std::string const& folder, std::string name, std::string_view line) {
    std::ranges::replace(name, '/', '_');
    auto const path = folder + '/' + name;
    Descriptor file{::open(path.c_str(), append_flags | O_NOFOLLOW | O_NONBLOCK, 0666)};
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0) return errno;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return EPERM;
    return append(std::move(file), std::string(line) + '\n');
}

}  // namespace unisono
