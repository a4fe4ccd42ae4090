#pragma once

#include <sys/types.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace unisono::coordinate::wire {

/// Who is on the other side, as was proved.
struct Peer {
    uid_t uid = 0;     ///< with a key file: who owns it on this side
    std::string name;  ///< for people: its address, or "process 4711"
};

/// The other side is not who it should be, or does not keep to the rules.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Makes statements that only those make who are trusted, and tells whether others' are.
/// Thread-safe.
class Prover {
public:
    Prover() = default;
    Prover(Prover const&) = delete;
    Prover& operator=(Prover const&) = delete;
    virtual ~Prover() = default;

    /// One letter: both sides must have the same kind.
    [[nodiscard]] virtual char kind() const = 0;
    /// prove() and check() ask a daemon, so they may take seconds when it is ill.
    [[nodiscard]] virtual bool may_block() const = 0;
    /// Known to those only who are trusted; mixed into the keys. May be empty.
    [[nodiscard]] virtual std::string_view secret() const = 0;
    /// Throws std::runtime_error when it cannot.
    [[nodiscard]] virtual std::string prove(std::string_view statement) const = 0;
    /// Who proved this; throws Refused.
    [[nodiscard]] virtual uid_t check(std::string_view proof, std::string_view statement) const = 0;
};

/// How the two sides of a TCP connection are to know each other. Local sockets need neither: there
/// the kernel says who is on the other side.
struct Auth {
    std::string key_file;      ///< a shared key, as in key_file.hpp; empty: MUNGE
    std::string munge_socket;  ///< of another MUNGE daemon than the system's
};

/// By the key file if one is given, else by MUNGE. Throws std::runtime_error if that cannot be.
std::shared_ptr<Prover const> make_prover(Auth const& auth);

/// Root, and whoever this process belongs to.
bool is_trusted(uid_t uid);

}  // namespace unisono::coordinate::wire
