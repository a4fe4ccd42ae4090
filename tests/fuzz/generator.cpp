#include "generator.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace fuzz {

namespace {

constexpr std::uint64_t kRunsPerAccess = 8192;  // bounds the work of the model per rank
constexpr std::int64_t kMemorySpanBytes = 1 << 20;

bool has_hint(FileState const& file, char const* key, char const* value) {
    return file.hint(key) == value;
}

/// In atomic mode all is the MPI library's then, with its faults.
bool by_mpi(FileState const& file) { return has_hint(file, "unisono_backend", "mpiio"); }

/// While the other handle stands in. The first one could not be synced, to see what was written,
/// where it only reads.
bool may_settle(FileState const& file) {
    auto const only_reads = (file.other->open_mode & MPI_MODE_RDONLY) != 0;
    return file.pending.empty() && !(only_reads && file.may_write());
}

/// Between nodes a handle that only writes does not know what it has in memory.
bool knows_its_own(FileState const& file) { return file.on_one_node || file.may_read(); }

bool any_collective(Step const& step) {
    return std::any_of(step.accesses.begin(), step.accesses.end(),
                       [](Access const& access) { return access.collective; });
}

/// OMPIO loses bytes beside those that two ranks write in one call, so natively nobody overlaps.
void part_writers(Step& step, FileState const& file) {
    std::vector<Touched> taken;
    for (std::size_t m = 0; m < step.accesses.size(); ++m) {
        auto& access = step.accesses[m];
        if (!access.writes) continue;
        Touched mine(access, file.state[m].view);
        if (std::ranges::any_of(taken, [&](auto const& other) { return other.meets(mine); }))
            access.count = 0;
        else
            taken.push_back(std::move(mine));
    }
}

bool split_pending(FileState const& file) {
    return std::ranges::any_of(file.pending, [](auto const& one) { return one.second.split; });
}

bool goes_beside_pending(StepKind kind) {
    return kind == StepKind::access || kind == StepKind::seek || kind == StepKind::byte_offset ||
           kind == StepKind::check_view || kind == StepKind::check_size;
}

bool ends_inside(Access const& access, View const& view, FileState const& file) {
    auto const first = access.offset * view.etype_bytes();
    return file.model.size_is_certain() &&
           view.bytes_before(file.model.size_most(), first, access.bytes()) == access.bytes();
}

}  // namespace

Generator::Generator(std::uint64_t seed, int ranks, Options const& options)
    : random_(seed * 0x2545f4914f6cdd1dull + static_cast<std::uint64_t>(ranks)),
      opening_random_(~seed),
      extra_random_(seed ^ 0x6a09e667f3bcc908ull),
      rare_random_(seed ^ 0x9b05688c2b3e6c1full),
      late_random_(seed ^ 0x510e527fade682d1ull),
      on_random_(seed ^ 0x1f83d9abfb41bd6bull),
      ranks_(ranks),
      options_(options) {
    make_files(seed);
    choose_sieving();
    choose_loops();
    choose_other();
    add_rare_hints();
    choose_late();
    choose_reading_on();
    step_count_ = std::min(options.steps_max, 3 + random_.small_below(40) + (loops_ ? 200 : 0) +
                                                  (others_ ? 20 : 0) + (reads_on_ ? 100 : 0) +
                                                  (changes_hints_ || shares_ || sizes_ ? 20 : 0));
    plan_opening();
    if (begins_atomic_) opening_.push_back(StepKind::toggle_atomicity);
}

/// A large request of one rank makes a thread for the file on that rank alone; a collective change
/// of mode or hints ends it. What all do later must not depend on who has had one.
void Generator::plan_opening() {
    static std::vector<StepKind> const changes = {StepKind::toggle_atomicity, StepKind::set_info,
                                                  StepKind::set_view};
    auto const& file = files_[0];
    if (file.native || options_.faults || !file.may_write() || by_mpi(file)) return;
    pends_ = deals("lone_pending", 8);
    if (pends_) return plan_pending();
    if (file.members.size() == 1 || options_.skips("lone_request") || !opening_random_.chance(10))
        return;
    opening_ = {opening_random_.pick(changes), StepKind::access};
}

/// The same while the request is pending. Not always what MPI allows, which wants nothing pending
/// in some of these calls, but what Unisono keeps to: what has begun is over before anything
/// changes.
void Generator::plan_pending() {
    static std::vector<StepKind> const changes = {
        StepKind::toggle_atomicity, StepKind::set_info, StepKind::set_view, StepKind::set_size,
        StepKind::preallocate,      StepKind::settle,   StepKind::sync,     StepKind::peek};
    auto const rounds = files_[0].may_read() ? 1 + extra_random_.below(3) : 1;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        opening_.push_back(StepKind::complete);
        if (extra_random_.chance(40)) opening_.push_back(StepKind::access);
        opening_.push_back(extra_random_.pick(changes));
        if (extra_random_.chance(40)) opening_.push_back(StepKind::access);
        opening_.push_back(StepKind::access);
        opening_.push_back(StepKind::settle);
    }
    step_count_ = std::min(options_.steps_max, step_count_ + opening_.size());
}

Step Generator::opening_step() {
    auto& file = files_[0];
    Step step;
    step.kind = opening_.back();
    opening_.pop_back();
    if (step.kind == StepKind::complete) return complete_step(pending_of(0));
    step.failures.assign(file.members.size(), Failure::never);
    auto const lone = step.kind == StepKind::access && file.pending.empty();
    if (lone && add_lone_request(step, file)) return step;
    step.accesses.clear();
    if (!fill(step, file)) step.kind = StepKind::set_info;
    step.gives_hints = step.kind == StepKind::set_view;
    return step;
}

bool Generator::add_lone_request(Step& step, FileState& file) {
    constexpr std::uint64_t large = 256 * 1024;  // only such ones are handed to a thread
    constexpr std::uint64_t runs_most = 50'000;
    step.accesses.resize(file.members.size());
    auto const m = opening_random_.below(file.members.size());
    auto& access = step.accesses[m];
    auto const& view = file.state[m].view;
    access.takes_part = access.writes = access.at_offset = true;
    access.flavour = Flavour::nonblocking;
    access.pattern = opening_random_.next();
    access.offset = opening_random_.below(file.scale_bytes);
    access.count = large + opening_random_.below(5000);
    if (!pends_) return true;
    auto const& map = view.file_type->map;
    if (view.empty() || access.count / map.size_bytes() * map.runs.size() > runs_most) return false;
    access.offset /= view.etype_bytes();
    access.count -= access.count % view.etype_bytes();
    access.writes = !file.may_read() || !ends_inside(access, view, file);
    find_races(step, file);
    step.begins = ++begun_;
    return true;
}

std::vector<std::vector<int>> Generator::random_members() {
    std::vector<int> everyone(static_cast<std::size_t>(ranks_));
    std::iota(everyone.begin(), everyone.end(), 0);
    auto const kind = options_.one_file() ? 0 : random_.below(10);
    if (kind < 6 || ranks_ == 1) return {everyone};
    if (kind == 6) {  // MPI_COMM_SELF, a file for each
        std::vector<std::vector<int>> selves;
        for (int const rank : everyone) selves.push_back({rank});
        return selves;
    }
    if (kind == 7) {  // the same ranks in reverse order
        std::reverse(everyone.begin(), everyone.end());
        return {everyone};
    }
    std::vector<std::vector<int>> halves(2);  // a split; sometimes one half has no file
    for (int const rank : everyone) halves[random_.below(2)].push_back(rank);
    std::erase_if(halves, [](auto const& half) { return half.empty(); });
    if (kind == 8) halves.resize(1);
    return halves;
}

