#include "interpose/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backends/choice.hpp"
#include "backends/descriptor.hpp"
#include "backends/posix.hpp"
#include "backends/range_locks.hpp"
#include "interpose/hints.hpp"
#include "interpose/machines.hpp"
#include "interpose/mpiio_backend.hpp"
#include "interpose/native.hpp"
#include "interpose/nonblocking.hpp"
#include "interpose/program.hpp"
#include "layouts/apply_striping.hpp"
#include "layouts/file_system.hpp"
#include "layouts/find_layout.hpp"
#include "orchestra/gate/file_gate.hpp"
#include "select/tune_file.hpp"
#include "strategies/all.hpp"
#include "support/descriptor.hpp"
#include "support/helper_threads.hpp"
#include "support/scarce_descriptors.hpp"

namespace unisono::interpose {
namespace {

bool opened_by_romio(MPI_File handle) {
    MPI_Info info = MPI_INFO_NULL;
    if (UNISONO_NATIVE(File_get_info)(handle, &info) != MPI_SUCCESS) return false;
    auto const hints = pairs_of(info);
    PMPI_Info_free(&info);
    return std::ranges::any_of(hints,
                               [](auto const& hint) { return hint.first.starts_with("romio_"); });
}

// Open MPI tells no hints of its copy of ROMIO. As a path the name is in a folder "ufs:." that is
// not there.
bool opens_by_driver(std::string const& driver, std::string const& path, int access_mode,
                     bool threaded) {
    auto* opened = open_alone(driver + "./" + path, access_mode, threaded);
    return opened != MPI_FILE_NULL && UNISONO_NATIVE(File_close)(&opened) == MPI_SUCCESS;
}

// "ufs:/scratch/x" names a driver of ROMIO; the path is behind it. For others it is a path. The
// driver with its colon, or nothing.
std::string driver_in(std::string const& path, MPI_File handle, int access_mode, bool threaded) {
    auto const colon = path.find(':');
    auto const slash = path.find('/');
    auto const may_have_driver =
        colon != std::string::npos && colon > 1 && (slash == std::string::npos || colon < slash);
    if (!may_have_driver) return {};
    auto const driver = path.substr(0, colon + 1);
    auto const behind = path.substr(colon + 1);
    auto const has_driver = access(path.c_str(), F_OK) != 0 || opened_by_romio(handle) ||
                            (access(behind.c_str(), F_OK) == 0 &&
                             opens_by_driver(driver, behind, access_mode, threaded));
    return has_driver ? driver : "";
}

struct OpenedFor {
    int descriptor;  // or -1
    int access;      // O_RDONLY, O_RDWR, O_WRONLY
};

// Mapping needs a descriptor that can read, also for a program that only writes.
OpenedFor open_descriptor(char const* path, int access_mode) {
    auto const open_for = [&](int access) {
        return OpenedFor{open(path, access | O_CLOEXEC), access};
    };
    if ((access_mode & MPI_MODE_RDONLY) != 0) return open_for(O_RDONLY);
    auto const both = open_for(O_RDWR);
    if (both.descriptor >= 0 || (access_mode & MPI_MODE_WRONLY) == 0) return both;
    return open_for(O_WRONLY);
}

// Every rank by itself, at once, and nothing else.
Options for_atomic_mode(Options options) {
    options.strategy = independent.name;
    options.strategy_why = "atomic mode";
    options.select = "rule";
    options.write_behind = options.read_ahead = Switch::disable;
    return options;
}

// Those that the user has given; not those that choose the strategy.
std::string hints_that_change_speeds(Options const& options) {
    std::string text;
    auto const plain = effective_hints({});
    for (auto const& hint : effective_hints(options))
        if (hint.first != "unisono_select" && !hint.first.starts_with("unisono_stall") &&
            std::ranges::find(plain, hint) == plain.end())
            text += "; " + hint.first + '=' + hint.second;
    return text;
}

Placement placement_by(Options const& options) {
    return {.messages_only = options.exchange == "messages",
            .pretended_nodes = options.pretended_nodes,
            .pretended_fragments = options.pretended_fragments};
}

std::atomic<std::uint64_t> files_so_far = 0;

}  // namespace

File::File(MPI_File handle, MPI_Comm comm, std::shared_ptr<Context> context, std::string path,
           int access_mode, std::shared_ptr<Options const> options)
    : handle_{handle},
      opened_on_{comm},
      context_{std::move(context)},
      path_{std::move(path)},
      access_mode_{access_mode},
      options_{std::move(options)},
      order_{++files_so_far},
      number_{context_->next_file()},
      durability_{*context_, storage_, read_only()} {
    io_counts_->kept = options_->report != "none";
    if (io_counts_->kept) begin_report();
    open_storage();
    be_seen();
    make_backend();
}

void File::begin_report() {
    reported_ = std::make_unique<Reported>();
    auto& report = reported_->report;
    report.file = path_;
    report.nodes = context_->nodes(placement_by(*options_));
    report.opened_by = static_cast<std::uint32_t>(context_->ranks());
    if (context_->rank() == 0 && !options_->report_traces.empty())
        reported_->trace = std::make_unique<Trace>(options_->report_traces);
    if (options_->report == "json" && options_->report_timeline) keep_timeline();
    if (options_->report == "json" && options_->report_calls) keep_calls();
}

File::~File() {
    end_nonblocking();
    close_storage();
}

NonblockingCalls& File::nonblocking() {
    std::lock_guard const lock{mutex_};
    if (nonblocking_ == nullptr)
        nonblocking_ = std::make_unique<NonblockingCalls>(*this, nonblocking_ended_);
    return *nonblocking_;
}

void File::finish_nonblocking() {
    auto const* const calls = [this] {
        auto const lock = guard();
        return nonblocking_.get();
    }();
    if (calls != nullptr) calls->finish();
}

// Other threads may begin some until the lock is had.
std::unique_lock<std::shared_mutex> File::end_nonblocking() {
    finish_nonblocking();
    auto alone = hold_alone();
    if (nonblocking_ != nullptr) nonblocking_->finish_independent();
    nonblocking_.reset();
    ++nonblocking_ended_;
    return alone;
}

std::shared_lock<std::shared_mutex> File::hold() const {
    std::shared_lock lock{held_, std::defer_lock};
    if (!context_->threaded()) return lock;
    std::lock_guard const door{door_};
    lock.lock();
    return lock;
}

std::unique_lock<std::shared_mutex> File::hold_alone() const {
    std::lock_guard const door{door_};
    return std::unique_lock{held_};
}

void File::open_storage() {
    driver_ = driver_in(path_, handle_, access_mode_, context_->threaded());
    auto const opened = open_descriptor(path_.c_str() + driver_.size(), access_mode_);
    storage_.descriptor = opened.descriptor;
    if (storage_.descriptor < 0) return;
    auto const status = status_by_kernel(storage_.descriptor);
    if (status) {
        storage_.descriptor = kernel_descriptor_ = out_of_the_way(storage_.descriptor);
        if (storage_.descriptor < 0) return note_scarce_descriptors();
    }
    facts_.open = true;
    facts_.kernel_knows = status.has_value();
    if (status) {
        identity_ = {status->st_dev, status->st_ino};
        ahead_ = context_->ahead_on(status->st_dev);
        storage_.servers_seen = context_->servers_on(status->st_dev);
        facts_.has_offsets = S_ISREG(status->st_mode) ||
                             lseek(kernel_descriptor_, 0, SEEK_CUR) >= 0 || errno != ESPIPE;
        facts_.readable = opened.access != O_WRONLY;
        facts_.writable = opened.access != O_RDONLY;
        facts_.file_system = file_system_facts(kernel_descriptor_, *status);
    }
    storage_.local = facts_.file_system.local;
    storage_.page_cached = facts_.file_system.page_cached;
    storage_.grows_alone = facts_.file_system.grows_alone;
    storage_.write_only = (access_mode_ & MPI_MODE_WRONLY) != 0;
    storage_.read_only = read_only();
    static auto const runtime = orchestra::chosen_runtime();
    gate_ = std::make_shared<orchestra::FileGate>(
        orchestra::FileGate::Setup{.descriptor = storage_.descriptor,
                                   .identity = identity_,
                                   .local = storage_.local,
                                   .progress =
                                       [context = context_.get()] {
                                           if (!HelperThreads::is_one()) context->progress();
                                       },
                                   .program = own_program,
                                   .runtime = runtime});
    storage_.gate = gate_;
}

std::string File::whole_path() const {
    if (!whole_path_.empty()) return whole_path_;
    auto const whole = path_of(kernel_descriptor_);
    return whole.empty() ? path_.substr(driver_.size()) : whole;
}

std::optional<std::string> File::name_for_mpi() const {
    if (!identity_) return path_;
    auto const path = whole_path();
    struct stat there {};
    if (stat(path.c_str(), &there) != 0 || identity_ != std::pair{there.st_dev, there.st_ino})
        return {};
    return driver_ + path;
}

std::uint64_t File::local_identity() const {
    static auto const kernel = hash64(boot_id());
    if (!identity_) return 0;
    std::array const parts{kernel, identity_->first, identity_->second};
    return hash64(parts);
}

void File::note_once(std::string_view note) {
    record([&](FileReport& report) {
        if (!std::ranges::count(report.notes, note)) report.notes.emplace_back(note);
    });
}

// To read copies that somebody has put there is no mistake.
void File::note_different_files() {
    if (read_only()) return;
    note_once(
        "its ranks have different files of this name: each node has a file system of its own "
        "there; write where all nodes see the same");
}

// The MPI library has no descriptor to spare either.
void File::note_scarce_descriptors() {
    facts_.mpi_library_opens = false;
    record([](FileReport& report) {
        report.notes.push_back(
            "the MPI library does this file alone: the program has come to the upper half of the "
            "descriptors that it may have; raise the hard limit (ulimit -Hn)");
    });
}

void File::be_seen() {
    if (context_->ranks() == 1) return;
    if (team().topology().nodes() > 1) whole_path_ = whole_path();
    io_counts_->under_way = &team().rendezvous().note().accesses;
    stall_watch_.emplace(team(), context_->comm(), number_, path_, *options_);
}

// Only trying tells whether the MPI library can open a file once more.
void File::make_backend() {
    storage_.backend.reset();
    auto choice = choose_backend(facts_, *options_);
    std::unique_ptr<Backend> by_mpi;
    auto const name = choice.by_mpi() ? name_for_mpi() : std::nullopt;
    if (name) by_mpi = make_mpiio_backend(*name, access_mode_, context_->threaded());
    if (choice.by_mpi() && by_mpi == nullptr) {
        auto facts = facts_;
        facts.mpi_library_opens = false;
        choice = choose_backend(facts, *options_);
    }
    by_mpi_ = by_mpi != nullptr;
    storage_.page_locks = by_mpi_ || kernel_descriptor_ < 0
                              ? nullptr
                              : std::make_shared<RangeLocks>(kernel_descriptor_);
    storage_.mappable_write = choice.mappable_write;
    storage_.backend =
        unisono::make_backend(choice, {.descriptor = storage_.descriptor,
                                       .mpiio = std::move(by_mpi),
                                       .faults = options_->faults,
                                       .mmap_safe_bytes = storage_.mmap_safe_bytes,
                                       .device = identity_ ? identity_->first : 0,
                                       .ranks = static_cast<std::uint32_t>(context_->ranks()),
                                       .gate = gate_,
                                       .counts = io_counts_});
    record([&](FileReport& report) { report.backend_why = choice.why; });
}

std::shared_ptr<CachedFile> File::cache() const {
    std::lock_guard const lock{mutex_};
    return cache_;
}

std::shared_ptr<CachedFile> File::make_cache() {
    if (auto known = cache()) return known;
    auto made = std::make_shared<CachedFile>(team(), team().rendezvous(), storage_, number_);
    if (gate_ != nullptr) gate_->join_late();
    std::lock_guard const lock{mutex_};
    return cache_ = std::move(made);
}

bool File::holds_writes() const {
    auto const cache = this->cache();
    return cache != nullptr && cache->holds_writes();
}

template <class Do>
void File::between_calls(Do&& what) {
    auto const cache = this->cache();
    if (cache == nullptr) return;
    auto const before = team().traffic();
    what(*cache);  // sends nothing within a data call, which has ended the window
    auto const traffic = team().traffic() - before;
    record([&](FileReport& report) {
        report.write.messages += traffic.messages;
        report.write.sent_bytes += traffic.message_bytes;
    });
}

void File::drain() {
    CallRecord of_no_data_call;  // it is part of another call's time
    between_calls([&](CachedFile& cache) { cache.drain(of_no_data_call); });
}

void File::note_new_views() { between_calls(std::mem_fn(&CachedFile::note_new_views)); }

void File::end_window() { between_calls(std::mem_fn(&CachedFile::end_window)); }

Verdict File::settle() {
    drain();
    Verdict settled;
    if (auto const cache = this->cache()) settled = cache->take_error();
    std::lock_guard const lock{mutex_};
    settled.merge(std::exchange(deferred_, {}));
    return settled;
}

Verdict File::settle_for_later() {
    auto const settled = settle();
    note_lost(settled);
    return settled;
}

void File::note_lost(Verdict const& verdict) {
    std::lock_guard const lock{mutex_};
    deferred_.merge(verdict);
}

Durability::Synced File::sync() {
    return durability_.sync(settle(), meeting_point(), kernel_descriptor_, by_mpi_);
}

Durability::Synced File::close() {
    end_nonblocking();
    auto ended = options_->sync_at_close ? sync() : Durability::Synced{.verdict = settle()};
    note_end();
    ended.verdict =
        first_of_all(meeting_point(), durability_.first_failure(ended.verdict, close_storage()));
    give_back_shared_pointer();  // nobody moves it any more
    if (identity_) context_->keep_ahead(identity_->first, ahead_);
    return ended;
}

Error File::close_storage() {
    {
        std::lock_guard const lock{mutex_};  // calls by other handles look for it
        cache_.reset();
    }
    Error error;
    auto const descriptor = std::exchange(storage_.descriptor, -1);
    kernel_descriptor_ = -1;
    // Linux lets go of the descriptor whatever it says.
    if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR)
        error = {errno, "close", Error::whole_file};
    // After it: an MPI library may keep what it hears to itself, as Open MPI 4.1 does.
    if (storage_.backend != nullptr)
        if (auto const other = storage_.backend->close(); !error) error = other;
    storage_.backend.reset();
    return error;
}

