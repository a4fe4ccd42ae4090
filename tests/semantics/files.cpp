#include "files.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace semantics {

Type make_vector(int count, int block, int stride, MPI_Datatype old) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, block, stride, old, &made);
    return Type(made);
}

Type make_contiguous(int count, MPI_Datatype old) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(count, old, &made);
    return Type(made);
}

Type make_resized(MPI_Aint lower_bound, MPI_Aint extent, MPI_Datatype old) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(old, lower_bound, extent, &made);
    return Type(made);
}

Type costly_rows(int rows, int bytes, int apart) {
    Type const row = make_resized(0, apart, make_contiguous(bytes, MPI_BYTE));
    Type const all = make_contiguous(rows, row);
    MPI_Datatype of_rows = all;
    int const one = 1;
    MPI_Aint const at = 0;
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(1, &one, &at, &of_rows, &whole);
    return Type{whole};
}

namespace {

int size_of_type(MPI_Datatype type) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    return bytes;
}

Type dealt_type(int rank, int size, int block_elements, MPI_Datatype etype) {
    MPI_Aint const block_bytes = static_cast<MPI_Aint>(block_elements) * size_of_type(etype);
    MPI_Aint const begin = rank * block_bytes;
    MPI_Datatype block = MPI_DATATYPE_NULL, dealt = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed_block(1, block_elements, &begin, etype, &block);
    MPI_Type_create_resized(block, 0, size * block_bytes, &dealt);
    MPI_Type_free(&block);
    return Type(dealt);
}

}  // namespace

DealtView::DealtView(int rank, int size, int block_elements, MPI_Datatype etype,
                     MPI_Offset displacement)
    : rank_(rank),
      size_(size),
      block_bytes_(static_cast<MPI_Offset>(block_elements) * size_of_type(etype)),
      displacement_(displacement),
      etype_(etype),
      filetype_(dealt_type(rank, size, block_elements, etype)) {}

int DealtView::set(MPI_File file) const {
    return MPI_File_set_view(file, displacement_, etype_, filetype_, "native", MPI_INFO_NULL);
}

MPI_Offset DealtView::offset(MPI_Offset position) const {
    return displacement_ + (position / block_bytes_ * size_ + rank_) * block_bytes_ +
           position % block_bytes_;
}

MPI_Offset DealtView::bytes_below(MPI_Offset offset) const {
    if (offset <= displacement_) return 0;
    auto const tile_bytes = block_bytes_ * size_;
    auto const inside = offset - displacement_;
    auto const partial = inside % tile_bytes - rank_ * block_bytes_;
    return inside / tile_bytes * block_bytes_ + std::clamp<MPI_Offset>(partial, 0, block_bytes_);
}

Bytes DealtView::data(MPI_Offset position, std::size_t bytes, unsigned salt) const {
    Bytes result(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        result[i] = pattern(offset(position + static_cast<MPI_Offset>(i)), salt);
    return result;
}

MPI_File open_file(Context const& context, std::string const& path, int mode, MPI_Info info) {
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(MPI_File_open(context.comm, path.c_str(), mode, info, &file));
    return file;
}

MPI_File open_file(Context const& context, DealtView const& view) {
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(view.set(file));
    return file;
}

MPI_File open_with(Context const& context, std::initializer_list<Info::Key> hints) {
    return open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_RDWR, Info(hints));
}

void sync_on_all(Context const& context, MPI_File file) {
    CHECK_MPI(MPI_File_sync(file));
    context.barrier();
    CHECK_MPI(MPI_File_sync(file));
}

void an_intercommunicator_is_refused(MPI_Comm between, std::string const& path) {
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);  // Open MPI 4.1.4 calls its handler
    MPI_File file = MPI_FILE_NULL;
    int const code =
        MPI_File_open(between, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CHECK_EQUAL(error_class(code), MPI_ERR_COMM);
    CHECK(file == MPI_FILE_NULL);
}

MPI_File open_slow_file(Context const& context, int microseconds) {
    auto const path = context.path("own" + std::to_string(context.rank));
    Info const slow{{"unisono_faults", "write=delay:" + std::to_string(microseconds)}};
    MPI_File file = MPI_FILE_NULL;
    CHECK_MPI(
        MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, slow, &file));
    return file;
}

void close_file(MPI_File& file) { CHECK_MPI(MPI_File_close(&file)); }

