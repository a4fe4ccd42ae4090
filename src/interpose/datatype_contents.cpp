#include "interpose/datatype_contents.hpp"

namespace unisono::interpose {
namespace {

std::size_t size(Envelope::Number number) { return static_cast<std::size_t>(number); }

void release(MPI_Datatype& type) {
    try {
        if (!envelope_of(type).predefined()) PMPI_Type_free(&type);
    } catch (DecodeFailure const&) {
        // A handle that MPI does not know is not ours to free.
    }
}

}  // namespace

Envelope envelope_of(MPI_Datatype type) {
    Envelope envelope;
#if MPI_VERSION >= 4
    check(PMPI_Type_get_envelope_c(type, &envelope.integers, &envelope.addresses,
                                   &envelope.large_counts, &envelope.datatypes,
                                   &envelope.combiner));
#else
    check(PMPI_Type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.datatypes,
                                 &envelope.combiner));
#endif
    return envelope;
}

Contents::Contents(MPI_Datatype type, Envelope const& envelope, Decoder decoder)
    : decoder_{decoder},
      integers_(size(envelope.integers), &memory_),
      addresses_(size(envelope.addresses), &memory_),
      large_(&memory_),
      datatypes_(size(envelope.datatypes), &memory_) {
#if MPI_VERSION >= 4
    large_.resize(size(envelope.large_counts));
    check(PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses,
                                   envelope.large_counts, envelope.datatypes, integers_.data(),
                                   addresses_.data(), large_.data(), datatypes_.data()));
    if (!large_.empty()) take_up_integers(envelope.combiner);
#else
    check(PMPI_Type_get_contents(type, envelope.integers, envelope.addresses, envelope.datatypes,
                                 integers_.data(), addresses_.data(), datatypes_.data()));
#endif
}

// MPI_Type_get_contents returns new handles of derived types, which are ours to free.
Contents::~Contents() {
    for (auto& type : datatypes_) release(type);
}

#if MPI_VERSION >= 4
void Contents::take_up_integers(int combiner) {
    std::size_t const before = combiner == MPI_COMBINER_SUBARRAY ? 1
                               : combiner == MPI_COMBINER_DARRAY ? 3
                                                                 : 0;
    auto const split = integers_.begin() + static_cast<std::ptrdiff_t>(before);
    large_.insert(large_.begin(), integers_.begin(), split);
    large_.insert(large_.end(), split, integers_.end());
}
#endif

}  // namespace unisono::interpose
