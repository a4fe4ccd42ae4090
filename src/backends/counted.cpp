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
    CountedIo(std::unique_ptr<PendingIo> inner, IoCounts& counts)
        : inner_{std::move(inner)}, counts_{counts} {}
    bool ended() override { return inner_->ended(); }
    IoResult wait() override {
        auto const result = inner_->wait();
        counts_.bytes += result.bytes;
        return result;
    }

private:
    std::unique_ptr<PendingIo> inner_;
    IoCounts& counts_;
};

class CountedBackend final : public Backend {
public:
    CountedBackend(std::unique_ptr<Backend> inner, std::shared_ptr<BackendCounts> counts)
        : inner_{std::move(inner)}, counts_{std::move(counts)} {}

    [[nodiscard]] std::string_view name() const override { return inner_->name(); }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        auto& counts = begin(direction, list);
        auto const result = inner_->perform(direction, list);
        counts.bytes += result.bytes;
        return result;
    }

    std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                     Order order) override {
        auto& counts = begin(direction, list);
        return std::make_unique<CountedIo>(inner_->start(direction, list, order), counts);
    }

    [[nodiscard]] bool overlaps() const override { return inner_->overlaps(); }

    Error sync() override {
        ++counts_->syncs;
        return inner_->sync();
    }
    Error close() override { return inner_->close(); }

private:
    IoCounts& begin(Direction direction, std::span<Transfer const> list) {
        auto& counts = (*counts_)[direction];
        ++counts.lists;
        counts.extents += extents_of(list);
        return counts;
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
