#include "model/test_support.hpp"

#include <cstdio>
#include <stdexcept>

#include "model/geometry.hpp"
#include "model/random.hpp"
#include "support/file_content.hpp"

namespace unisono::testbed {

std::string shipped_profile_text(std::string const& name) {
    auto const text = file_content(std::string(UNISONO_PROFILES) + "/" + name + ".json");
    if (!text) throw std::runtime_error("no profile " + name);
    return *text;
}

Profile shipped_profile(std::string const& name) {
    return parse_profile(shipped_profile_text(name));
}

void print_check(std::string const& derivation, std::string const& expected,
                 std::string const& result) {
    std::printf("> %s\n> expect %s\n> result %s\n", derivation.c_str(), expected.c_str(),
                result.c_str());
}

std::string with_unit(double value, char const* unit) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g %s", value, unit);
    return text;
}

std::vector<Time> run_closed(Drive& drive, std::vector<Command> commands, std::size_t depth,
                             Time start) {
    std::vector<Time> done(commands.size());
    std::vector<Finished> finished;
    Time now = start;
    drive.advance(now, finished);
    finished.clear();
    std::size_t submitted = 0;
    std::size_t completed = 0;
    while (completed < commands.size()) {
        while (submitted < commands.size() && submitted - completed < depth &&
               drive.free_slots() > 0) {
            commands[submitted].id = submitted;
            drive.submit(now, commands[submitted++]);
        }
        now = drive.next_event();
        if (now == never) throw std::runtime_error("the drive stands still");
        drive.advance(now, finished);
        for (auto const& one : finished) done[one.id] = one.time;
        completed += finished.size();
        finished.clear();
    }
    return done;
}

std::vector<Command> random_commands(DriveProfile const& profile, Operation operation,
                                     std::uint64_t sectors, std::size_t count, std::uint64_t seed) {
    Random random(seed);
    auto const places = static_cast<std::uint64_t>(profile.capacity_bytes) / sector_bytes / sectors;
    std::vector<Command> commands;
    for (std::size_t i = 0; i < count; ++i)
        commands.push_back({0, operation, random.below(places) * sectors, sectors});
    return commands;
}

}  // namespace unisono::testbed
