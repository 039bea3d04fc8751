import Foundation
import PealSQLite

/// Folders and files of a campaign.
enum Folder {
    /// A new folder, in memory where the system has such a place: thousands of files would wait for a real disk.
    static func make() throws -> String {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let isThere = FileManager.default.isWritableFile(atPath: memory.path)
        let path = (isThere ? memory : FileManager.default.temporaryDirectory)
            .appendingPathComponent("peal-faults-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        return path.path
    }

    static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    /// A copy of the files as they are, as of a process that was killed; without the index of a log, which is memory.
    static func copy(_ path: String) throws -> String {
        let target = try make()
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: path + "/" + name, toPath: target + "/" + name)
        }
        return target
    }

    /// Every row of every table, sorted, as text.
    static func rows(_ file: String) throws -> String {
        let connection = try Connection(path: file)
        var tables: [String] = []
        let list = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
        while try list.step() { tables.append(list.text(0)) }
        var lines: [String] = []
        for table in tables {
            var columns: [String] = []
            let info = try connection.prepare("SELECT name FROM pragma_table_info('\(table)')")
            while try info.step() { columns.append("quote(\"\(info.text(0))\")") }
            let row = columns.joined(separator: " || '|' || ")
            let query = try connection.prepare(
                "SELECT group_concat(line, char(10)) FROM (SELECT '\(table)|' || \(row) AS line FROM \(table) ORDER BY line)"
            )
            if try query.step(), !query.isNull(0) { lines.append(query.text(0)) }
        }
        return lines.joined(separator: "\n")
    }

    /// The first line in which two dumps differ.
    static func difference(_ left: String, _ right: String) -> String {
        let (mine, other) = (Set(left.split(separator: "\n")), Set(right.split(separator: "\n")))
        let missing = other.subtracting(mine).sorted().first.map { "lacks \($0.prefix(160))" }
        let extra = mine.subtracting(other).sorted().first.map { "has \($0.prefix(160))" }
        return [missing, extra].compactMap { $0 }.joined(separator: "; ")
    }
}
