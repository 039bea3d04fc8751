#if PostgreSQL
    import PostgresServer
    import Testing

    @testable import PealPostgres

    /// The connection: what is sent is done in order, what goes wrong is said, and it can go on afterwards.
    @Suite struct PostgresConnectionTests {
        private func open(prepares: Bool = true) throws -> PostgresConnection {
            let server = try PostgresServer.shared()
            var options = PostgresConnection.Options(try PostgresAddress(server.address()))
            options.prepares = prepares
            let connection = PostgresConnection(options)
            try connection.open()
            return connection
        }

        private func rows(
            _ connection: PostgresConnection, _ sql: String, _ fill: (inout PostgresParameters) -> Void = { _ in }
        ) throws -> PostgresResult {
            var parameters = PostgresParameters()
            fill(&parameters)
            return try connection.execute(connection.statement(sql), parameters)
        }

        @Test(arguments: [true, false])
        func `values come back as they were given`(_ prepares: Bool) throws {
            let connection = try open(prepares: prepares)
            let statement = connection.statement(
                "SELECT $1::bigint, $2::text, $3::bytea, $4::bigint, $5::smallint, $6::text")
            for number in [Int64.min, -1, 0, 7, .max] {
                var parameters = PostgresParameters()
                parameters.add(number)
                parameters.add("grüße \(number)")
                parameters.add([0, 255, 3] as [UInt8])
                parameters.addNull(.integer)
                parameters.add(Int64(-3))
                parameters.add("")
                let result = try connection.execute(statement, parameters)
                #expect(result.count == 1)
                #expect(result.int64(0, 0) == number)
                #expect(result.text(0, 1) == "grüße \(number)")
                #expect(result.withBytes(0, 2) { Array($0) } == [0, 255, 3])
                #expect(result.isNull(0, 3) && !result.isNull(0, 2))
                #expect(result.int64(0, 4) == -3)
                #expect(result.text(0, 5) == "" && !result.isNull(0, 5))
            }
        }

        @Test func `arrays are tables`() throws {
            let connection = try open()
            let sql = "SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[])"
            let result = try rows(connection, sql) { parameters in
                parameters.add([1, -2] as [Int64])
                parameters.add([[9], nil] as [[UInt8]?])
                parameters.add([nil, "x"] as [String?])
            }
            #expect(result.count == 2)
            #expect(result.int64(1, 0) == -2 && result.isNull(1, 1) && result.text(1, 2) == "x")
            #expect(result.withBytes(0, 1) { Array($0) } == [9] && result.isNull(0, 2))
            let none = try rows(connection, "SELECT * FROM unnest($1::bigint[])") { $0.add([] as [Int64]) }
            #expect(none.count == 0)
        }

        @Test func `a thousand statements cost few waits`() throws {
            let connection = try open()
            _ = try rows(connection, "CREATE TEMP TABLE t (i bigint)")
            let before = connection.waits
            let insert = connection.statement("INSERT INTO t VALUES ($1)")
            for number in 0..<1_000 {
                var parameters = PostgresParameters()
                parameters.add(Int64(number))
                try connection.send(insert, parameters)
            }
            #expect(try rows(connection, "SELECT sum(i)::bigint FROM t").int64(0, 0) == 499_500)
            #expect(connection.waits - before <= 10)
        }

        @Test func `an error is told at the next wait, and the connection goes on`() throws {
            let connection = try open()
            try connection.run("CREATE TEMP TABLE u (i bigint PRIMARY KEY)")
            let insert = connection.statement("INSERT INTO u VALUES ($1)")
            func send(_ number: Int64) throws {
                var parameters = PostgresParameters()
                parameters.add(number)
                try connection.send(insert, parameters)
            }
            try connection.run("BEGIN")
            try send(1)
            try connection.run("SAVEPOINT a")
            for number in [2, 1, 3] as [Int64] { try send(number) }
            let error = try #require(throws: PostgresError.self) { try connection.synchronize() }
            #expect(error.code == .uniqueViolation && !error.message.isEmpty)
            #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
            try connection.run("ROLLBACK TO a; RELEASE a; COMMIT")
            #expect(try rows(connection, "SELECT count(*) FROM u").int64(0, 0) == 1)
        }

        @Test func `a statement whose preparation was skipped is prepared again`() throws {
            let connection = try open()
            try connection.run("BEGIN")
            try connection.send(connection.statement("SELECT nothing FROM nowhere"), PostgresParameters())
            let later = connection.statement("SELECT 5::bigint")
            #expect(throws: PostgresError.self) { try connection.execute(later, PostgresParameters()) }
            try connection.run("ROLLBACK")
            #expect(try connection.execute(later, PostgresParameters()).int64(0, 0) == 5)
        }

        @Test func `a connection that was ended is lost, and can be made again`() throws {
            let connection = try open()
            let statement = connection.statement("SELECT pg_backend_pid()::bigint")
            let pid = try connection.execute(statement, PostgresParameters()).int64(0, 0)
            try PostgresServer.shared().sql("SELECT pg_terminate_backend(\(pid))")
            let error = try #require(throws: PostgresError.self) {
                for _ in 0..<100 { _ = try connection.execute(statement, PostgresParameters()) }
            }
            #expect(error.code == .lost && !connection.isOpen)
            try connection.open()
            #expect(try connection.execute(statement, PostgresParameters()).int64(0, 0) != pid)
        }

        @Test func `a text with a character of number 0 is refused before it is sent`() throws {
            let connection = try open()
            let error = try #require(throws: PostgresError.self) {
                try rows(connection, "SELECT $1") { $0.add("a\0b") }
            }
            #expect(error.code == .zeroCharacter)
            #expect(try rows(connection, "SELECT 1::bigint").int64(0, 0) == 1)
        }

        @Test func `nobody who reads an error or a description learns the password`() throws {
            let text = "postgresql://mary:geheim@127.0.0.1:1/shop?connect_timeout=2"
            let address = try PostgresAddress(text)
            #expect(address.description == "postgresql://mary@127.0.0.1:1/shop")
            let connection = PostgresConnection(.init(address))
            let refused = try #require(throws: PostgresError.self) { try connection.open() }
            #expect(refused.code == .lost && !"\(refused)".contains("geheim"))
            let wrong = try #require(throws: PostgresError.self) { try PostgresAddress("postgresql://geheim@[::1") }
            #expect(wrong.code == .badAddress && !"\(wrong)".contains("geheim"))
        }

        @Test func `a script is cut into its statements`() {
            let script = "-- a; comment\nSELECT 1; -- b\n\nSELECT\n 2;\n"
            #expect(PostgresConnection.statements(of: script) == ["SELECT 1", "SELECT\n 2"])
        }
    }
#endif