void Generator::make_files(std::uint64_t seed) {
    auto const sets = options_.one_file() || random_.chance(70) ? 1 : 2;
    for (int set = 0; set < sets; ++set) {
        for (auto const& members : random_members()) {
            auto const path = options_.folder + "/fuzz-" + std::to_string(seed) + "-" +
                              std::to_string(files_.size());
            files_.push_back(make_file(path, members));
        }
    }
}

FileState Generator::make_file(std::string path, std::vector<int> members) {
    auto const ranks = static_cast<int>(members.size());
    FileState file{.path = std::move(path),
                   .members = std::move(members),
                   .hints = {},
                   .initial = {},
                   .fault = {},
                   .model = FileModel(ranks),
                   .state = {}};
    static std::vector<std::uint64_t> const scales = {64, 1000, 4096, 10000, 40000, 150000};
    file.scale_bytes = random_.pick(scales);
    if (random_.chance(8) && !options_.skips("sparse_offsets")) {
        static std::vector<std::uint64_t> const bases = {(1ull << 31) - 500, (1ull << 32) - 500,
                                                         1ull << 33, (1ull << 40) + 17};
        file.base_bytes = random_.pick(bases);
    }
    if (random_.chance(50)) {
        file.initial.emplace(random_.below(2 * file.scale_bytes));
        fill_pattern(random_.next(), *file.initial);
        file.model.adopt(file.initial->size(), 0, *file.initial);
    }
    file.open_mode = random_mode(file.initial.has_value());
    file.unlink_after_open = random_.chance(4) && !options_.skips("unlink");
    choose_hints(file);
    file.on_one_node = std::getenv("UNISONO_TOPOLOGY") == nullptr &&
                       !has_hint(file, "unisono_exchange", "messages");
    choose_fault(file);
    reset_members(file);
    return file;
}

int Generator::random_mode(bool exists) {
    if (options_.faults) return MPI_MODE_CREATE | MPI_MODE_RDWR;
    if (exists && random_.chance(15)) return MPI_MODE_RDONLY;
    // Natively a write-only file cannot be sieved: known to fail.
    int mode = random_.chance(10) && !options_.native ? MPI_MODE_WRONLY : MPI_MODE_RDWR;
    if (!exists || random_.chance(50)) mode |= MPI_MODE_CREATE;
    if (!exists && random_.chance(20)) mode |= MPI_MODE_EXCL;
    if (random_.chance(8)) mode |= MPI_MODE_APPEND;
    if (random_.chance(4)) mode |= MPI_MODE_DELETE_ON_CLOSE;
    if (random_.chance(4)) mode |= MPI_MODE_UNIQUE_OPEN;
    return mode;
}

void Generator::choose_hints(FileState& file) {
    static std::vector<std::string> const strategies = {
        "auto",   "auto",       "independent", "two_phase",  "two_phase",  "disk_first", "resonant",
        "lacio",  "core_first", "transpose",   "view_based", "view_based", "view_based",
#ifndef OPEN_MPI  // OMPIO 4.1.4 gets even plain collective reads wrong when ranks overlap, and
                  // hangs
        "native",
#endif
    };
    file.writes_behind = options_.faults && random_.chance(50);
    auto const behind = options_.faults ? file.writes_behind : random_.chance(50);
    auto const ahead = (!options_.faults || file.writes_behind) && random_.chance(50);
    // Which calls that repeat do without meetings.
    auto const alone = (behind || ahead) && random_.chance(60);
    if (!alone && random_.chance(50)) file.hints.emplace_back("unisono_select", "measured");
    // As if the file were striped: a few servers, more servers than ranks, a composite layout.
    static std::vector<std::string> const layouts = {
        "stripe_bytes=1K,servers=3", "stripe_bytes=100,servers=2", "stripe_bytes=4K,servers=12",
        "end=5000,stripe_bytes=500,servers=1;stripe_bytes=2K,servers=4"};
    static std::vector<std::string> const exchanges = {"auto", "shared_memory", "messages"};
    static std::vector<std::string> const backends = {"auto", "posix", "threads", "uring",
                                                      "mapped"};
    static std::vector<std::uint64_t> const buffers = {1024, 1500, 4096, 16384, 65536, 1 << 20};
    auto strategy = random_.pick(strategies);
    static std::vector<std::string> const alone_by = {"auto", "independent", "view_based"};
    if (alone && random_.chance(75)) strategy = random_.pick(alone_by);
    if (options_.beside && strategy == "native") strategy = "auto";  // see Performer::in_turn()
    if (options_.faults) {
        bool const other =
            strategy == "native" || (strategy == "view_based" && !file.writes_behind);
        file.hints.emplace_back("unisono_strategy", other ? "two_phase" : strategy);
    } else if (random_.chance(80)) {
        file.hints.emplace_back("unisono_strategy", strategy);
        file.native = strategy == "native";
    }
    if (random_.chance(60)) file.hints.emplace_back("unisono_layout", random_.pick(layouts));
    if (random_.chance(20)) file.hints.emplace_back("unisono_resonant_read", "direct");
    if (random_.chance(40)) file.hints.emplace_back("unisono_intra_node_aggregation", "enable");
    if (random_.chance(20)) file.hints.emplace_back("cb_config_list", "*:2");
    if (random_.chance(20)) file.hints.emplace_back("unisono_flush", "close");
    if (behind) file.hints.emplace_back("unisono_write_behind", "enable");
    // Small calls that repeat are agreed on: of an error all ranks are told at once.
    if (options_.faults && !behind) file.hints.emplace_back("unisono_write_behind", "disable");
    if (random_.chance(30))
        file.hints.emplace_back("unisono_write_behind_bytes",
                                std::to_string(random_.pick(buffers)));
    if (ahead) file.hints.emplace_back("unisono_read_ahead", "enable");
    if (options_.faults && !behind) file.hints.emplace_back("unisono_read_ahead", "disable");
    if (random_.chance(50)) {
        file.hints.emplace_back("unisono_pool_bytes", std::to_string(random_.pick(buffers) * 4));
    }
    if (random_.chance(60)) {
        file.hints.emplace_back("unisono_exchange", random_.pick(exchanges));
    }
    if (random_.chance(60)) file.hints.emplace_back("unisono_backend", random_.pick(backends));
    if (auto const dice = random_.below(100); dice < 60)
        file.hints.emplace_back("unisono_overlap", dice < 15 ? "disable" : "enable");
    if (random_.chance(60)) {
        file.hints.emplace_back(
            "cb_buffer_size",
            std::to_string(options_.skips("tiny_buffers")
                               ? std::max<std::uint64_t>(4096, random_.pick(buffers))
                               : random_.pick(buffers)));
    }
    if (random_.chance(40)) {
        file.hints.emplace_back("cb_nodes",
                                std::to_string(random_.between(1, static_cast<int>(ranks_) + 1)));
    }
    file.sync_at_close = options_.power_cuts && random_.chance(50);
    if (file.sync_at_close) file.hints.emplace_back("unisono_sync_at_close", "true");
    if (options_.native) file.native = true;
    if (file.native) file.model.let_holes_be_anything();
}

