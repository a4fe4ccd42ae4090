#include "interpose/operations.hpp"

#include <array>

namespace unisono::interpose {
namespace {

#define UNISONO_NAME(name) "MPI_" #name,
constexpr std::array<char const*, unisono_entry_count> names{UNISONO_ALL_ENTRIES(UNISONO_NAME)};
#undef UNISONO_NAME

// Without what makes no difference to Unisono: large counts, explicit offsets, split calls.
struct Stem {
    std::string_view before, after;

    constexpr explicit Stem(std::string_view name) : before{name} {
        for (std::string_view const ending : {"_c", "_begin"})
            if (before.ends_with(ending)) before.remove_suffix(ending.size());
        if (auto const at = before.find("_at_all"); at != before.npos) {
            after = before.substr(at + 3);
            before = before.substr(0, at);
        } else if (auto const all = before.find("_all"); all != before.npos) {
            after = before.substr(all);
            before = before.substr(0, all);
        }
    }
    friend constexpr bool operator==(Stem const&, Stem const&) = default;
};

// By operation, the first one of the same stem.
constexpr auto matching = [] {
    std::array<std::uint16_t, names.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        while (Stem{names[all[i]]} != Stem{names[i]}) ++all[i];
    return all;
}();
static_assert(matching[unisono_entry_File_write_at_all_begin] == unisono_entry_File_write_all);
static_assert(matching[unisono_entry_File_iread_at_all] == unisono_entry_File_iread_all);
static_assert(matching[unisono_entry_File_write_all_end] == unisono_entry_File_write_all_end);
static_assert(matching[unisono_entry_File_set_view] == unisono_entry_File_set_view);
#ifdef UNISONO_LARGE_COUNTS
static_assert(matching[unisono_entry_File_read_all_c] == unisono_entry_File_read_all);
#endif

}  // namespace

char const* operation_name(std::uint16_t operation) { return names.at(operation); }

CallTag call_tag(std::uint32_t file, std::uint16_t operation) {
    return {.file = file, .operation = operation, .matching = matching.at(operation)};
}

bool is_end_of(std::uint16_t begin, std::uint16_t end) {
    std::string_view const begin_name{operation_name(begin)}, end_name{operation_name(end)};
    return begin_name.substr(0, begin_name.rfind("_begin")) ==
           end_name.substr(0, end_name.rfind("_end"));
}

bool is_last_call(std::uint16_t operation) {
    return operation == unisono_entry_File_close || operation == unisono_entry_Finalize;
}

}  // namespace unisono::interpose
