#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace unisono::orchestra {

/// Which program uses which files: the program-files daemon of iorchestrator-sc10, section III.A.
/// Differs: it learns from the requests, not from an instrumented open, so that what a program has
/// open and does not touch is nobody's business. Not thread-safe.
class ProgramFiles {
public:
    /// More files of one program than this are not remembered: it shares them with nobody we know.
    static constexpr std::size_t files_max = 64;

    void used(std::string_view program, std::uint64_t file) {
        auto found = files_.find(program);
        if (found == files_.end()) found = files_.emplace(std::string(program), Set{}).first;
        if (found->second.size() < files_max) found->second.insert(file);
    }
    void forget(std::string_view program) {
        auto const found = files_.find(program);
        if (found != files_.end()) files_.erase(found);
    }
    [[nodiscard]] std::vector<std::uint64_t> of(std::string_view program) const {
        auto const found = files_.find(program);
        if (found == files_.end()) return {};
        return {found->second.begin(), found->second.end()};
    }

private:
    using Set = std::set<std::uint64_t>;
    std::map<std::string, Set, std::less<>> files_;
};

}  // namespace unisono::orchestra
