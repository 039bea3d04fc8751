import PealModel
import PealWebSocket

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a supervisor and Prometheus ask.
extension OperationsSurface {
    /// Whether the hub takes requests: 503 while it stops, or where its store cannot write.
    func ready(_ respond: HTTPResponder) {
        let service = core.hub.service
        let timer = { service.post(afterMilliseconds: $0, $1) }
        core.hub.readiness.check(core.committer, timer: timer) { reason in
            switch reason {
            case nil: respond.send(.text(200, "ready\n"))
            case .draining?: respond.send(HTTPSurface.native.response(to: .stopping))
            case .store(let word)?:
                let failure = HTTPFailure(
                    status: 503, code: "store_unavailable",
                    message: "The hub cannot write (\(word)). Look at its log, its disk and its directory.",
                    headers: ["Retry-After": "1"])
                respond.send(HTTPSurface.native.response(to: failure))
            }
        }
    }

    /// What was counted, with the gauges of this moment: from the live side, then from the store.
    func metrics(_ respond: HTTPResponder) {
        let core = core
        let path = databasePath
        let asked = core.hub.service.post {
            var gauges = core.hub.assumeIsolated { $0.gauges() }
            gauges.writerQueue = core.committer.waitingCount
            gauges.databaseBytes = path.flatMap(Self.size)
            gauges.walBytes = path.flatMap { Self.size($0 + "-wal") }
            let live = gauges
            core.reader.read({ (reader) throws(HubStoreError) in try reader.pendingPublishes() }) { result in
                var gauges = live
                if case .success(let count) = result { gauges.fanoutJobs = count }
                let text = core.metrics.text(gauges)
                respond.send(
                    HTTPResponse(
                        status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(text.utf8)))
            }
        }
        if !asked { respond.send(HTTPSurface.native.response(to: .stopping)) }
    }

    private static func size(_ path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }
}