bool Generator::deals(char const* feature, unsigned percent) {
    return deals(feature, percent, extra_random_);
}

bool Generator::deals(char const* feature, unsigned percent, Random& random) {
    auto const by_chance = random.chance(percent);
    return options_.deals(feature) || (by_chance && !options_.skips(feature));
}

/// Only on servers it makes a difference.
void Generator::choose_sieving() {
    if (!options_.pocket) return;
    for (auto& file : files_) {
        file.sieves = deals("sieving", 30) && !file.native && !file.writes_behind;
        if (file.sieves) file.hints.emplace_back("ds_write", "enable");
    }
}

/// Selection tries other ways once it has seen some 30 calls of a kind, or a few where it is asked
/// for. On a node's own file system only then.
void Generator::choose_loops() {
    if (options_.native || options_.one_file() || !deals("loops", options_.pocket ? 6 : 2)) return;
    static std::vector<std::string> const ways = {"auto", "measured"};
    loops_ = true;
    for (auto& file : files_) {
        file.native = false;
        std::erase_if(file.hints, [](auto const& hint) {
            return hint.first != "ds_write" && hint.first != "unisono_layout" &&
                   hint.first != "unisono_faults" && hint.first != "unisono_overlap";
        });
        file.hints.emplace_back("unisono_select", extra_random_.pick(ways));
    }
}

/// Which no other choice depends on.
void Generator::add_rare_hints() {
    if (options_.native || options_.skips("rare_hints")) return;
    static std::vector<std::string> const switches = {"enable", "disable"};
    static std::vector<std::string> const units = {"100", "1000", "4096", "6000"};
    static std::vector<std::string> const places = {"*:1", "*:*", "*:3"};
    for (auto& file : files_) {
        if (file.native || !rare_random_.chance(40)) continue;
        auto const add = [&](char const* name, std::vector<std::string> const& values) {
            if (rare_random_.chance(30)) file.hints.emplace_back(name, rare_random_.pick(values));
        };
        add("romio_cb_write", switches);
        add("romio_cb_read", switches);
        add("striping_unit", units);
        add("cb_config_list", places);
        add("unisono_resonant_groups", {"by_count"});
        add("unisono_write_behind_s", {"1"});
        if (!file.fault) add("unisono_backend", {"mpiio"});
    }
}

/// What may go wrong with a second handle is what the first one has in memory: that often.
void Generator::choose_other() {
    if (options_.native || options_.one_file() || !deals("other_handle", 12)) return;
    others_ = true;
    last_written_.resize(files_.size());
    if (loops_) return;
    for (auto& file : files_) {
        if (file.native || !extra_random_.chance(60)) continue;
        std::erase_if(file.hints, [](auto const& hint) {
            return hint.first == "unisono_strategy" || hint.first == "unisono_write_behind";
        });
        file.hints.emplace_back("unisono_strategy",
                                extra_random_.chance(70) ? "view_based" : "auto");
        file.hints.emplace_back("unisono_write_behind", "enable");
    }
}

/// What came after cases had been written down by their seeds: they are the same without it.
void Generator::choose_late() {
    auto const changes_hints = deals("new_hints", 12, late_random_);
    auto const shares = deals("shared", 10, late_random_);
    auto const atomic = deals("begins_atomic", 6, late_random_);
    auto const sizes = deals("sizes", 8, late_random_);
    if (options_.native || options_.faults || loops_) return;
    changes_hints_ = changes_hints;
    sizes_ = sizes;
    shares_ = shares && !others_ && !options_.power_cuts;
    begins_atomic_ = atomic && !files_[0].native && !by_mpi(files_[0]);
}

/// Blocks that are read ahead take turns in few buffers where nobody can write through the file,
/// and calls go on over more of them than there are. Another handle may write there.
void Generator::choose_reading_on() {
    auto const reads_on = deals("reads_on", 6, on_random_);
    auto const others = on_random_.chance(50) && !options_.skips("other_handle");
    if (!reads_on || options_.native || options_.one_file() || loops_) return;
    static std::vector<std::string> const blocks = {"64", "100", "1000", "1024", "4096"};
    static std::vector<std::string> const pools = {"400", "4000", "6000", "16384", "65536"};
    reads_on_ = true;
    others_ = others_ || others;
    last_written_.resize(files_.size());
    for (auto& file : files_) {
        if (file.native) continue;
        file.open_mode = MPI_MODE_RDONLY;
        file.initial.emplace(file.scale_bytes + on_random_.below(8 * file.scale_bytes));
        fill_pattern(on_random_.next(), *file.initial);
        file.model = FileModel(static_cast<int>(file.members.size()));
        file.model.adopt(file.initial->size(), 0, *file.initial);
        reset_members(file);
        file.on_one_node = std::getenv("UNISONO_TOPOLOGY") == nullptr;
        file.take({{"unisono_strategy", "view_based"},
                   {"unisono_read_ahead", "enable"},
                   {"unisono_select", "auto"},
                   {"unisono_exchange", "auto"},
                   {"cb_buffer_size", on_random_.pick(blocks)},
                   {"unisono_pool_bytes", on_random_.pick(pools)}});
    }
}

void Generator::choose_fault(FileState& file) {
    if (options_.native) return;
    if (!options_.faults) {
        if (!file.native && random_.chance(10) &&
            !options_.skips("short_transfers")) {  // short transfers, which nobody may notice
            file.hints.emplace_back("unisono_faults",
                                    random_.chance(50) ? "write=short" : "write=short,read=short");
        }
        return;
    }
    struct Kind {
        char const* name;
        int error_class;
    };
    static std::vector<Kind> const kinds = {
        {"EIO", MPI_ERR_IO}, {"ENOSPC", MPI_ERR_NO_SPACE}, {"EDQUOT", MPI_ERR_QUOTA}};
    Fault fault;
    fault.writes = random_.chance(60);
    auto const kind = fault.writes ? random_.pick(kinds) : kinds[0];
    fault.offset = file.base_bytes + random_.below(file.scale_bytes);
    fault.name = kind.name;
    fault.error_class = kind.error_class;
    file.hints.emplace_back("unisono_faults", (fault.writes ? "write@" : "read@") +
                                                  std::to_string(fault.offset) + "=" + fault.name);
    file.fault = fault;
}

TypeLimits Generator::limits(FileState const& file) const {
    TypeLimits limits;
    limits.plain_only = file.native;
    limits.depth = file.native ? 2 : 4;
    limits.same_in_external32 = file.state[0].view.external32();
    limits.span_bytes =
        static_cast<std::int64_t>(std::max<std::uint64_t>(64, file.scale_bytes / 2));
    limits.interleaving_tiles = !file.native && !options_.skips("interleaving");
    return limits;
}

