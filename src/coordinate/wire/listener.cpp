#include "coordinate/wire/listener.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>

#include "coordinate/wire/sockets.hpp"

namespace unisono::coordinate::wire {

namespace {

constexpr int backlog = 64;
constexpr int accepted_at_once_max = 64;
// How often those are looked at for whom MUNGE is asked.
constexpr std::chrono::milliseconds busy_poll{5};

[[noreturn]] void fail(std::string const& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

void prepare_folder(std::filesystem::path const& folder) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail(folder);
    struct stat facts {};
    if (lstat(folder.c_str(), &facts) != 0) fail(folder);
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 077) != 0)
        throw std::runtime_error(folder.string() +
                                 ": has to be a folder of this user's that nobody else may enter "
                                 "(chmod 700)");
}

}  // namespace

// Somebody who has not proved yet who it is.
struct Listener::Guest {
    Descriptor socket;
    std::string name;
    Clock::time_point deadline;
    Handshake handshake;
    FrameReader reader{handshake_bytes_max};
    // Valid while a message is worked at; with MUNGE in a thread, because its daemon is asked.
    std::future<std::string> answer;

    [[nodiscard]] bool is_busy() const {
        return answer.valid() &&
               answer.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
    }
};

Listener::Listener(Address const& address, Auth const& auth, Limits limits)
    : address_(address),
      limits_(limits),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      alarm_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      seat_(std::make_shared<char>()) {
    if (!events_ || !alarm_) fail("no descriptors");
    try {
        if (address.kind == Address::Kind::local) {
            listen_at_path();
        } else {
            prover_ = make_prover(auth);
            listen_at_port();
        }
    } catch (std::runtime_error const& error) {
        throw std::runtime_error(show(address) + ": " + error.what());
    }
    watch(socket_.get());
    watch(alarm_.get());
}

Listener::~Listener() {
    if (lock_) unlink(address_.path.c_str());
}

void Listener::listen_at_path() {
    prepare_folder(std::filesystem::path(address_.path).parent_path());
    auto const lock = address_.path + ".lock";
    lock_ = Descriptor(open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock_) fail(lock);
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        lock_ = {};
        throw std::runtime_error("somebody listens there already");
    }
    struct stat facts {};
    if (lstat(address_.path.c_str(), &facts) == 0) {
        if (!S_ISSOCK(facts.st_mode)) throw std::runtime_error("there is something else");
        unlink(address_.path.c_str());
    }
    socket_ = local_socket();
    auto const where = local_address(address_.path);
    if (bind(socket_.get(), reinterpret_cast<sockaddr const*>(&where), sizeof where) != 0 ||
        chmod(address_.path.c_str(), 0600) != 0 || listen(socket_.get(), backlog) != 0)
        throw std::runtime_error(std::strerror(errno));
}

void Listener::listen_at_port() {
    auto const found = look_up(address_, AI_PASSIVE);
    int error = 0;
    for (auto const* one = found.get(); one != nullptr; one = one->ai_next) {
        auto socket = tcp_socket(one->ai_family);
        int const yes = 1;
        setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        sockaddr_storage bound{};
        socklen_t length = sizeof bound;
        if (bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
            listen(socket.get(), backlog) == 0 &&
            getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) == 0) {
            auto const name = show(bound);
            address_.port = name.substr(name.rfind(':') + 1);
            socket_ = std::move(socket);
            return;
        }
        error = errno;
    }
    throw std::runtime_error(std::strerror(error));
}

void Listener::watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll");
}

// ---- letting in
// ----------------------------------------------------------------------------------

bool Listener::is_full() const {
    return static_cast<std::size_t>(seat_.use_count()) > limits_.connections_max;
}

void Listener::refuse(std::string const& who, std::string const& why) {
    last_refusal_ = who + ": " + why;
}

std::unique_ptr<Connection> Listener::admit(Descriptor socket, Peer peer,
                                            std::optional<SessionKeys> const& keys) {
    if (is_full()) {
        refuse(peer.name, "there are too many connections");
        return nullptr;
    }
    auto connection = std::make_unique<Connection>(std::move(socket), std::move(peer), keys, seat_);
    return connection->send(welcome) ? std::move(connection) : nullptr;
}