// Of a file of one rank, several threads may be the first one to need it.
MpiTeam& File::team_for(Options const& options) const {
    std::lock_guard const lock{team_mutex_};
    return context_->team(placement_by(options));
}

MpiTeam& File::team() const {
    auto* known = team_.load(std::memory_order_acquire);
    if (known == nullptr) team_ = known = &team_for(*options_);
    return *known;
}

Layout const& File::layout() {
    if (layout_) return *layout_;
    layout_ = layout_by([this](auto bytes) { return context_->from_rank_0(std::move(bytes)); });
    // Nothing depends on what nodes are called or have where the file system is a node's own.
    if (layout_->source != "local" || !options_->cb_config_list.empty()) team().learn_nodes();
    return *layout_;
}

// With a list of aggregators' nodes ranks have to be told what nodes are called.
std::uint64_t File::local_layout_unit() const {
    if (!storage_.local || !options_->cb_config_list.empty()) return 0;
    auto const found = find_layout(kernel_descriptor_, facts_.file_system, *options_);
    return found.source == "local" ? found.unit_at(0) : 0;
}

void File::use_local_layout(std::uint64_t unit) {
    layout_ = local_layout(unit);
    if (gate_ != nullptr) gate_->use(*layout_);
}

Layout File::layout_by(FromRank0 const& from_rank_0) {
    Layout found;
    if (context_->rank() == 0)
        found = find_layout(kernel_descriptor_, facts_.file_system, *options_);
    if (context_->ranks() > 1) {
        auto const bytes = from_rank_0(to_bytes(found));
        if (context_->rank() != 0) found = layout_from_bytes(bytes).value_or(Layout{});
    }
    if (gate_ != nullptr) {
        gate_->use(found);
        gate_->join_late();
    }
    if (found.source != "local")
        record([&](FileReport& report) {
            report.layout = found.describe();
            reported_->layout_of_accesses = found;
        });
    return found;
}