StepKind Generator::choose_kind(FileState const& file) {
    auto const dice = random_.below(100);
    if (options_.faults) {
        return dice < 75 ? StepKind::access : dice < 88 ? StepKind::set_view : StepKind::settle;
    }
    if (dice < 55) return StepKind::access;
    if (dice < 70) return StepKind::set_view;
    if (dice < 71) return StepKind::seek_shared;
    if (dice < 76) return StepKind::seek;
    if (dice < 79) return StepKind::byte_offset;
    if (dice < 81) return StepKind::check_view;
    if (dice < 84) return StepKind::check_size;
    if (dice < 86) return StepKind::forbidden_access;
    if (dice < 87) return StepKind::toggle_atomicity;
    if (!file.may_write()) return StepKind::access;
    if (options_.power_cuts && dice < 93) return StepKind::peek;
    if (dice < 92) return StepKind::settle;
    if (dice < 93) return StepKind::sync;
    if (dice < 95) return StepKind::peek;
    if (dice < 97) return StepKind::set_size;
    if (dice < 98) return StepKind::preallocate;
    return StepKind::reopen;
}

/// Hints that say how things are done, not what comes of them.
Hints Generator::new_hints(FileState const& file) {
    static std::vector<std::string> const switches = {"enable", "disable"};
    static std::vector<std::string> const strategies = {
        "auto",  "independent", "two_phase", "disk_first", "resonant",
        "lacio", "core_first",  "transpose", "view_based", "view_based"};
    static std::vector<std::string> const backends = {"auto", "posix", "threads", "uring",
                                                      "mapped"};
    static std::vector<std::string> const sizes = {"1500", "4096", "16384", "65536"};
    static std::vector<std::string> const layouts = {"stripe_bytes=1K,servers=3",
                                                     "stripe_bytes=4K,servers=12"};
    Hints hints;
    auto const add = [&](char const* name, std::vector<std::string> const& values) {
        if (late_random_.chance(30)) hints.emplace_back(name, late_random_.pick(values));
    };
    add("unisono_strategy", strategies);
    add("unisono_write_behind", switches);
    add("unisono_read_ahead", switches);
    add("cb_buffer_size", sizes);
    add("cb_nodes", {"1", "2", "3"});
    add("unisono_pool_bytes", sizes);
    add("unisono_write_behind_bytes", sizes);
    add("unisono_overlap", switches);
    add("unisono_layout", layouts);
    add("unisono_intra_node_aggregation", switches);
    if (!file.atomic) add("unisono_backend", backends);
    return hints;
}

/// Steps that only the cases have which choose_late() deals them to, also amid calls that repeat.
std::optional<Step> Generator::late_step() {
    static std::vector<StepKind> const of_sizes = {StepKind::set_size, StepKind::set_size,
                                                   StepKind::preallocate, StepKind::check_size};
    std::vector<StepKind> kinds;
    if (changes_hints_) kinds.push_back(StepKind::set_info);
    if (sizes_) kinds.push_back(late_random_.pick(of_sizes));
    if (shares_)
        kinds.push_back(late_random_.chance(75) ? StepKind::access : StepKind::seek_shared);
    if (kinds.empty() || !late_random_.chance(25)) return {};
    Step step;
    step.file = late_random_.below(files_.size());
    step.kind = late_random_.pick(kinds);
    auto& file = files_[step.file];
    step.failures.assign(file.members.size(), Failure::never);
    if (file.native || file.other) return {};
    if (!goes_beside_pending(step.kind) && !file.pending.empty())
        return complete_step(pending_of(step.file));
    if (step.kind == StepKind::set_info) step.hints = new_hints(file);
    auto const filled = step.kind == StepKind::access ? fill_shared(step, file) : fill(step, file);
    return filled ? std::optional{std::move(step)} : std::nullopt;
}

/// One rank's call with the shared file pointer, where that is Unisono's.
bool Generator::fill_shared(Step& step, FileState& file) {
    auto const& view = file.state[0].view;
    auto const ours = beside(file) && !by_mpi(file) && !changes_hints_ && file.viewed;
    if (!ours || !knows_shared_pointer(file) || view.empty() || view.external32()) return false;
    step.accesses.resize(file.members.size());
    auto const m = late_random_.below(file.members.size());
    auto& access = step.accesses[m];
    auto const writes = file.may_write() && (!file.may_read() || late_random_.chance(60));
    access.takes_part = access.shared = access.at_offset = true;
    access.writes = writes;
    access.pattern = late_random_.next();
    access.offset = *file.shared_position;
    access.count = late_random_.small_below(2000) * view.etype_bytes();
    if (view.offset_of(access.offset * view.etype_bytes() + access.bytes()) >
        file.base_bytes + 8 * file.scale_bytes)
        return false;
    if (late_random_.chance(30)) access.flavour = Flavour::nonblocking;
#if MPI_VERSION >= 4
    access.large_count = late_random_.chance(15);
#endif
    find_races(step, file);
    step.barrier_before = true;  // another rank may have moved the pointer
    file.model.barrier();
    return true;
}

Step Generator::next() {
    if (!opening_.empty()) return opening_step();
    if (auto step = late_step()) return *std::move(step);
    for (;;) {
        Step step;
        if (repeats_ > 0) {
            auto& file = files_[repeated_.file];
            step.failures.assign(file.members.size(), Failure::never);
            if (random_.chance(file.other ? 30 : 12)) {
                step.file = repeated_.file;
                step.kind = StepKind::access;
                step.by_other = file.other && knows_its_own(file) && random_.chance(50);
                if (step.by_other) change_handles(file);
                fill_access(step, file, /*collective=*/false);
                if (step.by_other) change_handles(file);
                return step;
            }
            if (fill_repeat(step, file)) return step;
            repeats_ = 0;
            continue;
        }
        if (auto some = some_pending(); !some.empty()) return complete_step(std::move(some));
        step.file = random_.below(files_.size());
        auto& file = files_[step.file];
        step.kind = choose_kind(file);
        if (others_ && !file.native) choose_handle(step, file);
        // MPI wants nothing pending there.
        if (!goes_beside_pending(step.kind) && !file.pending.empty())
            return complete_step(pending_of(step.file));
        step.failures.assign(file.members.size(), Failure::never);
        if (!fill(step, file)) continue;
        repeats_ = may_repeat(step, file) && random_.chance(step.advance == 0 ? 50 : 90)
                       ? 2 + random_.below(12)
                       : 0;
        if (repeats_ > 0) repeated_ = first_of_loop_ = step;
        if (repeats_ > 0 && (loops_ || reads_on_)) repeats_ = 40 + random_.below(100);
        return step;
    }
}

// Programs that append, or read record by record, do little else: that is what write-behind and
// read-ahead are for.
bool Generator::may_repeat(Step const& step, FileState const& file) const {
    auto const suits = [&](Access const& access) {
        return access.collective && access.writes == step.accesses[0].writes &&
               access.flavour == Flavour::blocking && !access.ordered;
    };
    return step.kind == StepKind::access && !step.by_other && (!file.fault || file.writes_behind) &&
           !options_.skips("repeats") &&
           std::all_of(step.accesses.begin(), step.accesses.end(), suits);
}

/// What repeats has come too far; a loop goes back to where it began.
bool Generator::goes_too_far(Access const& access, View const& view, FileState const& file) const {
    return !view.empty() && view.offset_of(access.offset * view.etype_bytes()) >
                                file.base_bytes + 8 * file.scale_bytes;
}

