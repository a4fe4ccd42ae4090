// The differential fuzzer: random MPI-IO programs, checked against a plain model of the file. Run
// it under LD_PRELOAD of Unisono; fuzz.py does that. The MPI library is never the oracle.
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "abandoned.hpp"
#include "generator.hpp"
#include "operations.hpp"

namespace fuzz {
namespace {

struct Arguments {
    Options options;
    std::uint64_t seed = 1;
    std::uint64_t cases = 1;
    double seconds = 0;  ///< stop after this time; 0: after `cases`
    bool verbose = false;
    std::string progress;  ///< file with one line per rank: what it is doing
    int threads = MPI_THREAD_SINGLE;
    int beside = 1;  ///< threads of each rank that have cases of their own at once
};

// What the MPI libraries themselves do wrong where several threads have a file each. Open MPI 4.1.4
// has one list of nonblocking calls, without a lock, and syncs no file while any is in it. MPICH
// may hear of new hints in a data call: see Performer::in_turn().
#ifdef OPEN_MPI
constexpr char const* unfit_for_threads = ",library_nonblocking,shared";
#else
constexpr char const* unfit_for_threads = ",new_hints";
#endif

/// -1: no such level.
int thread_level(std::string const& name) {
    if (name == "single") return MPI_THREAD_SINGLE;
    if (name == "funneled") return MPI_THREAD_FUNNELED;
    if (name == "serialized") return MPI_THREAD_SERIALIZED;
    return name == "multiple" ? MPI_THREAD_MULTIPLE : -1;
}

int usage() {
    std::fprintf(
        stderr,
        "usage: fuzz --folder DIR [--seed S] [--cases N] [--seconds T] [--steps N]\n"
        "            [--native] [--faults] [--canary] [--verbose] [--progress FILE]\n"
        "            [--threads single|funneled|serialized|multiple] [--beside N]\n"
        "            [--pocket] [--power-cuts] [--skip FEATURE,...] [--deal FEATURE,...]\n");
    return 2;
}

bool parse(int argc, char** argv, Arguments& arguments) {
    auto& options = arguments.options;
    std::map<std::string_view, bool*> const switches = {
        {"--native", &options.native},     {"--faults", &options.faults},
        {"--canary", &options.canary},     {"--pocket", &options.pocket},
        {"--verbose", &arguments.verbose}, {"--power-cuts", &options.power_cuts}};
    std::map<std::string_view, std::string*> const texts = {{"--folder", &options.folder},
                                                            {"--skip", &options.skip},
                                                            {"--deal", &options.deal},
                                                            {"--progress", &arguments.progress}};
    std::map<std::string_view, std::uint64_t*> const numbers = {{"--seed", &arguments.seed},
                                                                {"--cases", &arguments.cases},
                                                                {"--steps", &options.steps_max}};
    for (int i = 1; i < argc; ++i) {
        std::string_view const name = argv[i];
        if (auto const known = switches.find(name); known != switches.end()) {
            *known->second = true;
            continue;
        }
        if (++i == argc) return false;
        if (auto const text = texts.find(name); text != texts.end())
            *text->second = argv[i];
        else if (auto const number = numbers.find(name); number != numbers.end())
            *number->second = std::strtoull(argv[i], nullptr, 10);
        else if (name == "--seconds")
            arguments.seconds = std::strtod(argv[i], nullptr);
        else if (name == "--threads")
            arguments.threads = thread_level(argv[i]);
        else if (name == "--beside")
            arguments.beside = std::atoi(argv[i]);
        else
            return false;
    }
    options.beside = arguments.beside > 1;
    if (options.beside) options.skip += unfit_for_threads;
    return !options.folder.empty() && arguments.threads >= 0 && arguments.beside > 0;
}

/// A file that survives this process: after a hang or a crash it says where each rank was, thread
/// by thread.
class Progress {
public:
    Progress(std::string const& path, int line) {
        if (path.empty()) return;
        int const descriptor = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
        if (descriptor < 0 || ftruncate(descriptor, lines * line_bytes) != 0) return;
        void* const mapped =
            mmap(nullptr, lines * line_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        ::close(descriptor);
        if (mapped != MAP_FAILED) line_ = static_cast<char*>(mapped) + line % lines * line_bytes;
    }
    void say(std::uint64_t seed, std::uint64_t step) {
        if (line_ == nullptr) return;
        std::snprintf(line_, line_bytes, "%llu %llu", static_cast<unsigned long long>(seed),
                      static_cast<unsigned long long>(step));
    }

private:
    static constexpr int lines = 64;
    static constexpr std::size_t line_bytes = 64;
    char* line_ = nullptr;
};

/// Runs one case after another. Of several at once in a process each is a thread's own.
class Runner {
public:
    Runner(Arguments arguments, int thread) : arguments_(std::move(arguments)), thread_(thread) {
        constexpr std::uint64_t seeds_of_a_thread = 1'000'000'000;
        arguments_.seed += static_cast<std::uint64_t>(thread) * seeds_of_a_thread;
        MPI_Comm_dup(MPI_COMM_WORLD, &on_.everyone);
        if (arguments_.options.beside) {
            MPI_Comm_dup(MPI_COMM_WORLD, &on_.world);
            MPI_Comm_dup(MPI_COMM_SELF, &on_.self);
        }
        MPI_Comm_rank(on_.everyone, &rank_);
        MPI_Comm_size(on_.everyone, &ranks_);
    }
    ~Runner() {
        if (arguments_.options.beside) {
            MPI_Comm_free(&on_.self);
            MPI_Comm_free(&on_.world);
        }
        MPI_Comm_free(&on_.everyone);
    }
    Runner(Runner const&) = delete;
    Runner& operator=(Runner const&) = delete;

