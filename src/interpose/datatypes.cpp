#include "interpose/datatypes.hpp"

#include <cstddef>
#include <mutex>
#include <new>
#include <unordered_map>

#include "interpose/datatype_external32.hpp"
#include "interpose/datatype_shapes.hpp"
#include "interpose/own_communicator.hpp"

namespace unisono::interpose {
namespace {

ShapePtr predefined_shape(MPI_Datatype type, std::uint64_t bytes) {
    if (type == MPI_SHORT_INT) {
        // The one pair with a gap between its parts; the others have theirs at the end.
        struct ShortInt {
            short value;
            int index;
        };
        std::int64_t const offsets[] = {0, offsetof(ShortInt, index)};
        std::uint64_t const lengths[] = {sizeof(short), sizeof(int)};
        return make_blocks(offsets, lengths);
    }
    return make_dense(bytes);
}

bool is_pair(MPI_Datatype type) {
    return type == MPI_FLOAT_INT || type == MPI_DOUBLE_INT || type == MPI_LONG_INT ||
           type == MPI_2INT || type == MPI_SHORT_INT || type == MPI_LONG_DOUBLE_INT;
}

DatatypePtr read_description(MPI_Datatype type, Envelope const& envelope) {
    MPI_Count bytes = 0;
    MPI_Count lower_bound = 0;
    MPI_Count extent = 0;
    check(PMPI_Type_size_x(type, &bytes));
    check(PMPI_Type_get_extent_x(type, &lower_bound, &extent));
    auto decoded = std::make_shared<Datatype>();
    decoded->lower_bound = static_cast<std::int64_t>(lower_bound);
    decoded->extent = static_cast<std::int64_t>(extent);
    decoded->bytes = static_cast<std::uint64_t>(bytes);
    if (envelope.predefined()) {
        decoded->shape = predefined_shape(type, decoded->bytes);
        decoded->plain = !is_pair(type);
        if (envelope.combiner == MPI_COMBINER_NAMED)
            decoded->units = units_of_predefined(type, decoded->bytes);
    } else {
        Contents const contents{type, envelope, decode_or_throw};
        decoded->shape = derived_shape(envelope, contents, decoded->plain);
        decoded->units = derived_units(envelope, contents, decoded->bytes);
        decoded->plain = decoded->plain && envelope.large_counts == 0 && lower_bound == 0 &&
                         decoded->shape->kind != Shape::Kind::list;
    }
    // Wrong data is worse than native speed.
    if (decoded->shape->bytes != decoded->bytes) throw DecodeFailure{MPI_ERR_UNSUPPORTED_OPERATION};
    return decoded;
}

// A named type lives for ever and may not take attributes everywhere; any other carries its decoded
// form as an attribute, so that it goes when the type goes (its handle may then be reused).
class Cache {
public:
    // Stays where it is; none: null.
    DatatypePtr const* find_named(MPI_Datatype type) {
        std::scoped_lock const lock{mutex_};
        auto const found = named_.find(type);
        return found != named_.end() ? &found->second : nullptr;
    }

    DatatypePtr find(MPI_Datatype type) {
        if (auto const* const found = find_named(type)) return *found;
        std::scoped_lock const lock{mutex_};
        if (keyval_ == MPI_KEYVAL_INVALID) return nullptr;
        void* attribute = nullptr;
        int found = 0;
        check(PMPI_Type_get_attr(type, keyval_, &attribute, &found));
        return found ? *static_cast<DatatypePtr*>(attribute) : nullptr;
    }

