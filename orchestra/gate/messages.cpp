#include "orchestra/gate/messages.hpp"

#include <algorithm>
#include <charconv>

namespace unisono::orchestra {

namespace {

constexpr std::string_view greeting = "unisono-node-daemon-2";

// Takes words off the front; once one is missing or wrong, it stays bad.
class Words {
public:
    explicit Words(std::string_view line) : rest_(line) {}

    std::string_view word() {
        auto const end = std::min(rest_.find(' '), rest_.size());
        auto const word = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        good_ = good_ && !word.empty();
        return word;
    }
    template <class Number>
    void number(Number& value, Number most) {
        auto const text = word();
        auto const [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        good_ = good_ && code == std::errc{} && stop == text.data() + text.size() && value >= 0 &&
                value <= most;
    }
    [[nodiscard]] bool complete() const { return good_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool good_ = true;
};

void add(std::string& text, std::uint64_t number) {
    char digits[20];
    auto const [end, code] = std::to_chars(digits, digits + sizeof digits, number);
    text.append(1, ' ').append(digits, end);
}

// It is of one access, at one time.
bool has_token(NodeEvent::Kind kind) {
    using Kind = NodeEvent::Kind;
    return kind != Kind::taken && kind != Kind::waits && kind != Kind::left;
}

std::optional<NodeEvent> parse_event(std::string_view line) {
    constexpr auto any32 = ~std::uint32_t{0};
    constexpr auto any64 = ~std::uint64_t{0};
    using Kind = NodeEvent::Kind;
    Words words(line);
    auto const kind = words.word();
    NodeEvent event;
    if (kind.size() != 1 || std::string_view("tehrfwl").find(kind[0]) == std::string_view::npos)
        return {};
    event.kind = static_cast<Kind>(kind[0]);
    words.number(event.slot, any32);
    if (event.kind == Kind::taken) {
        event.program = words.word();
        if (!is_program_id(event.program)) return {};
    } else if (has_token(event.kind)) {
        words.number(event.token, any32);
        words.number(event.age, never);
    }
    if (event.kind == Kind::entered || event.kind == Kind::held) {
        std::uint32_t locality = 0;
        words.number(event.disk_address.server, servers_max - 1);
        words.number(locality, static_cast<std::uint32_t>(LocalityKind::offsets));
        words.number(event.disk_address.address, any64);
        words.number(event.disk_address.bytes, any64);
        words.number(event.file, any64);
        event.disk_address.kind = static_cast<LocalityKind>(locality);
    }
    if (!words.complete()) return {};
    return event;
}

// Calls `use` for each line; false as soon as it says so, or if the last one has no end.
bool for_lines(std::string_view text, auto&& use) {
    while (!text.empty()) {
        auto const end = text.find('\n');
        if (end == std::string_view::npos || !use(text.substr(0, end))) return false;
        text.remove_prefix(end + 1);
    }
    return true;
}

constexpr std::string_view kind_names[] = {"everyone", "only", "all-but"};

}  // namespace

std::string show(NodeDaemonHello const& hello) { return std::string(greeting) + ' ' + hello.node; }

std::optional<NodeDaemonHello> parse_hello(std::string_view text) {
    Words words(text);
    bool const right = words.word() == greeting;
    auto const node = words.word();
    if (!right || !words.complete() || !is_program_id(node)) return {};
    return NodeDaemonHello{std::string(node)};
}

std::string show(std::span<NodeEvent const> events) {
    using Kind = NodeEvent::Kind;
    std::string text;
    for (auto const& event : events) {
        text += static_cast<char>(event.kind);
        add(text, event.slot);
        if (event.kind == Kind::taken) text.append(1, ' ').append(event.program);
        if (has_token(event.kind)) {
            add(text, event.token);
            add(text, static_cast<std::uint64_t>(std::max(event.age, Time{0})));
        }
        if (event.kind == Kind::entered || event.kind == Kind::held) {
            add(text, event.disk_address.server);
            add(text, static_cast<std::uint64_t>(event.disk_address.kind));
            add(text, event.disk_address.address);
            add(text, event.disk_address.bytes);
            add(text, event.file);
        }
        text += '\n';
    }
    return text;
}

std::optional<std::vector<NodeEvent>> parse_events(std::string_view text) {
    std::vector<NodeEvent> events;
    bool const good = for_lines(text, [&](std::string_view line) {
        auto event = parse_event(line);
        if (event) events.push_back(std::move(*event));
        return event.has_value();
    });
    if (!good) return {};
    return events;
}

std::string show(Turnover const& turn) {
    std::string text(turn.over ? "over" : kind_names[static_cast<std::size_t>(turn.admitted.kind)]);
    add(text, static_cast<std::uint64_t>(turn.lease));
    text += '\n';
    for (auto const& program : turn.admitted.programs) text.append(program).append(1, '\n');
    return text;
}

std::optional<Turnover> parse_turnover(std::string_view text) {
    Turnover turn;
    bool first = true;
    bool const good = for_lines(text, [&](std::string_view line) {
        if (!std::exchange(first, false)) {
            turn.admitted.programs.emplace_back(line);
            return is_program_id(line);
        }
        Words words(line);
        auto const kind = words.word();
        words.number(turn.lease, lease_max);
        turn.over = kind == "over";
        auto const* const known = std::ranges::find(kind_names, kind);
        if (known != std::end(kind_names))
            turn.admitted.kind = static_cast<Admitted::Kind>(known - std::begin(kind_names));
        return words.complete() && (turn.over || known != std::end(kind_names));
    });
    if (!good || first) return {};
    return turn;
}

}  // namespace unisono::orchestra
