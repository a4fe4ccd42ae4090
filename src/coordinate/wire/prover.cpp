#include "coordinate/wire/prover.hpp"

#include <unistd.h>

#include "coordinate/wire/key_file.hpp"
#include "coordinate/wire/munge.hpp"

namespace unisono::coordinate::wire {

std::shared_ptr<Prover const> make_prover(Auth const& auth) {
    return auth.key_file.empty() ? make_munge_prover(auth.munge_socket)
                                 : make_key_prover(auth.key_file);
}

bool is_trusted(uid_t uid) { return uid == 0 || uid == geteuid(); }

}  // namespace unisono::coordinate::wire
