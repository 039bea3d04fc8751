import PealModel

/// Sending under its later name, and looking back at what was sent so.
extension InboxSurface {
    var broadcastRoutes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/broadcasts") { broadcast($0, $1) },
            HTTPRoute(.get, "/broadcasts") { broadcasts($0, $1) },
            HTTPRoute(.get, "/broadcasts/{id}") { showBroadcast($0, $1) },
        ]
    }

    private static let unknown = HTTPFailure(
        status: 404, code: "not_found", message: "There is no such broadcast in this project.")

    private func broadcast(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            let publish = try SendRequest(request, under: "broadcast", now: core.clock()).publish(project.key)
            let asked = try JSONBody(request).raw("broadcast", .max) ?? []
            try core.publish(publish, request, of: project, as: .inbox, respond) {
                (store, result, now) throws(HubStoreError) in
                let kept = BroadcastRecord(name: publish.name, time: now, matched: result.matched, body: asked)
                try store.keep(kept, in: project.key)
                return .json(201, Self.body(kept))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private func broadcasts(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            let (number, perPage) = try ListParameters(request.query).page()
            core.perform(project, as: .inbox, key: nil, respond) { (store, _) throws(HubStoreError) in
                let found = try store.broadcasts(in: project.key, after: (number - 1) * perPage, limit: perPage)
                var writer = JSONWriter()
                writer.beginObject()
                writer.member("total", Int64(found.total))
                writer.member("per_page", Int64(perPage))
                writer.member("total_pages", Int64(max(1, (found.total + perPage - 1) / perPage)))
                writer.member("current_page", Int64(number))
                writer.key("broadcasts")
                writer.beginArray()
                for broadcast in found.page { Self.write(broadcast, to: &writer) }
                writer.endArray()
                writer.endObject()
                return Work(response: .json(200, writer.bytes))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private func showBroadcast(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            let name = request.parameter("id")
            core.perform(project, as: .inbox, key: nil, respond) { (store, _) throws(HubStoreError) in
                guard let found = try store.broadcast(name, in: project.key) else {
                    return Work(response: HTTPSurface.inbox.response(to: Self.unknown))
                }
                return Work(response: .json(200, Self.body(found)))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func body(_ broadcast: BroadcastRecord) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("broadcast")
        write(broadcast, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    /// What was asked for, with what became of it: durable in every inbox, or a job that brings it there.
    private static func write(_ broadcast: BroadcastRecord, to writer: inout JSONWriter) {
        let asked = try? JSON(broadcast.body[...])
        writer.beginObject()
        writer.member("id", broadcast.name)
        for key in ["title", "content", "action_url", "category", "topic"] {
            writer.key(key)
            if let text = asked?[key]?.stringValue { writer.string(text) } else { writer.null() }
        }
        writer.key("custom_attributes")
        writer.raw(
            (asked?["custom_attributes"].flatMap { $0.objectValue == nil ? nil : $0.bytes } ?? Array("{}".utf8))[...])
        writer.key("recipients")
        writer.raw((asked?["recipients"]?.bytes ?? Array("[]".utf8))[...])
        let time = ISOTime.text(broadcast.time)
        writer.member("created_at", time)
        writer.member("sent_at", time)
        writer.key("status")
        writer.beginObject()
        writer.member("status", "processed")
        writer.key("summary")
        writer.beginObject()
        writer.member("total", Int64(broadcast.matched))
        writer.member("failures", 0 as Int64)
        writer.endObject()
        writer.key("errors")
        writer.beginArray()
        writer.endArray()
        writer.endObject()
        writer.endObject()
    }
}

/// Times of the inbox surface that are not unix seconds: ISO 8601 in UTC.
enum ISOTime {
    /// `2026-11-30T12:00:00Z`, for any time from 1970 on.
    static func text(_ time: Milliseconds) -> String {
        let seconds = max(0, time) / 1_000
        let (year, month, day) = date(seconds / 86_400)
        let clock = seconds % 86_400
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(year)-\(two(month))-\(two(day))T\(two(clock / 3_600)):\(two(clock / 60 % 60)):\(two(clock % 60))Z"
    }

    /// The Gregorian date of so many days after 1970-01-01; years begin in March, so that the leap day comes last.
    private static func date(_ days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
