#include <cstring>
#include <type_traits>

#include "options/options.hpp"

namespace unisono {
namespace {

/// Names every field once, for both directions.
template <class Any, class Visitor>
void visit_fields(Any& options, Visitor& visit) {
    visit(options.strategy);
    visit(options.backend);
    visit(options.exchange);
    visit(options.pretended_nodes);
    visit(options.leave_alone);
    visit(options.cb_buffer_size);
    visit(options.cb_nodes);
    visit(options.cb_config_list);
    visit(options.cb_read);
    visit(options.cb_write);
    visit(options.ds_read);
    visit(options.ds_write);
    visit(options.no_indep_rw);
    visit(options.striping_unit);
    visit(options.striping_factor);
    visit(options.report);
    visit(options.report_file);
    visit(options.faults);
    visit(options.native_hints);
}

class Writer {
public:
    template <class Number>
    requires std::is_trivially_copyable_v<Number>
    void operator()(Number const& value) {
        auto const* const begin = reinterpret_cast<std::byte const*>(&value);
        bytes.insert(bytes.end(), begin, begin + sizeof value);
    }
    void operator()(std::string const& text) {
        (*this)(static_cast<std::uint64_t>(text.size()));
        auto const* const begin = reinterpret_cast<std::byte const*>(text.data());
        bytes.insert(bytes.end(), begin, begin + text.size());
    }
    void operator()(std::vector<KeyValue> const& hints) {
        (*this)(static_cast<std::uint64_t>(hints.size()));
        for (auto const& [key, value] : hints) {
            (*this)(key);
            (*this)(value);
        }
    }

    std::vector<std::byte> bytes;
};

/// Once the bytes have run out, every further field stays as it is and `intact` is false.
class Reader {
public:
    explicit Reader(std::span<std::byte const> bytes) : rest(bytes) {}

    template <class Number>
    requires std::is_trivially_copyable_v<Number>
    void operator()(Number& value) {
        if (take(sizeof value)) std::memcpy(&value, taken.data(), sizeof value);
    }
    void operator()(std::string& text) {
        std::uint64_t size = 0;
        (*this)(size);
        if (take(size)) text.assign(reinterpret_cast<char const*>(taken.data()), size);
    }
    void operator()(std::vector<KeyValue>& hints) {
        std::uint64_t count = 0;
        (*this)(count);
        for (std::uint64_t i = 0; i < count && intact; ++i) {
            auto& [key, value] = hints.emplace_back();
            (*this)(key);
            (*this)(value);
        }
    }

    std::span<std::byte const> rest;
    bool intact = true;

private:
    bool take(std::uint64_t size) {
        intact = intact && size <= rest.size();
        if (!intact) return false;
        taken = rest.first(size);
        rest = rest.subspan(size);
        return true;
    }

    std::span<std::byte const> taken;
};

}  // namespace

std::vector<std::byte> to_bytes(Options const& options) {
    Writer writer;
    visit_fields(options, writer);
    return std::move(writer.bytes);
}

std::optional<Options> options_from_bytes(std::span<std::byte const> bytes) {
    Options options;
    Reader reader(bytes);
    visit_fields(options, reader);
    if (!reader.intact || !reader.rest.empty()) return std::nullopt;
    return options;
}

}  // namespace unisono
