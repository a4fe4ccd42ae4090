#pragma once

#include <mpi.h>

#include <string>
#include <vector>

/// A very small test harness for MPI programs. Every rank runs the same tests, in the same order; a
/// failed check is recorded and the test goes on, so that no rank leaves the others alone in a
/// collective call. After each test all ranks agree on the verdict.
namespace semantics {

/// Where a test must hold. What a native library is known to get wrong is checked under Unisono
/// only; a test's `reason` then names the fact.
enum Where : unsigned {
    unisono_mpich = 1,
    unisono_openmpi = 2,
    native_mpich = 4,
    native_openmpi = 8,
    under_unisono = unisono_mpich | unisono_openmpi,
    all_but_native_mpich = under_unisono | native_openmpi,
    all_but_native_openmpi = under_unisono | native_mpich,
    everywhere = under_unisono | native_mpich | native_openmpi,
};

/// What a test function knows about its world.
struct Context {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;
    bool unisono = false;  ///< Unisono has taken over the files of this process
    int thread_level = MPI_THREAD_SINGLE;
    std::string directory;  ///< scratch, the same on all ranks, emptied after every test
    std::string test;       ///< name of the running test

    [[nodiscard]] std::string path(std::string const& suffix = "data") const {
        return directory + "/" + suffix;
    }
    [[nodiscard]] bool root() const { return rank == 0; }
    void barrier() const { MPI_Barrier(comm); }
};

struct Scope {
    unsigned where = everywhere;
    char const* reason = "";  ///< the fact about the native library, when `where` leaves one out
    int ranks_min = 1;
};
inline constexpr char const* faults_are_ours = "faults are injected by Unisono";

bool add_test(char const* file, char const* name, void (*run)(Context const&), Scope scope);

constexpr int exit_skipped = 77;

/// Records a failure of the running test on this rank. Thread-safe.
void record_failure(char const* file, int line, std::string const& message);

/// Marks the running test as skipped (for instance: needs root). Call on all ranks.
void skip(std::string const& why);

/// Beginnings of tests' names, SUITE.TEST.
struct Filters {
    std::vector<std::string> with;  ///< none: all
    std::vector<std::string> without;
    bool known_faults =
        false;  ///< only tests that do not hold here, to see whether they still do not
};

/// Runs the program's tests that the filters leave.
/// @return the process's exit code: 0, 1 when a check failed on any rank, 77 when all were skipped
int run_tests(Context context, Filters const& filters);

/// A scratch directory for all ranks: in UNISONO_TEST_DIR, else in memory, else in the usual place.
/// Collective.
std::string make_directory(Context const& context);

bool has_word(int argc, char** argv, std::string const& word);

/// Marks the test as skipped and returns false, on all ranks, if the scratch directory has less
/// room than `bytes` on any of them. Collective.
bool enough_room(Context const& context, long long bytes);

/// True on all ranks if `mine` is true on all ranks. Collective.
bool all_true(Context const& context, bool mine);

/// True on all ranks if all ranks pass the same value. Collective.
bool same_on_all(Context const& context, long long value);

std::string error_text(int code);
int error_class(int code);

bool check_equal(long long actual, long long expected, char const* expression, char const* file,
                 int line);
bool check_equal(std::string const& actual, std::string const& expected, char const* expression,
                 char const* file, int line);
bool check_success(int code, char const* expression, char const* file, int line);
bool check_true(bool holds, char const* expression, char const* file, int line);

}  // namespace semantics

/// Defines a test: TEST(name[, where, reason[, ranks_min]]) { what it does in `context` }. Its
/// suite is called as its file is, without _test.cpp.
#define TEST(name, ...)                                              \
    void name(::semantics::Context const& context);                  \
    [[maybe_unused]] bool const name##_is_added =                    \
        ::semantics::add_test(__FILE__, #name, name, {__VA_ARGS__}); \
    void name([[maybe_unused]] ::semantics::Context const& context)

#define CHECK(condition) \
    ::semantics::check_true(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
/// Integers of any kind, or strings.
#define CHECK_EQUAL(actual, expected) \
    ::semantics::check_equal((actual), (expected), #actual, __FILE__, __LINE__)
#define CHECK_MPI(call) ::semantics::check_success((call), #call, __FILE__, __LINE__)
#define CHECK_FAILS(call) \
    ::semantics::check_true((call) != MPI_SUCCESS, "error from " #call, __FILE__, __LINE__)
/// Collective: leaves the test on all ranks unless the condition holds on all of them.
#define REQUIRE_ALL(context, condition) \
    if (!::semantics::all_true((context), (condition))) return
