#include "coordinate/wire/munge.hpp"

#include <dlfcn.h>
#include <sodium.h>

#include <cstdlib>

namespace unisono::coordinate::wire {

namespace {

// What munge.h says of libmunge.so.2 (MUNGE 0.5).
constexpr int success = 0;
constexpr int option_socket = 8;
using Context = void*;

struct Library {
    Context (*create)();
    void (*destroy)(Context);
    int (*set)(Context, int, ...);
    int (*encode)(char**, Context, void const*, int);
    int (*decode)(char const*, Context, void**, int*, uid_t*, gid_t*);
    char const* (*explain)(int);
};

template <class Function>
void find(void* library, char const* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(std::string("libmunge has no ") + name);
}

Library load() {
    void* const library = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw std::runtime_error("MUNGE is not installed here (Debian: munge); use a key file");
    Library found{};
    find(library, "munge_ctx_create", found.create);
    find(library, "munge_ctx_destroy", found.destroy);
    find(library, "munge_ctx_set", found.set);
    find(library, "munge_encode", found.encode);
    find(library, "munge_decode", found.decode);
    find(library, "munge_strerror", found.explain);
    return found;
}

class MungeProver final : public Prover {
public:
    explicit MungeProver(std::string socket) : munge_(load()), socket_(std::move(socket)) {
        static_cast<void>(prove("is it there?"));
    }

    [[nodiscard]] char kind() const override { return 'm'; }
    [[nodiscard]] bool may_block() const override { return true; }
    [[nodiscard]] std::string_view secret() const override { return {}; }

    [[nodiscard]] std::string prove(std::string_view statement) const override {
        auto const context = make_context();
        char* credential = nullptr;
        int const error = munge_.encode(&credential, context.get(), statement.data(),
                                        static_cast<int>(statement.size()));
        std::unique_ptr<char, decltype(&std::free)> const owner(credential, &std::free);
        if (error != success)
            throw std::runtime_error(std::string("MUNGE: ") + munge_.explain(error));
        return credential;
    }

    [[nodiscard]] uid_t check(std::string_view proof, std::string_view statement) const override {
        auto const context = make_context();
        void* payload = nullptr;
        int length = 0;
        uid_t uid = 0;
        gid_t gid = 0;
        int const error =
            munge_.decode(std::string(proof).c_str(), context.get(), &payload, &length, &uid, &gid);
        std::unique_ptr<void, decltype(&std::free)> const owner(payload, &std::free);
        if (error != success) throw Refused(std::string("MUNGE: ") + munge_.explain(error));
        // Not secret: what is compared was sent in the open.
        if (std::string_view(static_cast<char const*>(payload), static_cast<std::size_t>(length)) !=
            statement)
            throw Refused("its MUNGE credential is of something else");
        if (!is_trusted(uid)) throw Refused("it is user " + std::to_string(uid));
        return uid;
    }

private:
    using OwnContext = std::unique_ptr<void, void (*)(Context)>;

    // One for each use, because a context is for one thread.
    [[nodiscard]] OwnContext make_context() const {
        OwnContext context(munge_.create(), munge_.destroy);
        if (!context) throw std::runtime_error("MUNGE: out of memory");
        if (!socket_.empty()) munge_.set(context.get(), option_socket, socket_.c_str());
        return context;
    }

    Library munge_;
    std::string socket_;
};

}  // namespace

std::shared_ptr<Prover const> make_munge_prover(std::string const& socket) {
    if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
    return std::make_shared<MungeProver>(socket);
}

}  // namespace unisono::coordinate::wire
