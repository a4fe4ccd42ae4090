#include "backends/counted.hpp"

#include <cassert>

namespace unisono {

namespace {

std::uint64_t extents_of(std::span<Transfer const> list) {
    std::uint64_t extents = 0;
    std::uint64_t end = IoResult::nowhere;
    for (auto const& transfer : list) {
        assert(end == IoResult::nowhere || transfer.offset >= end);  // ascending, disjoint
        extents += transfer.offset != end ? 1 : 0;
        end = transfer.offset + transfer.bytes;
    }
    return extents;
}

class CountedIo final : public PendingIo {
public:
    CountedIo(std::unique_ptr<PendingIo> inner, BackendCounts& counts, Direction direction)
        : inner_{std::move(inner)}, counts_{counts}, direction_{direction} {}
    bool ended() override { return inner_->ended(); }
    IoResult wait() override {
        UnderWay const under_way{counts_};
        auto const result = inner_->wait();
        if (counts_.kept) counts_[direction_].bytes += result.bytes;
        return result;
    }

private:
    std::unique_ptr<PendingIo> inner_;
    BackendCounts& counts_;
    Direction direction_;
};

class CountedBackend final : public Backend {
public:
    CountedBackend(std::unique_ptr<Backend> inner, std::shared_ptr<BackendCounts> counts)
        : inner_{std::move(inner)}, counts_{std::move(counts)} {}

    [[nodiscard]] std::string_view name() const override { return inner_->name(); }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        count(direction, list);
        UnderWay const under_way{*counts_};
        auto const result = inner_->perform(direction, list);
        if (counts_->kept) (*counts_)[direction].bytes += result.bytes;
        return result;
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order order) override {
        count(direction, list);
        UnderWay const under_way{*counts_};
        return std::make_unique<CountedIo>(inner_->start(direction, list, order), *counts_,
                                           direction);
    }

    [[nodiscard]] bool overlaps() const override { return inner_->overlaps(); }

    Error sync() override {
        ++counts_->syncs;
        UnderWay const under_way{*counts_};
        return inner_->sync();
    }
    Error close() override {
        UnderWay const under_way{*counts_};
        return inner_->close();
    }

private:
    void count(Direction direction, std::span<Transfer const> list) {
        if (!counts_->kept) return;
        auto& counts = (*counts_)[direction];
        ++counts.lists;
        counts.extents += extents_of(list);
        if (counts_->on_access) counts_->on_access(direction, list);
    }

    std::unique_ptr<Backend> inner_;
    std::shared_ptr<BackendCounts> counts_;  // also of accesses that outlive the backend
};

}  // namespace

std::unique_ptr<Backend> make_counted_backend(std::unique_ptr<Backend> inner,
                                              std::shared_ptr<BackendCounts> counts) {
    return std::make_unique<CountedBackend>(std::move(inner), std::move(counts));
}

}  // namespace unisono