std::unique_ptr<Connection> Listener::admit_local(Descriptor socket) {
    auto peer = local_peer(socket);
    if (is_trusted(peer.uid)) return admit(std::move(socket), std::move(peer), {});
    refuse(peer.name, "it is of user " + std::to_string(peer.uid));
    return nullptr;
}

std::unique_ptr<Connection> Listener::accept() {
    for (int count = 0; count < accepted_at_once_max; ++count) {
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        Descriptor socket(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &length,
                                  SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) break;
        if (prover_)
            begin_handshake(std::move(socket), from);
        else if (auto connection = admit_local(std::move(socket)))
            return connection;
    }
    auto connection = admit_guest();
    set_alarm();
    return connection;
}

// ---- handshakes
// ----------------------------------------------------------------------------------

void Listener::begin_handshake(Descriptor socket, sockaddr_storage const& from) {
    if (guests_.size() >= limits_.handshakes_max) {
        auto const oldest = std::ranges::find_if_not(guests_, &Guest::is_busy);
        if (oldest == guests_.end()) return;
        refuse(oldest->name, "too many others came before it was done");
        guests_.erase(oldest);
    }
    make_prompt(socket);
    watch(socket.get());
    guests_.push_back({.socket = std::move(socket),
                       .name = show(from),
                       .deadline = Clock::now() + limits_.handshake,
                       .handshake = Handshake(Handshake::Role::server, prover_)});
}

// Reads no more than a message at a time. Throws if there is nothing to wait for any more.
void Listener::take_message(Guest& guest) {
    while (auto const needed = guest.reader.needed_bytes()) {
        if (needed > handshake_bytes_max) throw Refused("it does not speak Unisono's protocol");
        std::array<char, handshake_bytes_max> bytes;
        auto const length = recv(guest.socket.get(), bytes.data(), needed, 0);
        if (length == 0) throw Refused("it went away");
        if (length < 0 && errno == EAGAIN) return;
        if (length < 0) throw Refused(std::strerror(errno));
        guest.reader.add({bytes.data(), static_cast<std::size_t>(length)});
    }
    auto message = guest.reader.next();
    if (!message) throw Refused("it does not speak Unisono's protocol");
    // Whatever else it sends meanwhile must not keep the caller busy.
    epoll_ctl(events_.get(), EPOLL_CTL_DEL, guest.socket.get(), nullptr);
    guest.answer = std::async(prover_->may_block() ? std::launch::async : std::launch::deferred,
                              [&handshake = guest.handshake, text = std::move(*message)] {
                                  return handshake.take(text);
                              });
}

// True: it proved who it is.
bool Listener::advance(Guest& guest) {
    if (!guest.answer.valid()) take_message(guest);
    if (!guest.answer.valid() || guest.is_busy()) return false;
    auto const answer = guest.answer.get();
    if (guest.handshake.is_complete()) return true;
    auto const text = frame(answer);
    // An answer is short, and the socket has sent nothing yet.
    if (send(guest.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size()))
        throw Refused("it went away");
    watch(guest.socket.get());
    return false;
}

std::unique_ptr<Connection> Listener::admit_guest() {
    auto const now = Clock::now();
    for (auto guest = guests_.begin(); guest != guests_.end();) {
        std::unique_ptr<Connection> connection;
        bool gone = true;
        try {
            if (advance(*guest))
                connection = admit(std::move(guest->socket), {guest->handshake.uid(), guest->name},
                                   guest->handshake.keys());
            else if (now >= guest->deadline && !guest->is_busy())
                throw Refused("it took too long");
            else
                gone = false;
        } catch (std::runtime_error const& error) {
            refuse(guest->name, error.what());
        }
        guest = gone ? guests_.erase(guest) : std::next(guest);
        if (connection) return connection;
    }
    return nullptr;
}

// For what no socket tells: time that is over, and answers of MUNGE.
void Listener::set_alarm() const {
    itimerspec alarm{};
    if (!guests_.empty()) {
        bool const busy =
            std::ranges::any_of(guests_, [](Guest const& guest) { return guest.answer.valid(); });
        auto const left = std::chrono::duration_cast<std::chrono::nanoseconds>(
            busy ? busy_poll : guests_.front().deadline - Clock::now());
        auto const ns = std::max<std::int64_t>(left.count(), 1'000'000);
        alarm.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
    }
    timerfd_settime(alarm_.get(), 0, &alarm, nullptr);
}

}  // namespace unisono::coordinate::wire
