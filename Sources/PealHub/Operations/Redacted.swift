/// What opens something shows in no description, dump or failed expectation (as in PealModel/Wire/Redacted.swift).
extension HubProject: CustomReflectable {
    /// What is public of it.
    public var customMirror: Mirror {
        Mirror(self, children: ["instance": instance, "isNew": isNew], displayStyle: .struct)
    }
}

extension ProjectFile.Tenant: CustomReflectable {
    /// What is public of it.
    public var customMirror: Mirror { Mirror(self, children: ["instance": instance], displayStyle: .struct) }
}

extension Project: CustomReflectable {
    /// What is public of it, without the key, which names it to devices.
    package var customMirror: Mirror {
        Mirror(self, children: ["key": key, "instance": instance], displayStyle: .struct)
    }
}

extension HTTPHeaders: CustomReflectable {
    /// The names: values are keys, secrets and proofs.
    package var customMirror: Mirror { Mirror(self, children: ["names": fields.map(\.name)], displayStyle: .struct) }
}

extension HTTPHeaders.Field: CustomReflectable {
    /// The name.
    package var customMirror: Mirror { Mirror(self, children: ["name": name], displayStyle: .struct) }
}

extension HTTPTarget: CustomReflectable {
    /// How long its path is: a segment can be a token, and so can a query.
    package var customMirror: Mirror { Mirror(self, children: ["segments": segments.count], displayStyle: .struct) }
}

extension HTTPRequest: CustomReflectable {
    /// Without the body.
    package var customMirror: Mirror {
        Mirror(self, children: ["head": head, "bodyBytes": body.count], displayStyle: .struct)
    }
}

extension DeviceRecord: CustomReflectable {
    /// Without push token and metadata.
    package var customMirror: Mirror {
        Mirror(
            self, children: ["id": id, "inbox": inbox, "platform": platform as Any, "user": user as Any],
            displayStyle: .struct)
    }
}
