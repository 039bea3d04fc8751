#if PostgreSQL
    import Foundation
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #else
        import Darwin
    #endif

    /// A PostgreSQL server of our own, in a fresh directory, on a socket there and on a free port of the loopback; for tests and
    /// measurements. It ends, and its directory goes, when this process does, however it does.
    ///
    /// As root, who may not run it, it runs as the user `postgres`.
    package final class PostgresServer: Sendable {
        /// Why there is none.
        package struct Failure: Error, CustomStringConvertible {
            package let description: String
        }

        /// The one that all tests of a process share: what it writes is not forced to the disk.
        package static func shared() throws -> PostgresServer {
            try sharedServer.withLock { server in
                if let server { return server }
                let made = try PostgresServer(["fsync=off", "max_connections=300"])
                server = made
                return made
            }
        }

        private static let sharedServer = Mutex<PostgresServer?>(nil)

        /// Where the data is; also the directory of the socket.
        package let directory: String
        /// On 127.0.0.1.
        package let port: Int
        /// The process that ends the server when our end of its input closes.
        private let watch = Mutex<FileHandle?>(nil)
        private let databases = Mutex(0)

        /// Makes a cluster and starts its server. Blocking, some seconds.
        ///
        /// - Parameters:
        ///   - settings: `name=value`, as for `postgres -c`.
        ///   - port: the port; nil for a free one.
        package init(_ settings: [String] = [], port: Int? = nil) throws {
            var template = Array("/tmp/peal-postgres-XXXXXX".utf8CString)
            guard let made = mkdtemp(&template) else { throw Failure(description: "no directory") }
            directory = String(cString: made)
            self.port = try port ?? Self.freePort()
            if getuid() == 0 { try Self.run(["chown", "postgres:", directory]) }
            let bin = try Self.bin()
            try Self.run(
                Self.user + [
                    "\(bin)/initdb", "-D", "\(directory)/data", "-A", "trust", "-U", "postgres", "--no-sync", "-E",
                    "UTF8", "--locale=C.UTF-8",
                ])
            try start(settings)
        }

        deinit { try? stop() }

        /// Starts the server, again where it was stopped. Blocking, until it answers.
        package func start(_ settings: [String] = []) throws {
            var arguments = [
                "port=\(port)", "listen_addresses=127.0.0.1", "unix_socket_directories=\(directory)",
                "logging_collector=off",
            ]
            arguments += settings
            let options = arguments.flatMap { ["-c", $0] }
            // Waiting for a child would wait for ever: the signal that tells of it is blocked in children of Foundation's.
            // A shell reads its input, which ends with us; then it ends the server and takes the directory away.
            let script = """
                trap '' INT
                "$@" >"$PEAL_DIRECTORY/log" 2>&1 </dev/null &
                read -r word
                if [ "$word" = keep ]; then exit 0; fi
                kill -QUIT $! 2>/dev/null; sleep 0.3; rm -rf "$PEAL_DIRECTORY"
                """
            let process = Process()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments =
                ["-c", script, "sh"] + Self.user + ["\(try Self.bin())/postgres", "-D", "\(directory)/data"] + options
            process.environment = ProcessInfo.processInfo.environment.merging(["PEAL_DIRECTORY": directory]) { $1 }
            let input = Pipe()
            process.standardInput = input
            process.currentDirectoryURL = URL(filePath: "/tmp")
            // Or whoever waits for the end of our output would wait for the server's.
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
            try process.run()
            watch.withLock { $0 = input.fileHandleForWriting }
            try waitUntilReady()
        }

        private func waitUntilReady() throws {
            let bin = try Self.bin()
            for _ in 0..<400 {
                if (try? Self.run(["\(bin)/pg_isready", "-q", "-h", directory, "-p", "\(port)"])) != nil { return }
                usleep(25_000)
            }
            let log = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
            throw Failure(description: "PostgreSQL does not answer: \(log.suffix(500))")
        }

        /// Ends the server at once, as a crash does (`immediate`), or in order (`fast`). The data stays.
        package func halt(_ mode: String = "immediate") throws {
            // First, or the watch would take the directory away when the server is gone.
            watch.withLock { handle in
                try? handle?.write(contentsOf: Data("keep\n".utf8))
                try? handle?.close()
                handle = nil
            }
            try Self.run(
                Self.user + ["\(try Self.bin())/pg_ctl", "-D", "\(directory)/data", "-m", mode, "-s", "-w", "stop"])
        }

        /// Ends the server for good; its directory goes.
        package func stop() throws { try watch.withLock { try $0?.close() } }

        /// The address of a database of it, through its socket, or through TCP.
        package func address(_ database: String = "postgres", tcp: Bool = false, user: String = "postgres") -> String {
            let folder = directory.replacing("/", with: "%2F")
            return "postgresql://\(user)@\(tcp ? "127.0.0.1" : folder):\(port)/\(database)"
        }

        /// Makes an empty database, or a copy of another one, and gives its address.
        package func makeDatabase(copyOf template: String? = nil) throws -> String {
            let number = databases.withLock { count in
                count += 1
                return count
            }
            let name = "peal_\(number)"
            try sql("CREATE DATABASE \(name)" + (template.map { " TEMPLATE \($0)" } ?? ""))
            return name
        }

        /// Takes a database away, whoever is connected.
        package func dropDatabase(_ name: String) { _ = try? sql("DROP DATABASE IF EXISTS \(name) WITH (FORCE)") }

        /// Runs SQL with `psql` and gives what it prints, unaligned.
        @discardableResult
        package func sql(_ text: String, in database: String = "postgres") throws -> String {
            try Self.run([
                "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p", "\(port)", "-U",
                "postgres", "-d", database, "-c", text,
            ])
        }

        // MARK: Processes

        /// Where the server's programs are.
        package static func bin() throws -> String {
            try run(["pg_config", "--bindir"]).trimmingCharacters(in: .whitespacesAndNewlines)
        }

        private static var user: [String] {
            getuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] : []
        }

        private static func freePort() throws -> Int {
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(socket) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutableBytes(of: &address) { bytes in
                guard let base = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
                return bind(socket, base, size) == 0 && getsockname(socket, base, &size) == 0
            }
            guard isBound else { throw Failure(description: "no free port") }
            return Int(UInt16(bigEndian: address.sin_port))
        }

        @discardableResult
        package static func run(_ arguments: [String]) throws -> String {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = arguments
            process.currentDirectoryURL = URL(filePath: "/tmp")
            let output = Pipe()
            let errors = Pipe()
            process.standardOutput = output
            process.standardError = errors
            process.standardInput = FileHandle.nullDevice
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            let words = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw Failure(description: "\(arguments.first ?? "") failed: \(words.suffix(500))")
            }
            return text
        }
    }
#endif
