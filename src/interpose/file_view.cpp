// A file's view, its file pointers, and who keeps the shared one (File).

#include <sys/random.h>

#include "backends/range_locks.hpp"
#include "devices/device_memory.hpp"
#include "interpose/file.hpp"
#include "interpose/nonblocking.hpp"

namespace unisono::interpose {
namespace {

void free_type(MPI_Datatype& type) {
    if (type != MPI_DATATYPE_NULL && !predefined(type)) PMPI_Type_free(&type);
    type = MPI_DATATYPE_NULL;
}

}  // namespace

FileView::~FileView() {
    free_type(etype);
    free_type(filetype);
}

std::shared_ptr<FileView const> File::view() const {
    std::lock_guard const lock{mutex_};
    return view_;
}

std::optional<File::PlainView> File::plain_view() const {
    if (reported_ != nullptr || open_again_ || atomic_ || storage_.backend == nullptr) return {};
    auto const lock = guard();
    auto const& [shape, origin, extent] = view_->tiling;
    if (!view_->usable || shape->empty() || !view_->tiling.dense() || view_->external32() ||
        !view_->known_representation())
        return {};
    return PlainView{.begin = origin + shape->low,
                     .etype_bytes = static_cast<std::int64_t>(view_->etype_bytes),
                     .cache = cache_.get()};
}

void File::use(std::shared_ptr<FileView> view) {
    set_shared_pointer(0);
    std::lock_guard const lock{mutex_};
    view_ = std::move(view);
    pointer_ = 0;
    ahead_.note_view();
}

void File::mark_mirrored() {
    auto const alone = hold_alone();
    std::lock_guard const lock{mutex_};
    view_->mirrored = true;
    view_->kept_back = false;
    free_type(view_->etype);
    free_type(view_->filetype);
}

void File::mark_kept_back(bool kept_back) {
    auto const alone = hold_alone();
    std::lock_guard const lock{mutex_};
    view_->kept_back = kept_back;
}

MPI_Offset File::pointer() const {
    auto const lock = guard();
    return pointer_;
}

void File::set_pointer(MPI_Offset etypes) {
    auto const lock = guard();
    pointer_ = etypes;
}

MPI_Offset File::advance_pointer(MPI_Offset etypes) {
    auto const lock = guard();
    return std::exchange(pointer_, pointer_ + etypes);
}

// It stays where it is.
template <class... Place>
void File::replace_shared_pointer(Place&&... place) {
    auto const reached = shared_pointer_->reached();
    shared_pointer_.emplace(std::forward<Place>(place)...);
    shared_pointer_->begin_after_all(reached);
}

// The pointer needs a place that all ranks see, whose counts nobody uses yet.
void File::propose_to_keep_views_back(Notice& notice) {
    auto const one_node = team().topology().nodes() == 1;
    auto* const counters = one_node ? team().take_shared_pointer() : nullptr;
    if (counters != nullptr) {
        if (context_->rank() == 0)
            for (auto& count : counters->of) count = 0;
        replace_shared_pointer(*counters);
    }
    // Not by std::random_device, which needs glibc 2.36.
    constexpr auto bytes = ssize_t{sizeof notice.secret};
    auto const has_secret =
        counters == nullptr && getrandom(&notice.secret, sizeof notice.secret, 0) == bytes;
    // Where whole pages are written back, ranks of several nodes must not write by themselves: all
    // that nonblocking collective calls can do while the MPI library does not know the view.
    auto const apart = one_node || !storage_.page_cached || NonblockingCalls::possible(*this);
    auto const can_count =
        counters != nullptr ||
        (has_secret && kernel_descriptor_ >= 0 &&
         RangeLocks{kernel_descriptor_}.work(
             (access_mode_ & MPI_MODE_WRONLY) != 0 ? Direction::write : Direction::read));
    notice.keep_views_back =
        !by_mpi_ && storage_.backend != nullptr && !any_driver() && apart && can_count;
}

void File::learn_to_keep_views_back(Notice const& agreed) {
    keeps_views_back_ = agreed.keep_views_back;
    if (!agreed.keep_views_back) return give_back_shared_pointer();
    if (!shared_pointer_->counted())
        replace_shared_pointer(
            std::make_unique<CounterFile>(CounterFile::beside(whole_path(), agreed.secret)));
}

bool File::may_keep_back(std::string const& representation) const {
    auto const native = representation == "native" || representation == "internal";
    auto const by_locks = !atomic_ || storage_.range_locks != nullptr;
    auto const unlikely = !native_nonblocking() && options_->overlap != Switch::disable;
    return native && by_locks && (unlikely || NonblockingCalls::possible(*this));
}

void File::keep_back_again() {
    Notice notice;
    propose_to_keep_views_back(notice);
    meet(notice);
    learn_to_keep_views_back(notice);
    mark_kept_back(notice.keep_views_back && may_keep_back(view()->representation));
}

MPI_Offset File::agreed_shared_pointer() { return largest(shared_pointer_->reached()); }

MPI_Offset File::largest(MPI_Offset mine) {
    CallArguments all{.begin = mine};
    meet(all);
    return all.begin;
}

void File::set_shared_pointer(MPI_Offset etypes) {
    if (!shared_pointer_->begin(etypes)) return;
    largest(0);
    if (context_->rank() == 0) shared_pointer_->forget_old();
}

void File::keep_shared_pointer() {
    auto const reached = shared_pointer_->reached();
    if (!shared_pointer_->stay()) return;
    shared_pointer_->begin_after_all(largest(reached));
    if (context_->rank() == 0) shared_pointer_->forget_old();
}

void File::give_back_shared_pointer() {
    shared_pointer_->end();
    if (auto* const counters = shared_pointer_->counters()) team().give_back(counters);
    replace_shared_pointer();
}

}  // namespace unisono::interpose