std::string File::describe_place() const {
    auto text = describe_file_system(kernel_descriptor_);
    if (layout_ && layout_->known()) text += "; " + layout_->describe();
    return text;
}

std::string File::describe_storage() const {
    auto text = describe_place() + hints_that_change_speeds(*options_);
    if (options_->pretended_nodes != 0) text += "; pretended nodes";
    return text;
}

std::uint64_t File::storage_key() {
    if (storage_key_) return *storage_key_;
    auto const& layout = this->layout();
    if (!OnlineTuner::wanted(*options_)) {  // nothing is remembered, and there measured only
        if (layout.source == "local") return 0;
        storage_key_ = hash64("unasked " + layout.describe() + hints_that_change_speeds(*options_));
        return *storage_key_;
    }
    std::string text;
    if (context_->rank() == 0) text = as_kept(describe_storage());
    if (context_->ranks() > 1) {
        auto const own = std::as_bytes(std::span{text});
        auto const bytes = context_->from_rank_0({own.begin(), own.end()});
        text.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    }
    storage_key_ = context_->tuner().storage_key(text);
    return *storage_key_;
}

void File::stripe() {
    if (options_->striping_unit == 0 && options_->striping_factor == 0) return;
    struct stat status {};
    if (kernel_descriptor_ < 0 || fstat(kernel_descriptor_, &status) != 0) return;
    if (status.st_size != 0) return;
    auto const why = apply_striping(kernel_descriptor_, *options_);
    if (!why.empty()) record([&](FileReport& report) { report.notes.push_back(why); });
}

