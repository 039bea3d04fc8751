// Thin adapters for what only Apple's systems have; the library beneath is the same everywhere.
#if canImport(Combine)
    public import Combine

    extension NotificationStorePublisher: ObservableObject {}

    extension NotificationStore {
        /// What ``changes`` tells, as a publisher.
        public var changePublisher: AnyPublisher<NotificationStoreChange, Never> {
            let subject = PassthroughSubject<NotificationStoreChange, Never>()
            let changes = changes
            let task = Task {
                for await change in changes { subject.send(change) }
                subject.send(completion: .finished)
            }
            return subject.handleEvents(receiveCancel: { task.cancel() }).eraseToAnyPublisher()
        }

        /// ``markAsRead(_:completion:)`` as a future.
        public func markAsRead(_ notification: DeliveredNotification) -> Future<DeliveredNotification, PealError> {
            Future { done in self.markAsRead(notification) { done($0) } }
        }

        /// ``markAsUnread(_:completion:)`` as a future.
        public func markAsUnread(_ notification: DeliveredNotification) -> Future<DeliveredNotification, PealError> {
            Future { done in self.markAsUnread(notification) { done($0) } }
        }

        /// ``archive(_:completion:)`` as a future.
        public func archive(_ notification: DeliveredNotification) -> Future<DeliveredNotification, PealError> {
            Future { done in self.archive(notification) { done($0) } }
        }

        /// ``unarchive(_:completion:)`` as a future.
        public func unarchive(_ notification: DeliveredNotification) -> Future<DeliveredNotification, PealError> {
            Future { done in self.unarchive(notification) { done($0) } }
        }

        /// ``delete(_:completion:)`` as a future.
        public func delete(_ notification: DeliveredNotification) -> Future<Void, PealError> {
            Future { done in self.delete(notification) { done($0) } }
        }
    }
#endif
