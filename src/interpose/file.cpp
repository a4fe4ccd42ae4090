#include "interpose/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <shared_mutex>
#include <unordered_map>

#include "backends/fault.hpp"
#include "backends/gated.hpp"
#include "backends/mapped.hpp"
#include "backends/posix.hpp"
#include "backends/threaded.hpp"
#include "backends/uring.hpp"
#include "interpose/mpiio_backend.hpp"
#include "interpose/program.hpp"
#include "layouts/apply_striping.hpp"
#include "layouts/file_system.hpp"
#include "layouts/find_layout.hpp"
#include "layouts/striping_note.hpp"

namespace unisono::interpose {
namespace {

// "ufs:/scratch/x" names a driver of ROMIO; the path is behind it.
std::string without_driver(std::string const& path) {
    auto const colon = path.find(':');
    auto const slash = path.find('/');
    auto const has_driver = colon != std::string::npos && colon > 1 &&
                            (slash == std::string::npos || colon < slash) &&
                            access(path.c_str(), F_OK) != 0;
    return has_driver ? path.substr(colon + 1) : path;
}

// Mapping needs a descriptor that can read, also for a program that only writes.
int open_descriptor(std::string const& path, int access_mode) {
    if ((access_mode & MPI_MODE_RDONLY) != 0) return open(path.c_str(), O_RDONLY | O_CLOEXEC);
    auto const both = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (both >= 0 || (access_mode & MPI_MODE_WRONLY) == 0) return both;
    return open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

void free_type(MPI_Datatype& type) {
    if (type != MPI_DATATYPE_NULL) PMPI_Type_free(&type);
}

struct Table {
    std::shared_mutex mutex;
    std::unordered_map<std::uintptr_t, std::shared_ptr<File>> files;
};

Table& table() {
    static auto* const table = new Table;  // files may be used until the very end of the process
    return *table;
}

GateReport gate_report(coordinate::FileGate::Counts const& counts) {
    return {.passages = counts.passages,
            .waits = counts.waits,
            .waited = {counts.waited_s, counts.waited_s},
            .locality = std::string(coordinate::name_of(counts.locality))};
}

std::uintptr_t key(MPI_File handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace

FileView::~FileView() {
    free_type(etype);
    free_type(filetype);
}

File::File(MPI_File handle, std::shared_ptr<Context> context, std::string path, int access_mode,
           Options options)
    : handle_{handle},
      context_{std::move(context)},
      path_{std::move(path)},
      access_mode_{access_mode},
      options_{std::move(options)} {
    report_.file = path_;
    open_storage();
    make_backend();
}

File::~File() {
    cache_.reset();
    storage_.backend.reset();
    if (storage_.descriptor >= 0) close(storage_.descriptor);
}

void File::open_storage() {
    storage_.descriptor = open_descriptor(without_driver(path_), access_mode_);
    if (storage_.descriptor < 0) return;
    auto const facts = file_system_facts(storage_.descriptor);
    storage_.local = facts.local;
    storage_.page_cached = facts.page_cached;
    keeps_blocks_ = facts.keeps_blocks;
    storage_.gate = std::make_shared<coordinate::FileGate>(
        coordinate::FileGate::Setup{.descriptor = storage_.descriptor,
                                    .local = facts.local,
                                    .progress = [context = context_.get()] { context->progress(); },
                                    .program = own_program});
}

void File::make_backend() {
    auto& backend = storage_.backend;
    auto const fd = storage_.descriptor;
    auto const& wish = options_.backend;
    auto const flags = fd < 0 ? O_WRONLY : fcntl(fd, F_GETFL) & O_ACCMODE;
    auto const maps =
        storage_.local && options_.faults.empty() && (wish == "auto" || wish == "mapped");
    storage_.mappable_write = maps && flags == O_RDWR && keeps_blocks_;

    backend.reset();
    if (wish == "mpiio" || fd < 0) backend = make_mpiio_backend(path_, access_mode_);
    auto const by_mpi = backend != nullptr;
    if (!by_mpi && fd >= 0) backend = make_posix_backend(fd);
    if (backend == nullptr) return;
    if (!options_.faults.empty() && parse_faults(options_.faults).error.empty())
        backend = make_fault_backend(std::move(backend), options_.faults);
    if (maps) backend = make_mapped_backend(fd, std::move(backend), storage_.settled);
    auto const rings = wish == "uring" || (wish == "auto" && !storage_.local);
    if (!by_mpi && (rings || wish == "threads"))
        backend = make_threaded_backend(std::move(backend));
    if (!by_mpi && rings && options_.faults.empty())
        backend = make_uring_backend(fd, std::move(backend));
    if (storage_.gate != nullptr) backend = make_gated_backend(std::move(backend), storage_.gate);
}

std::shared_ptr<CachedFile> File::cache() const {
    std::lock_guard const lock{mutex_};
    return cache_;
}

std::shared_ptr<CachedFile> File::make_cache() {
    if (auto known = cache()) return known;
    auto made = std::make_shared<CachedFile>(team(), team().rendezvous(), storage_);
    std::lock_guard const lock{mutex_};
    return cache_ = std::move(made);
}

void File::drain() {
    auto const cache = this->cache();
    if (cache == nullptr || !cache->in_use()) return;
    CallRecord drained;
    cache->drain(drained);
    if (drained.file_bytes == 0) return;
    record([&](FileReport& report) {
        auto& writes = report[Direction::write];
        writes.moved_bytes += drained.file_bytes;
        writes.pieces += drained.file_extents;
        writes[Phase::file].add(drained.file_s);
        writes[Phase::waiting].add(drained.waiting_s);
    });
}

Verdict File::settle() {
    drain();
    if (auto const cache = this->cache()) deferred_.merge(cache->take_error());
    return std::exchange(deferred_, {});
}

MpiTeam& File::team() const {
    return context_->team({.messages_only = options_.exchange == "messages",
                           .pretended_nodes = options_.pretended_nodes});
}

Layout const& File::layout() {
    if (layout_) return *layout_;
    Layout found;
    if (context_->rank() == 0) found = find_layout(storage_.descriptor, options_);
    if (context_->ranks() > 1)
        found = layout_from_bytes(context_->from_rank_0(to_bytes(found))).value_or(Layout{});
    layout_ = std::move(found);
    if (storage_.gate != nullptr) {
        storage_.gate->use(*layout_);
        storage_.gate->join_late();
    }
    // On a node's own file system there is nothing to say, and nothing depends on what nodes are
    // called or have.
    auto const local = layout_->source == "local";
    if (!local) report_.layout = layout_->describe();
    if (!local || !options_.cb_config_list.empty()) team().learn_nodes();
    return *layout_;
}

// Hints that the user has given change speeds; those that choose the strategy do not.
std::string File::describe_place() const {
    auto text = describe_file_system(storage_.descriptor);
    if (layout_->known()) text += "; " + layout_->describe();
    auto const plain = effective_hints({});
    for (auto const& hint : effective_hints(options_))
        if (hint.first != "unisono_select" && std::ranges::find(plain, hint) == plain.end())
            text += "; " + hint.first + '=' + hint.second;
    return text;
}

std::uint64_t File::place() {
    if (place_) return *place_;
    layout();
    std::string text;
    if (context_->rank() == 0) text = describe_place();
    if (context_->ranks() > 1) {
        auto const own = std::as_bytes(std::span{text});
        auto const bytes = context_->from_rank_0({own.begin(), own.end()});
        text.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    }
    place_ = context_->measured().place(text);
    return *place_;
}

void File::stripe() {
    struct stat status {};
    if (storage_.descriptor < 0 || fstat(storage_.descriptor, &status) != 0) return;
    if (status.st_size != 0) return;
    auto const why = apply_striping(storage_.descriptor, options_);
    if (!why.empty()) record([&](FileReport& report) { report.notes.push_back(why); });
}

void File::use(Options options) {
    deferred_ = settle();
    {
        std::lock_guard const lock{mutex_};
        cache_.reset();  // it may be another team's from now on
    }
    options_ = std::move(options);
    layout_.reset();
    gathered_.forget();
    place_.reset();
    make_backend();
}

std::shared_ptr<FileView const> File::view() const {
    std::lock_guard const lock{mutex_};
    return view_;
}

void File::use(std::shared_ptr<FileView> view) {
    std::lock_guard const lock{mutex_};
    view_ = std::move(view);
    pointer_ = 0;
}

void File::mark_mirrored() {
    std::lock_guard const lock{mutex_};
    view_->mirrored = true;
    free_type(view_->etype);
    free_type(view_->filetype);
}

MPI_Offset File::pointer() const {
    std::lock_guard const lock{mutex_};
    return pointer_;
}

void File::set_pointer(MPI_Offset etypes) {
    std::lock_guard const lock{mutex_};
    pointer_ = etypes;
}

MPI_Offset File::advance_pointer(MPI_Offset etypes) {
    std::lock_guard const lock{mutex_};
    return std::exchange(pointer_, pointer_ + etypes);
}

void File::add_selections() {
    for (auto const& signature_class : examined_) {
        auto const explained = context_->measured().explain(signature_class);
        if (explained.calls_done == 0) continue;
        SelectionReport selection{.calls = describe_class(signature_class),
                                  .untried = explained.untried,
                                  .winner = explained.winner,
                                  .why = explained.why,
                                  .calls_done = explained.calls_done,
                                  .seconds = explained.seconds,
                                  .examination_seconds = explained.examination_seconds};
        for (auto const& tried : explained.tried)
            selection.tried.push_back(
                {tried.candidate, tried.calls, tried.remembered, tried.bytes_per_s});
        for (auto const& reopened : explained.reopened)
            selection.reopened.push_back({reopened.call, reopened.why});
        report_[signature_class.direction].selections.push_back(std::move(selection));
    }
}

void File::finish_report() {
    if (options_.report == "none") return;
    if (context_->rank() == 0) add_selections();
    if (storage_.gate != nullptr) report_.gate = gate_report(storage_.gate->counts());
    if (storage_.backend != nullptr) report_.backend = storage_.backend->name();
    auto const mine = to_bytes(report_);
    std::vector<int> sizes(static_cast<std::size_t>(context_->ranks()));
    std::vector<int> starts(sizes.size());
    int const size = static_cast<int>(mine.size());
    PMPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, context_->comm());
    int total = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        starts[i] = total;
        total += sizes[i];
    }
    std::vector<std::byte> all(context_->rank() == 0 ? static_cast<std::size_t>(total) : 0);
    PMPI_Gatherv(mine.data(), size, MPI_BYTE, all.data(), sizes.data(), starts.data(), MPI_BYTE, 0,
                 context_->comm());
    if (context_->rank() != 0) return;
    auto merged = report_;
    for (std::size_t i = 1; i < sizes.size(); ++i) {
        std::span const part{all.data() + starts[i], static_cast<std::size_t>(sizes[i])};
        if (auto const report = report_from_bytes(part)) merged.merge(*report);
    }
    struct stat status {};
    if (layout_ && fstat(storage_.descriptor, &status) == 0)
        if (auto note =
                striping_note(*layout_, static_cast<std::uint64_t>(status.st_size), merged.ranks);
            !note.empty())
            merged.notes.push_back(std::move(note));
    append_line(options_.report_file,
                options_.report == "json" ? to_json(merged) : summary_line(merged));
}

void remember(std::shared_ptr<File> file) {
    std::unique_lock const lock{table().mutex};
    table().files[key(file->handle())] = std::move(file);
}

std::shared_ptr<File> find(MPI_File handle) {
    std::shared_lock const lock{table().mutex};
    auto const entry = table().files.find(key(handle));
    return entry == table().files.end() ? nullptr : entry->second;
}

std::shared_ptr<File> forget(MPI_File handle) {
    std::unique_lock const lock{table().mutex};
    auto const entry = table().files.find(key(handle));
    if (entry == table().files.end()) return nullptr;
    auto file = std::move(entry->second);
    table().files.erase(entry);
    return file;
}

}  // namespace unisono::interpose
