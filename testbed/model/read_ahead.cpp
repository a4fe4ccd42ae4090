#include "model/read_ahead.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace unisono::testbed {

namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

std::uint64_t grown(std::uint64_t pages, std::uint64_t limit) {
    return std::min(pages < limit / 16 ? pages * 4 : pages * 2, limit);
}

// The first window, for a request of so many pages; `small`: the part of the limit up to which a
// request counts as small.
std::uint64_t first_window(std::uint64_t request, std::uint64_t limit, std::uint64_t small) {
    auto const pages = std::bit_ceil(request);
    if (pages <= limit / small) return pages * 4;
    if (pages <= limit / 4) return pages * 2;
    return limit;
}

// Linux 2.6.12 to 2.6.22: page_cache_readahead(), make_ahead_window(), handle_ra_miss().
class Windows final : public ReadAhead {
public:
    void on_read(PageRange request, FilePages const& file, PagesInMemory& memory) override {
        if (file.limit == 0) return;
        if (file.at_start && previous_ == nowhere) previous_ = request.begin - 1;
        for (auto page = request.begin; page < request.end;) {
            auto const after = step(page, request.end - page, file, memory);
            for (; page < after; ++page) expect(page, memory);
        }
    }

private:
    struct Window {
        std::uint64_t begin = 0;
        std::uint64_t pages = 0;  // 0: there is none
        [[nodiscard]] std::uint64_t end() const { return begin + pages; }
    };

    // Where the kernel asks again.
    std::uint64_t step(std::uint64_t page, std::uint64_t left, FilePages const& file,
                       PagesInMemory& memory) {
        if (page == previous_ && --left > 0) ++page;
        bool const in_order = page == previous_ + 1;
        previous_ = page;
        auto const pages = std::min(left, file.limit);
        if (pages == 0 || all_in_memory_) return previous_ + 1;
        previous_ += pages - 1;
        if (!in_order) {
            turn_off();
            read({page, page + pages}, file, memory);
        } else if (current_.pages == 0) {
            begin_stream(page, pages, left, file, memory);
        } else {
            go_on(file, memory);
        }
        return previous_ + 1;
    }

    void begin_stream(std::uint64_t page, std::uint64_t pages, std::uint64_t left,
                      FilePages const& file, PagesInMemory& memory) {
        current_ = {page, first_window(pages, file.limit, 64)};
        if (!read({page, current_.end()}, file, memory)) return;
        if (left >= file.limit) make_ahead_window(file, memory, true);
    }

    void go_on(FilePages const& file, PagesInMemory& memory) {
        bool const ahead = ahead_.pages > 0 || make_ahead_window(file, memory, false);
        if (ahead && previous_ < ahead_.begin) return;
        if (ahead) {
            current_ = ahead_;
            make_ahead_window(file, memory, false);
        }
        if (ahead_.pages > 0) previous_ = std::min(previous_, ahead_.end() - 1);
    }

    bool make_ahead_window(FilePages const& file, PagesInMemory& memory, bool keep) {
        ahead_ = {current_.end(), next_pages(file.limit)};
        bool const worth_it = read({ahead_.begin, ahead_.end()}, file, memory);
        if (!worth_it && !keep) ahead_ = {};
        return worth_it;
    }

    std::uint64_t next_pages(std::uint64_t limit) {
        if (!std::exchange(missed_, false)) return grown(current_.pages, limit);
        return std::min(
            std::max(current_.pages - std::min<std::uint64_t>(current_.pages, 2), least_pages),
            limit);
    }

    // False once so much in a row was in memory already that reading ahead is given up.
    bool read(PageRange range, FilePages const& file, PagesInMemory& memory) {
        range.end = std::min(range.end, file.end);
        auto const begun = range.begin < range.end ? memory.read(range) : 0;
        if (begun > 0) {
            in_memory_ = 0;
            return true;
        }
        in_memory_ += range.end > range.begin ? range.end - range.begin : 0;
        if (in_memory_ < enough_in_memory) return true;
        turn_off();
        all_in_memory_ = true;
        return false;
    }

    void expect(std::uint64_t page, PagesInMemory& memory) {
        if (memory.has(page)) return;
        missed_ = true;
        all_in_memory_ = false;
        in_memory_ = 0;
        memory.read({page, page + 1});
    }

    void turn_off() {
        current_ = {};
        ahead_ = {};
        missed_ = false;
        all_in_memory_ = false;
    }

    static constexpr std::uint64_t least_pages = 4;         // VM_MIN_READAHEAD, 16 KiB
    static constexpr std::uint64_t enough_in_memory = 256;  // VM_MAX_CACHE_HIT

    std::uint64_t previous_ = nowhere;  // page that was asked for last
    Window current_;
    Window ahead_;
    std::uint64_t in_memory_ = 0;
    bool all_in_memory_ = false;
    bool missed_ = false;
};

// Linux 2.6.24 and later: ondemand_readahead(), try_context_readahead().
class OnDemand final : public ReadAhead {
public:
    explicit OnDemand(ReadAheadKind kind) : kind_(kind) {}

