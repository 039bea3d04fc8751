internal import Synchronization
#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Looks names up on threads of their own, because getaddrinfo blocks.
enum AddressLookup {
    /// Threads at once; more questions wait.
    private static let maximumThreads = 4
    /// Addresses of a name that are tried.
    private static let maximumAddresses = 4

    private struct Question {
        var host: String
        var answer: @Sendable ([String]) -> Void
    }

    private struct State {
        var questions: [Question] = []
        var threads = 0
    }

    private static let state = Mutex(State())

    /// Answers the addresses of a name in the order of preference, none where there is none, on another thread.
    static func addresses(of host: String, _ answer: @escaping @Sendable ([String]) -> Void) {
        let starts = state.withLock { state in
            state.questions.append(Question(host: host, answer: answer))
            guard state.threads < maximumThreads else { return false }
            state.threads += 1
            return true
        }
        guard starts else { return }
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { _ in
                AddressLookup.work()
                return nil
            }, nil)
        precondition(result == 0, "a thread could not be started")
        pthread_detach(thread)
    }

    private static func work() {
        while let question = next() { question.answer(ask(question.host)) }
    }

    private static func next() -> Question? {
        state.withLock { state in
            guard state.questions.isEmpty else { return state.questions.removeFirst() }
            state.threads -= 1
            return nil
        }
    }

    private static func ask(_ host: String) -> [String] {
        var hints = addrinfo()
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var entry = list
        while let info = entry?.pointee, found.count < maximumAddresses {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let result = getnameinfo(
                info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            if result == 0 {
                found.append(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
            }
            entry = info.ai_next
        }
        return found
    }
}
