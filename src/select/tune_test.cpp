#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "select/tune_store.hpp"

namespace unisono {
namespace {

namespace fs = std::filesystem;

TuningContext const here{"a processor, 4 cores", "Unisono 1, MPICH 4", "ext4 /dev/sda1"};

TuningRecord record(std::uint64_t bytes_class = 21) {
    return {.where = here,
            .calls = {.direction = Direction::read,
                      .ranks = 4,
                      .nodes = 1,
                      .requests = 11,
                      .bytes = bytes_class,
                      .relative_offset = -3},
            .scores = {{"two_phase", {.calls = 5, .mean = std::log(1e9), .squares = 0.04}},
                       {"lacio", {.calls = 1, .mean = std::log(2e8)}}},
            .updated_s = 1700000000};
}

TEST(TuneFile, survives_the_journey) {
    TuneFile const file{.frozen = true, .records = {record()}};
    auto const parsed = parse_tune_file(to_json(file));
    ASSERT_TRUE(parsed.file) << parsed.complaint;
    EXPECT_TRUE(parsed.file->frozen);
    ASSERT_EQ(parsed.file->records.size(), 1u);
    auto const& back = parsed.file->records[0];
    EXPECT_EQ(back.where, here);
    EXPECT_EQ(back.calls, record().calls);
    EXPECT_EQ(back.updated_s, 1700000000);
    EXPECT_EQ(back.scores.at("two_phase").calls, 5u);
    EXPECT_NEAR(back.scores.at("two_phase").mean, std::log(1e9), 1e-9);
    EXPECT_NEAR(back.scores.at("two_phase").squares, 0.04, 1e-9);
    EXPECT_EQ(back.scores.at("lacio").calls, 1u);
}

TEST(TuneFile, of_version_1_has_lessons_and_places) {
    auto text = to_json(TuneFile{.records = {record()}});
    for (auto const& [now, then] :
         {std::pair{R"("unisono_tune": 2)", R"("unisono_tune": 1)"},
          std::pair{R"("records")", R"("lessons")"}, std::pair{R"("storage")", R"("place")"}})
        text.replace(text.find(now), std::strlen(now), then);
    auto const parsed = parse_tune_file(text);
    ASSERT_TRUE(parsed.file) << parsed.complaint;
    EXPECT_EQ(parsed.file->records.at(0).where, here);
}

TEST(TuneFile, says_why_a_text_is_none) {
    EXPECT_EQ(parse_tune_file("").complaint, "no tune file of Unisono");
    EXPECT_EQ(parse_tune_file("[]").complaint, "no tune file of Unisono");
    EXPECT_EQ(parse_tune_file(R"({"records": []})").complaint, "no tune file of Unisono");
    EXPECT_EQ(parse_tune_file(R"({"unisono_tune": 3})").complaint, "of a newer version (3)");
    EXPECT_EQ(parse_tune_file(R"({"unisono_tune": 1})").complaint, "damaged");
    EXPECT_EQ(parse_tune_file(R"({"unisono_tune": 2, "frozen": "no", "records": []})").complaint,
              "damaged");
    EXPECT_EQ(parse_tune_file(R"({"unisono_tune": 2, "frozen": false, "records": [{}]})").complaint,
              "damaged");
}

// Cut off anywhere, or with any byte spoilt, it is a tune file or is not, but harms nobody.
TEST(TuneFile, bears_any_damage) {
    auto const text = to_json({.records = {record(), record(30)}});
    for (std::size_t size = 0; size + 1 < text.size(); ++size)
        EXPECT_FALSE(parse_tune_file(std::string_view{text}.substr(0, size)).file) << size;
    std::size_t refused = 0;
    for (std::size_t at = 0; at < text.size(); ++at)
        for (char const spoilt : {'\0', '9', '-', '}', '\xff', 'e'}) {
            auto changed = text;
            changed[at] = spoilt;
            auto const parsed = parse_tune_file(changed);
            refused += !parsed.file.has_value();
            if (!parsed.file) continue;
            for (auto const& one : parsed.file->records)
                for (auto const& [name, score] : one.scores) {
                    EXPECT_GT(score.calls, 0u) << at;
                    EXPECT_TRUE(std::isfinite(score.mean)) << at;
                    EXPECT_TRUE(std::isfinite(score.uncertainty())) << at;
                }
        }
    EXPECT_GT(refused, text.size());
}

TEST(TuneFile, scores_that_make_no_sense_are_left_out) {
    auto text = to_json({.records = {record()}});
    auto const at = text.find("\"calls\": 5");
    text.replace(at, 10, "\"calls\": 0");
    auto const parsed = parse_tune_file(text);
    ASSERT_TRUE(parsed.file);
    EXPECT_FALSE(parsed.file->records.at(0).scores.contains("two_phase"));
    EXPECT_TRUE(parsed.file->records.at(0).scores.contains("lacio"));
}

// As 4294967295 calls; with one more they were none, and what was written then was damaged.
TEST(TuneFile, fewer_than_no_calls_are_not_four_billion) {
    auto text = to_json({.records = {record()}});
    for (auto const* const calls : {"-1", "4294967295"}) {
        auto changed = text;
        changed.replace(changed.find("\"calls\": 5"), 10, std::string{"\"calls\": "} + calls);
        auto file = parse_tune_file(changed).file.value();
        auto one_more = record();
        one_more.scores = {{"two_phase", {.calls = 1, .mean = std::log(1e9)}}};
        take_in(file, {one_more}, 1800000000);
        auto const back = parse_tune_file(to_json(file));
        ASSERT_TRUE(back.file) << back.complaint;
        auto const& score = back.file->records.at(0).scores.at("two_phase");
        EXPECT_EQ(score.calls, *calls == '-' ? 1U : 1'000'000U);
    }
}

TEST(TuneFile, takes_in_what_is_new_record_by_record) {
    TuneFile file{.records = {record()}};
    take_in(file, {record(), record(30)}, 1800000000);
    ASSERT_EQ(file.records.size(), 2u);
    EXPECT_EQ(file.records[0].scores.at("two_phase").calls, 10u);
    EXPECT_EQ(file.records[0].updated_s, 1800000000);
    EXPECT_EQ(file.records[1].calls.bytes, 30u);
    auto wrong = record();
    wrong.replaces = true;
    take_in(file, {wrong}, 1800000001);
    EXPECT_EQ(file.records[0].scores.at("two_phase").calls, 5u);
}

TEST(TuneFile, keeps_what_is_frozen_and_what_is_recent) {
    auto frozen = record();
    frozen.frozen = true;
    TuneFile file{.records = {frozen}};
    take_in(file, {record()}, 1800000000);
    EXPECT_EQ(file.records[0].scores.at("two_phase").calls, 5u);
    for (std::uint32_t ranks = 10; ranks < 1510; ++ranks) {
        auto other = record();
        other.calls.ranks = ranks;
        take_in(file, {other}, 1800000000 + ranks);
    }
    EXPECT_EQ(file.records.size(), 1000u);
    EXPECT_TRUE(std::ranges::any_of(file.records, &TuningRecord::frozen));
    EXPECT_TRUE(std::ranges::none_of(file.records, [](auto const& one) {
        return one.calls.ranks >= 10 && one.calls.ranks < 500;
    }));
}

FileHistory history(std::string files, std::string run = "a run") {
    return {.kind = {.program = "app",
                     .files = std::move(files),
                     .storage = "ext4 /dev/sda1",
                     .machine = "a processor",
                     .ranks = 4,
                     .nodes = 2,
                     .written_class = 30,
                     .read_class = 7},
            .runs = {{std::move(run), 1 << 30, 2.5, 2.25}},
            .updated_s = 1700000000};
}

TEST(TuneFile, has_the_history_of_files) {
    auto const parsed = parse_tune_file(to_json(TuneFile{.histories = {history("chk_#")}}));
    ASSERT_TRUE(parsed.file) << parsed.complaint;
    ASSERT_EQ(parsed.file->histories.size(), 1u);
    auto const& back = parsed.file->histories[0];
    EXPECT_EQ(back.kind, history("chk_#").kind);
    EXPECT_EQ(back.updated_s, 1700000000);
    ASSERT_EQ(back.runs.size(), 1u);
    EXPECT_EQ(back.runs[0].id, "a run");
    EXPECT_EQ(back.runs[0].bytes, 1u << 30);
    EXPECT_EQ(back.runs[0].seconds, 2.5);
    EXPECT_EQ(back.runs[0].storage_seconds, 2.25);
}

// Each run of a program whose files' names are no UTF-8 was a kind of its own: none was ever found
// again, and they drove out the others.
TEST(TuneFile, finds_names_again_that_are_no_utf8) {
    EXPECT_EQ(as_kept(std::string{"gr\u00fcn"}), "gr\u00fcn");
    TuneFile file;
    for (auto const* const run : {"one", "another"}) {
        auto latin_1 = history("gr\xfcn.#", run);
        latin_1.kind = as_kept(latin_1.kind);
        take_in(file, std::vector{latin_1}, 1700000000);
        file = parse_tune_file(to_json(file)).file.value();
    }
    ASSERT_EQ(file.histories.size(), 1u);
    EXPECT_EQ(file.histories[0].runs.size(), 2u);
}

TEST(TuneFile, with_a_damaged_history_keeps_its_records) {
    auto text = to_json(TuneFile{.records = {record()}, .histories = {history("x"), history("y")}});
    text.replace(text.find(R"("nodes": 2)"), std::strlen(R"("nodes": 2)"), R"("nodes": [])");
    auto const parsed = parse_tune_file(text);
    ASSERT_TRUE(parsed.file) << parsed.complaint;
    EXPECT_EQ(parsed.file->records.size(), 1u);
    ASSERT_EQ(parsed.file->histories.size(), 1u);
    EXPECT_EQ(parsed.file->histories[0].kind.files, "y");
}

TEST(TuneFile, keeps_a_hundred_histories_of_twelve_runs) {
    TuneFile file;
    for (int i = 0; i < 150; ++i)
        take_in(file, std::vector{history("f" + std::to_string(i))}, 1000 + i);
    for (int i = 0; i < 50; ++i)
        take_in(file, std::vector{history("f149", std::to_string(i))}, 2000 + i);
    ASSERT_EQ(file.histories.size(), 100u);
    EXPECT_EQ(file.histories[0].kind.files, "f149");
    EXPECT_EQ(file.histories[0].runs.size(), 12u);
    EXPECT_EQ(file.histories[0].runs.back().id, "49");
    EXPECT_EQ(file.histories.back().kind.files, "f50");
}

TEST(MemoryBytes, survive_the_journey) {
    Memory const memory{
        .library = {MpiLibrary::Family::mpich, "MPICH 4"}, .frozen = true, .records = {record()}};
    auto const bytes = to_bytes(memory);
    auto const back = memory_from_bytes(bytes);
    ASSERT_TRUE(back);
    EXPECT_TRUE(back->frozen);
    EXPECT_EQ(back->library.name, "MPICH 4");
    EXPECT_EQ(back->records.at(0).scores, record().scores);
    EXPECT_EQ(back->records.at(0).calls, record().calls);
    EXPECT_FALSE(memory_from_bytes(std::span{bytes}.first(20)));
}

class TuneStore : public ::testing::Test {
protected:
    TuneStore() {
        std::string name = (fs::temp_directory_path() / "tune_test.XXXXXX").string();
        folder_ = mkdtemp(name.data());
        paths_.user = (folder_ / "cache" / "tune.json").string();
    }
    ~TuneStore() override {
        fs::permissions(folder_, fs::perms::owner_all);
        fs::remove_all(folder_);
    }

