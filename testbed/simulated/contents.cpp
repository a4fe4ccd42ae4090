#include "simulated/contents.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "execute/collective_cases.hpp"

namespace unisono::simulated {
namespace {

constexpr std::byte untouched{0x6E};

bool contains(std::vector<std::byte> const& values, std::byte value) {
    return std::ranges::find(values, value) != values.end();
}

bool may_hold(Contents const& contents, std::uint64_t offset, std::byte value) {
    auto const values = contents.find(offset);
    return values == contents.end() ? value == std::byte{0} : contains(values->second, value);
}

std::string at(std::uint64_t offset, std::byte found) {
    return "offset " + std::to_string(offset) + " holds " +
           std::to_string(std::to_integer<int>(found));
}

bool is_zero(std::span<std::byte const> bytes) {
    return bytes.empty() || (bytes[0] == std::byte{0} &&
                             std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// The first byte that `right` does not know, or that is not zero where nothing is known: most of a
// file with holes is that.
template <class Right>
std::string find_wrong(std::vector<std::byte> const& found, Contents const& known, Right&& right) {
    auto const hole = [&](std::uint64_t begin, std::uint64_t end) -> std::string {
        if (is_zero(std::span{found}.subspan(begin, end - begin))) return {};
        while (found[begin] == std::byte{0}) ++begin;
        return at(begin, found[begin]);
    };
    std::uint64_t next = 0;
    for (auto const& entry : known) {
        if (entry.first >= found.size()) break;
        if (auto wrong = hole(next, entry.first); !wrong.empty()) return wrong;
        if (!right(entry)) return at(entry.first, found[entry.first]);
        next = entry.first + 1;
    }
    return hole(next, found.size());
}

void apply(Scenario::Call const& call, std::size_t number, Contents& contents) {
    Contents mine;
    for (std::uint32_t rank = 0; rank < call.requests.size(); ++rank) {
        std::uint64_t position = 0;
        walk(call.requests[rank].view, call.requests[rank].positions,
             [&](std::int64_t offset, std::uint64_t bytes) {
                 for (std::uint64_t i = 0; i < bytes; ++i)
                     mine[static_cast<std::uint64_t>(offset) + i].push_back(
                         value_written(number, rank, position++));
             });
    }
    for (auto& [offset, values] : mine) contents[offset] = std::move(values);
}

}  // namespace

std::byte value_written(std::size_t call, std::uint32_t rank, std::uint64_t position_in_request) {
    return written(rank, std::uint64_t{17} * call + position_in_request);
}

std::vector<Contents> states_of(Scenario const& scenario) {
    std::vector<Contents> states(1);
    auto const before = initial_contents(scenario.file_bytes);
    for (std::uint64_t offset = 0; offset < before.size(); ++offset)
        states[0][offset] = {before[offset]};
    for (std::size_t number = 0; number < scenario.calls.size(); ++number) {
        auto after = states.back();
        auto const& call = scenario.calls[number];
        if (call.direction == Direction::write) apply(call, number, after);
        states.push_back(std::move(after));
    }
    return states;
}

std::uint64_t bytes_of(Contents const& contents) {
    return contents.empty() ? 0 : contents.rbegin()->first + 1;
}

std::vector<std::byte> memory_before(Scenario const& scenario, std::size_t call,
                                     std::uint32_t rank) {
    auto const& request = scenario.calls[call].requests[rank];
    auto memory = buffer_for(request, untouched);
    if (scenario.calls[call].direction == Direction::read) return memory;
    std::uint64_t position = 0;
    walk(request.memory, {0, request.positions.bytes()},
         [&](std::int64_t offset, std::uint64_t bytes) {
             for (std::uint64_t i = 0; i < bytes; ++i)
                 memory[static_cast<std::size_t>(offset) + i] =
                     value_written(call, rank, position++);
         });
    return memory;
}

std::string compare(std::vector<std::byte> const& found, Contents const& expected) {
    if (found.size() != bytes_of(expected))
        return "the file has " + std::to_string(found.size()) + " bytes, not " +
               std::to_string(bytes_of(expected));
    return find_wrong(found, expected, [&](auto const& known) {
        return contains(known.second, found[known.first]);
    });
}

std::string find_foreign_byte(std::vector<std::byte> const& found,
                              std::vector<Contents> const& states, std::size_t last) {
    return find_wrong(found, states[last], [&](auto const& known) {
        auto const offset = known.first;
        return std::any_of(
            states.begin(), states.begin() + static_cast<std::ptrdiff_t>(last) + 1,
            [&](auto const& state) { return may_hold(state, offset, found[offset]); });
    });
}

std::string compare_read(Request const& request, std::vector<std::byte> const& memory,
                         Contents const& contents, std::uint64_t bytes) {
    auto const size = bytes_of(contents);
    std::uint64_t in_file = 0;
    std::string wrong;
    walk_both(request.view, request.positions, request.memory, {0, request.positions.bytes()},
              [&](std::int64_t file, std::int64_t place, std::uint64_t length) {
                  for (std::uint64_t i = 0; i < length && wrong.empty(); ++i) {
                      auto const offset = static_cast<std::uint64_t>(file) + i;
                      auto const value = memory[static_cast<std::size_t>(place) + i];
                      auto const there = offset < size;
                      in_file += there ? 1 : 0;
                      if (there ? !may_hold(contents, offset, value) : value != untouched)
                          wrong = "read: " + at(offset, value);
                  }
              });
    if (wrong.empty() && bytes != in_file)
        return "read " + std::to_string(in_file) + " bytes, counted " + std::to_string(bytes);
    return wrong;
}

std::string find_miscounted(Request const& request, std::vector<std::byte> const& file,
                            Contents const& expected, std::uint64_t bytes) {
    auto const first = request.positions.begin;
    std::string wrong;
    walk(request.view, {first, first + bytes}, [&](std::int64_t begin, std::uint64_t length) {
        for (std::uint64_t i = 0; i < length && wrong.empty(); ++i) {
            auto const offset = static_cast<std::uint64_t>(begin) + i;
            auto const value = offset < file.size() ? file[offset] : std::byte{0};
            if (!may_hold(expected, offset, value)) wrong = "counted, but " + at(offset, value);
        }
    });
    return wrong;
}

}  // namespace unisono::simulated
