import PealSQLite

#if PostgreSQL
    import PealPostgres
#endif

/// What a query can be given.
protocol Bindable {
    func bind(to statement: borrowing Statement, at index: Int32)
    #if PostgreSQL
        func add(to parameters: inout PostgresParameters)
        /// The type of a NULL in its place.
        static var kind: PostgresParameters.Kind { get }
    #endif
}

extension Int64: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension Int: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension Bool: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension String: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension [UInt8]: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, self) }
}
extension UInt64: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) { statement.bind(index, bits: self) }
}
extension Optional: Bindable where Wrapped: Bindable {
    func bind(to statement: borrowing Statement, at index: Int32) {
        switch self {
        case .none: statement.bindNull(index)
        case .some(let value): value.bind(to: statement, at: index)
        }
    }
}

#if PostgreSQL
    extension Int64 {
        func add(to parameters: inout PostgresParameters) { parameters.add(self) }
        static var kind: PostgresParameters.Kind { .integer }
    }
    extension Int {
        func add(to parameters: inout PostgresParameters) { parameters.add(Int64(self)) }
        static var kind: PostgresParameters.Kind { .integer }
    }
    extension Bool {
        func add(to parameters: inout PostgresParameters) { parameters.add(Int64(self ? 1 : 0)) }
        static var kind: PostgresParameters.Kind { .integer }
    }
    extension UInt64 {
        func add(to parameters: inout PostgresParameters) { parameters.add(Int64(bitPattern: self)) }
        static var kind: PostgresParameters.Kind { .integer }
    }
    extension String {
        func add(to parameters: inout PostgresParameters) { parameters.add(self) }
        static var kind: PostgresParameters.Kind { .text }
    }
    extension [UInt8] {
        func add(to parameters: inout PostgresParameters) { parameters.add(self) }
        static var kind: PostgresParameters.Kind { .bytes }
    }
    extension Optional where Wrapped: Bindable {
        func add(to parameters: inout PostgresParameters) {
            switch self {
            case .none: parameters.addNull(Wrapped.kind)
            case .some(let value): value.add(to: &parameters)
            }
        }
        static var kind: PostgresParameters.Kind { Wrapped.kind }
    }
#endif
