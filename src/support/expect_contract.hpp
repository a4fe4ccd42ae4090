#pragma once

#include <gtest/gtest.h>

/// Test equipment: `statement` breaks a contract that a header states, and the assertion with
/// `text` in it ends the process. Nothing is run in builds without assertions.
#ifdef NDEBUG
#define EXPECT_CONTRACT(statement, text) static_cast<void>(0)
#else
#define EXPECT_CONTRACT(statement, text) EXPECT_DEATH(statement, text)
#endif