bool Generator::fill_repeat(Step& step, FileState& file) {
    --repeats_;
    for (std::size_t m = 0; loops_ && m < file.members.size(); ++m)
        if (goes_too_far(repeated_.accesses[m], file.state[m].view, file))
            repeated_ = first_of_loop_;
    step.file = repeated_.file;
    step.kind = StepKind::access;
    for (std::size_t m = 0; m < file.members.size(); ++m) {
        auto const& member = file.state[m];
        auto access = repeated_.accesses[m];
        auto const own_bytes = access.bytes() / member.view.etype_bytes();
        access.offset =
            access.at_offset
                ? access.offset + (repeated_.advance == 0 ? own_bytes : repeated_.advance)
                : member.position;
        if (!loops_ && random_.chance(3))
            access = make_access(file, member, access.writes, access.at_offset);
        access.collective = true;
        access.pattern = random_.next();
        auto const far = !loops_ && goes_too_far(access, member.view, file);
        if (far || (!access.at_offset && !member.position_known)) return false;
        step.accesses.push_back(std::move(access));
    }
    if (file.native) part_writers(step, file);
    find_races(step, file);
    expect_failures(step, file);
    repeated_.accesses = step.accesses;
    if (others_) note_written(step, file);
    return true;
}

void Generator::choose_handle(Step& step, FileState const& file) {
    auto const dice = random_.below(100);
    if (!file.other) {
        if (dice < 30) step.kind = StepKind::open_other;
        return;
    }
    if (step.kind == StepKind::reopen || dice < 3) {
        step.kind = StepKind::close_other;
        return;
    }
    auto const either = step.kind == StepKind::access || step.kind == StepKind::set_view ||
                        step.kind == StepKind::seek || step.kind == StepKind::byte_offset ||
                        step.kind == StepKind::check_view;
    step.by_other = either && dice < 50 && (knows_its_own(file) || file.pending.empty());
}

bool Generator::fill_open_other(Step& step, FileState const& file) {
    static std::vector<int> const modes = {MPI_MODE_RDWR, MPI_MODE_RDWR, MPI_MODE_RDONLY,
                                           MPI_MODE_WRONLY};
    if ((file.open_mode & (MPI_MODE_UNIQUE_OPEN | MPI_MODE_DELETE_ON_CLOSE)) != 0 ||
        file.unlink_after_open)
        return false;
    step.alone = random_.chance(50);
    // A handle that only reads cannot be synced, to see what the other has written.
    step.open_mode = file.may_write() || file.on_one_node ? random_.pick(modes) : MPI_MODE_RDONLY;
    return true;
}

bool Generator::fill(Step& step, FileState& file) {
    if (!step.by_other) return fill_here(step, file);
    change_handles(file);
    auto const filled = fill_here(step, file);
    change_handles(file);
    return filled;
}

bool Generator::fill_here(Step& step, FileState& file) {
    switch (step.kind) {
        case StepKind::access:
            // Beside a split call there may be no other collective one on its file.
            return fill_access(step, file,
                               random_.chance(step.by_other ? 20 : 70) && !split_pending(file) &&
                                   (!step.by_other || may_settle(file)));
        case StepKind::open_other:
            return fill_open_other(step, file);
        case StepKind::seek:
            return fill_seek(step, file);
        case StepKind::seek_shared:
            return fill_seek_shared(step, file);
        case StepKind::byte_offset:
            return fill_byte_offset(step, file);
        case StepKind::set_view:
            return fill_views(step, file);
        case StepKind::check_size:
            step.size_bytes = file.model.size_most();
            return sizes_ || file.model.size_is_certain();
        case StepKind::set_size:
        case StepKind::preallocate:
            return fill_sizes(step, file);
        case StepKind::reopen:
            return fill_reopen(step, file);
        case StepKind::forbidden_access:
            return fill_forbidden(step, file);
        case StepKind::peek:
            return file.may_write();
        case StepKind::toggle_atomicity:
            return !by_mpi(file);
        case StepKind::complete:
            break;
        case StepKind::settle:
        case StepKind::sync:
        case StepKind::check_view:
        case StepKind::set_info:
        case StepKind::close_other:
            return true;
    }
    return false;
}

std::uint64_t Generator::random_position(FileState const& file, View const& view) {
    if (view.empty()) return 0;
    auto const& map = view.file_type->map;
    auto const tiles = 1 + file.scale_bytes / static_cast<std::uint64_t>(map.extent());
    auto const byte = random_.below(tiles) * map.size_bytes() + random_.below(map.size_bytes());
    return (random_.chance(20) ? 0 : byte) / view.etype_bytes();
}

TypePtr Generator::choose_memory_type(Access& access, FileState const& file) {
    auto const memory_limits = limits(file);
    for (int attempt = 0; attempt < 10; ++attempt) {
        auto type = random_.chance(25) ? basic(random_.below(8))
                                       : random_memory_type(random_, memory_limits);
        if (access.writes || disjoint(type->map, 1 << 20) ||
            (random_.chance(30) && disjoint(type->map, 1))) {
            return type;
        }
    }
    return basic_byte();
}

std::uint64_t Generator::choose_count(Access const& access, View const& view,
                                      std::uint64_t bytes_max) {
    auto const& memory = access.memory->map;
    auto const& file = view.file_type->map;
    if (memory.size_bytes() == 0) return random_.below(4);
    if (view.empty()) return 0;
    auto const unit = view.etype_bytes() / std::gcd(view.etype_bytes(), memory.size_bytes());
    auto const by_memory_runs = kRunsPerAccess / memory.runs.size();
    auto const by_memory_span = static_cast<std::uint64_t>(
        kMemorySpanBytes / std::max<std::int64_t>(1, std::abs(memory.extent())));
    auto const by_file_runs =
        kRunsPerAccess / file.runs.size() * file.size_bytes() / memory.size_bytes();
    auto const by_bytes = 1 + bytes_max / memory.size_bytes();
    auto const most = std::min({by_memory_runs, by_memory_span, by_file_runs, by_bytes});
    auto count = random_.below(most / unit + 1) * unit;
    if (count == 0 && random_.chance(80)) count = unit;
    bool const fits = count * memory.size_bytes() <= 4 * bytes_max + 64 * view.etype_bytes();
    if (!fits || count > 4 * kRunsPerAccess) return 0;
    return access.writes || disjoint(memory, count) ? count : 0;
}

Access Generator::make_access(FileState const& file, Member const& member, bool writes,
                              bool at_offset) {
    Access access;
    access.takes_part = true;
    access.writes = writes;
    access.at_offset = at_offset;
    access.ignore_status = random_.chance(10);
    access.pattern = random_.next();
    access.offset = at_offset ? random_position(file, member.view) : member.position;
    access.memory = choose_memory_type(access, file);
    auto const bytes_max = 1 + random_.small_below(file.scale_bytes * 2);
    access.count = random_.chance(8) ? 0 : choose_count(access, member.view, bytes_max);
    access.from_bottom =
        !file.native && access.bytes() > 0 && random_.chance(3) && !options_.skips("bottom");
    return access;
}

/// Bytes of all ranks side by side, as programs append them; where a call may fail, some calls
/// before it. Not if views have holes.
void Generator::add_records(Step& step, FileState const& file, bool writes) {
    auto const plain = [](Member const& member) { return member.view == View{}; };
    if (file.base_bytes != 0 || !std::ranges::all_of(file.state, plain)) return;
    auto const ranks = file.state.size();
    auto const bytes = 1 + random_.small_below(file.scale_bytes / ranks / (reads_on_ ? 10 : 1));
    step.advance = bytes * ranks;
    auto at = random_.below(file.scale_bytes);
    if (file.fault)
        at = file.fault->offset - std::min(file.fault->offset, random_.below(6 * step.advance));
    for (std::size_t m = 0; m < ranks; ++m, at += bytes) {
        Access access;
        access.takes_part = access.collective = access.at_offset = true;
        access.writes = writes;
        access.pattern = random_.next();
        access.offset = at;
        access.count = bytes;
        step.accesses.push_back(std::move(access));
    }
}

