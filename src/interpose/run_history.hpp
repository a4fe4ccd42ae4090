#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "unisono/options.hpp"

namespace unisono::interpose {

/// How fast files of the same kind were in earlier runs of the program, kept where selection keeps
/// what it has learnt (select/tune_store.hpp). Thread-safe; no communication. Whatever is wrong
/// with the store: then nothing is known or kept, without a word.
class RunHistory {
public:
    static RunHistory& of_this_program();

    /// Says in a report on all ranks whether the file was slower than before, and remembers it.
    /// Only where the calls are worth it, and on the program's rank 0, so that each run writes
    /// once. Files may be closed by the thousand: the first, second, fourth ... time what is known
    /// is written. Cost then: a synced write of some 100 kilobytes at most; the first time the
    /// store is read as well.
    void note(FileReport& report, Options const& options, std::string const& storage);

private:
    void note_where_kept(FileReport& report, std::string const& storage);
    void begin(Options const& options, ProgramReport const& program);
    void remember(FileKind const& kind, PastRun const& file);

    std::mutex mutex_;
    bool begun_ = false;
    std::string path_;  // empty: nowhere
    std::string machine_;
    std::string run_;
    std::vector<FileHistory> earlier_;
    std::vector<FileHistory> now_;  // of this run only
    std::uint32_t files_ = 0;
};

}  // namespace unisono::interpose
