#include "support/process_stat.hpp"

#include <sstream>

#include "support/file_content.hpp"

namespace unisono {

// "PID (name) state parent group session ...": the name may have blanks and brackets, and when the
// process began is word 22.
std::optional<ProcessStat> process_stat(std::string const& folder) {
    auto const text = file_content(folder + "/stat").value_or("");
    auto const open = text.find('(');
    auto const close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open)
        return std::nullopt;
    ProcessStat stat{.name = text.substr(open + 1, close - open - 1)};
    std::istringstream rest(text.substr(close + 1));
    std::string other;
    rest >> stat.state >> stat.parent >> other >> stat.session;
    for (int word = 7; word < 22; ++word) rest >> other;
    rest >> stat.began;
    return stat;
}

}  // namespace unisono
