#include "interpose/shared_pointer.hpp"

#include <cerrno>
#include <limits>

namespace unisono::interpose {

SharedPointer::Counters* SharedPointer::counters() const {
    auto* const* const counters = std::get_if<Counters*>(&place_);
    return counters == nullptr ? nullptr : *counters;
}

SharedPointer::Value SharedPointer::value() {
    if (auto* const memory = counters())
        return {base_ + memory->at(counted_in_).load(std::memory_order_acquire)};
    auto const* const file = std::get_if<std::unique_ptr<CounterFile>>(&place_);
    if (file == nullptr) return {base_};
    auto const count = (*file)->read(counted_in_);
    return {base_ + count.value, count.error};
}

SharedPointer::Value SharedPointer::advance(MPI_Offset etypes) {
    auto const most = std::numeric_limits<MPI_Offset>::max() - base_;
    MPI_Offset before = 0;
    if (auto* const memory = counters()) {
        auto& count = memory->at(counted_in_);
        before = count.load(std::memory_order_acquire);
        do
            if (before > most - etypes) return {0, EOVERFLOW};
        while (!count.compare_exchange_weak(before, before + etypes, std::memory_order_acq_rel));
    } else {
        auto& file = *std::get<std::unique_ptr<CounterFile>>(place_);
        auto const count = file.add(counted_in_, etypes, most);
        if (count.error != 0) return {0, count.error};
        before = count.value;
    }
    auto const after = before + etypes;
    for (auto known = reached_.load();
         known < after && !reached_.compare_exchange_weak(known, after);)
        ;
    return {base_ + before};
}

MPI_Offset SharedPointer::reached() const { return base_ + reached_; }

bool SharedPointer::begin(MPI_Offset etypes) {
    auto const all_meet = stay();
    begin_after_all(etypes);
    return all_meet;
}

bool SharedPointer::stay() {
    ++generation_;
    return counters() != nullptr && generation_ % Counters::half == 0;
}

void SharedPointer::begin_after_all(MPI_Offset etypes) {
    base_ = etypes;
    reached_ = 0;
    counted_in_ = generation_;
}

void SharedPointer::forget_old() const {
    for (std::uint64_t i = 0; i < Counters::half; ++i)
        counters()->at(generation_ + Counters::half + i) = 0;
}

void SharedPointer::end() {
    if (auto const* const file = std::get_if<std::unique_ptr<CounterFile>>(&place_))
        (*file)->remove();
}

}  // namespace unisono::interpose
