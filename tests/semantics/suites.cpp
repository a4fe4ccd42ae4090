#include "suites.hpp"

namespace semantics {

std::span<Suite const> all_suites() {
    static Suite const suites[] = {
        {"pointer", pointer_tests()},
        {"consistency", consistency_tests()},
        {"opening", opening_tests()},
        {"partial", partial_tests()},
        {"coverage", coverage_tests()},
        {"query", query_tests()},
        {"pending_call", pending_call_tests()},
        {"nonblocking", nonblocking_tests()},
        {"shared_pointer", shared_pointer_tests()},
        {"representation", representation_tests()},
        {"view", view_tests()},
        {"thread", thread_tests()},
        {"many", many_tests()},
        {"lifetime", lifetime_tests()},
        {"handler", handler_tests()},
        {"argument", argument_tests()},
        {"message", message_tests()},
        {"fault", fault_tests()},
        {"deferred", deferred_tests()},
        {"limit", limit_tests()},
        {"permission", permission_tests()},
        {"full_device", full_device_tests()},
        {"foreign", foreign_tests(), true},
        {"vanished", vanished_tests(), true},
        {"device", device_tests(), true},
        {"memory", memory_tests(), true},
        {"large", large_tests(), true},
    };
    return suites;
}

}  // namespace semantics