    void on_read(PageRange request, FilePages const& file, PagesInMemory& memory) override {
        if (file.limit == 0) return;
        if (file.at_start) file_begin_ = request.begin;
        for (auto page = request.begin; page < request.end; ++page) {
            auto const left = request.end - page;
            if (!memory.has(page)) {
                marked_.erase(page);  // that page has left the memory
                missing(page, left, file, memory);
                memory.read({page, page + 1});
            }
            if (marked_.erase(page) > 0) came_to_mark(page, left, file, memory);
        }
        previous_ = request.end - 1;
    }

private:
    [[nodiscard]] bool knows_context() const { return kind_ >= ReadAheadKind::context; }

    void missing(std::uint64_t page, std::uint64_t left, FilePages const& file,
                 PagesInMemory& memory) {
        bool const begins = page == file_begin_ && (knows_context() || previous_ == nowhere);
        if (!begins && is_expected(page)) return move_on(page, file, memory);
        bool const in_order = previous_ != nowhere && page - previous_ <= 1;
        if (begins || in_order || left > file.limit) return begin_stream(page, left, file, memory);
        if (knows_context() && follow_traces(page, left, file, memory)) return;
        memory.read({page, page + left});
    }

    void came_to_mark(std::uint64_t page, std::uint64_t left, FilePages const& file,
                      PagesInMemory& memory) {
        if (is_expected(page)) return move_on(page, file, memory);
        auto hole = page + 1;
        while (hole - page <= file.limit && memory.has(hole)) ++hole;
        if (hole - page > file.limit) return;
        begin_ = hole;
        pages_ = grown(hole - page + (knows_context() ? left : 0), file.limit);
        ahead_ = pages_;
        submit(page, file, memory);
    }

    [[nodiscard]] bool is_expected(std::uint64_t page) const {
        return pages_ > 0 && page != file_begin_ &&
               (page == begin_ + pages_ - ahead_ || page == begin_ + pages_);
    }

    void move_on(std::uint64_t page, FilePages const& file, PagesInMemory& memory) {
        begin_ += pages_;
        pages_ = ahead_ = grown(pages_, file.limit);
        submit(page, file, memory);
    }

    void begin_stream(std::uint64_t page, std::uint64_t left, FilePages const& file,
                      PagesInMemory& memory) {
        begin_ = page;
        pages_ = first_window(left, file.limit, 32);
        ahead_ = pages_ > left ? pages_ - left : pages_;
        submit(page, file, memory);
    }

    // A stream left the pages before this one in memory.
    bool follow_traces(std::uint64_t page, std::uint64_t left, FilePages const& file,
                       PagesInMemory& memory) {
        std::uint64_t traces = 0;
        auto at = page;
        for (; traces < file.limit && at > 0 && at != file_begin_ && memory.has(at - 1); --at)
            ++traces;
        bool const careful = kind_ == ReadAheadKind::careful_context;
        if (traces <= (careful ? left : 0)) return false;
        if (at == file_begin_) traces *= 2;  // from the file's beginning on
        begin_ = page;
        pages_ = careful ? std::min(traces + left, file.limit)
                         : first_window(traces + left, file.limit, 32);
        ahead_ = careful ? 1 : pages_;
        submit(page, file, memory);
        return true;
    }

    // A window that would come to its own mark at once is joined with the next.
    void submit(std::uint64_t page, FilePages const& file, PagesInMemory& memory) {
        if (knows_context() && page == begin_ && pages_ == ahead_) {
            auto const next = grown(pages_, file.limit);
            bool const fits = pages_ + next <= file.limit;
            if (kind_ == ReadAheadKind::context || fits) {
                ahead_ = next;
                pages_ += next;
            } else {
                pages_ = file.limit;
                ahead_ = file.limit / 2;
            }
        }
        auto const end = std::min(begin_ + pages_, file.end);
        auto const mark = begin_ + pages_ - ahead_;
        if (begin_ >= end) return;
        bool const marks = mark < end && !memory.has(mark);
        memory.read({begin_, end});
        if (marks) marked_.insert(mark);
    }

    ReadAheadKind kind_;
    std::uint64_t file_begin_ = nowhere;
    std::uint64_t previous_ = nowhere;  // last page of the request before
    std::uint64_t begin_ = 0;           // of the window that was read last
    std::uint64_t pages_ = 0;
    std::uint64_t ahead_ = 0;  // of them, those behind the mark
    std::set<std::uint64_t> marked_;
};

}  // namespace

std::optional<ReadAheadKind> read_ahead_kind(std::string_view name) {
    if (name == "windows") return ReadAheadKind::windows;
    if (name == "on_demand") return ReadAheadKind::on_demand;
    if (name == "context") return ReadAheadKind::context;
    if (name == "careful_context") return ReadAheadKind::careful_context;
    return {};
}

std::unique_ptr<ReadAhead> make_read_ahead(ReadAheadKind kind) {
    if (kind == ReadAheadKind::windows) return std::make_unique<Windows>();
    return std::make_unique<OnDemand>(kind);
}

}  // namespace unisono::testbed
