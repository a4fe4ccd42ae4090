#include "select/tuning_record.hpp"
#include "support/byte_stream.hpp"

namespace unisono {

template <MaybeConst<TuningRecord> Any, class Visitor>
void visit_members(Any& record, Visitor& visit) {
    visit(record.where.machine, record.where.software, record.where.storage_key, record.calls,
          record.scores, record.frozen, record.replaces, record.updated_s);
}

template <MaybeConst<Memory> Any, class Visitor>
void visit_members(Any& memory, Visitor& visit) {
    visit(memory.library.family, memory.library.name, memory.frozen, memory.records);
}

std::vector<std::byte> to_bytes(Memory const& memory) { return bytes_of(memory); }

std::optional<Memory> memory_from_bytes(std::span<std::byte const> bytes) {
    return value_from_bytes<Memory>(bytes);
}

}  // namespace unisono
