#if PostgreSQL
    /// The values of one statement, in PostgreSQL's binary format, each with its type.
    public struct PostgresParameters {
        /// The number of a type; these never change.
        public enum Kind: UInt32, Sendable {
            case bytes = 17
            case integer = 20
            case text = 25
            case bytesArray = 1_001
            case textArray = 1_009
            case integerArray = 1_016
        }

        private(set) var kinds: [UInt32] = []
        private(set) var offsets: [Int] = []
        /// Negative for NULL.
        private(set) var lengths: [Int32] = []
        /// Never empty, so that an empty value has an address too.
        private(set) var bytes: [UInt8] = [0]
        /// A text could not be taken.
        private(set) var hasZero = false

        /// No values.
        public init() {}

        /// Forgets the values, and keeps the memory.
        public mutating func removeAll() {
            kinds.removeAll(keepingCapacity: true)
            offsets.removeAll(keepingCapacity: true)
            lengths.removeAll(keepingCapacity: true)
            bytes.removeAll(keepingCapacity: true)
            bytes.append(0)
            hasZero = false
        }

        private mutating func begin(_ kind: Kind) {
            kinds.append(kind.rawValue)
            offsets.append(bytes.count)
            lengths.append(0)
        }

        private mutating func end() { lengths[lengths.count - 1] = Int32(bytes.count - offsets[offsets.count - 1]) }

        private mutating func write(_ value: UInt64) {
            withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
        }

        private mutating func write(_ value: Int32) {
            withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
        }

        /// Adds an integer.
        public mutating func add(_ value: Int64) {
            begin(.integer)
            write(UInt64(bitPattern: value))
            end()
        }

        /// Adds text.
        public mutating func add(_ value: String) {
            begin(.text)
            write(value)
            end()
        }

        private mutating func write(_ value: String) {
            var value = value
            value.withUTF8 { text in
                if text.contains(0) { hasZero = true }
                bytes.append(contentsOf: text)
            }
        }

        /// Adds bytes.
        public mutating func add(_ value: [UInt8]) {
            begin(.bytes)
            bytes.append(contentsOf: value)
            end()
        }

        /// Adds NULL of a type.
        public mutating func addNull(_ kind: Kind) {
            begin(kind)
            lengths[lengths.count - 1] = -1
        }

        private mutating func beginArray(_ kind: Kind, of element: Kind, count: Int) {
            begin(kind)
            write(Int32(count == 0 ? 0 : 1))
            write(Int32(1))
            write(Int32(element.rawValue))
            guard count > 0 else { return }
            write(Int32(count))
            write(Int32(1))
        }

        /// Adds an array of integers.
        public mutating func add(_ values: [Int64]) {
            beginArray(.integerArray, of: .integer, count: values.count)
            bytes.reserveCapacity(bytes.count + 12 * values.count)
            for value in values {
                write(Int32(8))
                write(UInt64(bitPattern: value))
            }
            end()
        }

        /// Adds an array of bytes; nil is NULL.
        public mutating func add(_ values: [[UInt8]?]) {
            beginArray(.bytesArray, of: .bytes, count: values.count)
            for value in values {
                write(Int32(value?.count ?? -1))
                if let value { bytes.append(contentsOf: value) }
            }
            end()
        }

        /// Adds an array of texts; nil is NULL.
        public mutating func add(_ values: [String?]) {
            beginArray(.textArray, of: .text, count: values.count)
            for value in values {
                write(Int32(value?.utf8.count ?? -1))
                if let value { write(value) }
            }
            end()
        }
    }
#endif