void Generator::note_written(Step const& step, FileState const& file) {
    auto& written = last_written_[step.file];
    written.assign(file.state.size(), {0, 0});
    for (std::size_t m = 0; m < file.state.size(); ++m) {
        auto const& access = step.accesses[m];
        auto const& view = file.state[m].view;
        if ((!access.writes && !reads_on_) || access.bytes() == 0) continue;
        auto& range = written[m];
        range.first = ~std::uint64_t{0};
        view.for_each_extent(access.offset * view.etype_bytes(), access.bytes(),
                             [&](std::uint64_t offset, std::uint64_t, std::uint64_t bytes) {
                                 range.first = std::min(range.first, offset);
                                 range.second = std::max(range.second, offset + bytes);
                             });
    }
}

/// Most calls of the other handle are where the first one has just written, or reads on, and may
/// have it in memory.
void Generator::aim(Step& step, FileState const& file) {
    auto const& written = last_written_[step.file];
    for (std::size_t m = 0; m < written.size(); ++m) {
        auto& access = step.accesses[m];
        auto const [begin, end] = written[file.on_one_node ? random_.below(written.size()) : m];
        auto const plain = file.state[m].view == View{};
        if (!access.takes_part || !plain || begin == end || random_.chance(30)) continue;
        constexpr std::uint64_t most_bytes = 10'000;
        access.at_offset = true;
        auto const ahead = reads_on_ ? on_random_.below(4) * repeated_.advance : 0;
        access.offset = ahead + begin + random_.below(end - begin);
        access.memory = basic_byte();
        access.count = 1 + random_.small_below(std::min(ahead + end - access.offset, most_bytes));
        access.from_bottom = false;
    }
}

/// What the first handle may have in memory is only reckoned with in the other's independent calls.
void Generator::settle_before(Step& step, FileState& file, bool collective) {
    auto const only_writes = [](int mode) { return (mode & MPI_MODE_WRONLY) != 0; };
    if (!step.by_other) return;
    step.settles = collective || (!file.on_one_node && only_writes(file.other->open_mode));
    if (step.settles) file.settle();
}

bool Generator::fill_access(Step& step, FileState& file, bool collective) {
    bool writes = file.may_write() && (!file.may_read() || random_.chance(55));
    bool at_offset = random_.chance(60) || loops_;
    for (auto const& member : file.state) {
        // Far out, or unknown after a short read: use an explicit offset.
        if (!member.position_known ||
            (!member.view.empty() &&
             member.view.offset_of(member.position * member.view.etype_bytes()) >
                 file.base_bytes + 4 * file.scale_bytes)) {
            at_offset = true;
        }
    }
    bool const idle_ranks = random_.chance(30);
    settle_before(step, file, collective);
    if (collective && random_.chance(reads_on_ ? 75 : 25)) add_records(step, file, writes);
    for (auto const& member : file.state) {
        if (step.advance != 0) break;
        if (!collective) {
            writes = file.may_write() && (!file.may_read() || random_.chance(50));
        }
        auto access = make_access(file, member, writes, at_offset);
        access.collective = collective;
        if (idle_ranks && random_.chance(50)) access.count = 0;
        if (!collective && random_.chance(40)) access = Access{};
        step.accesses.push_back(std::move(access));
    }
    auto const dealt =
        std::ranges::all_of(file.state, [](Member const& member) { return member.view.dealt; });
    if (collective && dealt && random_.chance(80)) make_whole_tiles(step, file);
    if (step.by_other) aim(step, file);
    if (others_ && !step.by_other) note_written(step, file);
    if (file.native) part_writers(step, file);
    choose_flavour(step, file);
    choose_order(step, file);
#if MPI_VERSION >= 4
    if ((step.accesses[0].ordered || step.accesses[0].flavour == Flavour::split) && !file.native &&
        !options_.skips("large_count") && late_random_.chance(15))
        for (auto& access : step.accesses) access.large_count = true;
#endif
    choose_pending(step, file);
    find_races(step, file);
    expect_failures(step, file);
    return true;
}

/// Where the shared file pointer is. MPICH keeps it in a file beside the one it belongs to, which
/// nobody syncs: a power cut takes it away. OMPIO's goes back to the beginning when the file is
/// opened a second time.
bool Generator::knows_shared_pointer(FileState const& file) const {
    return !file.native && file.shared_position && !options_.power_cuts && !others_ &&
           !options_.skips("ordered");
}

/// The ranks' parts of an ordered call lie one behind the other, where the shared file pointer is.
void Generator::choose_order(Step& step, FileState& file) {
    auto const suits = [&](Access const& access) {
        return access.collective && access.writes == step.accesses[0].writes &&
               access.flavour != Flavour::nonblocking && !access.large_count;
    };
    auto const& view = file.state[0].view;
    if (!knows_shared_pointer(file) || view.empty() || !random_.chance(25) ||
        !std::ranges::all_of(step.accesses, suits))
        return;
    auto at = *file.shared_position;
    for (auto const& access : step.accesses) at += access.bytes() / view.etype_bytes();
    if (view.offset_of(at * view.etype_bytes()) > file.base_bytes + 8 * file.scale_bytes) return;
    at = *file.shared_position;
    for (auto& access : step.accesses) {
        access.ordered = access.at_offset = true;
        access.offset = at;
        at += access.bytes() / view.etype_bytes();
    }
}

bool Generator::fill_seek_shared(Step& step, FileState& file) {
    if (!knows_shared_pointer(file)) return false;
    auto const& view = file.state[0].view;
    auto& seek = step.seek_shared;
    seek.position = random_position(file, view);
    seek.offset = static_cast<std::int64_t>(seek.position);
    seek.whence = MPI_SEEK_SET;
    auto const dice = late_random_.below(3);
    if (dice == 1) {
        seek.whence = MPI_SEEK_CUR;
        seek.offset -= static_cast<std::int64_t>(*file.shared_position);
    }
    // Natively, and while somebody may be writing, the end is another one.
    if (dice == 2 && !view.empty() && !by_mpi(file) && file.model.size_is_certain()) {
        auto const end = view.first_etype_after(file.model.size_most());
        seek.whence = MPI_SEEK_END;
        seek.offset = static_cast<std::int64_t>(seek.position - end);
        step.barrier_before = true;
        file.model.barrier();
    }
    return true;
}

/// Where Unisono does split and nonblocking calls beside the program: they may be of any kind, and
/// there are many. Elsewhere they are the MPI library's business, and kept simple enough for it.
bool Generator::beside(FileState const& file) const {
    if (file.native || has_hint(file, "unisono_overlap", "disable")) return false;
    return file.on_one_node || options_.threaded || has_hint(file, "unisono_overlap", "enable");
}

