#include "report/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

int write_at_once(int descriptor, std::string_view text) {
    ssize_t written = 0;
    do {
        written = ::write(descriptor, text.data(), text.size());
    } while (written < 0 && errno == EINTR);
    if (written < 0) return errno;
    return static_cast<std::size_t>(written) == text.size() ? 0 : ENOSPC;
}

}  // namespace

void Use::add(std::uint64_t more_calls, std::string_view reason) {
    calls += more_calls;
    add_distinct(why, reason);
}

namespace {

void merge_uses(std::map<std::string, Use>& uses, std::map<std::string, Use> const& others) {
    for (auto const& [name, use] : others) {
        auto& mine = uses[name];
        take_larger(mine.calls, use.calls);
        for (auto const& reason : use.why) add_distinct(mine.why, reason);
    }
}

}  // namespace

void DirectionReport::merge(DirectionReport const& other) {
    take_larger(collective_calls, other.collective_calls);
    take_larger(failed_calls, other.failed_calls);
    independent_calls += other.independent_calls;
    for (auto const& [reason, calls] : other.native_calls) take_larger(native_calls[reason], calls);
    asked_bytes += other.asked_bytes;
    moved_bytes += other.moved_bytes;
    sent_bytes += other.sent_bytes;
    messages += other.messages;
    pieces += other.pieces;
    holes += other.holes;
    take_larger(rounds, other.rounds);
    take_larger(meetings, other.meetings);
    for (std::size_t phase = 0; phase < spent.size(); ++phase) {
        spent[phase].total_s += other.spent[phase].total_s;
        take_larger(spent[phase].longest_s, other.spent[phase].longest_s);
    }
    merge_uses(strategies, other.strategies);
    merge_uses(refusals, other.refusals);
}

void GateReport::merge(GateReport const& other) {
    if (passages == 0) locality = other.locality;
    passages += other.passages;
    waits += other.waits;
    waited.total_s += other.waited.total_s;
    take_larger(waited.longest_s, other.waited.longest_s);
}

void FileReport::merge(FileReport const& other) {
    ranks += other.ranks;
    take_larger(nodes, other.nodes);
    take_larger(aggregators, other.aggregators);
    if (backend.empty()) backend = other.backend;
    if (layout.empty()) layout = other.layout;
    for (auto const& note : other.notes) add_distinct(notes, note);
    gate.merge(other.gate);
    read.merge(other.read);
    write.merge(other.write);
}

int append_line(std::string const& path, std::string_view line) {
    auto const text = std::string(line) + '\n';
    if (path.empty()) return write_at_once(STDERR_FILENO, text);
    int const descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0) return errno;
    int const error = write_at_once(descriptor, text);
    if (::close(descriptor) != 0 && error == 0) return errno;
    return error;
}

}  // namespace unisono
