// unisono-node-daemon: one per node and file system with a gate in the clients. Keeps the page that
// says whose turn it is, and tells the orchestrator what the node's processes do. Prints "ready"
// when processes can find the page. If it dies, everyone passes when the lease is over; if the
// orchestrator does, at once.
#include "orchestra/gate/node_daemon.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "asked_to_end.hpp"
#include "orchestra/command_line.hpp"
#include "orchestra/gate/client.hpp"
#include "orchestra/program_id.hpp"
#include "orchestra/wire/connection.hpp"

namespace unisono {
namespace {

using orchestra::millisecond;
using orchestra::monotonic_now;
using orchestra::second;
using orchestra::Time;

// While programs take turns, what they do is told every few milliseconds. While everyone passes
// they are to have the node's cores for themselves, a lone one above all: its rings may overflow
// meanwhile, and it is known from samples. Several are watched more closely, so that a window's
// bytes are told when it is judged.
constexpr Time nap_min = 4 * millisecond;
constexpr Time nap_of_several = 20 * millisecond;
constexpr Time nap_max = orchestra::tell_period_max;
constexpr Time chore_period = second;     // slots whose processes are gone, a lost connection
constexpr Time wait_period = second / 2;  // who waits must not be taken for stopped
constexpr Time patience = 30 * second;
constexpr Time answer_max = 2 * second;
// One message has room for so many events, whatever their numbers are.
constexpr std::size_t events_max = 4096;

struct NodeDaemonOptions {
    std::string path;
    std::string connect;
    std::string key_file;
};

NodeDaemonOptions parse_options(int argc, char** argv) {
    NodeDaemonOptions options;
    CLI::App app("Keeps the gate of one file system on this node.");
    app.add_option("path", options.path, "anything on the file system")->required();
    app.add_option("--connect", options.connect, "the orchestrator: unix:PATH or tcp:HOST:PORT")
        ->required();
    app.add_option("--key-file", options.key_file, "shared with the orchestrator; TCP needs one");
    orchestra::read_command_line(app, argc, argv);
    return options;
}

// A descriptor for each slot, and some for itself; as many as it may have.
void allow_slots() {
    constexpr rlim_t wanted = orchestra::NodeDaemon::slots_max + 64;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = std::min(limit.rlim_max, wanted);
    setrlimit(RLIMIT_NOFILE, &limit);
}

class Daemon {
public:
    explicit Daemon(NodeDaemonOptions const& options)
        : address_(orchestra::wire::parse_address(options.connect)),
          key_file_(options.key_file),
          node_daemon_(orchestra::make_gate_paths(options.path),
                       static_cast<double>(std::filesystem::space(options.path).capacity)) {
        try {
            connect();
            await_answer();
        } catch (...) {
            node_daemon_.retire();
            throw;
        }
    }

    // Until it is asked to end, the orchestrator says that it is over, or is gone for long.
    void run() {
        for (Time nap = nap_min; asked_to_end == 0 && !over_;) {
            wait_for(nap);
            listen();
            std::vector<orchestra::NodeEvent> events;
            if (can_tell()) events = node_daemon_.collect();
            tell(events);
            nap = events.empty() ? std::min(nap * 2, nap_max) : shortest_nap();
            if (can_tell() && monotonic_now() - last_waits_ >= wait_period) tell_who_waits();
            if (monotonic_now() - last_chores_ >= chore_period) do_chores();
        }
        node_daemon_.retire();
    }

private:
    void connect() {
        connection_ = orchestra::wire::connect(address_, key_file_);
        node_daemon_.introduce_all();
        if (!connection_->send(orchestra::show(orchestra::NodeDaemonHello{orchestra::node_name()})))
            disconnect();
    }

