#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options/options.hpp"

namespace unisono {

/// A setting on its way into the options, with what it may say back.
struct Setting {
    std::string_view value;
    std::string_view subject;            ///< for messages: hint name and source, or variable
    std::span<Choice const> strategies;  ///< with "auto"
    std::vector<std::string>* messages;
    bool refused = false;
    std::string plain{value};  ///< as MPI libraries read it

    void refuse(std::string_view valid);
    void say(std::string message) const;
};

/// A hint or a variable.
struct Known {
    std::string_view name;
    void (*set)(Options&, Setting&);  ///< null: no option of a file; others read it
};

/// General before special: within one source, romio_cb_write corrects collective_buffering,
/// whatever the order in which they were given.
std::span<Known const> known_hints();

/// All variables that anything of Unisono reads, but for tests' own, UNISONO_TEST_*.
std::span<Known const> known_variables();

/// The one of that name, or null.
Known const* find(std::span<Known const> known, std::string_view name);

inline constexpr Choice automatic_strategy{"auto", "Unisono chooses"};
inline constexpr Choice paper_strategy{"orthrus", "the same as auto with unisono_select=orthrus"};

}  // namespace unisono
