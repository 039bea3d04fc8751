import CPealTerminal
import Foundation
import Peal
import PealHub
import PealModel
import PealReplica

/// Looks at this machine: versions, the configuration, the replicas' files, the terminal.
struct MachineDoctor {
    let arguments: Arguments
    let environment: [String: String]

    func versions() -> [Finding] {
        var found = Findings("versions")
        found.add(.ok, "peal", "\(pealVersion), frames of version \(wireVersion)")
        found.add(
            .ok, "libraries",
            "libwebsockets \(HubProbe.libraryVersion), SQLite \(replicaLibraryVersion), libmicrohttpd \(httpLibraryVersion)"
        )
        return found.all
    }

    /// - Parameter problem: what is wrong with the configuration file.
    func configuration(_ problem: CommandError?) -> [Finding] {
        var found = Findings("configuration")
        let path = Profiles.path(environment)
        if let problem {
            found.add(.failed, "file", problem.message, problem.hint)
        } else if FileManager.default.fileExists(atPath: path) {
            let profiles = try? Profiles(environment, root: root)
            let name = (try? profiles?.name(arguments)).flatMap { $0 } ?? "none"
            found.add(.ok, "file", "\(path), profile \(name)")
            let holdsSecret = profiles?.file.settings.contains { Profiles.secrets.contains($0.key) } ?? false
            if holdsSecret, let mode = Profiles.looseMode(path) {
                found.add(.warning, "mode", "others can read its secrets (mode \(mode))", "chmod 600 \(path)")
            }
        } else {
            found.add(.ok, "file", "none (\(path))")
        }
        for name in ["hub", "key", "user", "email", "directory", "ca"] {
            if let value = arguments.value(name) { found.add(.ok, name, value) }
        }
        for name in ["secret", "hmac", "proxy"] where arguments.has(name) { found.add(.ok, name, "given") }
        if let path = arguments.value("secret-file") {
            do throws(CommandError) {
                _ = try SecretFile.read(path, warns: false)
                found.add(.ok, "secret-file", path)
            } catch {
                found.add(.failed, "secret-file", error.message, "Write the secret there, with mode 600.")
            }
        }
        if !arguments.has("key") {
            found.add(
                .warning, "key", "none: an inbox needs one", "`peal config set key KEY`; `peal hub` printed it first.")
        }
        return found.all
    }

    // MARK: Replicas

    func replicas() -> [Finding] {
        var found = Findings("replicas")
        let directory = arguments.value("directory") ?? PealClient.defaultDirectory
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).filter {
            $0.hasSuffix(".peal")
        }
        guard FileManager.default.fileExists(atPath: directory) else {
            found.add(.ok, "directory", "\(directory) is not there yet: no inbox was opened")
            return found.all
        }
        space(directory, &found)
        if names.isEmpty { found.add(.ok, "files", "none in \(directory)") }
        for name in names.sorted() { replica(name, directory + "/" + name, &found) }
        return found.all
    }

    private func space(_ directory: String, _ found: inout Findings) {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return }
        let free = (Int64(status.f_bavail) * Int64(status.f_frsize)) >> 20
        if access(directory, W_OK) != 0 {
            found.add(.failed, "directory", "\(directory) cannot be written to", "Make it yours, or give --directory.")
        } else if free < 100 {
            found.add(.failed, "disk", "\(free) MiB free for \(directory)", "Make room: nothing can be kept soon.")
        } else {
            found.add(free < 1_024 ? .warning : .ok, "disk", "\(free) MiB free for \(directory)")
        }
    }

    private func replica(_ name: String, _ path: String, _ found: inout Findings) {
        ownership(name, path, &found)
        let reader: ReplicaReader
        let inspection: Inspection
        do throws(ReplicaError) {
            reader = try ReplicaReader(inspecting: path)
            inspection = try reader.inspect(integrity: true)
        } catch {
            found.add(.failed, name, error.message, "`peal inspect \(path)` says more; `peal inspect repair` mends.")
            return
        }
        let problems = reader.problems + (inspection.problems ?? [])
        if let first = problems.first {
            found.add(
                .failed, name, "\(problems.count) problems: \(first)",
                "`peal inspect verify \(path)` says more; `peal inspect repair` mends.")
            return
        }
        func count(_ state: OutboxItem.State) -> Int64 { inspection.outbox[state] ?? 0 }
        let dead = count(.dead)
        let waiting = inspection.outbox.values.reduce(0, +) - dead
        var text = "version \(inspection.version), whole, \(inspection.counts.total) listed"
        text += ", \(waiting) acts wait, \(dead) dead letters"
        if let key = arguments.value("key"), inspection.project != key {
            found.add(
                .warning, name, text + "; of another project, or of a key that was replaced",
                "With this --key it does not open: --directory gives each project files of its own; --former-key names an old key."
            )
        } else if dead > 0 {
            found.add(.warning, name, text, "`peal outbox` shows them; `peal outbox retry dead`, or discard dead.")
        } else if waiting > 1_000 {
            found.add(.warning, name, text, "They are sent at the next connection: `peal inbox` makes one.")
        } else {
            found.add(.ok, name, text)
        }
    }

    /// Who owns the file, and who else can read it.
    private func ownership(_ name: String, _ path: String, _ found: inout Findings) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        if status.st_uid != geteuid() {
            found.add(
                .warning, name, "belongs to user \(status.st_uid), and this is \(geteuid())",
                "Run this as who uses it, or chown the file, its -wal and its -shm.")
        }
        if let mode = Profiles.looseMode(path) {
            found.add(.warning, name, "others can read it (mode \(mode))", "chmod 600 \(path)*")
        }
    }

    // MARK: The terminal

    func terminal() -> [Finding] {
        var found = Findings("terminal")
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? "none"
        let word = locale.lowercased()
        if word.contains("utf-8") || word.contains("utf8") {
            found.add(.ok, "locale", locale)
        } else {
            found.add(
                .warning, "locale", "\(locale) is not UTF-8: other programs may not show what this one writes",
                "export LC_ALL=C.UTF-8")
        }
        guard isatty(1) == 1 else {
            found.add(.ok, "output", "no terminal: tables and JSON lines, no viewer")
            return found.all
        }
        let term = environment["TERM"] ?? ""
        var size = winsize()
        let isKnown = ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        if term.isEmpty || term == "dumb" {
            found.add(.warning, "TERM", "'\(term)': no viewer, no colours", "export TERM=xterm-256color, if it is one.")
        } else {
            found.add(.ok, "TERM", term)
        }
        if isKnown {
            found.add(
                size.ws_col < 40 ? .warning : .ok, "size", "\(size.ws_col) columns, \(size.ws_row) rows",
                size.ws_col < 40 ? "The viewer wants 40 columns." : nil)
        }
        let hasColours = Output.hasColours(1)
        let why = environment["NO_COLOR"]?.isEmpty == false ? " (NO_COLOR)" : ""
        found.add(.ok, "colours", hasColours ? "yes" : "no\(why)")
        return found.all
    }
}