    // Who understands the hello says whose turn it is.
    void await_answer() {
        auto const end = monotonic_now() + answer_max;
        while (connection_ != nullptr && last_heard_ == 0 && monotonic_now() < end) {
            wait_for(nap_max);
            listen();
        }
        if (last_heard_ == 0)
            throw std::runtime_error(orchestra::wire::show(address_) +
                                     (connection_ == nullptr
                                          ? ": it closed the connection: is it of another version?"
                                          : ": it does not answer"));
    }

    [[nodiscard]] Time shortest_nap() const {
        if (!everyone_passes_) return nap_min;
        return node_daemon_.programs() > 1 ? nap_of_several : nap_max;
    }

    // Nobody takes turns without an orchestrator.
    void disconnect() {
        connection_.reset();
        node_daemon_.open_gate();
    }

    void wait_for(Time nap) {
        std::array<pollfd, 2> waiting{{{node_daemon_.slot_events(), POLLIN, 0}, {-1, POLLIN, 0}}};
        if (connection_ != nullptr) {
            waiting[1].fd = connection_->fd();
            if (connection_->want_write()) waiting[1].events |= POLLOUT;
        }
        poll(waiting.data(), waiting.size(), static_cast<int>(nap / millisecond));
        if (waiting[0].revents != 0) node_daemon_.take_new_slots();
    }

    void tell(std::span<orchestra::NodeEvent const> events) {
        for (; connection_ != nullptr && !events.empty();
             events = events.subspan(std::min(events_max, events.size())))
            if (!connection_->send(
                    orchestra::show(events.first(std::min(events_max, events.size())))))
                listen();  // perhaps it has said that it is over
    }

    // What an orchestrator cannot take yet stays in the rings, which may overflow: a queue that
    // does would end the connection, and all turns with it.
    [[nodiscard]] bool can_tell() const {
        return connection_ == nullptr || !connection_->want_write();
    }

    void tell_who_waits() {
        last_waits_ = monotonic_now();
        node_daemon_.tell_who_waits();
    }

    void listen() {
        if (connection_ == nullptr) return;
        connection_->flush();
        bool open = true;
        auto const messages = connection_->receive(open);
        for (auto const& message : messages) {
            auto const turn = orchestra::parse_turnover(message);
            if (!turn) {
                open = false;
                break;
            }
            over_ = over_ || turn->over;
            everyone_passes_ = turn->admitted.kind == orchestra::Admitted::Kind::everyone;
            node_daemon_.tell(*turn);
        }
        if (!messages.empty()) last_heard_ = monotonic_now();
        if (!open) disconnect();
    }

    void do_chores() {
        last_chores_ = monotonic_now();
        node_daemon_.look_at_slots();
        bool const is_alone = connection_ == nullptr && last_chores_ - last_heard_ > patience;
        over_ = over_ || is_alone || !node_daemon_.is_in_charge();
        if (is_alone)
            std::fprintf(stderr, "unisono-node-daemon: no orchestrator for %d s: %s\n",
                         static_cast<int>(patience / second), problem_.c_str());
        if (over_ || connection_ != nullptr) return;
        try {
            connect();
        } catch (std::exception const& error) {
            problem_ = error.what();  // perhaps later
        }
    }

    orchestra::wire::Address address_;
    std::string key_file_;
    orchestra::NodeDaemon node_daemon_;
    std::unique_ptr<orchestra::wire::Connection> connection_;
    Time last_heard_ = 0;  // whose turn it is
    Time last_chores_ = 0;
    Time last_waits_ = 0;
    std::string problem_ = "it closes the connection";  // with what is tried last
    bool everyone_passes_ = true;
    bool over_ = false;
};

}  // namespace
}  // namespace unisono

int main(int argc, char** argv) {
    using namespace unisono;
    try {
        end_when_asked();
        allow_slots();
        Daemon daemon(parse_options(argc, argv));
        std::puts("ready");
        std::fclose(stdout);
        daemon.run();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "unisono-node-daemon: %s\n", error.what());
        return 1;
    }
    return 0;
}
