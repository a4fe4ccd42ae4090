#include "orchestra/wire/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "orchestra/wire/sockets.hpp"
#include "support/has_name.hpp"

namespace unisono::orchestra::wire {

namespace {

// Few of those that handshakes_max allows, so that nobody gives way who was not even heard.
constexpr int accepted_at_once_max = 16;
// So long the door keeps a daemon from those who are in already, whoever knocks.
constexpr std::chrono::milliseconds work_max{3};

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

// An IPv4 address, or the 64 bits of an IPv6 one that a single host may have to itself.
std::uint64_t place_of(sockaddr_storage const& from) {
    std::uint64_t network = 0;
    if (from.ss_family == AF_INET) {
        std::memcpy(&network, &reinterpret_cast<sockaddr_in const&>(from).sin_addr, 4);
        return network;
    }
    auto const& address = reinterpret_cast<sockaddr_in6 const&>(from).sin6_addr;
    bool const is_ipv4 = IN6_IS_ADDR_V4MAPPED(&address);
    std::memcpy(&network, &address.s6_addr[is_ipv4 ? 12 : 0], is_ipv4 ? 4 : 8);
    return network;
}

}  // namespace

// Somebody who has not proved yet who it is.
struct Listener::Guest {
    Descriptor socket;
    Tls tls;
    std::string name;
    Clock::time_point deadline;
};

Listener::Listener(Address const& address, std::string const& key_file, Limits limits)
    : address_(address),
      limits_(limits),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      alarm_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      slot_(std::make_shared<char>()) {
    if (!events_ || !alarm_) fail("no descriptors");
    try {
        if (address.kind == Address::Kind::local) {
            listen_at_path();
        } else {
            key_ = read_key(key_file);
            listen_at_port();
        }
    } catch (std::runtime_error const& error) {
        throw std::runtime_error(show(address) + ": " + error.what());
    }
    watch(socket_.get());
    watch(alarm_.get());
}

// Whose folder was taken away leaves the path to whoever is there now.
Listener::~Listener() {
    if (lock_ && has_name(lock_.get())) unlink(address_.path.c_str());
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
        chmod(address_.path.c_str(), 0600) != 0 || listen(socket_.get(), SOMAXCONN) != 0)
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
            listen(socket.get(), SOMAXCONN) == 0 &&
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
    return static_cast<std::size_t>(slot_.use_count()) > limits_.connections_max;
}

void Listener::refuse(std::string const& who, std::string const& why) {
    last_refusal_ = who + ": " + why;
}

std::unique_ptr<Connection> Listener::admit(Descriptor socket, std::optional<Tls> tls,
                                            std::string const& peer) {
    if (is_full()) {
        refuse(peer, "there are too many connections");
        return nullptr;
    }
    auto connection = std::make_unique<Connection>(std::move(socket), std::move(tls), peer, slot_);
    return connection->send(welcome) ? std::move(connection) : nullptr;
}

std::unique_ptr<Connection> Listener::admit_local(Descriptor socket) {
    auto const peer = local_peer(socket);
    if (is_trusted(peer.uid)) return admit(std::move(socket), {}, peer.name);
    refuse(peer.name, "it is of user " + std::to_string(peer.uid));
    return nullptr;
}

std::unique_ptr<Connection> Listener::accept() {
    // Messages of those who are in wake the daemon far more often than the door does.
    pollfd one{events_.get(), POLLIN, 0};
    if (poll(&one, 1, 0) == 0) return nullptr;
    for (int count = 0; count < accepted_at_once_max; ++count) {
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        Descriptor socket(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &length,
                                  SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) break;
        if (key_)
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
    make_prompt(socket);
    watch(socket.get());
    Tls tls(Tls::Side::server, *key_, socket.get());
    guests_[place_of(from)].push_back({.socket = std::move(socket),
                                       .tls = std::move(tls),
                                       .name = show(from),
                                       .deadline = Clock::now() + limits_.handshake});
    auto const count = std::accumulate(
        guests_.begin(), guests_.end(), std::size_t{0},
        [](std::size_t sum, auto const& crowd) { return sum + crowd.second.size(); });
    if (count > limits_.handshakes_max) make_room();
}

// Whoever keeps connecting gives way to itself: one goes of those who come from where most come,
// the oldest who has proved nothing yet.
void Listener::make_room() {
    auto const most = std::ranges::max_element(
        guests_, {}, [](auto const& crowd) { return crowd.second.size(); });
    auto& crowd = most->second;
    auto const silent =
        std::ranges::find_if_not(crowd, [](Guest const& guest) { return guest.tls.has_proof(); });
    auto const gone = silent == crowd.end() ? crowd.begin() : silent;
    refuse(gone->name, "too many others came from there before it was done");
    crowd.erase(gone);
    if (crowd.empty()) guests_.erase(most);
}

// Those from where few come are heard first, so that a crowd uses up its own time only.
std::unique_ptr<Connection> Listener::admit_guest() {
    std::vector<std::list<Guest>*> crowds;
    for (auto& [network, crowd] : guests_) crowds.push_back(&crowd);
    std::ranges::sort(crowds, {}, [](auto const* crowd) { return crowd->size(); });
    std::unique_ptr<Connection> connection;
    auto const end = Clock::now() + work_max;
    for (auto* crowd : crowds)
        for (auto guest = crowd->begin(); guest != crowd->end();) {
            if (connection || Clock::now() >= end) break;
            guest = hear(*guest, connection) ? std::next(guest) : crowd->erase(guest);
        }
    std::erase_if(guests_, [](auto const& crowd) { return crowd.second.empty(); });
    return connection;
}

// False: it is no guest any more. It has a connection then, or was refused.
bool Listener::hear(Guest& guest, std::unique_ptr<Connection>& connection) {
    try {
        bool const proved = guest.tls.shake_hands();
        if (!proved && Clock::now() < guest.deadline) return true;
        if (!proved) throw std::runtime_error("it took too long");
        epoll_ctl(events_.get(), EPOLL_CTL_DEL, guest.socket.get(), nullptr);
        connection = admit(std::move(guest.socket), std::move(guest.tls), guest.name);
    } catch (std::runtime_error const& error) {
        refuse(guest.name, error.what());
    }
    return false;
}

// For what no socket tells: time that is over.
void Listener::set_alarm() const {
    itimerspec alarm{};
    auto first = Clock::time_point::max();
    for (auto const& [network, crowd] : guests_) first = std::min(first, crowd.front().deadline);
    if (!guests_.empty()) {
        auto const left =
            std::chrono::duration_cast<std::chrono::nanoseconds>(first - Clock::now());
        auto const ns = std::max<std::int64_t>(left.count(), 1'000'000);
        alarm.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
    }
    timerfd_settime(alarm_.get(), 0, &alarm, nullptr);
}

}  // namespace unisono::orchestra::wire
