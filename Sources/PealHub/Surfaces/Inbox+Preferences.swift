import PealModel

/// A user's preferences, and the project's catalogue that they are about.
extension InboxSurface {
    var preferenceRoutes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/notification_preferences") { preferences($0, $1) },
            HTTPRoute(.put, "/notification_preferences") { setPreferences($0, $1) },
            HTTPRoute(.get, "/categories") { categories($0, $1) },
            HTTPRoute(.put, "/categories") { setCategories($0, $1) },
        ]
    }

    // MARK: Preferences

    private func preferences(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            core.read(as: .inbox, respond) { (reader) throws(HubStoreError) in
                guard let user = try reader.user(identity, in: project.key) else {
                    return HTTPSurface.inbox.response(to: Self.noSuchUser)
                }
                return .json(200, Self.body(try reader.preferences(of: user.inbox)))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    /// What is given is chosen, in one transaction; what is not stays. The answer is the full set, read after it is durable.
    private func setPreferences(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let (project, identity) = try user(request)
            let choices = try Self.choices(request)
            let read = HTTPResponder { [self] response in
                guard let response, response.status == 204 else { return respond.send(response ?? .empty(500)) }
                preferences(request, respond)
            }
            core.perform(project, as: .inbox, key: nil, weight: max(1, choices.count), read) {
                (store, now) throws(HubStoreError) in
                guard let user = try store.user(identity, in: project.key) else {
                    return Work(response: HTTPSurface.inbox.response(to: Self.noSuchUser))
                }
                var work = Work(response: .empty(204))
                for (key, enabled) in choices {
                    let result = try store.act(
                        .preference(category: key.category, channel: key.channel, enabled: enabled),
                        uid: .random(in: 1 ... .max), observed: nil, in: user.inbox, now: now)
                    if result.outcome.isDead {
                        // One that is refused takes the others with it.
                        let reason = result.outcome.reason ?? "It cannot be \(enabled ? "on" : "off")."
                        throw HubStoreError(
                            result.outcome.code == .invalid ? .invalid : .denied,
                            "the channel '\(key.channel)' of the category '\(key.category)': \(reason)")
                    }
                    work.appended += result.entries
                }
                return work
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func choices(_ request: HTTPRequest) throws(HTTPFailure) -> [(PreferenceKey, Bool)] {
        let preferences = try JSONBody(request).object("notification_preferences")
        var choices: [(PreferenceKey, Bool)] = []
        for category in try preferences.objects("categories") ?? [] {
            let slug = try category.required("slug", category.string("slug", Limits.slug))
            for channel in try category.objects("channels") ?? [] {
                choices.append(
                    (
                        PreferenceKey(
                            category: slug, channel: try channel.required("slug", channel.string("slug", Limits.slug))),
                        try channel.required("enabled", channel.bool("enabled"))
                    ))
            }
        }
        guard choices.count <= Limits.preferenceCells else {
            throw invalid("'categories' has \(choices.count) channels; at most \(Limits.preferenceCells) are allowed.")
        }
        return choices
    }

    /// Every preference under its category, the catalogue's in its order and with its labels, then others that were chosen.
    private static func body(_ preferences: [Preference]) -> [UInt8] {
        var order: [String] = []
        var groups: [String: [Preference]] = [:]
        for preference in preferences {
            if groups[preference.key.category] == nil { order.append(preference.key.category) }
            groups[preference.key.category, default: []].append(preference)
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("notification_preferences")
        writer.beginObject()
        writer.key("categories")
        writer.beginArray()
        for slug in order {
            writer.beginObject()
            writer.member("slug", slug)
            writer.member("label", groups[slug]?.first?.categoryLabel ?? slug)
            writer.key("channels")
            writer.beginArray()
            for preference in groups[slug] ?? [] {
                writer.beginObject()
                writer.member("slug", preference.key.channel)
                writer.member("label", preference.channelLabel ?? preference.key.channel)
                writer.member("enabled", preference.enabled)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    // MARK: The catalogue

    private func categories(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            core.read(as: .inbox, respond) { (reader) throws(HubStoreError) in
                .json(200, Self.body(try reader.catalogue(of: project.key)))
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private func setCategories(_ request: HTTPRequest, _ respond: HTTPResponder) {
        do throws(HTTPFailure) {
            let project = try admin(request)
            let categories = try Self.categories(request)
            core.setCatalogue(categories, in: project.key) { result in
                switch result {
                case .success(let catalogue): respond.send(.json(200, Self.body(catalogue)))
                case .failure(let error): respond.send(HTTPSurface.inbox.response(to: core.failure(error)))
                }
            }
        } catch {
            respond.send(HTTPSurface.inbox.response(to: error))
        }
    }

    private static func categories(_ request: HTTPRequest) throws(HTTPFailure) -> [Catalogue.Category] {
        do throws(JSONError) {
            return try Catalogue.categories(JSONObject(request.body[...]))
        } catch {
            throw invalid("The categories cannot be read: \(error.reason).")
        }
    }

    private static func body(_ catalogue: Catalogue?) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        (catalogue ?? Catalogue(version: 0, categories: [])).writeMembers(to: &writer)
        writer.endObject()
        return writer.bytes
    }
}