    [[nodiscard]] std::uint64_t passed() const {
        return done_ - static_cast<std::uint64_t>(failed_);
    }
    [[nodiscard]] int failed() const { return failed_; }
    [[nodiscard]] int canaries() const { return canaries_; }

    void run() {
        Progress progress(arguments_.progress, thread_ * ranks_ + rank_);
        auto const start = std::chrono::steady_clock::now();
        for (; failed_ == 0 && done_ < arguments_.cases; ++done_) {
            std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - start;
            int over = arguments_.seconds > 0 && elapsed.count() > arguments_.seconds;
            MPI_Bcast(&over, 1, MPI_INT, 0, on_.everyone);
            if (over) break;
            run_case(arguments_.seed + done_, progress);
        }
    }

private:
    void run_case(std::uint64_t seed, Progress& progress) {
        Generator generator(seed, ranks_, arguments_.options);
        auto opening = std::vector<std::string>();
        for (auto const& file : generator.files()) opening.push_back(describe(file));
        for (std::size_t i = 0; i < opening.size() && arguments_.verbose && rank_ == 0; ++i) {
            std::printf("     file %zu: %s\n", i, opening[i].c_str());
        }
        std::vector<std::string> history;
        Performer performer(generator.files(), arguments_.options, on_);
        progress.say(seed, 0);
        performer.open_all();
        for (std::uint64_t number = 1; number <= generator.step_count(); ++number) {
            progress.say(seed, number);
            auto const step = generator.next();
            auto const& file = generator.files()[step.file];
            history.push_back(describe(step, file));
            if (arguments_.verbose && rank_ == 0) {
                std::printf("%3llu  %s\n", static_cast<unsigned long long>(number),
                            history.back().c_str());
                std::fflush(stdout);
            }
            performer.perform(number, step);
        }
        progress.say(seed, generator.step_count() + 1);
        performer.perform(generator.step_count() + 1, generator.last());
        performer.close_all(generator.step_count() + 1);
        conclude(seed, performer, opening, history);
    }

