#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
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
        auto& files = found->second;
        if (files.size() >= files_max && !files.contains(file)) return;
        files.insert(file);
        auto& user = last_user_[file];
        if (user != program) user = program;
    }
    void forget(std::string_view program) {
        auto const found = files_.find(program);
        if (found == files_.end()) return;
        files_.erase(found);
        std::erase_if(last_user_, [&](auto const& entry) { return entry.second == program; });
    }
    /// Who used it last; empty if that is not known.
    [[nodiscard]] std::string_view user_of(std::uint64_t file) const {
        auto const found = last_user_.find(file);
        return found == last_user_.end() ? std::string_view{} : found->second;
    }
    [[nodiscard]] std::vector<std::uint64_t> of(std::string_view program) const {
        auto const found = files_.find(program);
        if (found == files_.end()) return {};
        return {found->second.begin(), found->second.end()};
    }

private:
    using Set = std::set<std::uint64_t>;
    std::map<std::string, Set, std::less<>> files_;
    std::unordered_map<std::uint64_t, std::string> last_user_;
};

}  // namespace unisono::orchestra
