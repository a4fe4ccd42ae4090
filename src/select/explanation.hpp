#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "select/signature.hpp"

namespace unisono {

/// How a strategy came to do one class of calls, for reports.
struct Explanation {
    struct Tried {
        std::string candidate;
        std::uint32_t calls = 0;       ///< in this run
        std::uint32_t remembered = 0;  ///< in earlier ones
        double bytes_per_s = 0;        ///< geometric mean; of earlier runs where there is no other
    };
    struct Reopened {
        std::uint64_t call = 0;  ///< of this class, from 1
        std::string why;
    };

    Signature calls;  ///< the class
    std::vector<Tried> tried;
    std::vector<std::string> untried;  ///< the other candidates
    std::string winner;                ///< of the candidates
    std::string why;                   ///< it won
    std::uint64_t calls_done = 0;
    double seconds = 0;              ///< all of them
    double examination_seconds = 0;  ///< what others took longer than the winner would have
    std::vector<Reopened> reopened;
};

}  // namespace unisono
