import PealModel

/// What a user may do about their own data: see and revoke devices, and have everything deleted.
extension InboxSurface {
    var ownRoutes: [HTTPRoute] {
        [
            HTTPRoute(.delete, "/me") { erase($0, $1) },
            HTTPRoute(.get, "/me/devices") { ownDevices($0, $1) },
            HTTPRoute(.delete, "/me/devices/{device}") { revokeOwn($0, $1) },
        ]
    }

    /// 204 also for who is not there, so that a request whose answer was lost can come again. It wants a proof in any project: a name alone,
    /// which others know, deletes nobody.
    private func erase(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request, needsProof: true)
            core.perform(project, as: .inbox, key: nil, respond) { (store, _) throws(HubStoreError) in
                guard let user = try store.user(identity, in: project.key) else {
                    return Work(response: .empty(204))
                }
                return Work(response: .empty(204), ended: try store.deleteUser(user.key))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    /// The replicas of the user's inbox, then the devices with an inbox of their own. None for who is not there.
    private func ownDevices(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            core.read(as: .inbox, respond) { (reader) throws(HubStoreError) in
                var writer = JSONWriter(capacity: 1_024)
                writer.beginObject()
                writer.key("devices")
                writer.beginArray()
                if let user = try reader.user(identity, in: project.key) {
                    for replica in try reader.replicas(of: user.inbox) {
                        writer.beginObject()
                        writer.member("id", replica.id.description)
                        writer.member("kind", "replica")
                        writer.member("push", false)
                        writer.time("last_seen_at", replica.seenAt)
                        writer.endObject()
                    }
                    for device in try reader.devices(of: user.key) { try Self.write(device, reader, to: &writer) }
                    for subscription in try reader.subscriptions(of: user.key) {
                        writer.beginObject()
                        writer.member("id", subscription.deviceID)
                        writer.member("kind", "device")
                        writer.member("platform", subscription.platform)
                        writer.member("push", true)
                        writer.time("last_seen_at", subscription.created)
                        writer.endObject()
                    }
                }
                writer.endArray()
                writer.endObject()
                return .json(200, writer.bytes)
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func write(
        _ device: DeviceRecord, _ reader: any HubReader, to writer: inout JSONWriter
    ) throws(HubStoreError) {
        let seen = try reader.replicas(of: device.inbox).map(\.seenAt).max()
        writer.beginObject()
        writer.member("id", device.id)
        writer.member("kind", "device")
        writer.member("platform", device.platform)
        writer.member("push", device.token != nil)
        writer.time("last_seen_at", seen ?? device.created)
        writer.endObject()
    }

    private func revokeOwn(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request, needsProof: true)
            let id = request.parameter("device")
            core.perform(project, as: .inbox, key: nil, respond) { (store, now) throws(HubStoreError) in
                if let user = try store.user(identity, in: project.key) {
                    if let replica = ReplicaID(id), let key = try store.revoke(replica, of: user.inbox, now: now) {
                        return Work(response: .empty(204), revoked: (user.inbox, key))
                    }
                    let named = try store.subscriptions(of: user.key).first { $0.deviceID == id }
                    if let named, try store.unsubscribe(user.key, token: named.token) {
                        return Work(response: .empty(204))
                    }
                    if let device = try store.devices(of: user.key).first(where: { $0.id == id }) {
                        try store.deleteDevice(device.inbox)
                        return Work(response: .empty(204), ended: [device.inbox])
                    }
                }
                return Work(
                    response: HTTPSurface.inbox.response(
                        to: HTTPFailure(
                            status: 404, code: "not_found", message: "This user has no such device.")))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }
}
