#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/history.hpp"
#include "select/tuning_record.hpp"

namespace unisono {

/// What a tune file holds: records of many programs, machines and file systems.
/// docs/understand/selection.md has the format; the command `unisono tune` reads and writes it as
/// well (cli/unisono/tune.py).
struct TuneFile {
    static constexpr int version = 2;

    bool frozen = false;  ///< nothing is examined or written
    std::vector<TuningRecord> records;
    std::vector<FileHistory> histories;  ///< of files, whoever did the calls
};

/// A text that is a tune file, or why not: "of a newer version (2)", "no tune file of Unisono".
/// Lessons that make no sense (a speed of zero, a count below one) are left out, and so are
/// histories.
struct ParsedTuneFile {
    std::optional<TuneFile> file;
    std::string complaint;
};
ParsedTuneFile parse_tune_file(std::string_view text);

std::string to_json(TuneFile const& file);

/// As a tune file gives it back: names of files and of mounts are bytes, JSON is UTF-8. What is to
/// be found again has to be asked for so.
std::string as_kept(std::string const& text);
FileKind as_kept(FileKind kind);

/// Takes `unsaved` into `file`; `now_s`: seconds since 1970. Keeps the most recent 1000 records;
/// frozen ones are neither changed nor dropped. Cost: O(records * unsaved).
void take_in(TuneFile& file, std::vector<TuningRecord> const& unsaved, std::int64_t now_s);

/// The same for histories, of which it keeps the most recent 100.
void take_in(TuneFile& file, std::vector<FileHistory> const& unsaved, std::int64_t now_s);

}  // namespace unisono