    void write(std::string const& text) const {
        fs::create_directories(fs::path{paths_.user}.parent_path());
        std::ofstream{paths_.user} << text;
    }
    [[nodiscard]] std::string text() const {
        std::ostringstream all;
        all << std::ifstream{paths_.user}.rdbuf();
        return all.str();
    }
    [[nodiscard]] Recalled recall_here() const { return recall(paths_, here, 4); }
    // One line, which names the file; and nothing was recalled or written.
    void expect_refused(std::string const& why) const {
        auto const recalled = recall_here();
        ASSERT_EQ(recalled.complaints.size(), 1u);
        EXPECT_EQ(recalled.complaints[0],
                  "unisono: " + paths_.user + ": " + why + "; what it has learnt is not used");
        EXPECT_TRUE(recalled.memory.records.empty());
        auto const before = text();
        EXPECT_EQ(keep(paths_.user, {record()}), recalled.complaints[0]);
        EXPECT_EQ(text(), before);
    }

    fs::path folder_;
    TunePaths paths_;
};

TEST_F(TuneStore, keeps_and_recalls) {
    EXPECT_TRUE(recall_here().memory.records.empty());
    EXPECT_TRUE(recall_here().complaints.empty()) << "nothing was learnt yet";
    EXPECT_EQ(keep(paths_.user, {record()}), "");
    EXPECT_EQ(keep(paths_.user, {record()}), "");
    auto const recalled = recall_here();
    ASSERT_EQ(recalled.memory.records.size(), 1u);
    EXPECT_EQ(recalled.memory.records[0].scores.at("two_phase").calls, 10u);
    auto const entries = std::distance(fs::directory_iterator{folder_ / "cache"}, {});
    EXPECT_EQ(entries, 1) << "no temporary file is left";
}

TEST_F(TuneStore, recalls_what_fits_the_circumstances) {
    auto other_machine = record();
    other_machine.where.machine = "another";
    auto other_software = record();
    other_software.where.software = "Unisono 2, MPICH 4";
    auto other_ranks = record();
    other_ranks.calls.ranks = 8;
    auto other_storage = record();
    other_storage.where.storage_key = "tmpfs";
    EXPECT_EQ(keep(paths_.user, {other_machine, other_software, other_ranks, other_storage}), "");
    auto const recalled = recall_here();
    ASSERT_EQ(recalled.memory.records.size(), 1u);
    EXPECT_EQ(recalled.memory.records[0].where.storage_key, "tmpfs");
}

TEST_F(TuneStore, the_users_file_comes_before_the_sites) {
    paths_.site = (folder_ / "site.json").string();
    auto theirs = record();
    theirs.scores.erase("lacio");
    EXPECT_EQ(keep(paths_.site, {theirs, record(30)}), "");
    EXPECT_EQ(keep(paths_.user, {record()}), "");
    auto const records = recall_here().memory.records;
    ASSERT_EQ(records.size(), 3u);
    EXPECT_TRUE(records[0].scores.contains("lacio"));
}

TEST_F(TuneStore, says_when_a_file_is_damaged_or_newer_and_leaves_it_alone) {
    write("{");
    expect_refused("no tune file of Unisono");
    write(R"({"unisono_tune": 7, "frozen": false, "records": []})");
    expect_refused("of a newer version (7)");
    write(R"({"unisono_tune": 2, "frozen": false})");
    expect_refused("damaged");
    write(std::string(9 << 20, ' '));
    expect_refused("too large");
}

TEST_F(TuneStore, does_not_trust_what_others_may_have_written) {
    write(to_json(TuneFile{.records = {record()}}));
    EXPECT_EQ(recall_here().memory.records.size(), 1u);
    for (auto const mode : {0666, 0664}) {
        ASSERT_EQ(chmod(paths_.user.c_str(), static_cast<mode_t>(mode)), 0);
        expect_refused("others may write to it");
    }
    ASSERT_EQ(chmod(paths_.user.c_str(), 0644), 0);
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    ASSERT_EQ(chown(paths_.user.c_str(), 12345, 12345), 0);
    expect_refused("it belongs to another user");
}

TEST_F(TuneStore, is_not_held_up_by_a_pipe_or_a_folder) {
    fs::create_directories(fs::path{paths_.user}.parent_path());
    ASSERT_EQ(mkfifo(paths_.user.c_str(), 0600), 0);
    auto const recalled = recall_here();
    ASSERT_EQ(recalled.complaints.size(), 1u);
    fs::remove(paths_.user);
    fs::create_directory(paths_.user);
    EXPECT_EQ(recall_here().complaints.size(), 1u);
    EXPECT_NE(keep(paths_.user, {record()}), "");
}

// What programs and files are called: in a folder that others may enter, too.
TEST_F(TuneStore, is_its_owners_alone_unless_he_opens_it_to_others) {
    auto const mode = [](fs::path const& path) { return fs::status(path).permissions(); };
    EXPECT_EQ(keep(paths_.user, {record()}), "");
    EXPECT_EQ(mode(paths_.user), fs::perms{0600});
    EXPECT_EQ(mode(folder_ / "cache"), fs::perms{0700});
    fs::permissions(paths_.user, fs::perms{0644});
    EXPECT_EQ(keep(paths_.user, {record()}), "");
    EXPECT_EQ(mode(paths_.user), fs::perms{0644});
}

TEST_F(TuneStore, says_when_it_cannot_write) {
    auto const complaint = keep("/proc/unisono/tune.json", {record()});
    EXPECT_NE(complaint.find("what was learnt is not kept"), std::string::npos) << complaint;
    if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere else";
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_NE(keep(paths_.user, {record()}), "");
    auto const below = keep(paths_.user + ".folder/tune.json", {record()});
    EXPECT_NE(below.find(std::strerror(EACCES)), std::string::npos) << below;
}

TEST_F(TuneStore, a_frozen_file_is_used_and_not_written) {
    write(to_json(TuneFile{.frozen = true, .records = {record()}}));
    auto const before = text();
    EXPECT_EQ(keep(paths_.user, {record(30)}), "");
    EXPECT_EQ(text(), before);
    EXPECT_TRUE(recall_here().memory.frozen);
    EXPECT_EQ(recall_here().memory.records.size(), 1u);
}

TEST_F(TuneStore, follows_a_link) {
    auto const elsewhere = folder_ / "elsewhere.json";
    std::ofstream{elsewhere} << to_json(TuneFile{});
    fs::create_directories(fs::path{paths_.user}.parent_path());
    fs::create_symlink(elsewhere, paths_.user);
    EXPECT_EQ(keep(paths_.user, {record()}), "");
    EXPECT_TRUE(fs::is_symlink(paths_.user));
    EXPECT_EQ(recall_here().memory.records.size(), 1u);
}

// Jobs that end at once may lose some of what they have learnt; no reader sees half a file.
TEST_F(TuneStore, many_jobs_write_at_once) {
    EXPECT_EQ(keep(paths_.user, {record()}), "");
    {
        std::vector<std::jthread> jobs;
        for (std::uint64_t job = 0; job < 4; ++job)
            jobs.emplace_back([&, job] {
                for (std::uint64_t i = 0; i < 10; ++i)
                    EXPECT_EQ(keep(paths_.user, {record(1 + 10 * job + i)}), "");
            });
        jobs.emplace_back([&] {
            for (int i = 0; i < 200; ++i) EXPECT_TRUE(recall_here().complaints.empty());
        });
    }
    auto const recalled = recall_here();
    EXPECT_GE(recalled.memory.records.size(), 10u) << "the last writers' at least";
    std::printf("%zu of 41 records were kept\n", recalled.memory.records.size());
}

// It was frozen by somebody between two tries.
TEST_F(TuneStore, leaves_nothing_behind_where_it_gives_up) {
    write(to_json(TuneFile{}));
    {
        std::jthread const somebody{[&](std::stop_token const& stop) {
            auto const next = paths_.user + ".next";
            for (auto frozen = true; !stop.stop_requested(); frozen = !frozen) {
                std::ofstream{next} << to_json(TuneFile{.frozen = frozen});
                fs::rename(next, paths_.user);
            }
        }};
        for (int i = 0; i < 100; ++i) EXPECT_EQ(keep(paths_.user, {record()}), "");
    }
    EXPECT_EQ(std::distance(fs::directory_iterator{folder_ / "cache"}, {}), 1);
}

TEST(TunePaths, are_the_users_cache_unless_something_else_is_said) {
    setenv("XDG_CACHE_HOME", "/cache", 1);
    setenv("HOME", "/home/me", 1);
    EXPECT_EQ(tune_paths({}).user, "/cache/unisono/tune.json");
    unsetenv("XDG_CACHE_HOME");
    EXPECT_EQ(tune_paths({}).user, "/home/me/.cache/unisono/tune.json");
    EXPECT_EQ(tune_paths({.tune = "/scratch/t.json"}).user, "/scratch/t.json");
    EXPECT_EQ(tune_paths({.tune_site = "/etc/t.json"}).site, "/etc/t.json");
    EXPECT_EQ(tune_paths({.tune = "off"}).user + tune_paths({.tune = "off"}).site, "");
    unsetenv("HOME");
    EXPECT_EQ(tune_paths({}).user, "");
}

}  // namespace
}  // namespace unisono