void File::keep_hints(std::vector<KeyValue> const& latest) {
    std::lock_guard const lock{mutex_};
    for (auto const& hint : latest) set_hint(hints_, hint);
}

void File::use(std::shared_ptr<Options const> options) {
    settle_for_later();
    auto& next_team = team_for(*options);
    auto const alone = end_nonblocking();
    {
        std::lock_guard const lock{mutex_};
        cache_.reset();  // it may be another team's from now on
    }
    // Only the one that has written through the MPI library can sync that.
    if (by_mpi_ && durability_.wrote())
        note_lost(durability_.first_failure({}, storage_.backend->sync()));
    options_ = std::move(options);
    make_atomic_options();
    give_back_shared_pointer();
    keeps_views_back_.reset();
    team_ = &next_team;
    be_seen();
    layout_.reset();
    gathered_.forget();
    storage_key_.reset();
    make_backend();
}

bool File::can_lock() const {
    // Where whole pages are written back, ranks of several nodes must not write by themselves.
    auto const apart = !storage_.page_cached || team().topology().nodes() == 1;
    if (by_mpi_ || storage_.backend == nullptr || kernel_descriptor_ < 0 || !apart) return false;
    RangeLocks const locks{kernel_descriptor_};
    auto const mode = access_mode_;
    return ((mode & MPI_MODE_WRONLY) != 0 || locks.work(Direction::read)) &&
           ((mode & MPI_MODE_RDONLY) != 0 || locks.work(Direction::write));
}

void File::set_atomic(bool atomic, bool by_locks) {
    auto const alone = end_nonblocking();  // those to come have other options
    atomic_ = atomic;
    storage_.range_locks =
        atomic && by_locks ? std::make_shared<RangeLocks>(kernel_descriptor_) : nullptr;
    make_atomic_options();
}

void File::make_atomic_options() {
    atomic_options_ = storage_.range_locks == nullptr
                          ? nullptr
                          : std::make_unique<Options const>(for_atomic_mode(*options_));
}

}  // namespace unisono::interpose
