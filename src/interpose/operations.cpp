#include "interpose/operations.hpp"

#include <array>

namespace unisono::interpose {
namespace {

#define UNISONO_NAME(name) "MPI_" #name,
constexpr std::array<char const*, unisono_entry_count + 1> names{
    UNISONO_ALL_ENTRIES(UNISONO_NAME) "MPI_Finalize"};
#undef UNISONO_NAME

constexpr std::uint16_t data_read = unisono_entry_count + 1;
constexpr std::uint16_t data_write = unisono_entry_count + 2;

constexpr std::uint16_t matching_of(std::uint16_t operation) {
    std::string_view const name{names[operation]};
    if (name.find("_all") == name.npos || name.ends_with("_end")) return operation;
    if (name.starts_with("MPI_File_read")) return data_read;
    return name.starts_with("MPI_File_write") ? data_write : operation;
}

// Calls are short, names are not.
constexpr auto matching = [] {
    std::array<std::uint16_t, names.size()> all{};
    for (std::uint16_t i = 0; i < all.size(); ++i) all[i] = matching_of(i);
    return all;
}();

}  // namespace

char const* operation_name(std::uint16_t operation) { return names.at(operation); }

CallTag call_tag(std::uint32_t file, std::uint16_t operation) {
    return {.file = file, .operation = operation, .matching = matching.at(operation)};
}

bool is_last_call(std::uint16_t operation) {
    return operation == unisono_entry_File_close || operation == operation_finalize;
}

}  // namespace unisono::interpose