/// A nonblocking or split access may go on while other steps are done.
void Generator::choose_pending(Step& step, FileState const& file) {
    if (file.native || file.fault || options_.skips("pending") || !random_.chance(85)) return;
    if (!opening_.empty() || step.settles) return;
    constexpr std::uint64_t most_bytes = 20000;  // the model notes each byte that is in doubt
    std::uint64_t bytes = 0;
    for (auto const& access : step.accesses) {
        auto const begins =
            access.flavour == Flavour::split ||
            (access.flavour == Flavour::nonblocking && (!access.collective || beside(file)));
        // When a split call moves the file pointer is not said.
        auto const vague = access.flavour == Flavour::split && !access.at_offset;
        if (access.takes_part && (!begins || vague || access.ordered)) return;
        bytes += access.bytes();
    }
    if (bytes > 0 && bytes < most_bytes) step.begins = ++begun_;
}

std::vector<PendingName> Generator::pending_of(std::size_t file) const {
    std::vector<PendingName> names;
    for (auto const& [id, pending] : files_[file].pending) names.push_back({file, id});
    return names;
}

std::vector<PendingName> Generator::all_pending() const {
    std::vector<PendingName> names;
    for (std::size_t file = 0; file < files_.size(); ++file)
        for (auto const& name : pending_of(file)) names.push_back(name);
    return names;
}

/// Now and then, and of whichever files; in any order.
std::vector<PendingName> Generator::some_pending() {
    auto names = all_pending();
    if (names.empty() || !random_.chance(25)) return {};
    for (std::size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[random_.below(i)]);
    names.resize(1 + random_.below(names.size()));
    return names;
}

/// Requests of the first handle, which is synced, in Unisono's own calls that write: what is read
/// into a buffer could not be waited for.
bool Generator::may_free(std::vector<PendingName> const& names) const {
    return std::ranges::all_of(names, [&](PendingName const& name) {
        auto const& file = files_[name.file];
        auto const& pending = file.pending.at(name.id);
        return !pending.freed && !pending.split && !pending.by_other &&
               std::ranges::all_of(pending.accesses, [&](Access const& access) {
                   return !access.takes_part || access.writes;
               });
    });
}

/// What was freed is over with a sync, which is for a whole file.
void Generator::add_rest_of_freed(std::vector<PendingName>& names) const {
    for (std::size_t file = 0; file < files_.size(); ++file) {
        auto const is_freed = [&](PendingName const& name) {
            return name.file == file && files_[file].pending.at(name.id).freed;
        };
        if (std::ranges::none_of(names, is_freed)) continue;
        std::erase_if(names, [&](PendingName const& name) { return name.file == file; });
        for (auto const& name : pending_of(file)) names.push_back(name);
    }
}

Step Generator::complete_step(std::vector<PendingName> names) {
    add_rest_of_freed(names);
    static std::vector<Completion> const ways = {
        Completion::each,    Completion::waitall, Completion::waitany,  Completion::waitsome,
        Completion::testall, Completion::testany, Completion::testsome, Completion::status};
    Step step;
    step.kind = StepKind::complete;
    step.how = random_.pick(ways);
    step.file = names.empty() ? 0 : names[0].file;
    if (random_.chance(15) && !options_.skips("freed") && may_free(names))
        step.how = Completion::free_all;
    step.completes = std::move(names);
    return step;
}

/// A collective call has the same flavour on all ranks.
/// Nonblocking collective writes of ROMIO fill holes with rubbish.
void Generator::choose_flavour(Step& step, FileState& file) {
    auto const dice = random_.below(100);
    auto const ours = beside(file);
    auto flavour = dice < (ours ? 45U : 80U)   ? Flavour::blocking
                   : dice < (ours ? 65U : 87U) ? Flavour::split
                                               : Flavour::nonblocking;
    bool const collective = any_collective(step);
    if ((options_.faults && !ours) || (flavour == Flavour::split && !collective))
        flavour = Flavour::blocking;
    if (flavour == Flavour::split && options_.skips("split")) flavour = Flavour::blocking;
    if (flavour == Flavour::nonblocking && options_.skips("nonblocking")) {
        flavour = Flavour::blocking;
    }
    for (std::size_t m = 0; m < step.accesses.size(); ++m) {
        auto const& access = step.accesses[m];
        bool const plain = access.memory->plain && file.state[m].view.plain();
        if (access.takes_part && !plain && !ours) flavour = Flavour::blocking;
        // The MPI library would do it: MPICH 4.0.2 does not convert in nonblocking calls.
        if (flavour == Flavour::nonblocking && collective && !ours &&
            file.state[m].view.external32())
            flavour = Flavour::blocking;
        // OMPIO's nonblocking reads never end when they begin beyond the end of the file.
        if (access.takes_part && !access.writes && !ends_inside(access, file.state[m].view, file)) {
            flavour = Flavour::blocking;
        }
    }
    bool const to_library = flavour == Flavour::nonblocking && collective && !ours;
    if (to_library && options_.skips("library_nonblocking")) flavour = Flavour::blocking;
    if (to_library && file.may_write()) file.model.let_holes_be_anything();
    for (auto& access : step.accesses) {
        access.flavour = flavour;
#if MPI_VERSION >= 4
        access.large_count = flavour != Flavour::split && random_.chance(15) && !file.native &&
                             !options_.skips("large_count");
#endif
    }
}

void Generator::find_races(Step& step, FileState& file) {
    // Natively a collective write may return before an aggregator has written this rank's bytes.
    // A read that is to fail has to find bytes there.
    step.barrier_before = file.native || (file.fault && !file.fault->writes);
    for (std::size_t m = 0; m < step.accesses.size() && !step.barrier_before; ++m) {
        auto const& access = step.accesses[m];
        if (!access.takes_part || !access.writes) continue;
        auto const& view = file.state[m].view;
        view.for_each_extent(access.offset * view.etype_bytes(), access.bytes(),
                             [&](auto offset, auto, auto bytes) {
                                 if (file.model.races(static_cast<int>(m), offset, bytes)) {
                                     step.barrier_before = true;
                                 }
                             });
    }
    // On one node all see what is in memory, too, through whichever handle. When what is pending
    // comes, nobody knows.
    auto const shows = file.other && file.on_one_node && file.pending.empty();
    if (shows && !step.barrier_before) step.barrier_before = random_.chance(50);
    // What was done in atomic mode all see once they know that it was.
    auto const atomic = file.all_atomic && !file.other && file.pending.empty();
    if (atomic && late_random_.chance(70)) {
        step.barrier_before = true;
        file.settle();
    }
    if (step.barrier_before) file.model.barrier();
    if (step.barrier_before && shows) file.model.show();
}

Failure Generator::failure_of(Access const& access, View const& view, FileState const& file) {
    auto const& fault = *file.fault;
    if (!access.takes_part || access.writes != fault.writes || access.bytes() == 0) {
        return Failure::never;
    }
    auto low = ~0ull;
    auto high = 0ull;
    auto touches = false;
    auto ended = false;  // a read ends where the file does, also if the view goes back then
    view.for_each_extent(
        access.offset * view.etype_bytes(), access.bytes(), [&](auto offset, auto, auto bytes) {
            low = std::min<unsigned long long>(low, offset);
            high = std::max<unsigned long long>(high, offset + bytes);
            touches =
                touches || (!ended && offset <= fault.offset && fault.offset < offset + bytes);
            ended = ended || (!fault.writes && offset + bytes > file.model.size_least(0));
        });
    constexpr std::uint64_t hole = 4096;
    auto const sieved = file.sieves && access.collective && fault.offset + hole >= low &&
                        fault.offset < high + hole;
    if (fault.writes) return touches ? Failure::surely : sieved ? Failure::perhaps : Failure::never;
    // Sieving may read what lies between, a whole aligned block of it.
    constexpr std::uint64_t reach = 1 << 22;
    if (touches && fault.offset < file.model.size_least(0)) return Failure::surely;
    return fault.offset + reach >= low && fault.offset < high + reach ? Failure::perhaps
                                                                      : Failure::never;
}

