#include "simulated/actors.hpp"

#include <xbt/log.h>

#include <simgrid/Exception.hpp>
#include <simgrid/s4u.hpp>
#include <utility>

#include "simgrid/version.h"  // needs what the others define

namespace unisono::simulated {

namespace s4u = simgrid::s4u;

namespace {

/// SimGrid's engine, of which there can be one in a process, with one host: what messages take is
/// up to the team.
class Engine {
public:
    static Engine& instance() {
        static Engine engine;
        return engine;
    }

    void run() { engine_.run(); }
    [[nodiscard]] s4u::Host* host() const { return host_; }

private:
    Engine() {
        // Who stands where is told by this program's own report. And SimGrid 4 says that an option
        // has another name now.
        xbt_log_control_set("root.thresh:critical");
        xbt_log_control_set("ker_engine.app:file:/dev/null");
        s4u::Engine::set_config("contexts/stack-size", 256);  // KiB
        // Waits are a few microseconds long; the default takes all within 10 for the same moment.
        s4u::Engine::set_config("surf/precision", 1e-9);
#if SIMGRID_VERSION >= 40000
        auto* const zone = engine_.get_netzone_root()->add_netzone_empty("all");
        host_ = zone->add_host("host", 1e9);
#else
        auto* const zone = s4u::create_empty_zone("all");
        host_ = zone->create_host("host", 1e9);
#endif
        zone->seal();
    }

    char name_[9] = "simulate";
#ifdef __SANITIZE_ADDRESS__
    // It does not know of stacks that SimGrid switches itself. Only the engine's arguments say this
    // in time.
    char factory_[30] = "--cfg=contexts/factory:thread";
    int argument_count_ = 2;
    char* arguments_[3] = {name_, factory_, nullptr};
#else
    int argument_count_ = 1;
    char* arguments_[2] = {name_, nullptr};
#endif
    s4u::Engine engine_{&argument_count_, arguments_};
    s4u::Host* host_;
};

}  // namespace

double now_s() { return s4u::Engine::get_clock(); }

struct Actors::Parking {
    s4u::SemaphorePtr woken = s4u::Semaphore::create(0);
    bool in_use = false;
};

Actors::Actors(std::uint32_t ranks) : ranks_{ranks}, parkings_(ranks + 1) {}

Actors::~Actors() = default;

void Actors::run(std::function<void(std::uint32_t)> const& body,
                 std::function<void()> const& beside) {
    auto& engine = Engine::instance();
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
        s4u::Actor::create("rank", engine.host(), [&body, rank] { body(rank); });
    if (beside) s4u::Actor::create("beside", engine.host(), [&beside] { beside(); })->daemonize();
    engine.run();
}

void Actors::sleep(double seconds) {
    if (!unwinding_) s4u::this_actor::sleep_for(seconds);
}

void Actors::park(std::uint32_t rank) {
    if (unwinding_) return;
    auto& parking = parkings_[rank];
    parking.in_use = true;
    try {
        parking.woken->acquire();
    } catch (simgrid::ForcefulKillException const&) {
        unwinding_ = true;  // nobody can go on
        throw;
    }
}

bool Actors::park(std::uint32_t rank, double at_most_s) {
    if (unwinding_) return true;
    auto& parking = parkings_[rank];
    parking.in_use = true;
    auto const timed_out = parking.woken->acquire_timeout(at_most_s);
    // Woken in the very moment in which it gave up: the wake is not for its next wait.
    if (timed_out && !std::exchange(parking.in_use, false)) parking.woken->acquire();
    return !timed_out;
}

void Actors::wake(std::uint32_t rank) {
    if (unwinding_) return;
    auto& parking = parkings_[rank];
    if (std::exchange(parking.in_use, false)) parking.woken->release();
}

}  // namespace unisono::simulated