    /// All ranks agree on the verdict; the one that saw the earliest wrong step speaks.
    void conclude(std::uint64_t seed, Performer const& performer,
                  std::vector<std::string> const& opening,
                  std::vector<std::string> const& history) {
        struct {
            int step, rank;
        } mine{1 << 30, rank_}, first{};
        if (performer.complaint()) mine.step = static_cast<int>(performer.complaint()->step);
        MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, on_.everyone);
        int spoilt = performer.spoilt();
        MPI_Allreduce(MPI_IN_PLACE, &spoilt, 1, MPI_INT, MPI_MAX, on_.everyone);
        bool const wrong = first.step != 1 << 30;
        if (arguments_.options.canary) {
            // A spoilt case must be noticed, any other must not.
            canaries_ += spoilt;
            if (wrong == (spoilt != 0)) return;
            ++failed_;
            if (rank_ == 0) {
                std::printf("seed %llu: the canary was %s\n", static_cast<unsigned long long>(seed),
                            wrong ? "not set, but something is wrong" : "not noticed");
            }
            return;
        }
        if (!wrong) return;
        ++failed_;
        if (rank_ == first.rank) print_failure(seed, *performer.complaint(), opening, history);
        MPI_Barrier(on_.everyone);
    }

    void print_failure(std::uint64_t seed, Complaint const& complaint,
                       std::vector<std::string> const& opening,
                       std::vector<std::string> const& history) const {
        static std::mutex one_at_a_time;
        std::lock_guard const lock(one_at_a_time);
        std::printf("FAILED: seed %llu, %d ranks, step %llu, rank %d: %s\n",
                    static_cast<unsigned long long>(seed), ranks_,
                    static_cast<unsigned long long>(complaint.step), rank_, complaint.text.c_str());
        for (std::size_t i = 0; i < opening.size(); ++i) {
            std::printf("     file %zu: %s\n", i, opening[i].c_str());
        }
        for (std::size_t i = 0; i < history.size() && i < complaint.step; ++i) {
            std::printf("%s %2zu  %s\n", i + 1 == complaint.step ? "-->" : "   ", i + 1,
                        history[i].c_str());
        }
        std::fflush(stdout);
    }

    Communicators on_{.world = MPI_COMM_WORLD, .self = MPI_COMM_SELF};
    Arguments arguments_;
    int thread_;
    int rank_ = 0;
    int ranks_ = 1;
    std::uint64_t done_ = 0;
    int failed_ = 0;
    int canaries_ = 0;
};

/// The exit code.
int run_all(Arguments const& arguments) {
    std::deque<Runner> runners;
    for (int i = 0; i < arguments.beside; ++i) runners.emplace_back(arguments, i);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < runners.size(); ++i)
            threads.emplace_back([&runner = runners[i]] { runner.run(); });
        runners[0].run();
    }
    std::uint64_t passed = 0;
    int failed = 0, canaries = 0, rank = 0;
    for (auto const& runner : runners) {
        passed += runner.passed();
        failed += runner.failed();
        canaries += runner.canaries();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && arguments.options.canary) std::printf("%d canaries\n", canaries);
    if (rank == 0)
        std::printf("%llu passed, %d failed\n", static_cast<unsigned long long>(passed), failed);
    return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
    fuzz::Arguments arguments;
    if (!fuzz::parse(argc, argv, arguments)) return fuzz::usage();
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, arguments.threads, &provided);
    arguments.options.threaded = provided == MPI_THREAD_MULTIPLE;
    if (arguments.options.beside && !arguments.options.threaded) return fuzz::usage();
    auto const& options = arguments.options;
    auto const seed = arguments.seed;
    auto const abandons = !options.native && !options.skips("pending");
    int const code = fuzz::run_all(arguments);
    std::optional<fuzz::Abandoned> abandoned;
    if (code == 0 && abandons) abandoned.emplace(seed, options.folder, MPI_COMM_WORLD);
    MPI_Finalize();
    return abandoned && !abandoned->all_written() ? 1 : code;
}
