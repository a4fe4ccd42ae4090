#include <gtest/gtest.h>

#include "layouts/byte_units.hpp"
#include "layouts/fake_file_system.hpp"

namespace unisono {
namespace {

using Osts = std::vector<std::uint32_t>;

constexpr std::uint64_t no_end = Striping::no_end;
constexpr std::uint32_t v1 = 0x0BD10BD0;
constexpr std::uint32_t v3 = 0x0BD30BD0;
constexpr std::uint32_t raid0 = 1;
constexpr std::uint32_t overstriped = 0x201;
constexpr std::uint32_t on_metadata_server = 0x100;
constexpr std::uint32_t released = 0x80000000;

/// A lov_user_md. Without OSTs it has `stripes` in its header only.
struct Plain {
    std::uint32_t magic = v1;
    std::uint32_t pattern = raid0;
    std::uint32_t unit = mib;
    Osts osts;
    std::uint16_t stripes = static_cast<std::uint16_t>(osts.size());

    void append_to(FakeBytes& out) const {
        out.put(magic, 4).put(pattern, 4).skip(16).put(unit, 4).put(stripes, 2).put(7, 2);
        if (magic == v3) out.put("pool").skip(12);
        for (auto const ost : osts) out.put(4711, 8).put(1, 8).put(0, 4).put(ost, 4);
    }
    [[nodiscard]] std::vector<std::byte> bytes(bool big_endian = false) const {
        FakeBytes out{big_endian, {}};
        append_to(out);
        return out.bytes;
    }
};

struct Entry {
    std::uint64_t begin;
    std::uint64_t end;
    Plain content;
    std::uint32_t flags = 0x10;  // instantiated
    std::uint32_t mirror = 0;
};

std::vector<std::byte> composite(std::vector<Entry> const& entries, bool big_endian = false) {
    FakeBytes contents{big_endian, {}};
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (auto const& entry : entries) {
        auto const begin = contents.bytes.size();
        entry.content.append_to(contents);
        places.emplace_back(begin, contents.bytes.size() - begin);
    }
    auto const header = 32 + 48 * entries.size();
    FakeBytes out{big_endian, {}};
    out.put(0x0BD60BD0, 4).put(header + contents.bytes.size(), 4).put(3, 4).put(0, 2);
    out.put(entries.size(), 2).put(0, 2).skip(14);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto const& entry = entries[i];
        out.put(entry.mirror << 16 | (i + 1), 4).put(entry.flags, 4);
        out.put(entry.begin, 8).put(entry.end, 8);
        out.put(header + places[i].first, 4).put(places[i].second, 4).skip(16);
    }
    out.bytes.insert(out.bytes.end(), contents.bytes.begin(), contents.bytes.end());
    return out.bytes;
}

std::string described(std::vector<std::byte> const& attribute) {
    return parse_lustre_layout(attribute).describe();
}

TEST(Lustre, plain_files_are_round_robin_over_their_osts) {
    for (auto const magic : {v1, v3}) {
        auto const layout =
            parse_lustre_layout(Plain{.magic = magic, .osts = {37, 4, 122}}.bytes());
        EXPECT_EQ(layout.describe(), "1 MiB over 3 servers (lustre)");
        EXPECT_EQ(layout.server_of(0), 1u) << "OST 37 is the second of 4, 37, 122";
        EXPECT_EQ(layout.server_of(mib), 0u);
        EXPECT_EQ(layout.server_of(2 * mib), 2u);
    }
}

TEST(Lustre, either_byte_order_is_read) {
    auto const file = Plain{.osts = {8, 9}};
    EXPECT_EQ(parse_lustre_layout(file.bytes(true)), parse_lustre_layout(file.bytes(false)));
    std::vector<Entry> const entries{{0, mib, {.osts = {1}}}, {mib, no_end, {.osts = {2, 3}}}};
    EXPECT_EQ(parse_lustre_layout(composite(entries, true)),
              parse_lustre_layout(composite(entries, false)));
}

// Six stripes on two OSTs: a server's bytes are the union of its stripes, in file order.
TEST(Lustre, overstriped_files_have_several_stripes_on_a_server) {
    auto const layout = parse_lustre_layout(
        Plain{.pattern = overstriped, .unit = 65536, .osts = {0, 0, 1, 1, 0, 1}}.bytes());
    EXPECT_EQ(layout.servers(), 2u);
    EXPECT_EQ(layout.server_of(1 * 65536), 0u);
    EXPECT_EQ(layout.object_offset(4 * 65536), 2u * 65536);
    EXPECT_EQ(layout.bytes_of(0, {0, 6 * 65536}).bytes(), 3u * 65536);
}

// lfs setstripe -E 1M -c 1 -E 1G -c 2 -S 4M -E -1 -c 4
TEST(Lustre, progressive_layouts_change_with_the_offset) {
    auto const layout =
        parse_lustre_layout(composite({{0, mib, {.unit = 65536, .osts = {5}}},
                                       {mib, 1024 * mib, {.unit = 4 * mib, .osts = {6, 7}}},
                                       {1024 * mib, no_end, {.osts = {5, 6, 7, 8}}}}));
    EXPECT_EQ(layout.describe(),
              "64 KiB up to 1 MiB, then 4 MiB up to 1 GiB, then 1 MiB over 4 servers (lustre)");
    EXPECT_EQ(layout.server_of(mib - 1), 0u);
    EXPECT_EQ(layout.server_of(mib), 1u) << "stripes are counted from the beginning of the file";
    EXPECT_EQ(layout.server_of(4 * mib), 2u);
    EXPECT_EQ(layout.server_of(1027 * mib), 3u);
}

TEST(Lustre, components_without_objects_are_on_the_first_servers_for_now) {
    auto const layout = parse_lustre_layout(composite(
        {{0, mib, {.osts = {5}}}, {mib, no_end, {.osts = {}, .stripes = 4}, /*flags=*/0}}));
    EXPECT_EQ(layout.describe(),
              "1 MiB up to 1 MiB, then 1 MiB over 4 servers (lustre: some servers not chosen yet)");
    EXPECT_EQ(layout.server_of(3 * mib), 3u);
}

TEST(Lustre, released_files_will_get_servers_again) {
    EXPECT_EQ(described(Plain{.pattern = raid0 | released, .osts = {}, .stripes = 2}.bytes()),
              "1 MiB over 2 servers (lustre: some servers not chosen yet)");
}

TEST(Lustre, all_servers_is_no_number) {
    auto const layout = parse_lustre_layout(
        composite({{0, mib, {.osts = {5}}},
                   {mib, no_end, {.unit = 4 * mib, .osts = {}, .stripes = 0xffff}, /*flags=*/0}}));
    EXPECT_FALSE(layout.known());
    EXPECT_EQ(layout.unit_at(2 * mib), 4 * mib);
    EXPECT_EQ(layout.reason, "some bytes will be on all servers, which are not known");
}

TEST(Lustre, data_on_the_metadata_server_is_on_a_server_of_its_own) {
    auto const layout = parse_lustre_layout(
        composite({{0, mib, {.pattern = on_metadata_server, .unit = 0x100000, .osts = {}}},
                   {mib, no_end, {.unit = 4 * mib, .osts = {9, 3}}}}));
    EXPECT_EQ(layout.servers(), 3u);
    EXPECT_EQ(layout.server_of(0), 2u);
    EXPECT_EQ(layout.bytes_of(2, {0, 100 * mib}).bytes(), mib);
    EXPECT_EQ(layout.server_of(mib), 1u);
}

TEST(Lustre, first_mirror_that_is_up_to_date_counts) {
    std::vector<Entry> mirrors{{0, no_end, {.osts = {1}}, 0x10 | 0x01, 1},
                               {0, no_end, {.osts = {2, 3}}, 0x10, 2}};
    EXPECT_EQ(described(composite(mirrors)), "1 MiB over 2 servers (lustre: mirrored)");
    mirrors[0].flags = 0x10;
    EXPECT_EQ(described(composite(mirrors)), "one server (lustre: mirrored)");
    mirrors[0].flags = mirrors[1].flags = 0x11;
    EXPECT_EQ(described(composite(mirrors)), "unknown (lustre: all mirrors are stale)");
}

// Self-extending layout: [0, 64M) may grow over the extension [64M, 1G), which has no objects.
TEST(Lustre, what_may_grow_into_its_extension_is_there_already) {
    auto const layout = parse_lustre_layout(
        composite({{0, 64 * mib, {.osts = {1}}},
                   {64 * mib, 1024 * mib, {.unit = 65536, .osts = {}}, /*flags=*/0x40},
                   {1024 * mib, 1024 * mib, {.osts = {}, .stripes = 9}, /*flags=*/0},
                   {1024 * mib, no_end, {.osts = {2}}}}));
    EXPECT_EQ(layout.describe(), "1 MiB up to 1 GiB, then 1 MiB over 2 servers (lustre)");
    EXPECT_EQ(layout.server_of(500 * mib), 0u);
}

TEST(Lustre, a_layout_that_ends_is_known_up_to_there) {
    EXPECT_EQ(described(composite({{0, mib, {.osts = {1, 2}}}})),
              "1 MiB over 2 servers (lustre: ends at 1048576)");
}

TEST(Lustre, what_cannot_be_is_unknown) {
    struct Case {
        std::vector<std::byte> attribute;
        char const* reason;
    };
    Plain const good{.osts = {1}};
    for (auto const& [attribute, reason] : {
             Case{{}, "attribute is cut off"},
             Case{FakeBytes{}.put(0x12345678, 4).skip(100).bytes, "unknown magic number"},
             Case{FakeBytes{}.put(0x0BD70BD0, 4).skip(100).bytes, "foreign layout"},
             Case{Plain{.unit = 0, .osts = {1}}.bytes(), "stripe size is zero"},
             Case{Plain{.osts = {}}.bytes(), "stripe count 0"},
             Case{Plain{.osts = {}, .stripes = 0xffff}.bytes(), "stripe count 65535"},
             Case{Plain{.pattern = 2, .osts = {1}}.bytes(), "unknown striping pattern"},
             Case{Plain{.osts = {0xffffffff}}.bytes(), "a stripe has no object"},
             Case{composite({}), "no component"},
             Case{composite({{mib, no_end, good}}), "components do not follow each other"},
             Case{composite({{0, mib, good}, {2 * mib, no_end, good}}),
                  "components do not follow each other"},
             Case{composite({{0, 2 * mib, good}, {mib, no_end, good}}),
                  "components do not follow each other"},
             Case{composite({{0, 0, good}}), "components do not follow each other"},
             Case{composite({{0, mib, good, 0x40}}), "an extension extends nothing"},
             Case{composite({{0, no_end, {.magic = 0x0BD70BD0, .osts = {}}}}), "foreign layout"},
             Case{composite({{0, no_end, {.magic = 0x0BD60BD0, .osts = {}}}}),
                  "unknown magic number"},
             Case{composite(std::vector<Entry>(3, Entry{0, no_end, good})),
                  "components do not follow each other"},
         }) {
        auto const layout = parse_lustre_layout(attribute);
        EXPECT_FALSE(layout.known());
        EXPECT_EQ(layout.reason, reason);
    }
}

TEST(Lustre, an_attribute_that_is_cut_off_anywhere_is_unknown) {
    for (auto const& attribute :
         {Plain{.osts = {1, 2, 3}}.bytes(), Plain{.magic = v3, .osts = {1, 2}}.bytes(true),
          composite({{0, mib, {.pattern = on_metadata_server, .osts = {}}},
                     {mib, 9 * mib, {.magic = v3, .osts = {1, 2}}},
                     {9 * mib, no_end, {.osts = {}, .stripes = 4}, /*flags=*/0}})}) {
        EXPECT_TRUE(parse_lustre_layout(attribute).known());
        for (std::size_t size = 0; size < attribute.size(); ++size) {
            // On the heap, so that a sanitizer sees a read past the end.
            std::vector<std::byte> const part(attribute.begin(),
                                              attribute.begin() + static_cast<long>(size));
            EXPECT_EQ(described(part), "unknown (lustre: attribute is cut off)") << size;
        }
    }
}

TEST(Lustre, no_changed_byte_leads_astray) {
    auto const good = composite({{0, mib, {.osts = {1}}},
                                 {mib, 9 * mib, {.magic = v3, .osts = {1, 2}}},
                                 {9 * mib, no_end, {.osts = {}, .stripes = 4}, /*flags=*/0}});
    for (std::size_t at = 0; at < good.size(); ++at)
        for (auto const value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            auto changed = good;
            changed[at] = static_cast<std::byte>(value);
            auto const layout = parse_lustre_layout(changed);
            for (std::uint64_t offset = 0; layout.known() && offset < 20 * mib; offset += mib / 2)
                ASSERT_LT(layout.server_of(offset), layout.servers()) << at << " " << value;
        }
}

TEST(Lustre, provider_reads_the_attribute) {
    auto const bytes = Plain{.osts = {3, 1}}.bytes();
    std::string const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    EXPECT_EQ((FakeFile{.magic = 0x0BD00BD0, .attributes = {{"lustre.lov", text}}}.find()),
              "1 MiB over 2 servers (lustre)");
    EXPECT_EQ(FakeFile{.magic = 0x0BD00BD0}.find({.striping_unit = 1, .striping_factor = 1}),
              "unknown (lustre: lustre.lov cannot be read)");
}

}  // namespace
}  // namespace unisono