void Generator::expect_failures(Step& step, FileState const& file) {
    if (!file.fault) return;
    auto worst = Failure::never;
    for (std::size_t m = 0; m < step.accesses.size(); ++m) {
        step.failures[m] = failure_of(step.accesses[m], file.state[m].view, file);
        worst = std::max(worst, step.failures[m]);
    }
    if (any_collective(step)) std::fill(step.failures.begin(), step.failures.end(), worst);
    if (!file.writes_behind) return;
    // Now or later, of what is in memory never.
    for (auto& failure : step.failures) failure = std::min(failure, Failure::perhaps);
    step.goes_on = file.fault->writes && random_.chance(70);
}

bool Generator::fill_seek(Step& step, FileState& file) {
    for (auto const& member : file.state) {
        Seek seek;
        seek.takes_part = random_.chance(70);
        auto const target = random_position(file, member.view);
        auto const dice = random_.below(3);
        seek.position = target;
        seek.whence = MPI_SEEK_SET;
        seek.offset = static_cast<std::int64_t>(target);
        if (dice == 1 && member.position_known) {
            seek.whence = MPI_SEEK_CUR;
            seek.offset = static_cast<std::int64_t>(target - member.position);
        }
        // The MPI libraries only agree with the standard on the end of the file in bytes.
        bool const vague_end = file.native && (member.view.displacement_bytes > 0 ||
                                               member.view.file_type != basic_byte());
        if (dice == 2 && !member.view.empty() && !vague_end && file.model.size_is_certain()) {
            auto const end = member.view.first_etype_after(file.model.size_most());
            auto const back = random_.below(std::min<std::uint64_t>(end, 50) + 1);
            seek.whence = MPI_SEEK_END;
            seek.offset = -static_cast<std::int64_t>(back);
            seek.position = end - back;
        }
        step.seeks.push_back(seek);
    }
    return true;
}

bool Generator::fill_byte_offset(Step& step, FileState& file) {
    for (auto const& member : file.state) {
        Seek query;
        query.takes_part = !member.view.empty() && random_.chance(70);
        if (query.takes_part) {
            auto const position = random_position(file, member.view);
            query.offset = static_cast<std::int64_t>(position);
            query.position = member.view.offset_of(position * member.view.etype_bytes());
        }
        step.seeks.push_back(query);
    }
    return true;
}

char const* Generator::choose_representation(FileState const& file) {
    static std::vector<char const*> const all = {"native", "native", "internal", "external32"};
    return file.native || options_.skips("representations") ? all[0] : random_.pick(all);
}

bool Generator::fill_dealt_views(Step& step, FileState const& file) {
    auto const types = random_dealt_types(random_, file.members.size(), random_.between(150, 500),
                                          random_.chance(40));
    auto const displacement = file.base_bytes + random_.small_below(file.scale_bytes);
    for (auto const& type : types)
        step.views.push_back(
            {.displacement_bytes = displacement, .file_type = type, .dealt = true});
    return true;
}

/// All write or read the same whole tiles.
void Generator::make_whole_tiles(Step& step, FileState const& file) {
    auto const first = random_.below(3);
    auto const tiles = 1 + random_.below(5);
    for (std::size_t m = 0; m < file.state.size(); ++m) {
        auto& access = step.accesses[m];
        auto const tile_bytes = file.state[m].view.file_type->map.size_bytes();
        access.at_offset = true;
        access.offset = first * tile_bytes;
        access.memory = basic_byte();
        access.count = tiles * tile_bytes;
        access.from_bottom = false;
    }
}

bool Generator::fill_views(Step& step, FileState& file) {
    if (!file.native && !options_.skips("dealt") && random_.chance(12))
        return fill_dealt_views(step, file);
    auto const* const representation = choose_representation(file);
    if (changes_hints_ && !file.native && !file.other && late_random_.chance(25))
        step.hints = new_hints(file);
    auto type_limits = limits(file);
    type_limits.same_in_external32 = View{.representation = representation}.external32();
    auto const etype = file.native ? basic(random_.below(8)) : random_etype(random_, type_limits);
    bool const back_to_bytes = random_.chance(10);
    bool const same_for_all = random_.chance(20) || (shares_ && late_random_.chance(80));
    for (std::size_t m = 0; m < file.members.size(); ++m) {
        View view;
        if (back_to_bytes) {
            view.displacement_bytes = file.base_bytes;
        } else if (same_for_all && m > 0) {
            view = step.views[0];
        } else {
            view.etype = etype;
            view.file_type =
                random_.chance(15) ? etype : random_file_type(random_, etype, type_limits);
            view.displacement_bytes = file.base_bytes + random_.small_below(file.scale_bytes);
        }
        view.representation = representation;
        step.views.push_back(view);
    }
    return true;
}

bool Generator::fill_sizes(Step& step, FileState& file) {
    if (!file.may_write()) return false;
    auto const size = file.model.size_most();
    auto const shrinks = random_.chance(50) && file.pending.empty();
    step.size_bytes = shrinks ? random_.below(size + 1) : size + random_.below(file.scale_bytes);
    // Nobody has accessed what is behind the end: nothing conflicts.
    step.unsettled =
        !shrinks && file.pending.empty() && !file.native && !file.other && late_random_.chance(50);
    // Preallocating a sparse file with an end beyond 2 GiB would really take that space.
    constexpr std::uint64_t allocation_bytes_max = 1 << 22;
    if (step.kind == StepKind::preallocate && step.size_bytes >= allocation_bytes_max) return false;
    if (step.unsettled) {
        step.barrier_before = true;  // reads that end there are over
        file.model.barrier();
    }
    return true;
}

bool Generator::fill_reopen(Step& step, FileState& file) {
    if (file.unlink_after_open || (file.open_mode & MPI_MODE_DELETE_ON_CLOSE) != 0) return false;
    step.delete_before = random_.chance(15);
    step.open_mode = random_mode(!step.delete_before) & ~MPI_MODE_DELETE_ON_CLOSE;
    return true;
}

bool Generator::fill_forbidden(Step& step, FileState& file) {
    if (file.may_read() && file.may_write()) return false;
    bool const no_data = std::any_of(file.state.begin(), file.state.end(),
                                     [](Member const& member) { return member.view.empty(); });
    if (no_data) return false;  // a rank that asks for nothing may be told that all is well
    auto const collective = file.native || late_random_.chance(60);
    auto const at_offset = file.native || late_random_.chance(50);
    auto const nonblocking = !file.native && beside(file) && late_random_.chance(30);
    for (auto const& member : file.state) {
        Access access;
        access.takes_part = true;
        access.collective = collective;
        access.writes = !file.may_write();
        access.at_offset = at_offset;
        if (nonblocking) access.flavour = Flavour::nonblocking;
        access.pattern = random_.next();
        access.count = member.view.etype_bytes();
        step.accesses.push_back(access);
    }
    return true;
}

}  // namespace fuzz
