#include "options/byte_stream.hpp"
#include "select/lesson.hpp"

namespace unisono {

template <class Any, class Visitor>
requires std::is_same_v<std::remove_const_t<Any>, Lesson>
void visit_members(Any& lesson, Visitor& visit) {
    visit(lesson.where.machine);
    visit(lesson.where.software);
    visit(lesson.where.place);
    visit(lesson.calls);
    visit(lesson.scores);
    visit(lesson.frozen);
    visit(lesson.replaces);
    visit(lesson.updated_s);
}

template <class Any, class Visitor>
requires std::is_same_v<std::remove_const_t<Any>, Memory>
void visit_members(Any& memory, Visitor& visit) {
    visit(memory.library.family);
    visit(memory.library.name);
    visit(memory.frozen);
    visit(memory.lessons);
}

std::vector<std::byte> to_bytes(Memory const& memory) { return bytes_of(memory); }

std::optional<Memory> memory_from_bytes(std::span<std::byte const> bytes) {
    return value_from_bytes<Memory>(bytes);
}

}  // namespace unisono
