#include "harness.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace semantics {
namespace {

constexpr unsigned test_limit_s = 120;
constexpr int failures_printed_max = 8;

std::atomic<int> failures{0};
bool skipped = false;
std::string skip_reason;
int my_rank = 0;
char running_test[128] = "";

// A hang is told by the rank that hangs: which test, which rank. Then everything ends.
void on_alarm(int) {
    char const text[] = "semantics: no end in sight: ";
    [[maybe_unused]] auto written = write(STDERR_FILENO, text, sizeof text - 1);
    written = write(STDERR_FILENO, running_test, strlen(running_test));
    written = write(STDERR_FILENO, "\n", 1);
    _exit(3);
}

bool begins_with_any(std::string const& name, std::vector<std::string> const& beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](auto const& beginning) { return name.starts_with(beginning); });
}

bool selected(std::string const& name, Filters const& filters) {
    return (filters.with.empty() || begins_with_any(name, filters.with)) &&
           !begins_with_any(name, filters.without);
}

unsigned this_place(Context const& context) {
#ifdef OPEN_MPI
    return context.unisono ? unisono_openmpi : native_openmpi;
#else
    return context.unisono ? unisono_mpich : native_mpich;
#endif
}

void empty_directory(Context const& context) {
    context.barrier();
    if (context.root()) {
        for (auto const& entry : std::filesystem::directory_iterator(context.directory))
            std::filesystem::remove_all(entry.path());
    }
    context.barrier();
}

struct Test {
    std::string name;
    void (*run)(Context const&);
    Scope scope;
};

std::vector<Test>& all_tests() {
    static std::vector<Test> tests;  // there when the first one is added, before main
    return tests;
}

enum class Verdict { passed, failed, skipped };

Verdict run_one(Context const& context, void (*test)(Context const&)) {
    failures = 0;
    skipped = false;
    skip_reason.clear();
    snprintf(running_test, sizeof running_test, "%s, rank %d", context.test.c_str(), context.rank);
    context.barrier();
    double const begin_s = MPI_Wtime();
    alarm(test_limit_s);
    test(context);
    int mine = failures, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, context.comm);
    empty_directory(context);
    alarm(0);
    auto const verdict = all > 0 ? Verdict::failed : skipped ? Verdict::skipped : Verdict::passed;
    if (context.root()) {
        char const* words[] = {"ok      ", "FAILED  ", "skipped "};
        printf("%s%s (%.0f ms)%s%s\n", words[static_cast<int>(verdict)], context.test.c_str(),
               1e3 * (MPI_Wtime() - begin_s), skipped ? ": " : "", skip_reason.c_str());
        fflush(stdout);
    }
    return verdict;
}

}  // namespace

void record_failure(char const* file, int line, std::string const& message) {
    if (++failures > failures_printed_max) return;
    fprintf(stderr, "%s:%d: rank %d: %s\n", std::filesystem::path(file).filename().c_str(), line,
            my_rank, message.c_str());
}

bool check_equal(long long actual, long long expected, char const* expression, char const* file,
                 int line) {
    if (actual == expected) return true;
    return check_equal(std::to_string(actual), std::to_string(expected), expression, file, line);
}

bool check_equal(std::string const& actual, std::string const& expected, char const* expression,
                 char const* file, int line) {
    if (actual == expected) return true;
    record_failure(file, line,
                   std::string(expression) + " is " + actual + ", expected " + expected);
    return false;
}

bool check_success(int code, char const* expression, char const* file, int line) {
    if (code == MPI_SUCCESS) return true;
    record_failure(file, line, std::string(expression) + ": " + error_text(code));
    return false;
}

bool check_true(bool holds, char const* expression, char const* file, int line) {
    if (!holds) record_failure(file, line, std::string(expression) + " does not hold");
    return holds;
}

void skip(std::string const& why) {
    skipped = true;
    skip_reason = why;
}

std::string make_directory(Context const& context) {
    char name[4096] = "";
    if (context.root()) {
        char const* wished = getenv("UNISONO_TEST_DIR");
        std::string base = wished != nullptr ? wished : "/dev/shm";
        if (!std::filesystem::is_directory(base)) base = std::filesystem::temp_directory_path();
        snprintf(name, sizeof name, "%s/unisono-semantics-XXXXXX", base.c_str());
        if (mkdtemp(name) == nullptr) {
            perror(name);
            MPI_Abort(context.comm, 1);
        }
        std::filesystem::permissions(name, std::filesystem::perms::all);  // for tests as nobody
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, context.comm);
    return name;
}

bool has_word(int argc, char** argv, std::string const& word) {
    return std::find(argv, argv + argc, word) != argv + argc;
}

bool enough_room(Context const& context, long long bytes) {
    struct statvfs room {};
    bool const enough = statvfs(context.directory.c_str(), &room) == 0 &&
                        static_cast<long long>(room.f_bavail * room.f_frsize) > bytes;
    if (all_true(context, enough)) return true;
    skip("too little room in " + context.directory);
    return false;
}

bool all_true(Context const& context, bool mine) {
    int const value = mine;
    int all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_MIN, context.comm);
    return all != 0;
}

bool same_on_all(Context const& context, long long value) {
    long long ends[2] = {value, -value}, all[2] = {0, 0};
    MPI_Allreduce(ends, all, 2, MPI_LONG_LONG, MPI_MIN, context.comm);
    return all[0] == -all[1];
}

std::string error_text(int code) {
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "unknown error code";
    return {text, static_cast<std::size_t>(length)};
}

int error_class(int code) {
    int result = MPI_ERR_UNKNOWN;
    MPI_Error_class(code, &result);
    return result;
}

// A filter that no test's name begins with would leave out what it was to choose, and nobody would
// know.
std::string useless_filter(Filters const& filters) {
    auto useless = filters.with;
    useless.insert(useless.end(), filters.without.begin(), filters.without.end());
    for (auto const& test : all_tests())
        std::erase_if(useless, [&](auto const& filter) { return test.name.starts_with(filter); });
    return useless.empty() ? "" : useless[0];
}

bool add_test(char const* file, char const* name, void (*run)(Context const&), Scope scope) {
    auto const stem = std::filesystem::path(file).stem().string();
    all_tests().push_back({stem.substr(0, stem.rfind("_test")) + "." + name, run, scope});
    return true;
}

int run_tests(Context context, Filters const& filters) {
    my_rank = context.rank;
    if (auto const useless = useless_filter(filters); !useless.empty()) {
        if (context.root()) printf("FAILED: no test's name begins with %s\n", useless.c_str());
        return 1;
    }
    signal(SIGALRM, on_alarm);
    int ran = 0, failed = 0, left_out = 0;
    for (auto const& [name, run, scope] : all_tests()) {
        if (!selected(name, filters) || context.size < scope.ranks_min) continue;
        auto const holds = (scope.where & this_place(context)) != 0;
        if (holds && filters.known_faults) continue;
        if (!holds && !filters.known_faults) {
            if (context.root()) printf("left out %s: %s\n", name.c_str(), scope.reason);
            ++left_out;
            continue;
        }
        context.test = name;
        auto const verdict = run_one(context, run);
        ran += verdict != Verdict::skipped;
        failed += verdict == Verdict::failed;
    }
    if (context.root())
        printf("%d tests, %d failed, %d left out, %d ranks\n", ran, failed, left_out, context.size);
    return failed > 0 ? 1 : ran > 0 ? 0 : exit_skipped;
}

}  // namespace semantics