    void keep(MPI_Datatype type, Envelope const& envelope, DatatypePtr const& decoded) {
        std::scoped_lock const lock{mutex_};
        if (envelope.combiner == MPI_COMBINER_NAMED) {
            named_.emplace(type, decoded);
            return;
        }
        if (keyval_ == MPI_KEYVAL_INVALID)
            check(PMPI_Type_create_keyval(copy_to_duplicate, forget, &keyval_, nullptr));
        auto holder = std::make_unique<DatatypePtr>(decoded);
        check(PMPI_Type_set_attr(type, keyval_, holder.get()));
        static_cast<void>(holder.release());  // now forget()'s to delete
    }

private:
    // A duplicate has the same type map and bounds.
    static int copy_to_duplicate(MPI_Datatype, int, void*, void* attribute, void* copy, int* keep) {
        auto* holder = new (std::nothrow) DatatypePtr(*static_cast<DatatypePtr*>(attribute));
        *static_cast<void**>(copy) = holder;
        *keep = holder != nullptr;
        return MPI_SUCCESS;
    }

    static int forget(MPI_Datatype, int, void* attribute, void*) {
        delete static_cast<DatatypePtr*>(attribute);
        return MPI_SUCCESS;
    }

    std::mutex mutex_;
    std::unordered_map<MPI_Datatype, DatatypePtr> named_;
    int keyval_ = MPI_KEYVAL_INVALID;
};

Cache& cache() {
    // Never destroyed: MPI may delete attributes while the process exits.
    static auto* const instance = new Cache;
    return *instance;
}

}  // namespace

DatatypePtr decode_or_throw(MPI_Datatype type, Keep keep) {
    constexpr Envelope::Number long_list = 64;
    if (type == MPI_DATATYPE_NULL) throw DecodeFailure{MPI_ERR_TYPE};
    if (auto found = cache().find(type)) return found;
    auto const envelope = envelope_of(type);
    auto decoded = read_description(type, envelope);
    if (keep == Keep::always || envelope.predefined() ||
        envelope.integers + envelope.large_counts > long_list)
        cache().keep(type, envelope, decoded);
    return decoded;
}

namespace {

DatatypePtr decode_by(Decoder decoder, MPI_Datatype type, Keep keep, int* mpi_error) {
    *mpi_error = MPI_SUCCESS;
    try {
        return decoder(type, keep);
    } catch (DecodeFailure const& failure) {
        PMPI_Error_class(failure.mpi_error, mpi_error);
    } catch (std::bad_alloc const&) {
        *mpi_error = MPI_ERR_NO_MEM;
    }
    return nullptr;
}

}  // namespace

std::shared_ptr<Datatype const> decode(MPI_Datatype type, int* mpi_error) {
    return decode_by(decode_or_throw, type, Keep::always, mpi_error);
}

std::shared_ptr<Datatype const> const* named_and_decoded(MPI_Datatype type) {
    struct Last {
        MPI_Datatype type;
        DatatypePtr const* decoded;
    };
    thread_local Last last{};
    if (last.decoded == nullptr || last.type != type) last = {type, cache().find_named(type)};
    return last.decoded;
}

std::shared_ptr<Datatype const> decode_once(MPI_Datatype type, int* mpi_error) {
    return decode_by(decode_or_throw, type, Keep::if_long, mpi_error);
}

std::shared_ptr<Datatype const> decode_external32(MPI_Datatype type, int* mpi_error) {
    return decode_by(external32_or_throw, type, Keep::if_long, mpi_error);
}

bool predefined(MPI_Datatype type) { return envelope_of(type).predefined(); }

bool plainly_made(MPI_Datatype type) {
    try {
        auto const envelope = envelope_of(type);
        if (envelope.predefined()) return true;
        if (envelope.combiner == MPI_COMBINER_DARRAY) return false;
        Contents const contents{type, envelope, decode_or_throw};
        return !contents.any_negative() && std::ranges::all_of(contents.parts(), plainly_made);
    } catch (DecodeFailure const&) {
        return false;
    } catch (std::bad_alloc const&) {
        return false;
    }
}

int unusable(MPI_Datatype type, MPI_Comm quiet) {
    ErrorsExpected const expected;
    char nothing = 0;
    int position = 0;
    auto const error = PMPI_Pack(&nothing, 0, type, &nothing, 1, &position, quiet);
    return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_TYPE;
}

}  // namespace unisono::interpose
