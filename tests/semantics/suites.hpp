#pragma once

#include <span>

#include "harness.hpp"

namespace semantics {

std::span<Suite const> all_suites();

std::span<Test const> pointer_tests();
std::span<Test const> consistency_tests();
std::span<Test const> opening_tests();
std::span<Test const> partial_tests();
std::span<Test const> coverage_tests();
std::span<Test const> query_tests();
std::span<Test const> pending_call_tests();
std::span<Test const> nonblocking_tests();
std::span<Test const> shared_pointer_tests();
std::span<Test const> representation_tests();
std::span<Test const> view_tests();
std::span<Test const> thread_tests();
std::span<Test const> many_tests();
std::span<Test const> lifetime_tests();
std::span<Test const> handler_tests();
std::span<Test const> argument_tests();
std::span<Test const> message_tests();
std::span<Test const> fault_tests();
std::span<Test const> deferred_tests();
std::span<Test const> limit_tests();
std::span<Test const> permission_tests();
std::span<Test const> full_device_tests();
std::span<Test const> foreign_tests();
std::span<Test const> vanished_tests();
std::span<Test const> device_tests();

std::span<Test const> memory_tests();
std::span<Test const> large_tests();

}  // namespace semantics
