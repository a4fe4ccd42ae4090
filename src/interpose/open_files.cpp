#include "interpose/open_files.hpp"

#include <algorithm>
#include <shared_mutex>
#include <unordered_map>

#include "interpose/program.hpp"

namespace unisono::interpose {
namespace {

struct Table {
    std::shared_mutex mutex;
    std::unordered_map<std::uintptr_t, std::shared_ptr<File>> files;
};

Table& table() {
    static auto* const table = new Table;  // files may be used until the very end of the process
    return *table;
}

std::uintptr_t key(MPI_File handle) { return reinterpret_cast<std::uintptr_t>(handle); }

template <class Wanted>
std::vector<std::shared_ptr<File>> open_files_that(Wanted&& are_wanted) {
    std::vector<std::shared_ptr<File>> files;
    {
        std::shared_lock const lock{table().mutex};
        for (auto const& [handle, file] : table().files)
            if (are_wanted(*file)) files.push_back(file);
    }
    std::ranges::sort(files, {}, &File::order);
    return files;
}

}  // namespace

void remember(std::shared_ptr<File> file) {
    std::unique_lock const lock{table().mutex};
    for (auto const& [handle, other] : table().files)
        if (other->is_same_as(*file)) {
            other->note_open_again();
            file->note_open_again();
        }
    table().files[key(file->handle())] = std::move(file);
}

void for_opened_otherwise(File const& file, std::function<void(File const&)> const& use) {
    if (!file.is_open_again()) return;
    std::shared_lock const lock{table().mutex};
    for (auto const& [handle, other] : table().files)
        if (other.get() != &file && other->is_same_as(file)) use(*other);
}

std::shared_ptr<File> find(MPI_File handle) {
    // Where one thread calls MPI it is the one that changes the table.
    static bool const alone = !threads_may_call_at_once();
    std::shared_lock lock{table().mutex, std::defer_lock};
    if (!alone) lock.lock();
    auto const entry = table().files.find(key(handle));
    return entry == table().files.end() ? nullptr : entry->second;
}

std::vector<std::shared_ptr<File>> open_files() {
    return open_files_that([](File const&) { return true; });
}

std::vector<std::shared_ptr<File>> open_files_on(MPI_Comm comm) {
    return open_files_that([comm](File const& file) { return file.opened_on() == comm; });
}

std::shared_ptr<File> forget(MPI_File handle) {
    std::unique_lock const lock{table().mutex};
    auto const entry = table().files.find(key(handle));
    if (entry == table().files.end()) return nullptr;
    auto file = std::move(entry->second);
    table().files.erase(entry);
    return file;
}

}  // namespace unisono::interpose