Bytes pattern_bytes(MPI_Offset offset, std::size_t bytes, unsigned salt) {
    Bytes result(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        result[i] = pattern(offset + static_cast<MPI_Offset>(i), salt);
    return result;
}

Bytes read_whole(std::string const& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_whole(std::string const& path, Bytes const& content) {
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<char const*>(content.data()),
                 static_cast<std::streamsize>(content.size()));
}

void prepare_file(Context const& context, std::string const& path, std::size_t bytes,
                  unsigned salt) {
    if (context.root()) write_whole(path, pattern_bytes(0, bytes, salt));
    context.barrier();
}

void check_file(Context const& context, std::string const& path, Bytes const& expected,
                char const* what) {
    context.barrier();
    if (context.root()) check_bytes(read_whole(path), expected, what);
    context.barrier();
}

void check_file(Context const& context, std::string const& path, std::size_t bytes, unsigned salt) {
    check_file(context, path, pattern_bytes(0, bytes, salt));
}

std::size_t matching_prefix(Bytes const& actual, Bytes const& expected) {
    auto const common = std::min(actual.size(), expected.size());
    auto const end = actual.begin() + static_cast<std::ptrdiff_t>(common);
    return static_cast<std::size_t>(std::mismatch(actual.begin(), end, expected.begin()).first -
                                    actual.begin());
}

void check_bytes(Bytes const& actual, Bytes const& expected, char const* what) {
    if (actual == expected) return;
    auto const at = matching_prefix(actual, expected);
    auto text = std::string(what) + ": " + std::to_string(actual.size()) + " bytes, expected " +
                std::to_string(expected.size()) + "; first difference at byte " +
                std::to_string(at);
    if (at < actual.size() && at < expected.size())
        text += ": " + std::to_string(actual[at]) + ", expected " + std::to_string(expected[at]);
    record_failure(__FILE__, __LINE__, text);
}

namespace {

void check_read(decltype(MPI_File_read_at)& read, MPI_File file, MPI_Offset at,
                Bytes const& expected, char const* what) {
    Bytes actual(expected.size());
    MPI_Status status;
    CHECK_MPI(read(file, at, actual.data(), static_cast<int>(actual.size()), MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), static_cast<long long>(expected.size()));
    check_bytes(actual, expected, what);
}

}  // namespace

void check_read_at_all(MPI_File file, MPI_Offset at, Bytes const& expected, char const* what) {
    check_read(MPI_File_read_at_all, file, at, expected, what);
}

void check_read_at(MPI_File file, MPI_Offset at, Bytes const& expected, char const* what) {
    check_read(MPI_File_read_at, file, at, expected, what);
}

long long count_of(MPI_Status const& status, MPI_Datatype type) {
    int count = 0;
    MPI_Get_count(&status, type, &count);
    return count;
}

long long elements_of(MPI_Status const& status, MPI_Datatype type) {
    int count = 0;
    MPI_Get_elements(&status, type, &count);
    return count;
}

long long elements_x_of(MPI_Status const& status, MPI_Datatype type) {
    MPI_Count count = 0;
    MPI_Get_elements_x(&status, type, &count);
    return count;
}

long long position_of(MPI_File file) {
    MPI_Offset position = -1;
    MPI_File_get_position(file, &position);
    return position;
}

long long shared_position_of(MPI_File file) {
    MPI_Offset position = -1;
    MPI_File_get_position_shared(file, &position);
    return position;
}

long long size_of(MPI_File file) {
    MPI_Offset bytes = -1;
    MPI_File_get_size(file, &bytes);
    return bytes;
}

Info::Info(std::initializer_list<Key> keys) {
    MPI_Info_create(&handle_);
    for (auto const& [key, value] : keys) MPI_Info_set(handle_, key.c_str(), value.c_str());
}

std::string info_value(MPI_File file, std::string const& key) {
    MPI_Info info = MPI_INFO_NULL;
    if (MPI_File_get_info(file, &info) != MPI_SUCCESS) return "";
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get(info, key.c_str(), MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return found ? value : "";
}

bool strategy_is_forced() { return getenv("UNISONO_STRATEGY") != nullptr; }

bool on_one_node(Context const& context) {
    auto const value = [](char const* name) {
        auto const* const text = getenv(name);
        return std::string{text == nullptr ? "" : text};
    };
    auto const topology = value("UNISONO_TOPOLOGY");
    auto const pretended = topology != "" && topology != "nodes=1";
    return context.size == 1 || !(pretended || value("UNISONO_EXCHANGE") == "messages");
}

}  // namespace semantics
