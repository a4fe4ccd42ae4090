#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options/hint_text.hpp"
#include "unisono/options.hpp"

namespace unisono {

/// A value that an option can have, for the lists that users see.
struct Choice {
    std::string_view name;
    std::string_view summary;
};

/// How the outside world is looked at; tests replace it.
struct Surroundings {
    /// An environment variable; nullptr if it is not set.
    std::function<char const*(char const* name)> variable;
    /// A file's content; nothing if it cannot be read.
    std::function<std::optional<std::string>(std::string const& path)> content;
    /// The names of all environment variables that begin so.
    std::function<std::vector<std::string>(std::string_view prefix)> names;
    /// Whether a file is there, for all that is known: it need not be readable.
    std::function<bool(std::string const& path)> is_there;
    /// What people call this process's program.
    std::function<std::string()> program;

    /// The environment, which a privileged program does not look at, and the file system.
    static Surroundings real();
};

/// The options for one file, and lines to print (without a newline; most are warnings, but the
/// answer to `help` is one too). The same line may come for every file: print each once.
struct ChosenOptions {
    std::shared_ptr<Options const> options;  ///< never null
    std::vector<std::string> messages;
};

/// Everything that was said outside the program about how its files are to be treated, read once.
/// From weak to strong: site file, ROMIO_HINTS, UNISONO_HINTS, the program's MPI_Info,
/// MPICH_MPIIO_HINTS (which overrides MPI_Info on Cray systems, too), other UNISONO_* variables.
/// Immutable after construction, so it can be shared by threads.
class OptionSources {
public:
    /// Reads variables and files now. `strategies`: those besides "auto", as names that stay.
    /// Cost: a few small files; on many ranks let one read and send the Options (to_bytes).
    OptionSources(Surroundings const& surroundings, std::span<Choice const> strategies);

    /// Read where UNISONO_SITE_FILE names no other: unisono.conf in site_folder(); empty
    /// where that is empty.
    static std::string default_site_file();

    /// The options for the file that the program opens as `path` with these hints. Errors: none;
    /// what cannot be understood is ignored, with a message if it was meant for Unisono, and not
    /// among the native hints either. Files that no hint names share their options.
    [[nodiscard]] ChosenOptions options_for(std::string_view path,
                                            std::span<KeyValue const> info) const;

    /// The messages for any file, whichever it is: those of hints for some files only as well.
    [[nodiscard]] std::vector<std::string> complaints() const;

private:
    /// Hint files and lists, each with the name that messages call it by.
    struct HintSource {
        std::string name;
        HintFile file;
    };

    /// What is said about one file in particular.
    struct SaidOfFile {
        bool leave_alone = false;
        std::span<KeyValue const> site, hints, info, cray_hints;
    };

    using Parser = Parsed<HintFile> (*)(std::string_view text, std::string_view name);

    /// A file that no variable names need not be there, but then it has to be readable.
    HintSource read_hint_file(Surroundings const& surroundings, std::string const& variable,
                              std::string const& path, Parser parse);
    HintSource read_hint_list(std::string const& variable, std::string const& text);
    HintSource read_unisono_hints(Surroundings const& surroundings, std::string const& setting);
    void read_romio_hints(Surroundings const& surroundings, std::string const& path);
    void complain(std::vector<std::string> const& complaints);
    void complain_of_unknown(std::vector<std::string> const& variables);
    [[nodiscard]] ChosenOptions choose(SaidOfFile const& said) const;

    std::vector<Choice> strategies_;
    HintSource site_;
    bool leaves_program_alone_ = false;
    std::string romio_name_;
    std::vector<KeyValue> romio_hints_;
    HintSource hints_;
    HintSource cray_hints_;
    std::vector<KeyValue> variables_;  ///< those of UNISONO_* that are options
    std::vector<std::string> messages_;
    ChosenOptions of_unnamed_files_;
};

/// What is in force, under the names of MPI_File_get_info. Choices left to Unisono say so ("auto",
/// "automatic"); numbers left to it are absent: set them in `options` first once they are known.
std::vector<KeyValue> effective_hints(Options const& options);

/// For sending one rank's options to all others, so that all agree; same build on both sides.
std::vector<std::byte> to_bytes(Options const& options);
/// Nothing if the bytes are not those of to_bytes().
std::optional<Options> options_from_bytes(std::span<std::byte const> bytes);

}  // namespace unisono
