#include "interpose/program.hpp"

#include <unistd.h>

#include <mutex>

#include "orchestra/program_id.hpp"

namespace unisono::interpose {

namespace {

std::mutex mutex;

std::string& known() {
    static auto* const id = new std::string;  // files may be used until the very end of the process
    return *id;
}

}  // namespace

std::string own_program() {
    std::lock_guard const lock(mutex);
    if (known().empty()) {
        auto facts = orchestra::read_process_facts(getpid());
        facts.node = orchestra::node_name();
        known() = orchestra::program_id(facts);
    }
    return known();
}

void remember_program(std::string id) {
    if (!orchestra::is_program_id(id)) return;
    std::lock_guard const lock(mutex);
    known() = std::move(id);
}

}  // namespace unisono::interpose
